import FerryContainer
import FerryContent
import FerryCore
import FerryMembers
import FerryStore

/// Takes a database out of its container. Nobody's permission is needed: not a key, not the folder.
///
/// The steps, each of which may be done again:
/// 1. The members of a sealed container are told (`sayLeaving`).
/// 2. The file with the rows behind the integer keys is written.
/// 3. The database notes that its device leaves, and the key store forgets the device.
/// 4. Ferry's tables and triggers go, in one transaction. From here on the database is plain.
/// 5. The files beside the database go.
///
/// A crash before step 4 leaves a database that leaves again, with the key or without it. A crash after step 4 leaves files, which
/// `leaveRemains` removes.
extension Replica {
    /// Stops tracking and removes Ferry's tables and triggers from the database. The app's rows stay; published files stay in
    /// the container for the remaining devices.
    ///
    /// The rows of the key-value store stay in their tables (`LeaveReport.keyValueRows`). A later `open`, `create` or `join` takes the rows
    /// along into the next container. An app that does not want that deletes the tables' rows.
    ///
    /// The file `<database>-ferry-keys` beside the database says which rows the integer keys mean. A later `open` or `join` of the same
    /// container goes by the file, so no row comes twice. Deleting the database without the file harms nothing.
    ///
    /// - Parameter discardingDocuments: true: documents and attachments go, with their bytes on this device.
    /// - Throws: `documentsPresent` where there are documents or attachments, and `discardingDocuments` is false: write them
    ///   elsewhere first. So also for values in a declared column that are no IDs: nobody knows which bytes are meant. After any other
    ///   failure, and after a crash, leave again.
    public func leave(discardingDocuments: Bool = false) throws -> LeaveReport {
        try lock.withLock {
            try refreshIdentity()
            let statistics = try store.contentStatistics()
            let documents = statistics?.contents ?? 0
            if let statistics, documents > 0, !discardingDocuments {
                throw FerryError(
                    .documentsPresent,
                    "The database has \(statistics.words). Their bytes go with Ferry's tables; rows keep the IDs of attachments. Say where "
                        + "the bytes are to be written, or that they may go.")
            }
            if let strange = try documentsStatus()?.strangeSentence, !discardingDocuments {
                throw FerryError(
                    .documentsPresent,
                    "\(strange) The bytes that are meant may lie beside the database, and go with Ferry's tables. Mend the rows first, or say "
                        + "that the bytes may go.")
            }
            let unpublished = try store.unpublishedCount()
            let hasOthers = try knowsOthers()
            let farewell = try sayLeaving()
            let keys = try rememberKeys()
            try forgetKeys()
            let askers = try store.endTracking()
            try Self.removeFiles(shelf, lock, LeaderLock(databasePath: store.path))
            let rows = try store.keyValueRows()
            return LeaveReport(
                path: identity.containerPath, unpublished: unpublished, askers: askers, isTold: farewell.isTold,
                untoldReason: farewell.reason, documents: documents > 0 ? documents : nil,
                keyValueRows: rows > 0 ? rows : nil, rememberedKeys: keys.count, keysFailure: keys.failure?.message,
                hasOthers: hasOthers)
        }
    }

    /// Whether an open container has further devices, as far as this database knows. A copy without a sync has no place in the container
    /// yet, so nobody keeps anything for the copy.
    private func knowsOthers() throws -> Bool {
        guard try identity.genesis == nil && !isCopied() else { return false }
        return try !presentActivity(ContainerView(), store.reading()).activity.peers.isEmpty
    }

    /// Removes the files beside a plain database. The lock goes last, because the lock keeps other processes away.
    /// - Parameter shelf: `nil`: the bytes of documents stay.
    private static func removeFiles(_ shelf: ContentShelf?, _ lock: DeviceLock, _ leader: LeaderLock) throws {
        try shelf?.removeAll()
        leader.remove()
        lock.remove()
    }

    /// Writes down the rows behind the integer keys, for the case that the database joins again.
    /// - Returns: the number of rows, `nil` without a file; and the error if the file could not be written. Leaving keeps the rows all the
    ///   same.
    private func rememberKeys() throws -> (count: Int?, failure: FerryError?) {
        let file = RememberedKeysFile(besideDatabase: store.path, environment.fileSystem)
        do {
            let keys = try store.rememberedKeys(in: identity.container, encode: segmentEncoding(for: identity))
            return try (file.write(keys) ? keys.count : nil, nil)
        } catch let error as FerryError {
            return (nil, error)
        }
    }

    // MARK: A sealed container

