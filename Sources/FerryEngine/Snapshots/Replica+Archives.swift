import FerryContainer
import FerryCore
import FerryLog
import FerryStore
import Foundation

/// The result of `exportSnapshot`.
package struct ExportReport: Codable, Equatable, Sendable {
    package var path: String
    package var bytes: Int
    /// Number of objects in the file, deleted and hidden objects included.
    package var objects: Int
    package var tables: Int
    /// The container of the snapshot.
    package var container: StatusReport.DeviceName
    package var seconds: Double
}

/// The result of `importSnapshot`.
package struct ImportReport: Codable, Equatable, Sendable {
    /// The state of the database afterwards.
    package enum Outcome: String, Codable, Sendable {
        /// The database belonged to the container before; additional content of the file is merged.
        case merged
        /// The database was made from the file and belongs to the container.
        case joined
        /// The database was made from the file and belongs to no container.
        case plain
    }

    package var path: String
    package var outcome: Outcome
    /// Number of remote changesets in the file that the database had not replayed.
    package var changesets: Int
    package var conflicts: Int
    package var tables: [StatusReport.Table]
    package var seconds: Double
}

extension Replica {
    /// Writes the whole state as a single file, for a USB stick or a backup. Replaces a present file of this name.
    ///
    /// Syncs first, if the container is present. Any device of the container can import the file, and so can a new
    /// device.
    /// - Parameter isOpen: true: also where the container is sealed. The file is not: whoever has the file can read it.
    /// - Throws:
    ///   - `busy` if the container is away and changes wait to be published: no device could ever get these changes
    ///     from this file;
    ///   - `invalidArgument` for a path in the container's folder, and for a sealed container unless `isOpen`;
    ///   - `inputOutput`.
    package func exportSnapshot(
        to path: String, isOpen: Bool = false, progress: ProgressHandler? = nil
    ) throws -> ExportReport {
        let start = environment.clock.milliseconds()
        let file = Self.absolutePath(path)
        if identity.genesis != nil, !isOpen {
            throw FerryError(
                .invalidArgument,
                "The container is sealed, and a file of `ferry export` is not: whoever has the file can read all rows. Write it all "
                    + "the same with --open, and keep it where nobody else looks.", path: file)
        }
        guard !file.hasPrefix(identity.containerPath + "/") else {
            throw FerryError(
                .invalidArgument, "The file would lie inside the container's folder. Choose another place.", path: file)
        }
        do {
            _ = try sync(progress: progress)
        } catch let error as FerryError
            where Self.isOfTheContainer(error.code)
        {
            if try store.unpublishedCount() == 0 { return try archive(file, start) }
            throw FerryError(
                .busy,
                "Changes wait to be published, and a snapshot would tell others of what they cannot read. Sync first; where "
                    + "the folder is lost, copy the database itself (`sqlite3 \(store.path) \".backup copy.sqlite\"`).",
                path: file, cause: error)
        }
        return try archive(file, start)
    }

    private func archive(_ path: String, _ start: Int64) throws -> ExportReport {
        try lock.withLock {
            let writer = try SnapshotArchiveWriter(
                path: path, container: identity.container, random: environment.random)
            let manifest = try store.readSnapshot { chunk in
                let (bytes, checksum) = try SnapshotChunkEncoder.encode(chunk, container: identity.container)
                try writer.append(bytes, checksum: checksum)
                return .init(checksum: checksum, bytes: bytes.count, objects: chunk.objects.count)
            }
            let bytes = try writer.finish(manifest: SnapshotManifestEncoder.encode(manifest).bytes)
            return ExportReport(
                path: path, bytes: bytes, objects: manifest.objects,
                tables: manifest.tables.count { !isFerryName($0.name) },
                container: .init(id: identity.container.description, name: identity.containerName),
                seconds: Double(environment.clock.milliseconds() - start) / 1000)
        }
    }

    /// Merges a file written by `exportSnapshot` on any device of the same container. An old file undoes no later
    /// change: the file merges as the knowledge of its devices then.
    /// - Throws: `containerMismatch` for a file of a different container, `damagedFile`, `formatTooNew`, `inputOutput`.
    package func importSnapshot(from path: String, progress: ProgressHandler? = nil) throws -> ImportReport {
        let start = environment.clock.milliseconds()
        let archive = try SnapshotArchive(path: Self.absolutePath(path))
        guard archive.container == identity.container else {
            throw FerryError(
                .containerMismatch,
                "The file is of another container than the one that the database belongs to. Import it into a new database.",
                path: path)
        }
        return try lock.withLock { try merge(archive, .merged, start, progress) }
    }

