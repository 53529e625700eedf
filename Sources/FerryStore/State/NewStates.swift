import FerryCore
import FerryMerge

/// Writes the states of objects that the store has no state of, that were inserted once and whose rows show what they say:
/// always the same number of them by one statement.
final class NewStates {
    private let table: TrackedTable
    private let connection: SQLConnection
    private let devices: DeviceNumbers
    private let digests: StateDigests
    /// How many are written by one statement.
    private let number: Int
    @exclusivity(unchecked) private var columns: [Int]?
    @exclusivity(unchecked) private var state: StateCodec.Insertion?
    @exclusivity(unchecked) private var statement: SQLStatement?
    @exclusivity(unchecked) private var place: Int32 = 0
    /// The device that `state` names.
    @exclusivity(unchecked) private var author: DeviceID?
    /// By how much the states written change the table's digest.
    @exclusivity(unchecked) private var checks: [UInt64] = []

    /// - Parameter number: how many are written by one statement.
    init(_ access: StoreAccess, _ table: TrackedTable, atOnce number: Int) {
        self.table = table
        connection = access.connection
        devices = access.devices
        digests = access.digests
        self.number = number
    }

    /// Begins a statement's states, of objects that were inserted with values in these columns.
    func begin(_ columns: [Int]) throws {
        let statement = try self.statement ?? connection.makeStatement(sql)
        self.statement = statement
        statement.rewind()
        place = 1
        // Of those that were not written.
        checks.removeAll(keepingCapacity: true)
        if self.columns == columns { return }
        self.columns = columns
        state = nil
    }

    /// Adds a state to the statement.
    func append(_ object: ObjectID, key: some Collection<FieldValue>, _ inserted: Stamp, check: UInt64) throws {
        guard let statement else { return }
        try set(inserted)
        statement.bind(object, place)
        place += 1
        // A key that is the object's ID is not stored twice.
        var isOwnKey = false
        if key.count == 1, case .blob(let bytes)? = key.first { isOwnKey = ObjectID(bytes: bytes) == object }
        for value in key {
            if isOwnKey { statement.bindNull(place) } else { statement.bind(value, place) }
            place += 1
        }
        statement.bind(Int64(bitPattern: check), place)
        if let state { statement.bind(blob: state.bytes, place + 1) }
        place += 2
        checks.append(check)
    }

    /// Makes `state` that of an object inserted then. What it tells of the fields is the same of all: those in the columns
    /// were written by the insertion.
    private func set(_ inserted: Stamp) throws {
        if state == nil || author != inserted.device {
            state = StateCodec.Insertion(columns ?? [], device: try devices.number(of: inserted.device))
            author = inserted.device
        }
        state?.set(inserted.time)
    }

    /// Writes them.
    func write() throws {
        try statement?.run()
        noteChecks()
    }

    /// Writes them, if the state has none of the objects and none of the keys.
    /// - Returns: whether it has none. Otherwise some may be written: the caller takes them back.
    func writeUnlessKnown() throws -> Bool {
        if try statement?.runUnlessRefused() != nil { return false }
        noteChecks()
        return true
    }

    private func noteChecks() {
        var added = StateDigests.Change()
        for check in checks where check != 0 {
            added.sum &+= check
            added.count += 1
        }
        digests.note(table.id, added)
        checks.removeAll(keepingCapacity: true)
    }

    private var sql: String {
        let keys = table.keyColumns.indices.map { "k\($0)" }
        let names = ["shown", "object"] + keys + ["\"check\"", "state"]
        let places = Array(repeating: "?", count: keys.count + 3).joined(separator: ", ")
        let row = "(\(Shown.row.rawValue), \(places))"
        // FAIL needs no copy of the pages: where this fails, so does the whole transaction.
        return "INSERT OR FAIL INTO \(table.objectTable)(\(names.joined(separator: ", "))) VALUES "
            + Array(repeating: row, count: number).joined(separator: ", ")
    }
}
