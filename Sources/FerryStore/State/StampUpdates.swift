import FerryCore

/// What changes of a stored state where its stamps alone do.
struct StampUpdate {
    var object: ObjectID
    /// As `StateCodec` has them; `nil` where nothing is known of the object.
    var stamps: [UInt8]?
    var check: UInt64
}

/// Writes states of which stamps alone changed, always the same number of them by one statement: SQLite opens the table once
/// for all of them, and finds each place beside the one before.
///
/// Who uses it asks for no state that it saved before `finish`, and removes none: the statement is an insertion that meets a
/// state each time.
final class StampUpdates {
    /// How many are written by one statement.
    private let number: Int
    private let objects: ObjectTable
    private let statement: LazyStatement
    @exclusivity(unchecked) private var waiting: [StampUpdate] = []
    private let digests: StateDigests
    /// By how much they change the table's digest.
    @exclusivity(unchecked) private var change = StateDigests.Change()

    init(_ objects: ObjectTable, _ access: StoreAccess) {
        self.objects = objects
        digests = access.digests
        number = access.newRowsAtOnce
        // What `shown` has is never written. FAIL needs no copy of the pages: where this fails, so does the whole transaction.
        let rows = Array(repeating: "(?, -1, ?, ?)", count: number).joined(separator: ", ")
        statement = LazyStatement(
            """
            INSERT OR FAIL INTO \(objects.table.objectTable)(object, shown, "check", state) VALUES \(rows)
            ON CONFLICT(object) DO UPDATE SET "check" = excluded."check", state = excluded.state
            """, access.connection)
        waiting.reserveCapacity(number)
    }

    /// Writes the state of an object that is stored, at once or with others.
    /// - Parameter former: the state as it is stored.
    func save(_ state: ObjectState, over former: ObjectState) throws {
        guard let update = try objects.stampUpdate(of: state, over: former) else { return try objects.save(state) }
        try save(update, former: state.storedCheck)
    }

    /// Writes what changes of a state, at once or with others.
    /// - Parameter former: the check that it has in the store.
    func save(_ update: StampUpdate, former: UInt64) throws {
        change.add(StateDigests.Change(from: former, to: update.check))
        waiting.append(update)
        if waiting.count == number { try write() }
    }

    /// Writes what waits.
    func finish() throws {
        for update in waiting where try !objects.write(update) {
            throw FerryError(.internalInconsistency, "A state went while it was written.")
        }
        noteWritten()
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
        noteWritten()
    }

    private func noteWritten() {
        waiting.removeAll(keepingCapacity: true)
        digests.note(objects.table.id, change)
        change = StateDigests.Change()
    }
}
