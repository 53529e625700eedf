import FerryContainer
import FerryContent
import FerryCore
import FerryLog
import FerryMembers
import FerrySchema
import FerryStore
import Foundation

/// The result of `exportSnapshot`.
package struct ExportReport: Codable, Equatable, Sendable {
    package var path: String
    package var bytes: Int
    /// Number of living objects of the app's tables, hidden objects included, as in `status`. The file also has Ferry's
    /// knowledge of deleted objects.
    package var objects: Int
    package var tableCount: Int
    /// The container of the snapshot.
    package var container: StatusReport.DeviceName
    /// True where the members of a sealed container alone can read the file; `nil`: everybody can.
    package var sealed: Bool?
    /// Documents and attachments above 4 kB with bytes in the file, and their bytes; `nil` without any.
    package var contents: Int?
    package var contentBytes: Int?
    package var durationMilliseconds: Int64
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
    /// Number of remote changesets in the file that were new to the database.
    package var changesets: Int
    package var conflicts: Int
    package var tables: [StatusReport.Table]
    /// Documents and attachments with bytes taken from the file, and their bytes; `nil` without any.
    package var contents: Int?
    package var contentBytes: Int?
    package var durationMilliseconds: Int64

    /// Notes the taken contents.
    mutating func note(_ taken: (contents: Int, bytes: Int)) {
        if taken.contents > 0 { (contents, contentBytes) = (taken.contents, taken.bytes) }
    }
}

extension Replica {
    /// Writes the whole state as a single file, for a USB stick or a backup. Replaces a present file of this name. The
    /// file of a sealed container is sealed: only members and holders of the recovery code can read the file.
    ///
    /// Syncs first, if the container is present. Any device of the container can import the file, and so can a new
    /// device.
    /// - Parameters:
    ///   - isOpen: true: the file is not sealed, even for a sealed container. Anybody with the file can read it. The
    ///     bytes of a sealed container's documents stay out of such a file.
    ///   - hasDocuments: whether the bytes of documents and attachments come along.
    /// - Throws:
    ///   - `contentNotHere` where such bytes are not to be had now;
    ///   - `busy` if the container is away and changes wait to be published: no device could ever get these changes
    ///     from this file;
    ///   - `fileNotThereYet` while the key for new files has not arrived, `keyMissing`, `notMember`;
    ///   - `invalidArgument` for a path in the container's folder, or of a file that is no export; `inputOutput`.
    package func exportSnapshot(
        to path: String, isOpen: Bool = false, hasDocuments: Bool = true, progress: ProgressHandler? = nil
    ) throws -> ExportReport {
        let start = environment.clock.milliseconds()
        let file = Self.absolutePath(path)
        try checkPlace(ofFile: file)
        guard !file.hasPrefix(identity.containerPath + "/") else {
            throw FerryError(
                .invalidArgument, "The file would lie inside the container's folder. Choose another place.", path: file)
        }
        do {
            let held = try syncBefore(progress).held
            if let held, !isOpen { throw FerryError(.fileNotThereYet, held, path: file) }
        } catch let error as FerryError
            where Self.isOfTheContainer(error.code)
        {
            if try store.unpublishedCount() == 0 { return try archive(file, isOpen, hasDocuments, start) }
            throw FerryError(
                .busy,
                "Changes wait to be published, and a snapshot would tell others of what they cannot read. Sync first; where "
                    + "the folder is lost, copy the database itself (`sqlite3 \(store.path) \".backup copy.sqlite\"`).",
                path: file, cause: error)
        }
        return try archive(file, isOpen, hasDocuments, start)
    }

    /// Refuses a place where no file can be, and one with a file that Ferry did not write, before anything is done. So a mistyped name
    /// never costs a database, or anything else.
    private func checkPlace(ofFile path: String) throws {
        let files = PosixFileSystem()
        if try files.item(at: path) == .directory {
            let name = ((store.path as NSString).lastPathComponent as NSString).deletingPathExtension + ".ferry"
            throw FerryError(
                .invalidArgument,
                "\(path) is a folder. Name the file to write, as in \((path as NSString).appendingPathComponent(name)).",
                path: path)
        }
        if try isOfTheDatabase(path) || !ArchiveFile.mayReplace(path, files) {
            throw FerryError(
                .invalidArgument,
                "There is a file at \(path) that is no export, and it stays as it is. Name another file.", path: path)
        }
        let folder = (path as NSString).deletingLastPathComponent
        guard try files.item(at: folder) == .missing else { return }
        throw FerryError(
            .inputOutput, "There is no folder \(folder) to write into. Make the folder, or mount its disk.",
            path: folder)
    }