    fileprivate func merge(
        _ archive: SnapshotArchive, _ outcome: ImportReport.Outcome, _ start: Int64, _ progress: ProgressHandler?
    ) throws -> ImportReport {
        let vector = try store.versionVector()
        let changesets = archive.manifest.positions.reduce(0) { sum, entry in
            let (here, there) = (vector[entry.key].sequence, entry.value.log.sequence)
            return entry.key != identity.device && there > here ? sum + Int(there - here) : sum
        }
        var (replayed, conflicts) = (0, 0)
        let loader = SnapshotImporter(archive, store: store, encode: segmentEncoding(for: identity))
        // No device has this ID, so no sync mistakes the archive for a snapshot in the container.
        if changesets > 0 {
            try loader.load(archive.manifest, checksum: archive.checksum, of: DeviceID(high: 0, low: 0)) { pass in
                replayed += pass.replayed
                conflicts += pass.conflicts
                progress?(SyncProgress(phase: .replaying, completed: replayed, total: nil))
            }
        }
        return ImportReport(
            path: store.path, outcome: outcome, changesets: changesets, conflicts: conflicts,
            tables: try store.status().tables.map { .init($0) },
            seconds: Double(environment.clock.milliseconds() - start) / 1000)
    }

    /// Makes a database from a file; as `ReplicaSetup.importDatabase`.
    package static func importDatabase(
        at databasePath: String, from path: String, containerPath: String? = nil, name: String? = nil
    ) throws -> (replica: Replica?, report: ImportReport) {
        try ReplicaSetup().importDatabase(at: databasePath, from: path, containerPath: containerPath, name: name)
    }
}

extension ReplicaSetup {
    /// Makes a database from a file written by `exportSnapshot`.
    ///
    /// - Parameter containerPath: the folder of the file's container; the new database joins as a device of its own.
    ///   `nil`: the database belongs to no container, and Ferry leaves no trace in the database.
    /// - Throws: `invalidArgument` if a file is at `databasePath`, `containerMismatch` if the folder is a different
    ///   container; otherwise as `importSnapshot`.
    package func importDatabase(
        at databasePath: String, from path: String, containerPath: String? = nil, name: String? = nil
    ) throws -> (replica: Replica?, report: ImportReport) {
        let start = environment.clock.milliseconds()
        let archive = try SnapshotArchive(path: Replica.absolutePath(path))
        if FileManager.default.fileExists(atPath: databasePath) {
            throw FerryError(
                .invalidArgument, "There is a file at \(databasePath) already. Name one that is not there.",
                path: databasePath)
        }
        let container = try containerPath.map {
            try Container.open(
                at: Replica.absolutePath($0), expecting: ContainerPin(id: archive.container),
                fileSystem: environment.fileSystem,
                random: environment.random)
        }
        if let containerPath {
            try Replica.refuseDatabase(at: databasePath, inside: Replica.absolutePath(containerPath))
        }
        guard let schema = archive.manifest.schema?.record else {
            throw FerryError(.damagedFile, "The file says nothing of the tables that it has.", path: path)
        }
        _ = try DatabaseCreator.create(schema, at: databasePath)
        let store = try Store(path: databasePath, clock: environment.clock, random: environment.random)
        let identity = StoreIdentity(
            device: environment.random.makeID(), deviceName: try Replica.checkedName(name),
            container: archive.container,
            containerName: container?.name ?? "", containerPath: containerPath.map(Replica.absolutePath) ?? "")
        _ = try store.beginTracking(identity, Replica.selection(schema, store), rowsAreOld: true)
        let replica = try Replica(store, environment: environment)
        var report = try replica.merge(archive, container == nil ? .plain : .joined, start, progress)
        guard container != nil else {
            _ = try replica.leave()
            return (nil, report)
        }
        report.conflicts += try replica.sync(progress: progress).conflicts
        report.seconds = Double(environment.clock.milliseconds() - start) / 1000
        return (replica, report)
    }
}
