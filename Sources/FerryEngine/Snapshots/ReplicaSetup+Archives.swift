import FerryContainer
import FerryCore
import FerryLog
import FerryMembers
import FerrySchema
import FerrySeal
import FerryStore
import Foundation

extension ReplicaSetup {
    /// The choice about documents for a new database without a container: such a database keeps none.
    package enum ImportedDocuments: Sendable {
        /// A file with documents is refused.
        case refused
        case discarded
        /// Somebody writes them elsewhere. Their bytes lie beside the database for so long.
        case written(@Sendable (Replica) throws -> Void)
    }

    /// Makes a database from a file written by `exportSnapshot`.
    ///
    /// - Parameters:
    ///   - containerPath: the folder of the file's container; the new database joins as a new device, in a sealed
    ///     container with the enrolment of this setup. `nil`: the database belongs to no container, and nothing of
    ///     Ferry stays in the database but the rows of the key-value store.
    ///   - recovery: the recovery code, for a sealed file without a member's key here. Only without a container: a
    ///     joining device is let in by the enrolment.
    /// - Throws: `invalidArgument` if a file is at `databasePath`, `containerMismatch` if the folder is a different
    ///   container; `keyMissing` for a sealed file without a member's key or the recovery code, `codeRefused` for a
    ///   different membership's code; `documentsPresent` (`importedDocuments`); otherwise as `importSnapshot`.
    package func importDatabase(
        at databasePath: String, from path: String, containerPath: String? = nil, name: String? = nil,
        recovery: SecretCode? = nil
    ) throws -> (replica: Replica?, report: ImportReport) {
        let start = environment.clock.milliseconds()
        let file = try ArchiveFile(path: Replica.absolutePath(path))
        if FileManager.default.fileExists(atPath: databasePath) {
            throw FerryError(
                .invalidArgument, "There is a file at \(databasePath) already. Name one that is not there.",
                path: databasePath)
        }
        let place = try containerPath.map { try self.place($0, of: file) }
        if let place { try Replica.refuseDatabase(at: databasePath, inside: place.path) }
        let (archive, beginning) = try open(file, place, recovery)
        guard let schema = archive.manifest.schema?.record else {
            throw FerryError(.damagedFile, "The file says nothing of the tables that it has.", path: path)
        }
        let deviceName = try Replica.checkedName(name)
        let unfinished = UnfinishedDatabase(of: databasePath)
        return try unfinished.whileAlone {
            _ = try DatabaseCreator.create(schema, at: unfinished.path)
            let store = try Store(path: unfinished.path, clock: environment.clock, random: environment.random)
            let identity =
                place?.identity(named: deviceName, environment.random)
                ?? StoreIdentity(
                    device: environment.random.makeID(), deviceName: deviceName, container: file.container,
                    containerName: "", containerPath: "")
            var report: ImportReport
            do {
                _ = try store.beginTracking(
                    identity, Replica.selection(schema, store), rowsAreOld: true, sealed: beginning)
                let replica = try Replica(store, environment: environment)
                report = try replica.merge(archive, place == nil ? .plain : .joined, start, progress)
                if place == nil {
                    report.note(try takeDocuments(archive, replica))
                    _ = try replica.leave(discardingDocuments: true)
                }
            } catch {
                try store.close()
                throw error
            }
            try store.close()
            try unfinished.finish()
            report.path = databasePath
            guard let place else { return (nil, report) }
            // From here on further devices may know the device. After a failure the next sync goes on.
            let replica = try Replica(path: databasePath, environment: environment)
            report.conflicts += try replica.sync(progress: progress).conflicts
            report.note(try replica.takeLackingContents(archive))
            try place.enrolment?.end(place.container)
            report.durationMilliseconds = environment.clock.milliseconds() - start
            return (replica, report)
        }
    }

    /// Lets the caller write the documents of a database without a container.
    private func takeDocuments(
        _ archive: SnapshotArchive, _ replica: Replica
    ) throws -> (contents: Int, bytes: Int) {
        guard let statistics = try replica.store.contentStatistics(),
            statistics.documents + statistics.folders + statistics.attachments > 0
        else { return (0, 0) }
        switch importedDocuments {
        case .discarded: return (0, 0)
        case .refused:
            throw FerryError(
                .documentsPresent,
                "The file has \(statistics.words), and a database without a container keeps none. Nothing was made. Rows keep the IDs of "
                    + "attachments. Say where the bytes are to be written, or that they may go.",
                path: archive.file.path)
        case .written(let write):
            let taken = try replica.take(ArchivedContents(archive)) { _ in true }
            try write(replica)
            return taken
        }
    }

    /// Opens the folder for a joining database.
    private func place(_ containerPath: String, of file: ArchiveFile) throws -> JoinPlace {
        let path = try Replica.fullPlace(containerPath)
        let details = try environment.open(at: path).details
        guard details.id == file.container else {
            throw FerryError(
                .containerMismatch,
                "The file is of another container than the one in \(path). Name the file's container, or none.",
                path: path)
        }
        switch (details.sealing, file.isSealed) {
        case (.none, true):
            throw FerryError(
                .notSealed,
                "The file is from a sealed container, and \(path) is open: somebody replaced its marker. Nothing was made.",
                path: path)
        case (.sealed, false): throw file.notSealed
        default: return try JoinPlace(path, enrolment, environment)
        }
    }

    /// Opens a file, with the keys of the database's new device, of a member on this computer, or of the recovery code.
    /// - Returns: also the beginning of the store for a sealed container's database.
    private func open(
        _ file: ArchiveFile, _ place: JoinPlace?, _ recovery: SecretCode?
    ) throws -> (SnapshotArchive, SealedBeginning?) {
        guard file.isSealed else { return (try SnapshotArchive(file), nil) }
        let records = try file.readRecords()
        guard let place else { return (try ArchiveKeys(file, records, environment).open(recovery), nil) }
        guard var membership = place.membership, membership.genesis == records[0].hash else {
            throw file.isOfAnotherMembership
        }
        let news = try membership.insert(records)
        return (
            try SnapshotArchive(file, seal: membership.seal()),
            SealedBeginning(membership, waiting: Set(news.map(\.hash)))
        )
    }
}