    /// Announces the departure of this device, and where the device's log ends.
    /// - Returns: `isTold` is `nil` for an open container. It is false where nobody could be told, with the reason: a member should remove
    ///   the device.
    func sayLeaving() throws -> (isTold: Bool?, reason: String?) {
        guard identity.genesis != nil else { return (nil, nil) }
        // A copy without a sync has no ID yet: the original stays.
        if try isCopied() { return (true, nil) }
        do {
            try place().refresh(.full)
            // An interrupted attempt may have made the record without publishing it. Neither needs the key.
            try publishRecords(plainContainer())
            if try hasSaidLeaving() { return (true, nil) }
            var container = try openContainer()
            try learn(&container, isForced: true)
            var membership = try requiredMembership()
            let last = try store.newestOwnSegment()
            let end = LogEnding(
                sequence: last?.last ?? 0, time: last?.time ?? .zero,
                checksum: last?.checksum ?? Checksum(high: 0, low: 0))
            // After a crash, a database that was leaving and a database put back from a backup need different advice.
            try store.note(leaving: membership.device)
            try say([.leave(end)], &membership, container)
            return (true, nil)
        } catch let error as FerryError where error.code == .notMember {
            return (true, nil)
        } catch let error as FerryError where Self.isOfTheContainer(error.code) || Self.isOfTheMembership(error.code) {
            return (false, Self.reasonNotToTell(error))
        }
    }

    /// Whether the database has this device's own record of its departure, from an attempt that was interrupted.
    private func hasSaidLeaving() throws -> Bool {
        guard try store.leavingDevice() == identity.device else { return false }
        return try store.records().contains { stored in
            let record = try MemberRecord(decoding: stored.bytes, container: identity.container)
            return record.author == identity.device
                && record.acts.contains { if case .leave = $0 { true } else { false } }
        }
    }

    /// Failures of what a device needs for a record, beside the container itself.
    private static func isOfTheMembership(_ code: FerryError.Code) -> Bool {
        let codes: [FerryError.Code] = [.keyExposed, .formatTooNew, .fileNotThereYet, .olderState, .membersDiffer]
        return codes.contains(code)
    }

    /// The reason, without the advice for databases that stay.
    private static func reasonNotToTell(_ error: FerryError) -> String {
        switch error.code {
        case .keyMissing: "This computer does not have the device's key."
        case .keyExposed: "The device's key is not used, because others can reach it."
        case .containerMissing, .containerEmpty: "The folder is away."
        default: error.message
        }
    }

    /// Forgets the keys of this device. A copy without a sync shares them with the original.
    private func forgetKeys() throws {
        guard identity.genesis != nil, try !isCopied() else { return }
        // Without the key, the note tells a database that was leaving from a database whose key is elsewhere.
        if try store.leavingDevice() != identity.device { try store.note(leaving: identity.device) }
        try environment.keys.remove(identity.device)
    }

    // MARK: Remains

    /// Removes the remains after somebody dropped some or all of Ferry's tables, and the files that an interrupted `leave` left beside a
    /// plain database.
    /// - Parameter discardingDocuments: true: packs of documents may go that were not published.
    /// - Returns: the numbers of removed triggers and tables, and the report; `nil` if nothing of Ferry's is left.
    /// - Throws: `documentsPresent` where such packs lie beside a plain database, and `discardingDocuments` is false.
    package static func leaveRemains(
        path: String, discardingDocuments: Bool = false, environment: ReplicaEnvironment = .live
    ) throws -> (triggers: Int, tables: Int, report: LeaveReport)? {
        let store = try Store(path: path, clock: environment.clock, random: environment.random)
        let (lock, leader) = (DeviceLock(databasePath: store.path), LeaderLock(databasePath: store.path))
        let shelf = ContentShelf(
            besideDatabase: store.path, fileSystem: environment.fileSystem, random: environment.random)
        let areFilesLeft = try lock.isThere || leader.isThere || shelf.isThere()
        return try lock.withLock {
            let removed = try store.removeRemains()
            guard try store.identity() == nil else { return nil }
            guard removed != nil || areFilesLeft else {
                lock.remove()
                return nil
            }
            let packsMayGo = try discardingDocuments || shelf.pendingPacks().isEmpty
            guard packsMayGo || removed != nil else {
                throw FerryError(
                    .documentsPresent,
                    "The database belongs to no container, and \(shelf.root) has bytes of documents that were not published. They may "
                        + "belong to a database that was here before. Move them to that database, or say that they may go.",
                    path: shelf.root)
            }
            try removeFiles(packsMayGo ? shelf : nil, lock, leader)
            return (
                removed?.triggers ?? 0, removed?.tables ?? 0,
                LeaveReport(path: "", unpublished: 0, askers: removed?.askers ?? [])
            )
        }
    }
}
