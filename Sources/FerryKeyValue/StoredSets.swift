import FerryCore
import FerryStore

/// Sets of strings whose members merge separately: different members never meet, and of an addition and a discard of a
/// member the later counts.
extension KeyValueStore {
    /// Adds a member; a present member is no change.
    /// - Returns: true if the member is new.
    /// - Throws: as `add(contentsOf:toSet:)`.
    @discardableResult
    public func add(_ member: String, toSet set: String) throws -> Bool {
        try add(contentsOf: [member], toSet: set) > 0
    }

    /// Adds members in a transaction; present members are no change.
    /// - Returns: how many are new.
    /// - Throws: `invalidArgument` for an empty name of the set; `limitExceeded`: `keyBytes`, `memberBytes` or
    ///   `members`. None is added then.
    @discardableResult
    public func add(contentsOf members: some Sequence<String>, toSet set: String) throws -> Int {
        let set = try checked(set)
        var additions: [String] = []
        for member in members {
            let composed = Self.composed(member)
            try limits.check(member: composed)
            additions.append(composed)
        }
        let name = KeyValueName(.set, set)
        return try write(name, counting: name) { connection in
            let before = try size(of: name, adding: additions.count, atMost: limits.members, connection) {
                try connection.count("SELECT count(*) FROM ferry_kv_member WHERE \"set\" = ?", .text(set))
            }
            var added = 0
            for member in additions {
                try connection.execute(
                    "INSERT INTO ferry_kv_member(\"set\", member) VALUES (?, ?) ON CONFLICT DO NOTHING", .text(set),
                    .text(member))
                if connection.changedRowCount > 0 { added += 1 }
            }
            let size = before.map { $0 + added }
            if let size { try limits.check(memberCount: size) }
            return (added, added > 0, size)
        }
    }

    /// Removes a member; no effect on an absent member.
    /// - Returns: true if the member was there.
    @discardableResult
    public func discard(_ member: String, fromSet set: String) throws -> Bool {
        try discard(contentsOf: [member], fromSet: set) > 0
    }

    /// Removes members in a transaction.
    /// - Returns: how many were there.
    @discardableResult
    public func discard(contentsOf members: some Sequence<String>, fromSet set: String) throws -> Int {
        let set = Self.composed(set)
        return try write(KeyValueName(.set, set)) { connection in
            var discarded = 0
            for member in members {
                try connection.execute(
                    "DELETE FROM ferry_kv_member WHERE \"set\" = ? AND member = ?", .text(set),
                    .text(Self.composed(member)))
                discarded += connection.changedRowCount
            }
            return (discarded, discarded > 0, nil)
        }
    }

    public func contains(_ member: String, inSet set: String) throws -> Bool {
        let (set, member) = (Self.composed(set), Self.composed(member))
        return try store.read { connection in
            try connection.count(
                "SELECT EXISTS(SELECT 1 FROM ferry_kv_member WHERE \"set\" = ? AND member = ?)", .text(set),
                .text(member)) != 0
        }
    }

    /// All members of a set; empty for an unknown set.
    public func members(ofSet set: String) throws -> Set<String> {
        let set = Self.composed(set)
        return try store.read { connection in
            let rows = try connection.rows("SELECT member FROM ferry_kv_member WHERE \"set\" = ?", .text(set))
            return Set(rows.compactMap { $0[0].string })
        }
    }

    /// The number of members of a set; counts them.
    public func count(ofSet set: String) throws -> Int {
        let set = Self.composed(set)
        return try store.read { connection in
            try connection.count("SELECT count(*) FROM ferry_kv_member WHERE \"set\" = ?", .text(set))
        }
    }

    /// The names of all sets with members.
    public func setNames() throws -> Set<String> {
        try store.read { connection in
            Set(try connection.rows("SELECT DISTINCT \"set\" FROM ferry_kv_member").compactMap { $0[0].string })
        }
    }
}