    /// True for the database, and for the names under which SQLite and Ferry keep files beside the database.
    private func isOfTheDatabase(_ path: String) -> Bool {
        let database = Self.absolutePath(store.path)
        guard path.hasPrefix(database) else { return false }
        let suffix = path.dropFirst(database.count)
        return ["", "-wal", "-shm", "-journal"].contains(suffix) || suffix.hasPrefix("-ferry")
    }

    private func archive(
        _ path: String, _ isOpen: Bool, _ hasDocuments: Bool, _ start: Int64
    ) throws -> ExportReport {
        try lock.withLock {
            try refreshIdentity()
            let tables = try store.status().tables
            let sealing = try isOpen ? nil : archiveSealing()
            let isWithPacks =
                try hasDocuments && (sealing != nil) == (identity.genesis != nil) && store.hasDocumentTables()
            let writer = try SnapshotArchiveWriter(
                path: path, container: identity.container, sealing: sealing, hasPacks: isWithPacks,
                random: environment.random)
            let manifest = try store.readSnapshot { chunk in
                let parts = WrittenParts()
                let append: PartOutput.Sink = { part, file in
                    if parts.note(part.checksum, file.count) { try writer.append(file, .part, checksum: part.checksum) }
                }
                let (bytes, checksum) = try PartOutput.keeping(environment.largeValues, in: append) {
                    try SnapshotChunkEncoder.encode(chunk, container: identity.container, parts: $0)
                }
                try writer.append(bytes, .chunk, checksum: checksum)
                return .init(checksum: checksum, bytes: bytes.count, objects: chunk.objects.count, parts: parts.all)
            }
            let taken: (contents: Int, bytes: Int) = isWithPacks ? try appendPacks(to: writer) : (0, 0)
            let bytes = try writer.finish(manifest: SnapshotManifestEncoder.encode(manifest).bytes)
            return ExportReport(
                path: path, bytes: bytes, objects: tables.reduce(0) { $0 + $1.objects }, tableCount: tables.count,
                container: .init(id: identity.container.description, name: identity.containerName),
                sealed: sealing == nil ? nil : true, contents: taken.contents == 0 ? nil : taken.contents,
                contentBytes: taken.contents == 0 ? nil : taken.bytes,
                durationMilliseconds: environment.clock.milliseconds() - start)
        }
    }

    /// Appends the packs of documents and attachments.
    private func appendPacks(to writer: SnapshotArchiveWriter) throws -> (contents: Int, bytes: Int) {
        let container: Container
        do {
            container = try openContainer()
        } catch let error as FerryError where Self.isOfTheContainer(error.code) {
            return try appendPacksAtHand(to: writer, without: error)
        }
        let choice = try packsForArchive(container)
        for pack in choice.packs { try writer.append(bytes(of: pack, container), pack.id, of: pack.device) }
        return (choice.contents, choice.bytes)
    }

    /// Appends packs made of the bytes on this device, while the container is away. The packs get no rows: nobody waits for them.
    /// - Throws: `contentNotHere` where bytes are not on this device.
    private func appendPacksAtHand(
        to writer: SnapshotArchiveWriter, without failure: FerryError
    ) throws -> (contents: Int, bytes: Int) {
        try store.updateChunkIndex()
        let keys = try contentKeys()
        let source = try ChunkSource(self) { throw failure }
        let present = Set(try shelf.pendingPacks())
        var maker = try PackMaker(self, keys)
        var (contents, bytes) = (0, 0)
        func append(_ packs: [PackRow]) throws {
            // A pack that cannot be removed now has no row, and the removal of packs without rows removes it later.
            defer { for pack in packs where !present.contains(pack.id) { try? shelf.removePending(pack.id) } }
            for pack in packs {
                guard let file = try shelf.openPending(pack.id) else { continue }
                try writer.append(file.read(0..<pack.byteCount), pack.id, of: pack.device)
            }
        }
        for item in try store.wantedContents(maximumBytes: nil, includingWhole: true) where !item.isInRow {
            guard let row = try store.readContents({ rows, _ in try rows.soundContent(item.content) }) else { continue }
            let atHand = ContentAtHand(self, row, try keys.key(row.epoch))
            var offset = 0
            for chunk in row.list.chunks {
                try maker.add(
                    atHand.chunk(chunk, at: offset) ?? pendingChunk(chunk, row, source, failure), as: chunk.id)
                offset += chunk.count
            }
            try append(maker.takeFinished())
            (contents, bytes) = (contents + 1, bytes + row.byteCount)
        }
        try append(maker.finish())
        return (contents, bytes)
    }

