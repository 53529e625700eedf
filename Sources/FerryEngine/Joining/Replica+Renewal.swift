import FerryContainer
import FerryCore
import FerryLog
import FerryStore
import Foundation

/// Recognizes a copied or restored database, and gives the database a new device ID (Docs/Architecture/identity-and-forks.md).
extension Replica {
    /// The database's present place.
    var fingerprint: StoreFingerprint {
        StoreFingerprint(path: store.path.isEmpty ? "" : Self.absolutePath(store.path), on: environment.host)
    }

    /// Names this computer and the path of this database, as hashes; `nil` where either is not known.
    package var placeMark: String? {
        let fingerprint = fingerprint
        guard let machine = fingerprint.machine, let path = fingerprint.path else { return nil }
        return machine + path
    }

    /// Adopts changes of the identity made by another process since the replica was opened, or a new file in the database's place.
    /// - Throws: `notTracked` if the database left its container; as `followReplacement`.
    func refreshIdentity() throws {
        try followReplacement()
        let known = identity
        guard let present = try store.identity(), present.container == known.container else { throw leftContainer }
        if present == known { return }
        // Somebody told the database of a new place: all knowledge of the members comes from the former place.
        if !equalBytes(present.containerPath, known.containerPath) { memory.forget() }
        take(present)
    }

    private var leftContainer: FerryError {
        FerryError(
            .notTracked, "The database left its container since it was opened. Open it again.", path: store.path)
    }

    /// Continues with a new file in the open database's place: mostly a backup, or a new database. The next sync
    /// recognizes as on start whether the file is a copy.
    /// - Parameter isLost: true if the last look found no sound database, as while a database is copied over the file.
    /// - Throws: `databaseMissing` without a file; `databaseReplaced` if the file does not belong to the container, or
    ///   if the app owns the connection. Ferry writes nothing then.
    @discardableResult
    func followReplacement(isLost: Bool = false) throws -> DatabaseFile {
        let hasMoved = try store.hasMoved()
        guard hasMoved || isLost && store.canReopen else { return .inPlace }
        let path = store.path
        guard FileManager.default.fileExists(atPath: path) else {
            throw FerryError(
                .databaseMissing,
                "The database at \(path) was deleted or moved away while it was kept in step. Put it back, or join with a "
                    + "new one (`ferry join`).", path: path)
        }
        // The locks and the contents are those beside the former database.
        guard DatabaseFiles(of: path).database == files.database else {
            throw FerryError(
                .databaseReplaced, "The link \(path) leads to another database now. Open the database again.",
                path: path)
        }
        do {
            memory.forget()
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

    /// The file at the database's path.
    enum DatabaseFile {
        /// The open file.
        case inPlace
        /// The same file, opened again.
        case openedAgain
        case another
    }

    private func replaced(_ reason: String) -> FerryError {
        FerryError(
            .databaseReplaced,
            "Another file was put in the place of the database at \(store.path). \(reason) Put the right one back, or join "
                + "with this one (`ferry join`).", path: store.path)
    }

    /// Runs `body`, which packs changes, while holding the device's lock. A copied database first gets a new device ID; the next sync
    /// reports the ID.
    /// - Throws: for a copy, the reason why the container cannot be read: only the container shows the sent changes.
    func packing<Result>(_ body: () throws -> Result) throws -> Result {
        try lock.withLock {
            try refreshIdentity()
            if try isCopied() { unreported = try becomeNewDevice(.copied, openContainer()) }
            return try body()
        }
    }

    /// True if the database is in a new place since its last use, and will continue under a new ID.
    package func isCopied() throws -> Bool {
        try isCopied(since: store.fingerprint())
    }

    private func isCopied(since former: StoreFingerprint?) -> Bool {
        former.map { fingerprint.change(since: $0) == .copied } ?? false
    }

    /// Checks that only this database publishes under its device ID; otherwise gives the database a new ID. Call before packing or
    /// publishing.
    /// - Parameter isThorough: true: list the device's own files; false: read only the head.
    /// - Returns: the renewal; `nil` if all is well.
    func recognise(_ container: Container, isThorough: Bool) throws -> Renewal? {
        try bringShelfAlong()
        let former = try store.fingerprint()
        if isCopied(since: former) { return try becomeNewDevice(.copied, container) }
        // The listing of a remote container may be older than the publications of a copy of this database.
        if container.answersFromListing, try store.needsPass() || !store.outboxSizes().isEmpty {
            try container.recheckHead(of: identity.device)
        }
        let head = try? container.readHead(of: identity.device)  // an unreadable head says nothing
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

    /// The positions in this device's log that other devices have read, and that this database did not write. Where the container does
    /// not have the changes either, one backup has set back both.
    /// - Parameter heads: the other devices' heads. A successor of this ID explains and sends such changes.
    func foreignPositions(_ heads: [DeviceID: Head]) throws -> [LogPosition] {
        if heads.values.contains(where: { $0.predecessor?.device == identity.device }) { return [] }
        let end = try store.versionVector()[identity.device]
        let others = heads.values.compactMap { $0.acknowledgements[identity.device] }.filter { $0 != end }
        if others.isEmpty { return [] }
        let times = Dictionary(try store.ownSegments().map { ($0.last, $0.time) }) { first, _ in first }
        // A reader's time is the latest up to its position. An earlier time is of other changes; a later time may be of an earlier
        // segment.
        return others.filter { position in
            position.sequence >= end.sequence || times[position.sequence].map { position.time < $0 } ?? false
        }
    }

    /// Gives the database a new device ID. In a sealed container the former device lets the new device in.
    /// - Parameter setBack: where the database and the container were set back to together (`PublishedLog.setBack`).
    /// - Throws: `notMember`, `keyMissing` in a sealed container.
    func becomeNewDevice(
        _ reason: Renewal.Reason, _ container: Container, setBack: LogPosition? = nil
    ) throws -> Renewal {
        let former = identity.device
        let successor = try successor(container)
        var published = try publishedLog(container)
        if let setBack { (published.isForked, published.isForkCertain, published.setBack) = (true, false, setBack) }
        let sentAgain = try store.becomeNewDevice(
            successor?.device ?? environment.random.makeID(), published: published, fingerprint: fingerprint,
            membership: .init(record: successor?.record), encode: segmentEncoding(for: identity))
        memory.forget()
        try refreshIdentity()
        if published.isForked {
            let branches = try ForkedLog(container.segmentFiles(of: former), of: former, container)
            try store.recordMergedBranches(branches.read.sorted(), of: former)
        }
        return Renewal(
            reason: published.isForked && reason != .keys ? .cloned : reason, formerDevice: former.description,
            device: identity.device.description, sentAgain: sentAgain)
    }

    /// How far this device's log in the container is this database's own, and the changes of other copies behind.
    func publishedLog(_ container: Container) throws -> PublishedLog {
        let log = try OwnLog(store, container, identity, isComplete: true)
        let common = log.common
        // Without a known time, every stamp of the former device is written again.
        let position = LogPosition(sequence: common.sequence, time: common.time ?? .zero)
        let branches =
            try common.isForked
            ? OwnLog.changesets(after: common.sequence, container, identity.device, own: log.ownNames) : []
        var published = PublishedLog(
            position: position, checksum: common.checksum, isForked: common.isForked,
            isForkCertain: log.isForkCertain, isWhole: log.isWhole, end: log.end)
        published.branches = branches
        return published
    }
}
