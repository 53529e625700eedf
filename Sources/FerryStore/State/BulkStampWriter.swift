import FerryCore
import FerrySQL

/// The change of a stored state if only its stamps change.
struct StampUpdate {
    var object: ObjectID
    /// Stamps as encoded by `StateCodec`; `nil` for an unknown object.
    var stamps: [UInt8]?
    var check: UInt64
}

/// Writes states with changed stamps, always the same number by a statement. SQLite opens the table once for all of
/// them, and finds each state beside the last.
///
/// Until `finish`, a caller must neither read saved states nor remove states: the statement is an insertion that meets
/// an existing state each time.
final class BulkStampWriter {
    /// Number of states written by a statement.
    private let number: Int
    private let objects: ObjectTable
    private let statement: LazyStatement
    @exclusivity(unchecked) private var waiting: [StampUpdate] = []
    private let digests: StateDigests
    /// The sum of changes for the table's digest.
    @exclusivity(unchecked) private var change = StateDigests.Change()

    /// - Parameter number: number of states written by a statement.
    init(_ objects: ObjectTable, atOnce number: Int) {
        self.objects = objects
        digests = objects.digests
        self.number = number
        // The value of `shown` is never written. FAIL needs no copy of the pages: after a failure here the whole
        // transaction fails.
        let rows = Array(repeating: "(?, -1, ?, ?)", count: number).joined(separator: ", ")
        statement = LazyStatement(
            """
            INSERT OR FAIL INTO \(objects.table.objectTable)(object, shown, "check", state) VALUES \(rows)
            ON CONFLICT(object) DO UPDATE SET "check" = excluded."check", state = excluded.state
            """, objects.connection)
        waiting.reserveCapacity(number)
    }

    /// Writes the state of a stored object, at once or in a batch.
    /// - Parameter former: the stored state.
    func save(_ state: ObjectState, over former: ObjectState) throws {
        guard let update = try objects.stampUpdate(of: state, over: former) else { return try objects.save(state) }
        try save(update, former: state.storedCheck)
    }

    /// Writes the change of a state, at once or in a batch.
    /// - Parameter former: the object checksum in the store.
    func save(_ update: StampUpdate, former: UInt64) throws {
        change.add(StateDigests.Change(from: former, to: update.check))
        waiting.append(update)
        if waiting.count == number { try write() }
    }

    /// Writes the rest of the batch.
    func finish() throws {
        for update in waiting where try !objects.write(update) {
            throw FerryError(.internalInconsistency, "A state went while it was written.")
        }
        recordWritten()
    }

    private func write() throws {
        let statement = try statement.prepared()
        var place: Int32 = 1
        for update in waiting {
            statement.bind(update.object, place)
            statement.bind(Int64(bitPattern: update.check), place + 1)
            statement.bind(blob: update.stamps, place + 2)
            place += 3
        }
        try statement.run()
        recordWritten()
    }

    private func recordWritten() {
        waiting.removeAll(keepingCapacity: true)
        digests.note(objects.table.id, change)
        change = StateDigests.Change()
    }
}