    /// A chunk of a pack that waits beside the database.
    private func pendingChunk(
        _ chunk: ContentList.Chunk, _ row: ContentRow, _ source: ChunkSource, _ failure: FerryError
    ) throws -> [UInt8] {
        do {
            return try source.chunk(chunk.id, row.epoch)
        } catch let error as FerryError {
            let names = try store.readContents { rows, _ in try rows.documentNames(of: row.id) }
            throw FerryError(
                .contentNotHere,
                "The folder is away, and bytes of \(names.first.map { "“\($0)”" } ?? "an attachment") lie there alone. Export again once "
                    + "it is there, or leave all bytes of documents out.", path: failure.path, cause: error)
        }
    }

    /// The sealing for a file of a sealed container: members can open the file, and the enclosed records name the
    /// members. `nil` for an open container.
    private func archiveSealing() throws -> SnapshotArchiveWriter.Sealing? {
        guard let membership = try membership() else { return nil }
        try checkMember(membership)
        let seal = membership.seal()
        return SnapshotArchiveWriter.Sealing(
            seal: seal, device: membership.device, epoch: try seal.sealingEpoch(),
            records: membership.graph.hashes(after: 0).compactMap { membership.records[$0]?.bytes })
    }

    /// Merges a file written by `exportSnapshot` on any device of the same container. An old file undoes no later
    /// change: the file merges as the knowledge of its devices at the time. The records in the file of a sealed
    /// container are taken first, so the file is readable even after new epochs since the last sync.
    /// - Throws: `containerMismatch` for a file of a different container or membership, `damagedFile`, `formatTooNew`,
    ///   `inputOutput`; `notSealed` for an open file of a sealed container; `foreignFile` for a file of a device
    ///   without membership. `keyMissing` for a file sealed before this device's admission, `notMember` for a file that
    ///   shows this device as out. `olderState` if the database is from a backup, or has a copy, and the folder is not there.
    package func importSnapshot(from path: String, progress: ProgressHandler? = nil) throws -> ImportReport {
        let start = environment.clock.milliseconds()
        let file = try ArchiveFile(path: Self.absolutePath(path))
        guard file.container == identity.container else {
            throw FerryError(
                .containerMismatch,
                "The file is of another container than the one that the database belongs to. Import it into a new database.",
                path: path)
        }
        if try knowsOtherChangesOfThisDevice(file) {
            // The database is from a backup, or has a copy: with the folder at hand, the database gets a new ID.
            do {
                _ = try syncBefore(progress)
                if try knowsOtherChangesOfThisDevice(file) { try becomeNewDevice() }
            } catch let error as FerryError where Self.isOfTheContainer(error.code) {
                throw Self.restoredDatabase(path, cause: error)
            }
        }
        return try lock.withLock {
            try refreshIdentity()
            let archive = try open(file)
            var report = try merge(archive, .merged, start, progress)
            report.note(try takeLackingContents(archive))
            return report
        }
    }

    /// Syncs as part of another command. The next sync reports a new ID.
    private func syncBefore(_ progress: ProgressHandler?) throws -> SyncReport {
        let report = try sync(progress: progress)
        if let renewed = report.renewed { unreported = renewed }
        return report
    }

    /// True if a file has changes of this device that this database did not write: the database is older than the file, or a copy of the
    /// database wrote the file.
    private func knowsOtherChangesOfThisDevice(_ file: ArchiveFile) throws -> Bool {
        try lock.withLock {
            try refreshIdentity()
            guard let told = try open(file).manifest.positions[identity.device]?.log else { return false }
            let end = try store.versionVector()[identity.device]
            if told.sequence >= end.sequence || told.time > end.time { return told != end }
            return try timeOfOwnChangeset(told.sequence).map { $0 != told.time } ?? false
        }
    }

    /// The time of a changeset that this database wrote; `nil` if unknown, as inside of a rolled-up segment.
    private func timeOfOwnChangeset(_ sequence: UInt64) throws -> HybridTime? {
        let segments = try store.ownSegments() + store.removedSegments()
        if let segment = segments.first(where: { $0.last == sequence }) { return segment.time }
        var last: UInt64 = 0
        while let entry = try store.outboxEntry(after: last) {
            last = entry.first
            if !entry.numbers.contains(sequence) { continue }
            let (_, changesets) = try SegmentDecoder.decode(
                entry.bytes, container: identity.container, device: identity.device, parts: store.partSource(of: entry))
            return changesets.first { $0.sequence == sequence }?.time
        }
        return nil
    }

