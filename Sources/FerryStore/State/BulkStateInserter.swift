import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Inserts the states of new objects: unknown before, inserted once, with rows showing what the states say. Every
/// statement writes the same number of states.
///
/// Invariants:
/// - `state` fits `columns` and `author`; `set` makes `state` anew after a change of either.
/// - `checks` holds the checksums of the states bound and not yet written.
final class BulkStateInserter {
    private let table: TrackedTable
    private let connection: SQLConnection
    private let devices: DeviceNumbers
    private let digests: StateDigests
    /// Number of states written by a statement.
    private let number: Int
    @exclusivity(unchecked) private var columns: [Int]?
    @exclusivity(unchecked) private var state: StateCodec.Insertion?
    @exclusivity(unchecked) private var statement: SQLStatement?
    @exclusivity(unchecked) private var place: Int32 = 0
    /// The device named in `state`.
    @exclusivity(unchecked) private var author: DeviceID?
    /// The object checksums of states not yet written, for the table's digest.
    @exclusivity(unchecked) private var checks: [UInt64] = []

    /// - Parameter number: number of states written by a statement.
    init(_ objects: ObjectTable, atOnce number: Int) {
        table = objects.table
        connection = objects.connection
        devices = objects.devices
        digests = objects.digests
        self.number = number
    }

    /// Begins a statement, for objects inserted with values in these columns.
    func begin(_ columns: [Int]) throws {
        let statement = try self.statement ?? connection.makeStatement(sql)
        self.statement = statement
        statement.rewind()
        place = 1
        // These checksums belong to states never written.
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
        // A key equal to the object's ID is not stored twice.
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

    /// Sets `state` to an insertion with this stamp. The columns' part is the same for all objects: the insertion wrote
    /// them.
    private func set(_ inserted: Stamp) throws {
        if state == nil || author != inserted.device {
            state = StateCodec.Insertion(columns ?? [], device: try devices.number(of: inserted.device))
            author = inserted.device
        }
        state?.set(inserted.time)
    }

    /// Writes the states.
    func write() throws {
        try statement?.run()
        recordChecksums()
    }

    /// Writes the states, if the table has none of the objects and none of the keys.
    /// - Returns: false if the table has any. Then some states may be written: the caller rolls them back.
    func writeUnlessKnown() throws -> Bool {
        if try statement?.runUnlessRefused() != nil { return false }
        recordChecksums()
        return true
    }

    private func recordChecksums() {
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
        let row = "(\(Visibility.row.rawValue), \(places))"
        // FAIL needs no copy of the pages: after a failure here the whole transaction fails.
        return "INSERT OR FAIL INTO \(table.objectTable)(\(names.joined(separator: ", "))) VALUES "
            + Array(repeating: row, count: number).joined(separator: ", ")
    }
}
