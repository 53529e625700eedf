import FerryCore

/// The digests of a store's tables: the sum of their living objects' checks and their number, kept in `ferry_digest` as
/// states are saved. An object that is not alive has the check 0 and counts for nothing, so that it does not matter who
/// still remembers it.
///
/// What is saved in a transaction is gathered here and written at its end. Where a savepoint is rolled back, so must
/// `changes` be.
final class StateDigests {
    struct Change {
        var sum: UInt64 = 0
        var count = 0

        init() {}

        /// What an object's check being another one than before changes; 0 is the check of one that is not alive.
        init(from former: UInt64, to check: UInt64) {
            sum = check &- former
            count = (check == 0 ? 0 : 1) - (former == 0 ? 0 : 1)
        }

        mutating func add(_ other: Change) {
            sum &+= other.sum
            count += other.count
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

    func save(_ connection: SQLConnection) throws {
        for (table, change) in changes {
            let number = FieldValue.integer(Int64(table))
            let present = try connection.rows("SELECT sum, count FROM ferry_digest WHERE \"table\" = ?", number).first
            guard case .integer(let sum)? = present?[0], case .integer(let count)? = present?[1] else {
                throw FerryError(.internalInconsistency, "A table has no digest.")
            }
            try connection.execute(
                "UPDATE ferry_digest SET sum = ?, count = ? WHERE \"table\" = ?",
                .integer(Int64(bitPattern: UInt64(bitPattern: sum) &+ change.sum)),
                .integer(count + Int64(change.count)), number)
        }
        changes = [:]
    }

    // MARK: What the digests cover

    /// Enters what a table's digest covers.
    /// - Returns: whether the checks of its objects have to be computed anew, because columns are gone.
    static func enter(_ table: TrackedTable, _ connection: SQLConnection) throws -> Bool {
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
            INSERT INTO ferry_digest("table", token, columns, sum, count) VALUES (?1, ?2, ?3, 0, 0)
            ON CONFLICT("table") DO UPDATE SET token = excluded.token, columns = excluded.columns
            """, number, table.isLocal ? .integer(Int64(token(table))) : .null, .text(list))
        return !former.isSubset(of: list.split(separator: ","))
    }

    /// Names a table with the columns that its digest covers: digests of different ones cannot be compared.
    private static func token(_ table: TrackedTable) -> UInt32 {
        var hash = WordHash()
        hash.absorb(foldedName(table.name))
        for column in table.localColumns.sorted(by: { foldedName($0.name) < foldedName($1.name) }) {
            hash.absorb(foldedName(column.name))
            hash.absorb("\(column.affinity)")
        }
        return UInt32(truncatingIfNeeded: hash.value)
    }

    /// The digests as they travel: by the token of what they cover.
    static func published(_ connection: SQLConnection) throws -> [UInt32: UInt64] {
        var digests: [UInt32: UInt64] = [:]
        try connection.forEachRow("SELECT token, sum, count FROM ferry_digest WHERE token IS NOT NULL") { row in
            var hash = WordHash()
            hash.absorb(UInt64(bitPattern: row.integer(1)))
            digests[UInt32(truncatingIfNeeded: row.integer(0))] = hash.adding(UInt64(bitPattern: row.integer(2)))
        }
        return digests
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
    /// What is replayed of every device's log, and the digests of the state that it makes, by what they cover; none
    /// while a snapshot is read in.
    public func statePosition() throws -> (vector: VersionVector, digests: [UInt32: UInt64]) {
        let reading = try reading()
        return (reading.vector, reading.digests)
    }

    /// The names of the tables that digests cover.
    public func digestNames() throws -> [UInt32: String] {
        try read { connection in
            var names: [UInt32: String] = [:]
            try connection.forEachRow(
                "SELECT token, name FROM ferry_digest JOIN ferry_table ON number = \"table\" WHERE token IS NOT NULL"
            ) { names[UInt32(truncatingIfNeeded: $0.integer(0))] = $0.string(1) }
            return names
        }
    }

    /// How many objects are alive, in all tables.
    public func livingObjects() throws -> Int {
        try read { try $0.count("SELECT coalesce(sum(count), 0) FROM ferry_digest") }
    }
}
