import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Compares the pre-existing rows of a joining database with the container's rows.
package struct RowComparisonCount: Codable, Equatable, Sendable {
    package var table: String
    /// Equal rows on both sides.
    package var same = 0
    /// Rows only in this database.
    package var onlyHere = 0
    /// Rows only in the container.
    package var onlyThere = 0
    /// Rows on both sides with differences.
    package var different = 0

    package init(table: String) { self.table = table }
}

/// Compares the rows of a table.
private struct RowComparator {
    let access: StoreAccess
    let table: TrackedTable

    init(_ access: StoreAccess, _ table: TrackedTable) {
        self.access = access
        self.table = table
    }

    func count(here: ObjectSet, there: ObjectSet) throws -> RowComparisonCount {
        var count = RowComparisonCount(table: table.localName)
        let differing = try objectsInConflict()
        // Rows of different objects may have been unified by a UNIQUE value.
        let areJoined = try access.unified.areAny(in: table.id)
        var matched: ObjectSet = []
        for object in here {
            let members = try areJoined ? access.classmates(of: object, table.id) : [object]
            let others = members.filter(there.contains)
            matched.formUnion(others)
            if others.isEmpty {
                count.onlyHere += 1
            } else if differing.isDisjoint(with: members) {
                count.same += 1
            } else {
                count.different += 1
            }
        }
        let rest = there.subtracting(matched)
        count.onlyThere = rest.count
        if areJoined {
            count.onlyThere = try Set(rest.map { try access.unified.representative(of: $0, table.id) ?? $0 }).count
        }
        return count
    }

    typealias ObjectSet = Set<ObjectID>

    private func objectsInConflict() throws -> ObjectSet {
        try access.conflicts.differingObjects(in: table.id, of: access.device, at: access.oldTime())
    }
}

/// Pre-existing rows under integer keys.
struct PreexistingKeys {
    private let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// Makes rows the container's objects, before anything is packed.
    /// - Parameter holders: for each table, by name in lower case, the object of each key.
    /// - Returns: the number of adopted rows of each table.
    func adopt(_ holders: [String: [FieldValue: ObjectID]]) throws -> [String: Int] {
        var adopted: [String: Int] = [:]
        for table in access.registry.parentsFirst where table.isLocal && table.identity.isSurrogate {
            let name = foldedName(table.name)
            guard let objects = holders[name] else { continue }
            let states = access.objects(of: table.id)
            for row in try access.connection.rows("SELECT \(table.keyList) FROM \(table.quotedName)") {
                guard let object = objects[row[0]] else { continue }
                var state = try states.load(object)
                state.key = row
                try states.save(state)
                adopted[name, default: 0] += 1
            }
        }
        return adopted
    }

    /// The keys of all such rows, by table name in lower case.
    func all() throws -> [String: Set<FieldValue>] {
        var keys: [String: Set<FieldValue>] = [:]
        for table in access.registry.tables.values where table.isLocal && table.identity.isSurrogate {
            keys[foldedName(table.name)] = Set(
                try access.connection.rows("SELECT \(table.keyList) FROM \(table.quotedName)").map { $0[0] })
        }
        return keys
    }
}

/// Compares the pre-existing rows of a joining database with the container's rows.
struct PreexistingRowComparison {
    private let access: StoreAccess
    private let here: ObjectSets
    private let there: ObjectSets

    /// - Parameters:
    ///   - here: the pre-existing objects of the database.
    ///   - there: the container's living objects.
    init(_ access: StoreAccess, here: ObjectSets, there: ObjectSets) {
        self.access = access
        self.here = here
        self.there = there
    }

    /// Counts the rows by side, after both sides were merged.
    func counts() throws -> [RowComparisonCount] {
        try access.registry.parentsFirst.filter { $0.isLocal && !isFerryName($0.name) }.map { table in
            let name = foldedName(table.name)
            return try RowComparator(access, table).count(here: here[name] ?? [], there: there[name] ?? [])
        }
    }

    /// The objects present on both sides: by identity, or unified with a row of the container.
    func matched() throws -> ObjectSets {
        var matched: ObjectSets = [:]
        for table in access.registry.tables.values {
            let name = foldedName(table.name)
            guard let own = here[name], let others = there[name] else { continue }
            var found = own.intersection(others)
            if try access.unified.areAny(in: table.id) {
                for object in own.subtracting(found)
                where try access.classmates(of: object, table.id).contains(where: others.contains) {
                    found.insert(object)
                }
            }
            matched[name] = found
        }
        return matched
    }
}
