import FerryCore
import FerryStore

/// Conflicts as they are noticed, by whichever process replays: the engine's own or another one's.
///
/// Each is given once, in the order of their numbers, and none is missed: what was noticed is read from the database
/// whenever something was replayed. The sequence ends with the engine.
public struct NewConflicts: AsyncSequence, Sendable {
    private static let pageSize = 100

    let engine: SyncEngineCore
    let first: Int64

    public struct AsyncIterator: AsyncIteratorProtocol {
        private let engine: SyncEngineCore
        private var events: AsyncStream<SyncEvent>.Iterator
        private var last: Int64
        private var waiting: ArraySlice<Conflict> = []
        /// Whether there may be some that nobody has looked for.
        private var isStale = true

        init(_ engine: SyncEngineCore, after number: Int64) {
            self.engine = engine
            // Listens first and then looks, so that nothing falls between.
            events = engine.makeStream().makeAsyncIterator()
            last = number
        }

        /// - Throws: what keeps the database from being read. Ask again: nothing is skipped.
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
    /// The conflicts that are noticed from now on, or after one.
    ///
    ///     for try await conflict in try engine.newConflicts() { … }
    ///
    /// - Parameter number: the last one that was seen; `nil`: the last one that there is now.
    public func newConflicts(after number: Int64? = nil) throws -> NewConflicts {
        NewConflicts(engine: core, first: try number ?? store.lastConflictNumber())
    }
}
