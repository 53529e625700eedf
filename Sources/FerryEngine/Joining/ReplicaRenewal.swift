import FerryContainer
import FerryCore
import FerryLog
import FerryStore
import Foundation

/// Recognising that a database was copied or restored, and making it a device of its own
/// (Docs/Architecture/identity-and-forks.md).
extension Replica {
    /// Where the database is now.
    var fingerprint: StoreFingerprint {
        StoreFingerprint(path: store.path.isEmpty ? "" : Self.absolutePath(store.path), on: environment.host)
    }

    /// Takes over what another process made of the database since the replica was opened, or another file in its place.
    /// - Throws: `notTracked` where it left its container; as `followReplacement`.
    func refreshIdentity() throws {
        try followReplacement()
        let known = identity
        guard let present = try store.identity(), present.container == known.container else { throw leftContainer }
        if present != known { take(present) }
    }

    private var leftContainer: FerryError {
        FerryError(
            .notTracked, "The database left its container since it was opened. Open it again.", path: store.path)
    }

    /// Goes on with another file that was put in the database's place while it was open: mostly a backup, or a database
    /// that was made anew. What it is, a copy or the device itself, the next sync recognises as on start.
    /// - Parameter isLost: the file was no sound database at the last look, as one over which another one is copied.
    /// - Throws: `databaseMissing` where there is none; `databaseReplaced` where it does not belong to the container, or
    ///   the connection is an app's own. Ferry writes nothing then.
    @discardableResult
    func followReplacement(isLost: Bool = false) throws -> DatabaseFile {
        let hasMoved = try store.hasMoved()
        guard hasMoved || isLost && store.canReopen else { return .inPlace }
        let path = store.path
        guard FileManager.default.fileExists(atPath: path) else {
            throw FerryError(
                .databaseMissing,
                "The database at \(path) was deleted or moved away while it was kept in step. Put it back, or join with a "
                    + "new one (`ferry join`), and begin again.", path: path)
        }
        do {
            try store.reopen { connection in
                guard let present = try Store.identity(connection), present.container == identity.container else {
                    throw hasMoved ? replaced("It does not belong to the container.") : leftContainer
                }
                take(present)
            }
        } catch let error as FerryError where [.notADatabase, .databaseCorrupt].contains(error.code) {
            throw hasMoved ? replaced("It is no sound SQLite database.") : error
        }
        return hasMoved ? .another : .openedAgain
    }

    /// What lies at the database's path.
    enum DatabaseFile {
        /// The file that was open.
        case inPlace
        /// The same file; it was opened anew.
        case openedAgain
        case another
    }

    private func replaced(_ reason: String) -> FerryError {
        FerryError(
            .databaseReplaced,
            "Another file was put in the place of the database at \(store.path). \(reason) Put the right one back, or join "
                + "with this one (`ferry join`), and begin again.", path: store.path)
    }

    /// Runs `body`, which packs changes, while holding the device's lock. A database that proves to be a copy gets a
    /// device ID of its own first; the next sync tells of it.
    /// - Throws: where it is a copy and the container is away, what keeps the container from being read: only there can
    ///   be seen what was sent already.
    func packing<Result>(_ body: () throws -> Result) throws -> Result {
        try lock.withLock {
            try refreshIdentity()
            if try isCopied() { unreported = try becomeNewDevice(.copied, openContainer()) }
            return try body()
        }
    }

    /// Whether the database lies elsewhere than when it was last in use, and will go on under an ID of its own.
    package func isCopied() throws -> Bool {
        try isCopied(since: store.fingerprint())
    }

    private func isCopied(since former: StoreFingerprint?) -> Bool {
        former.map { fingerprint.change(since: $0) == .copied } ?? false
    }

    /// Looks whether the database is still the only one that publishes under its device ID, and where it is not, gives
    /// it another. Before anything is packed or published.
    /// - Parameter isThorough: list the device's own files, rather than read its head only.
    /// - Returns: what was done; `nil` where all is as it should be.
    func recognise(_ container: Container, isThorough: Bool) throws -> Renewal? {
        let former = try store.fingerprint()
        if isCopied(since: former) { return try becomeNewDevice(.copied, container) }
        let head = try? container.readHead(of: identity.device)  // one that cannot be read says nothing
        if let head,
            try !store.publishedSegments(include: head.position.sequence, head.lastSegmentChecksum)
        {
            return try becomeNewDevice(.restored, container)
        }
        if isThorough, try OwnLog(store, container, identity, isComplete: false).isForeign {
            return try becomeNewDevice(.restored, container)
        }
        let present = fingerprint
        if former != present { try store.note(present) }
        return nil
    }

    private func becomeNewDevice(_ reason: Renewal.Reason, _ container: Container) throws -> Renewal {
        let log = try OwnLog(store, container, identity, isComplete: true)
        let common = log.common
        let former = identity.device
        // Where nothing tells the time, everything of the former device's is written again.
        let position = LogPosition(sequence: common.sequence, time: common.time ?? .zero)
        let sentAgain = try store.becomeNewDevice(
            environment.random.makeID(),
            published: PublishedLog(
                position: position, checksum: common.checksum, isForked: common.isForked,
                isForkCertain: log.isForkCertain, isWhole: log.isWhole, end: log.end),
            branches: common.isForked ? OwnLog.changesets(after: common.sequence, container, former) : [],
            fingerprint: fingerprint, seal: sealer(for: identity))
        try refreshIdentity()
        if common.isForked {
            let branches = try ForkedLog(container.segmentFiles(of: former), of: former, container)
            try store.noteBranchesTakenIn(branches.read.sorted(), of: former)
        }
        return Renewal(
            reason: common.isForked ? .cloned : reason, formerDevice: former.description,
            device: identity.device.description, sentAgain: sentAgain)
    }
}
