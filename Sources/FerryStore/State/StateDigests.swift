import FerryCore

/// The digests of a store's tables, kept in `ferry_digest` as states are saved: the sum of their living objects' checks and
/// their number; and the same of how objects are shown that are not shown as written. An object that is not alive has the check 0 and counts for nothing, so that it does not matter who
/// still remembers it.
///
/// What is saved in a transaction is gathered here and written at its end. Where a savepoint is rolled back, so must
/// `changes` be.
final class StateDigests {
    struct Change {
        var sum: UInt64 = 0
        var count = 0
        /// The sum of the checks of how objects are shown, and the number of those that are not shown as written.
        var shown: UInt64 = 0
        var exceptions = 0

        init() {}

        /// What an object's check being another one than before changes; 0 is the check of one that is not alive.
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

    /// By table, since the last `save`.
    @exclusivity(unchecked) var changes: [Int: Change] = [:]

    /// Notes that an object's check is another one than before; 0 where it is not alive.
    func note(_ table: Int, from former: UInt64, to check: UInt64) {
        if former == check { return }
        changes[table, default: Change()].add(Change(from: former, to: check))
    }

    /// Notes that several objects of a table, of which the store knew nothing, have checks.
    func note(_ table: Int, _ added: Change) {
        changes[table, default: Change()].add(added)
    }

    /// Notes that an object is shown in another way than before, by the checks of `ShownChecks`.
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

    // MARK: What the digests cover

    /// Enters what a table's digest covers, and the schema by which its rows are shown.
    /// - Returns: whether the checks of its objects have to be computed anew, because columns are gone.
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

    /// Names a table with the columns that its digest covers: digests of different ones cannot be compared.
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

/// Computes the checks of a table's objects anew from their rows.
struct CheckRenewal {
    let access: StoreAccess
    let table: TrackedTable

    init(_ access: StoreAccess, _ table: TrackedTable) {
        self.access = access
        self.table = table
    }

    /// Renews all, after columns went or the table was made again: what peers say of the same table must still be
    /// comparable.
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
    /// What is replayed of every device's log, and the digests of the state that it makes and of its rows, by what they cover;
    /// none while a snapshot is read in.
    public func statePosition() throws -> (vector: VersionVector, digests: [UInt32: UInt64]) {
        let reading = try reading()
        return (reading.vector, reading.digests)
    }

    /// The tables with a UNIQUE index that is computed of integer keys, which differ from device to device: devices may show
    /// other rows of one state there (Docs/Rules.md, "Indexes on integer keys").
    public func tablesWithIndexesOnKeys() throws -> Set<String> {
        try readAccess { access in Set(access.registry.tables.values.filter(\.hasIndexOnKey).map(\.name)) }
    }

    /// How many objects are alive, in all tables.
    public func livingObjects() throws -> Int {
        try read { try $0.count("SELECT coalesce(sum(count), 0) FROM ferry_digest") }
    }
}
