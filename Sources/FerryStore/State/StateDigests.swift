import FerryCore

/// The digests of a store's tables, kept in `ferry_digest` as states are saved. A digest has the sum and the number of
/// the table's object checksums, and the same for the checksums of objects not shown as written.
///
/// An object that is not alive has the checksum 0 and counts for nothing. So digests do not depend on who remembers the
/// object.
///
/// Changes are gathered here during a transaction and written at the end. A caller that rolls back a savepoint must
/// also reset `changes`.
final class StateDigests {
    struct Change {
        var sum: UInt64 = 0
        var count = 0
        /// The sum and the number of the checksums of objects not shown as written.
        var shown: UInt64 = 0
        var exceptions = 0

        init() {}

        /// The change of a digest caused by a changed object checksum; 0 is the checksum of an object that is not
        /// alive.
        init(from former: UInt64, to check: UInt64) {
            sum = check &- former
            count = (check == 0 ? 0 : 1) - (former == 0 ? 0 : 1)
        }

        mutating func add(_ other: Change) {
            sum &+= other.sum
            count += other.count
            shown &+= other.shown
            exceptions += other.exceptions
        }
    }

    /// Changes by table, since the last `save`.
    @exclusivity(unchecked) var changes: [Int: Change] = [:]

    /// Records a changed object checksum; 0 if the object is not alive.
    func note(_ table: Int, from former: UInt64, to check: UInt64) {
        if former == check { return }
        changes[table, default: Change()].add(Change(from: former, to: check))
    }

    /// Records the checksums of several new objects of a table.
    func note(_ table: Int, _ added: Change) {
        changes[table, default: Change()].add(added)
    }

    /// Records a changed way of showing an object, by checksums of `ShownChecks`.
    func noteShown(_ table: Int, from former: UInt64, to check: UInt64) {
        if former == check { return }
        let change = Change(from: former, to: check)
        changes[table, default: Change()].shown &+= change.sum
        changes[table, default: Change()].exceptions += change.count
    }

    func save(_ connection: SQLConnection) throws {
        for (table, change) in changes {
            let number = FieldValue.integer(Int64(table))
            let present = try connection.rows(
                "SELECT sum, count, shown, exceptions FROM ferry_digest WHERE \"table\" = ?", number
            ).first
            guard case .integer(let sum)? = present?[0], case .integer(let count)? = present?[1],
                case .integer(let shown)? = present?[2], case .integer(let exceptions)? = present?[3]
            else { throw FerryError(.internalInconsistency, "A table has no digest.") }
            try connection.execute(
                "UPDATE ferry_digest SET sum = ?, count = ?, shown = ?, exceptions = ? WHERE \"table\" = ?",
                .integer(Int64(bitPattern: UInt64(bitPattern: sum) &+ change.sum)),
                .integer(count + Int64(change.count)),
                .integer(Int64(bitPattern: UInt64(bitPattern: shown) &+ change.shown)),
                .integer(exceptions + Int64(change.exceptions)), number)
        }
        changes = [:]
    }

    // MARK: Covered columns

    /// Registers a digest's covered columns, and the schema of the table's rows.
    /// - Returns: true if object checksums must be computed anew, because columns are gone.
    static func enter(_ table: TrackedTable, _ shape: TableShape?, _ connection: SQLConnection) throws -> Bool {
        let number = FieldValue.integer(Int64(table.id))
        let columns = table.isLocal ? table.localColumns : []
        let list = columns.map { "\($0.id)" }.joined(separator: ",")
        var former: Set<Substring> = []
        let known = try connection.firstValue("SELECT columns FROM ferry_digest WHERE \"table\" = ?", number)
        if case .text(let bytes)? = known {
            let text = String(decoding: bytes, as: UTF8.self)
            former = Set(text.split(separator: ","))
        }
        try connection.execute(
            """
            INSERT INTO ferry_digest("table", token, columns, sum, count, shape) VALUES (?1, ?2, ?3, 0, 0, ?4)
            ON CONFLICT("table") DO UPDATE
            SET token = excluded.token, columns = excluded.columns, shape = excluded.shape
            """, number, table.isLocal ? .integer(Int64(token(table))) : .null, .text(list),
            shape.map { .integer(Int64(bitPattern: $0.value)) } ?? .null)
        return !former.isSubset(of: list.split(separator: ","))
    }

    /// Identifies a table with the digest's covered columns. Only digests with equal tokens are comparable.
    private static func token(_ table: TrackedTable) -> UInt32 {
        var hash = WordHash()
        hash.absorb(foldedName(table.name))
        for column in table.localColumns.sorted(by: { foldedName($0.name) < foldedName($1.name) }) {
            hash.absorb(foldedName(column.travellingName))
            hash.absorb("\(column.affinity)")
        }
        return UInt32(truncatingIfNeeded: hash.value)
    }
}

/// Computes the checksums of a table's objects anew from their rows.
struct CheckRenewal {
    let access: StoreAccess
    let table: TrackedTable

    init(_ access: StoreAccess, _ table: TrackedTable) {
        self.access = access
        self.table = table
    }

    /// Renews all checksums, after columns were dropped or the table was made anew: digests must stay comparable with
    /// peers.
    func renewAll() throws {
        var ids: [ObjectID] = []
        try access.connection.forEachRow("SELECT object FROM \(table.objectTable)") { row in
            if let id: ObjectID = row.id(0) { ids.append(id) }
        }
        try renew(ids)
    }

    func renew(_ ids: some Sequence<ObjectID>) throws {
        let objects = access.objects(of: table.id)
        let travelling = Travelling(access)
        for id in ids {
            var state = try objects.load(id)
            guard state.isStored else { continue }
            var row: FieldValues = [:]
            if table.isLocal, state.shown.hasRow, let read = try access.reader(of: table.id).read(state.key) {
                row = try travelling.values(read, table)
            }
            let former = state.check
            objects.renewCheck(of: &state, row: row)
            if state.check != former { try objects.save(state) }
        }
    }
}

extension Store {
    /// The replayed position of every device's log, and the digests of state and rows by token. Without digests while a
    /// snapshot is read.
    public func statePosition() throws -> (vector: VersionVector, digests: [UInt32: UInt64]) {
        let reading = try reading()
        return (reading.vector, reading.digests)
    }

    /// The tables with a UNIQUE index computed from device-specific integer keys. Devices may show different rows of
    /// the same state in such a table (Docs/Rules.md, "Indexes on integer keys").
    public func tablesWithIndexesOnKeys() throws -> Set<String> {
        try readAccess { access in Set(access.registry.tables.values.filter(\.hasIndexOnKey).map(\.name)) }
    }

    /// The number of living objects in all tables.
    public func livingObjects() throws -> Int {
        try read { try $0.count("SELECT coalesce(sum(count), 0) FROM ferry_digest") }
    }
}
