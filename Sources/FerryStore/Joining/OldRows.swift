import FerryCore
import FerryMerge

/// How the rows that a database had when it joined stand to the container's.
public struct RowComparisonCount: Codable, Equatable, Sendable {
    public var table: String
    /// Rows that both have, and that say the same.
    public var same = 0
    /// Rows that only this database has.
    public var onlyHere = 0
    /// Rows that only the container has.
    public var onlyThere = 0
    /// Rows that both have and that differ.
    public var differing = 0

    public init(table: String) { self.table = table }
}

/// What a join does with the rows that a database had before.
extension Store {
    /// Lets rows under integer keys be the container's objects, before anything is packed.
    /// - Parameter holders: for each table, by its name in lower case, whose object has which key.
    /// - Returns: the number of rows that are the container's from now on.
    public func adopt(_ holders: [String: [FieldValue: ObjectID]]) throws -> Int {
        try access { access in
            var adopted = 0
            for table in access.registry.parentsFirst where table.isLocal && table.identity.isSurrogate {
                guard let objects = holders[foldedName(table.name)] else { continue }
                let states = access.objects(of: table.id)
                for row in try access.connection.rows("SELECT \(table.keyList) FROM \(quoted(table.name))") {
                    guard let object = objects[row[0]] else { continue }
                    var state = try states.load(object)
                    state.key = row
                    try states.save(state)
                    adopted += 1
                }
            }
            return (adopted, [])
        }
    }

    /// The keys of the rows of tables with integer keys, by the tables' names in lower case.
    public func integerKeys() throws -> [String: Set<FieldValue>] {
        try readAccess { access in
            var keys: [String: Set<FieldValue>] = [:]
            for table in access.registry.tables.values where table.isLocal && table.identity.isSurrogate {
                keys[foldedName(table.name)] = Set(
                    try access.connection.rows("SELECT \(table.keyList) FROM \(quoted(table.name))").map { $0[0] })
            }
            return keys
        }
    }

    /// Whether any table that would travel has rows, before the database is tracked.
    public func hasRows(_ selection: TableSelection) throws -> Bool {
        try read { connection in
            let plan = try TrackingPlan(SchemaReader(connection: connection).read(), selection)
            return try plan.tracked.contains { table in
                guard !isFerryName(table.name) else { return false }
                return try connection.count("SELECT EXISTS(SELECT 1 FROM \(quoted(table.name)))") != 0
            }
        }
    }

    /// Compares the rows that a database brought along with those of the container, after both were merged.
    /// - Parameters:
    ///   - here: the objects that it brought along.
    ///   - there: the objects that the container had and that were not deleted.
    public func compareRows(here: ObjectSets, there: ObjectSets) throws -> [RowComparisonCount] {
        try readAccess { access in
            try access.registry.parentsFirst.filter { $0.isLocal && !isFerryName($0.name) }.map { table in
                let name = foldedName(table.name)
                return try RowComparator(access, table).count(here: here[name] ?? [], there: there[name] ?? [])
            }
        }
    }
}

/// Tells how one table's rows stand to each other.
private struct RowComparator {
    let access: StoreAccess
    let table: TrackedTable

    init(_ access: StoreAccess, _ table: TrackedTable) {
        self.access = access
        self.table = table
    }

    func count(here: ObjectSet, there: ObjectSet) throws -> RowComparisonCount {
        var count = RowComparisonCount(table: table.name)
        let differing = try objectsInConflict()
        // Rows of different objects may have become one by a UNIQUE value.
        let areJoined = try access.joined.areAny(in: table.id)
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
                count.differing += 1
            }
        }
        let rest = there.subtracting(matched)
        count.onlyThere = rest.count
        if areJoined {
            count.onlyThere = try Set(rest.map { try access.joined.representative(of: $0, table.id) ?? $0 }).count
        }
        return count
    }

    typealias ObjectSet = Set<ObjectID>

    private func objectsInConflict() throws -> ObjectSet {
        var objects: ObjectSet = []
        try access.connection.forEachRow(
            """
            SELECT DISTINCT object FROM ferry_conflict WHERE "table" = ?1 AND kind IN ('field', 'joined')
            AND (lost_device = ?2 AND lost_time = ?3 OR kept_device = ?2)
            """,
            [
                .integer(Int64(table.id)), .integer(Int64(try access.devices.number(of: access.device))),
                .integer(Int64(bitPattern: try access.oldTime().rawValue)),
            ]
        ) { if let id: ObjectID = $0.id(0) { objects.insert(id) } }
        return objects
    }
}
