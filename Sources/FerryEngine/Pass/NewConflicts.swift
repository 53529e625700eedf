import FerryCore
import FerryStore

/// New conflicts, found by any process with a replay.
///
/// Each conflict is returned once, in the order of numbers, and none is missed: conflicts are read from the database
/// after every replay. The sequence ends with the engine.
public struct NewConflicts: AsyncSequence, Sendable {
    private static let pageSize = 100

    let engine: SyncEngineCore
    let first: Int64

    public struct AsyncIterator: AsyncIteratorProtocol {
        private let engine: SyncEngineCore
        private var events: AsyncStream<SyncEvent>.Iterator
        private var last: Int64
        private var waiting: ArraySlice<Conflict> = []
        /// True if the database may have unread conflicts.
        private var isStale = true

        init(_ engine: SyncEngineCore, after number: Int64) {
            self.engine = engine
            // Listens before reading, so no conflict falls between the two.
            events = engine.makeStream().makeAsyncIterator()
            last = number
        }

        /// - Throws: the reason why the database cannot be read. Call again: nothing is skipped.
        public mutating func next() async throws -> Conflict? {
            while true {
                if let conflict = waiting.popFirst() {
                    last = conflict.number
                    return conflict
                }
                if isStale {
                    waiting = try await engine.onQueue { [last] replica in
                        try replica.store.conflicts(after: last, limit: NewConflicts.pageSize)
                    }[...]
                    isStale = waiting.count == NewConflicts.pageSize
                    continue
                }
                guard let event = await events.next() else { return nil }
                switch event {
                case .synced(let report): isStale = report.conflicts > 0
                case .databaseChanged, .reopened: isStale = true
                case .started, .following, .leading, .failed, .stopped: break
                }
            }
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(engine, after: first) }
}

extension SyncEngine {
    /// Returns the conflicts found from now on, or after a given conflict.
    ///
    ///     for try await conflict in try engine.newConflicts() { … }
    ///
    /// - Parameter number: the last conflict seen; `nil`: the last conflict present now.
    public func newConflicts(after number: Int64? = nil) throws -> NewConflicts {
        NewConflicts(engine: core, first: try number ?? store.lastConflictNumber())
    }
}