    /// Gives the database a new ID, where only a file shows the changes of a copy. Nothing tells where the copies part, so everything
    /// that this database wrote is sent again.
    private func becomeNewDevice() throws {
        try lock.withLock {
            try refreshIdentity()
            unreported = try becomeNewDevice(.restored, openContainer(), setBack: LogPosition.none)
        }
    }

    private static func restoredDatabase(_ path: String, cause: FerryError? = nil) -> FerryError {
        FerryError(
            .olderState,
            "The file has changes of this device that the database lacks: the database is from a backup, or has a copy. Nothing was "
                + "changed. Bring the folder back and run `ferry sync` first. Without the folder import the file into a new database.",
            path: path, cause: cause)
    }

    /// Opens a file for this database, with the file's own records of the members.
    private func open(_ file: ArchiveFile) throws -> SnapshotArchive {
        guard identity.genesis != nil else {
            if !file.isSealed { return try SnapshotArchive(file) }
            throw FerryError(
                .keyMissing,
                "The file is sealed, and this database has no key: its container was sealed since. `ferry enrol` lets it in.",
                path: file.path)
        }
        guard file.isSealed else { throw file.notSealed }
        var membership = try requiredMembership()
        let records = try file.readRecords()
        guard records[0].hash == membership.genesis else { throw file.isOfAnotherMembership }
        // The records wait to be published, because this folder may lack them. Nothing is sealed under an epoch before
        // further devices can find the record with the epoch's making.
        try take(records, arePublished: false, &membership)
        try checkMember(membership)
        return try SnapshotArchive(file, seal: membership.seal())
    }

    func merge(
        _ archive: SnapshotArchive, _ outcome: ImportReport.Outcome, _ start: Int64, _ progress: ProgressHandler?
    ) throws -> ImportReport {
        let reading = try store.reading()
        let others = archive.manifest.positions.filter { $0.key != identity.device }
        var changesets = 0
        for (device, told) in others {
            let here = DeviceTable.LogEnd(position: reading.vector[device], checksum: reading.checksums[device])
            let there = DeviceTable.LogEnd(position: told.log, checksum: told.checksum)
            let isBranch = here.contradicts(there)
            // Nothing goes because another branch lacks the row.
            if isBranch { try store.recordForkedLog(device) }
            let isAhead = told.log.sequence > here.position.sequence
            // Nothing tells where another branch parts: its last changeset at least is news.
            changesets += isAhead ? Int(told.log.sequence - here.position.sequence) : isBranch ? 1 : 0
        }
        var (replayed, conflicts) = (0, 0)
        let loader = SnapshotImporter(archive, store: store, encode: segmentEncoding(for: identity))
        // No device has this ID, so no sync mistakes the archive for a snapshot in the container.
        if changesets > 0 {
            try loader.load(archive.manifest, checksum: archive.checksum, of: DeviceID(high: 0, low: 0)) { pass in
                replayed += pass.replayed
                conflicts += pass.conflicts
                progress?(
                    SyncProgress(phase: .replaying, completed: replayed, total: archive.manifest.objects))
            }
        }
        return ImportReport(
            path: store.path, outcome: outcome, changesets: changesets, conflicts: conflicts,
            tables: try store.status().tables.map { .init($0) },
            durationMilliseconds: environment.clock.milliseconds() - start)
    }

    /// Makes a database from a file; as `ReplicaSetup.importDatabase`.
    package static func importDatabase(
        at databasePath: String, from path: String, containerPath: String? = nil, name: String? = nil,
        documents: ReplicaSetup.ImportedDocuments = .refused
    ) throws -> (replica: Replica?, report: ImportReport) {
        var setup = ReplicaSetup()
        setup.importedDocuments = documents
        return try setup.importDatabase(at: databasePath, from: path, containerPath: containerPath, name: name)
    }
}

extension ArchiveFile {
    /// The failure where an open file meets a sealed container.
    var notSealed: FerryError {
        FerryError(
            .notSealed,
            "The file is not sealed, and the container is: anybody could have written it. Nothing of it is used. Export again without "
                + "--open; a new database without a container can be made of the file.", path: path)
    }

    var isOfAnotherMembership: FerryError {
        FerryError(
            .containerMismatch,
            "The file is of another membership of the container, which was founded anew. Export again on a member.",
            path: path)
    }
}
