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
            for table in access.registry.parentsFirst where table.isLocal && table.identity == .surrogate {
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
            for table in access.registry.tables.values where table.isLocal && table.identity == .surrogate {
                keys[foldedName(table.name)] = Set(
                    try access.connection.rows("SELECT \(table.keyList) FROM \(quoted(table.name))").map { $0[0] })
            }
            return keys
        }
    }

    /// Whether any table that travels has rows.
    public func hasRows() throws -> Bool {
        try readAccess { access in
            try access.registry.tables.values.contains { table in
                guard table.isLocal, !isFerryName(table.name) else { return false }
                return try access.connection.count("SELECT EXISTS(SELECT 1 FROM \(quoted(table.name)))") != 0
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

    /// Writes again, as of now, the values that this database brought along and that lost to the container's. What they
    /// take the place of becomes the conflict.
    /// - Returns: the number of fields written.
    public func writeOldValuesAgain() throws -> Int {
        try access { access in
            let fields = try OldValues(access).writeAgain()
            return (fields.count, Set(fields).map { access.registry[$0].name })
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
        var matched = here.intersection(there)
        count.differing = matched.intersection(differing).count
        // Rows of different objects may have become one by a UNIQUE value.
        for object in here.subtracting(there) {
            guard let other = try classmates(of: object).first(where: { there.contains($0) && !matched.contains($0) })
            else { continue }
            matched.insert(other)
            count.onlyHere -= 1
            if differing.contains(object) || differing.contains(other) { count.differing += 1 }
        }
        count.same = matched.count - count.differing
        count.onlyHere += here.subtracting(there).count
        count.onlyThere = there.subtracting(matched).count
        return count
    }

    typealias ObjectSet = Set<ObjectID>

    private func objectsInConflict() throws -> ObjectSet {
        var objects: ObjectSet = []
        try access.connection.forEachRow(
            """
            SELECT DISTINCT object FROM ferry_conflict WHERE "table" = ?1 AND kind IN ('field', 'joined')
            AND (lost_device = ?2 AND lost_time = ?3 OR kept_device = ?2 AND kept_time = ?3)
            """,
            [
                .integer(Int64(table.id)), .integer(Int64(try access.devices.number(of: access.device))),
                .integer(Int64(bitPattern: HybridTime.unknown.rawValue)),
            ]
        ) { if let id: ObjectID = $0.id(0) { objects.insert(id) } }
        return objects
    }

    private func classmates(of object: ObjectID) throws -> [ObjectID] {
        let representative = try access.joined.representative(of: object, table.id) ?? object
        return try [representative] + access.joined.members(of: representative, table.id)
    }
}

/// The values that lost because nobody knew when they were written.
private struct OldValues {
    let access: StoreAccess
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess) { self.access = access }

    private struct Entry {
        var number: FieldValue
        var table: Int
        var object: ObjectID
        var column: Int
        var value: FieldValue
    }

    /// - Returns: the tables' numbers, one for each field written.
    func writeAgain() throws -> [Int] {
        var clock = try access.hybridClock()
        let now = Stamp(time: clock.tick(), device: access.device)
        try access.save(clock)
        var written: [Int] = []
        for entry in try entries() where try write(entry) {
            try connection.execute(
                """
                UPDATE ferry_conflict SET lost_value = kept_value, lost_device = kept_device, lost_time = kept_time,
                    kept_value = lost_value, kept_device = ?, kept_time = ? WHERE number = ?
                """, .integer(Int64(try access.devices.number(of: now.device))),
                .integer(Int64(bitPattern: now.time.rawValue)), entry.number)
            written.append(entry.table)
        }
        return written
    }

    private func entries() throws -> [Entry] {
        var entries: [Entry] = []
        try connection.forEachRow(
            """
            SELECT number, "table", object, "column", lost_value FROM ferry_conflict
            WHERE kind = 'field' AND lost_device = ? AND lost_time = ? ORDER BY number
            """,
            [
                .integer(Int64(try access.devices.number(of: access.device))),
                .integer(Int64(bitPattern: HybridTime.unknown.rawValue)),
            ]
        ) { row in
            guard let object: ObjectID = row.id(2), !row.isNull(4) else { return }
            var reader = ByteReader(row.bytes(4))
            entries.append(
                Entry(
                    number: row.value(0), table: row.int(1), object: object, column: row.int(3),
                    value: try reader.readValue()))
        }
        return entries
    }

    /// Writes a value into the row, and notes it for the next flush.
    private func write(_ entry: Entry) throws -> Bool {
        guard let table = access.registry.tables[entry.table], table.isLocal, entry.column < table.columns.count,
            table.columns[entry.column].isLocal, !table.keyColumnIDs.contains(entry.column)
        else { return false }
        let state = try access.objects(of: table.id).load(entry.object)
        guard state.shown.hasRow, let value = try Travelling(access).local(entry.value, table.columns[entry.column]),
            try access.writer(of: table.id).update(key: state.key, [(entry.column, value)], of: entry.object) == nil
        else { return false }
        let slots = table.keyColumns.indices.map { "k\($0)" }.joined(separator: ", ")
        let places = table.keyColumns.map { _ in "?" }.joined(separator: ", ")
        try connection.execute(
            "INSERT INTO ferry_pending(\"table\", event, mask, at, \(slots)) VALUES (\(table.id), "
                + "\(PendingEvent.update.rawValue), \(CaptureTriggers.mask(of: entry.column)), julianday('now'), \(places))",
            state.key)
        return true
    }
}
