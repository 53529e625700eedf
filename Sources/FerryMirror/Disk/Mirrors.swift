import FerryContainer
import FerryCore
import FerryDocuments
import FerryEngine
import FerrySQL
import FerryStore
import Foundation

/// The directories kept in step with the documents of a database (Docs/Documents.md, "A plain folder").
package struct Mirrors: Sendable {
    package let replica: Replica

    package init(_ replica: Replica) { self.replica = replica }

    /// All mirrors of the database on this device.
    package func list() throws -> [MirrorRecord] {
        guard try replica.store.hasMirrorTables() else { return [] }
        return try replica.store.read { try MirrorTable($0).mirrors() }
    }

    /// The mirror in a directory.
    /// - Throws: `nothingFound`.
    package func mirror(in directory: String) throws -> MirrorRecord {
        let path = Self.resolved(directory)
        guard
            let found = try list().first(where: {
                equalBytes($0.directory, path) || equalBytes($0.directory, directory)
            })
        else {
            throw FerryError(
                .nothingFound,
                "No mirror of the database is in \(directory). `ferry documents DATABASE mirror` lists its mirrors.",
                path: directory)
        }
        return found
    }

    // MARK: Beginning and ending

    /// Makes a directory a mirror. The first pass brings the directory's files and the documents together.
    /// - Parameters:
    ///   - preference: the treatment of a file and a document with the same path and different bytes.
    ///   - adopting: true: also a directory with the marker of a foreign database, or of a copy of this database.
    /// - Throws: `invalidArgument` for an unfit directory, `mirrorMissing` for a foreign directory; `inputOutput`.
    @discardableResult
    package func add(
        _ directory: String, preferring preference: IntakeWriter.Preference = .both, adopting: Bool = false
    ) throws -> MirrorRecord {
        let identity = replica.identity
        let resolved = Self.resolved(directory)
        let known = try list().first { equalBytes($0.directory, resolved) || equalBytes($0.directory, directory) }
        let path = known?.directory ?? resolved
        try check(path)
        if known == nil || adopting { try make(directory) }
        let marker = MirrorMarker.read(path)
        if known != nil, marker == nil, !adopting { throw Self.unmarked(path) }
        let former = try former(marker, at: path)
        let isOwn = try marker.map { try $0.device == identity.device && !isOfOriginal($0) } ?? false
        if let marker, marker.mirror != known?.id || !isOwn, !adopting { throw Self.claimed(path, isOwn, former) }
        if let known, marker?.mirror == known.id, isOwn { return known }
        if known == nil, case .moved(let mirror)? = former, try hasMoved(mirror, to: path) {
            return try follow(mirror, to: path, preference)
        }
        try replica.store.makeMirrorTables()
        let record = MirrorRecord(id: replica.environment.random.makeID(), directory: path, preference: preference)
        // Rows first: a marker without a mirror would keep the directory from becoming one.
        try replica.store.write { connection in
            let table = MirrorTable(connection)
            if let known { try table.remove(known.id) }
            // The directory is a copy of that mirror, whose former place has nothing of it any more.
            if case .moved(let mirror)? = former { try table.remove(mirror.id) }
            try table.put(record)
        }
        do {
            try self.marker(of: record).write(path)
        } catch {
            try replica.store.write { connection in
                let table = MirrorTable(connection)
                try table.remove(record.id)
                if let known { try table.put(known) }
                if case .moved(let mirror)? = former { try table.put(mirror) }
            }
            throw error
        }
        return record
    }

    // MARK: Directories that moved

    /// A mirror of this database whose marker lies in another directory.
    private enum Former {
        /// The mirror's own directory has no such marker any more.
        case moved(MirrorRecord)
        /// The mirror's own directory has the marker, too.
        case copied(MirrorRecord)
    }

    private func former(_ marker: MirrorMarker?, at path: String) throws -> Former? {
        guard let marker, marker.device == replica.identity.device,
            let mirror = try list().first(where: { $0.id == marker.mirror && !equalBytes($0.directory, path) })
        else { return nil }
        return MirrorMarker.read(mirror.directory)?.mirror == mirror.id ? .copied(mirror) : .moved(mirror)
    }

    /// Why a directory with a marker becomes no mirror, and what to do.
    private static func claimed(_ path: String, _ isOwn: Bool, _ former: Former?) -> FerryError {
        let words =
            switch former {
            case .moved(let mirror):
                "The directory \(path) is this database's mirror \(mirror.directory), moved or copied here. Say --adopt: the mirror "
                    + "goes on here then, and is no more at the former place."
            case .copied(let mirror):
                "The directory \(path) is a copy of this database's mirror \(mirror.directory). Say --adopt to make it a mirror of its "
                    + "own."
            case nil where isOwn:
                "The directory \(path) was a mirror of this database before. Say --adopt to begin anew with its files."
            case nil:
                "The directory \(path) is a mirror of another database, or of a copy of this one. End the mirror there, or say --adopt."
            }
        return FerryError(.mirrorMissing, words, path: path)
    }

    /// True if a directory has things of a mirror themselves, and no copies of them: then all that is known of the mirror holds there.
    private func hasMoved(_ mirror: MirrorRecord, to path: String) throws -> Bool {
        let directory = try MirrorDirectory(root: path)
        let entries = try replica.store.read { try MirrorTable($0).entries(of: mirror.id) }
        return try entries.isEmpty
            || entries.contains { entry in
                try directory.item(at: entry.path)?.stamp.isSameThing(
                    as: entry.stamp, isFolder: entry.kind == .folder) ?? false
            }
    }

    private func follow(
        _ mirror: MirrorRecord, to path: String, _ preference: IntakeWriter.Preference
    ) throws -> MirrorRecord {
        var mirror = mirror
        (mirror.directory, mirror.preference) = (path, preference)
        (mirror.held, mirror.sinceMilliseconds, mirror.problem) = (0, nil, nil)
        try replica.store.write { [mirror] in try MirrorTable($0).put(mirror) }
        return mirror
    }

    /// Ends a mirror. The files and the documents stay.
    package func remove(_ mirror: MirrorRecord) throws {
        try replica.store.write { try MirrorTable($0).remove(mirror.id) }
        Self.removeMarker(of: mirror)
    }

    /// Takes the marker away, after the database left or forgot the mirror.
    package static func removeMarker(of mirror: MirrorRecord) {
        if MirrorMarker.read(mirror.directory)?.mirror == mirror.id { MirrorMarker.remove(mirror.directory) }
    }

    private func make(_ directory: String) throws {
        let path = URL(fileURLWithPath: directory).path
        switch try ArgumentFile(path).kind() {
        case .directory: break
        // A link that leads nowhere is something, too.
        case .missing where try PosixFileSystem().item(at: path) == .missing:
            try PosixFileSystem().createDirectory(at: path)
        case .missing, .regular, .pipe, .characters, .other:
            throw FerryError(.invalidArgument, "\(directory) is no directory. Name another one.", path: directory)
        }
    }

    /// The path with a slash at the end. The root of the disk has the slash already.
    private static func asFolder(_ path: String) -> String { path.hasSuffix("/") ? path : path + "/" }

    /// The path without links on the way.
    private static func resolved(_ directory: String) -> String {
        realPath(directory)
    }

    /// Refuses a directory around the database, or overlapping with the container, the secret keys or an existing mirror.
    private func check(_ path: String) throws {
        func overlaps(_ other: String) -> Bool {
            let (one, two) = (Self.asFolder(path), Self.asFolder(Self.resolved(other)))
            return one.hasPrefix(two) || two.hasPrefix(one)
        }
        let container = replica.identity.containerPath
        if container.hasPrefix("/"), overlaps(container) {
            throw FerryError(
                .invalidArgument,
                "The directory \(path) and the shared folder \(container) lie in each other. Choose another directory.",
                path: path)
        }
        if let contents = path.split(separator: "/").first(where: { DatabaseFiles.isContentDirectory(String($0)) }) {
            throw FerryError(
                .invalidArgument,
                "The directory \(path) lies in \(contents), where Ferry keeps the bytes of a database's documents. Choose another directory.",
                path: path)
        }
        if let keys = replica.environment.keys.place, overlaps(keys) {
            throw FerryError(
                .keyExposed,
                "The directory of the secret keys, \(keys), and \(path) lie in each other: the keys would become documents, on all "
                    + "devices. Choose a directory without them, or another place for the keys (FERRY_KEYS).",
                path: path)
        }
        let database = Self.resolved(replica.store.path)
        if database.hasPrefix(Self.asFolder(path)) {
            throw FerryError(
                .invalidArgument, "The database lies in \(path). A mirror must not have its own database in it.",
                path: path)
        }
        for other in try list() where !equalBytes(other.directory, path) && overlaps(other.directory) {
            throw FerryError(
                .invalidArgument, "The mirror \(other.directory) and \(path) lie in each other. End it first.",
                path: path)
        }
    }

    // MARK: Passes

    /// The treatment of held deletions.
    package enum HeldDeletions: Sendable {
        case ask
        /// The deletions are meant.
        case confirm
        /// The files come back.
        case bringBack
    }

    /// Brings a single mirror and the documents into step, once.
    /// - Returns: `nil` while a second process does so.
    /// - Throws: `mirrorMissing` for a missing, empty or foreign directory; `inputOutput`.
    package func pass(
        _ mirror: MirrorRecord, held: HeldDeletions = .ask, progress: ProgressHandler? = nil
    ) throws -> MirrorReport? {
        do {
            let report = try run(mirror, held, progress)
            if let report {
                try note(mirror, held: report.held, nil)
                if report.held == 0 { try note(mirror, MirrorStanding(report)) }
            }
            return report
        } catch let error as FerryError {
            // The thrown error tells more than an error about the note.
            try? note(mirror, held: mirror.held, error)
            throw error
        }
    }

    private func run(
        _ mirror: MirrorRecord, _ held: HeldDeletions, _ progress: ProgressHandler?
    ) throws -> MirrorReport? {
        let directory = try open(mirror)
        return try MirrorMarker.locked(mirror.directory) {
            let base = StoreMirrorBase(replica, mirror.id)
            if held == .bringBack { try bringBack(mirror, directory) }
            var pass = MirrorPass(directory, base)
            pass.preference = mirror.preference
            pass.progress = progress
            pass.isConfirmed = held == .confirm
            if !directory.tellsWriters { pass.quietMilliseconds = 2000 }
            return try pass.run()
        }
    }

    /// The marker by which a directory is this database's.
    private func marker(of mirror: MirrorRecord) -> MirrorMarker {
        let identity = replica.identity
        return MirrorMarker(
            mirror: mirror.id, container: identity.container, device: identity.device, place: replica.placeMark)
    }

    /// True for the marker of a former ID of this database that counts no more: this device got new keys, or was removed and let in again; or
    /// the database was restored in its place, where no other database can be. A copy of the database in use has a different ID and a
    /// different place.
    private func isFormer(_ marker: MirrorMarker, _ own: MirrorMarker) throws -> Bool {
        guard marker.device != own.device,
            try replica.store.reading().formerDevices.contains(where: { $0.device == marker.device })
        else { return false }
        if let place = own.place, marker.place == place { return true }
        return try replica.devicesThatAreOut().contains(marker.device)
    }

    /// True for the marker of the database of which this one is a copy. A copy has the database's ID until the copy's first sync.
    private func isOfOriginal(_ marker: MirrorMarker) throws -> Bool {
        try marker.place != replica.placeMark && replica.isCopied()
    }

    /// Opens the directory of a mirror.
    /// - Throws: `mirrorMissing` for a missing, empty or foreign directory; `inputOutput`.
    package func open(_ mirror: MirrorRecord) throws -> MirrorDirectory {
        let directory = try MirrorDirectory(root: mirror.directory)
        guard let marker = MirrorMarker.read(mirror.directory) else { throw Self.unmarked(mirror.directory) }
        let own = self.marker(of: mirror)
        if marker.mirror == mirror.id, try isFormer(marker, own) {
            try own.write(mirror.directory)
            return directory
        }
        let isOriginals = try isOfOriginal(marker)
        // The database was moved, or an earlier Ferry wrote the marker.
        if marker.mirror == mirror.id, marker.device == own.device, marker.place != own.place, !isOriginals {
            try own.write(mirror.directory)
        }
        guard marker.mirror == mirror.id, marker.device == replica.identity.device, !isOriginals else {
            throw FerryError(
                .mirrorMissing,
                "The directory \(mirror.directory) is the mirror of another database, or of a copy of this one. The mirror rests. "
                    + "End it there, take the directory over (`ferry documents DATABASE mirror \(mirror.directory) --adopt`), or end the mirror of this "
                    + "database: `--stop`.",
                path: mirror.directory)
        }
        return directory
    }

    private static func unmarked(_ path: String) -> FerryError {
        if MirrorMarker.isClosed(path) {
            return FerryError(
                .inputOutput,
                "Ferry may not read the marker in \(path)/.ferry-mirror. Nothing was deleted, and the mirror rests. Give Ferry's account "
                    + "the right to read it; the next pass goes on then.", path: path)
        }
        return FerryError(
            .mirrorMissing,
            "The directory \(path) is not there, or has no marker. Its disk may not be mounted, or it was emptied. "
                + "Nothing was deleted, and the mirror rests. `ferry documents DATABASE mirror \(path) --adopt` begins anew, `--stop` ends "
                + "the mirror.",
            path: path)
    }

    /// Forgets the missing files. The next pass writes the files again.
    private func bringBack(_ mirror: MirrorRecord, _ directory: MirrorDirectory) throws {
        try replica.store.write { connection in
            let table = MirrorTable(connection)
            for entry in try table.entries(of: mirror.id) where try directory.isGone(entry.path) {
                try table.removeEntry(of: entry.key, mirror.id)
            }
        }
    }

    private func note(_ mirror: MirrorRecord, held: Int, _ problem: FerryError?) throws {
        guard var present = try list().first(where: { $0.id == mirror.id }) else { return }
        let problem = problem.map(FailureNote.init)
        if present.held == held, present.problem == problem { return }
        let isOver = held == 0 && problem == nil
        if present.held == 0 || isOver {
            present.sinceMilliseconds = isOver ? nil : replica.environment.clock.milliseconds()
        }
        (present.held, present.problem) = (held, problem)
        try replica.store.write { [present] in try MirrorTable($0).put(present) }
    }

    private func note(_ mirror: MirrorRecord, _ standing: MirrorStanding) throws {
        guard let present = try list().first(where: { $0.id == mirror.id }), present.standing != standing else {
            return
        }
        if try !replica.store.hasMirrorStandings() { try replica.store.makeMirrorTables() }
        try replica.store.write { try MirrorTable($0).put(standing, of: mirror.id) }
    }

    /// How long `settle` goes on, in milliseconds.
    package static let settleMilliseconds = 6000
    /// How long `settle` waits between two passes, in milliseconds.
    private static let pauseMilliseconds = 250

    /// Makes passes until nothing waits: files were quiet, and missing files were missing for long enough. Files open in programs for
    /// longer are left.
    /// - Returns: all passes together; `nil` while a second process works in the directory.
    package func settle(
        _ mirror: MirrorRecord, held: HeldDeletions = .ask, progress: ProgressHandler? = nil
    ) throws -> MirrorReport? {
        guard var report = try pass(mirror, held: held, progress: progress) else { return nil }
        let watcher = ChangeWatcher()
        let start = watcher.now
        while report.waiting > 0, start.duration(to: watcher.now) < .milliseconds(Self.settleMilliseconds) {
            _ = watcher.wait(timeoutMilliseconds: Self.pauseMilliseconds)
            guard let next = try pass(mirror, held: held == .confirm ? .confirm : .ask, progress: progress)
            else { break }
            report.add(next)
        }
        return report
    }
}
