import FerryContainer
import FerryStore

/// The programs that write to the database beside a sync: notices their commits, and lets them write between two transactions.
final class OtherWriters {
    /// How long after a commit more commits are expected.
    static let attention = Duration.seconds(1)

    private let replica: Replica
    private let now: () -> ContinuousClock.Instant
    /// `Store.dataVersion` at the last look.
    private var dataVersion: Int?
    private var lastCommit: ContinuousClock.Instant?
    /// True if the last look found a commit since the look before.
    private var haveCommitted = false
    private lazy var gap: WritersGap = {
        let gap = WritersGap(ChangeWatcher())
        gap.watch(WatchedPlaces(databaseOf: replica).files)
        return gap
    }()
    /// The sizes of transactions while somebody writes.
    var slices = ReplaySlices()

    init(_ replica: Replica, now: @escaping () -> ContinuousClock.Instant = { .now }) {
        self.replica = replica
        self.now = now
    }

    /// True if another connection committed at most `attention` ago, after the sync last read the store.
    func areWriting() throws -> Bool {
        let version = try replica.store.dataVersion()
        if let former = dataVersion ?? replica.store.dataVersionOfReading, former != version {
            haveCommitted = true
            lastCommit = now()
        } else {
            haveCommitted = false
        }
        dataVersion = version
        return lastCommit.map { $0.duration(to: now()) < Self.attention } ?? false
    }

    /// Lets programs write that wait for the end of the last transaction, and have perhaps written since.
    func letIn() { gap.letIn(afterCommit: haveCommitted) }
}
