import FerryCore
import FerryDocuments

/// A directory for a mirror. Paths are below the directory, and no call leaves the directory or follows a link.
package protocol MirrorDisk {
    /// Readable bytes: a file's path, or the bytes of a test.
    associatedtype Source

    var rules: DiskRules { get }

    /// The text of the ignore file; `nil` without one.
    func ignoreText() throws -> String?

    /// Looks at everything but ignored files, and at items aside in the mirror's own folder. Nothing is read.
    func scan(_ ignoring: IgnoreRules) throws -> DiskScan

    /// A file or a folder; `nil` for anything else, and where nothing is there.
    func item(at path: DiskPath) throws -> DiskItem?

    func source(at path: DiskPath) -> Source

    /// Whether a program has a file open for writing, as far as the system tells.
    func isOpenForWriting(_ path: DiskPath) throws -> Bool

    /// Why an unreadable file has to wait, where the wait may last: a database in use. `nil` for any other file.
    func waitReason(_ path: DiskPath) throws -> String?

    /// - Returns: `false` where something has the name, or there is no folder around.
    func makeFolder(at path: DiskPath) throws -> Bool

    /// Removes a folder without files, or with litter of systems alone.
    /// - Returns: `false` where the folder stays.
    func removeFolder(at path: DiskPath) throws -> Bool

    /// Renames a file or a folder, and never replaces anything. Names are durable after `synchronize`.
    /// - Returns: `false` where something has the new name, the file or folder is gone, or there is no folder around.
    func rename(_ path: DiskPath, to new: DiskPath) throws -> Bool

    /// Makes all changed names durable.
    func synchronize() throws

    /// Exchanges two files' names at once.
    /// - Returns: `nil` where the disk cannot exchange names, `false` where a file is gone.
    func exchange(_ one: DiskPath, with other: DiskPath) throws -> Bool?

    /// Removes a file in the mirror's own folder.
    func removeWork(_ name: String) throws

    /// The names in the mirror's own folder.
    func workNames() throws -> [String]

    /// Makes the bytes of files in the mirror's own folder durable.
    func synchronizeWork(_ names: [String]) throws

    /// Writes a file into the mirror's own folder, with the time and the mode of an item. A file of the same name there goes.
    /// - Parameter old: the file to be replaced, or the document's own file for a copy; the new file gets the old file's rights.
    func write(_ source: Source, toWork name: String, _ item: WantedItem, like old: DiskPath?) throws
}

/// The documents for a mirror, and the mirror's knowledge of the directory.
package protocol MirrorBase {
    associatedtype Source

    /// In milliseconds since the Unix epoch.
    func nowMilliseconds() -> Int64

    func tree() throws -> MirrorTree
    func entries() throws -> [MirrorEntry]

    /// Stores files as contents, durably beside the database; nobody refers to them yet.
    /// - Returns: for each file the content, or why reading failed.
    func store(_ files: [Source]) throws -> [Result<ContentID, FerryError>]

    /// Runs a change in one transaction.
    func change<R>(_ body: (any MirrorRows) throws -> R) throws -> R

    /// The bytes of a content.
    func source(of content: ContentID) throws -> Result<Source, FerryError>
}

/// The work of a mirror's pass, and the things left.
///
/// Invariants:
/// - While `held` is not 0, the pass only went on with files on their way.
/// - `left` has a line for each document in `missing`.
package struct MirrorReport: Sendable {
    /// Documents and versions made of files.
    package var taken = 0
    /// Files written or replaced, moved, and removed, here; moved and removed also count documents.
    package var written = 0
    package var moved = 0
    package var removed = 0
    /// Missing files, more than anybody may have meant to delete. Not 0: nothing was done.
    package var held = 0
    /// Documents with copies of rivals.
    package var conflicts = 0
    /// Things there without a document, and documents without a place there.
    package var left: [DiskScan.Left] = []
    /// Documents not written, because something stands in their place.
    package var blocked: [BlockedDocument] = []
    /// Files, folders and documents that cannot be brought into step before somebody helps. `left` has them, too.
    package var stuck: [StuckItem] = []
    /// Documents under a name unlike their own.
    package var renamed: [DiskScan.Left] = []
    /// Files with a writer, or missing for a moment: look again soon.
    package var waiting = 0
    /// Documents whose bytes are not on this device yet.
    package var missing = 0
    /// The folders of the directory, for the watch.
    package var folders: [DiskPath] = []

    package init() {}

    /// True if the pass changed documents or files: there may be something to publish.
    package var hasNews: Bool { taken + written + moved + removed > 0 }

    /// Notes something that cannot be brought into step.
    mutating func keep(_ item: StuckItem) {
        if stuck.contains(item) { return }
        stuck.append(item)
        left.append(DiskScan.Left(path: item.path, reason: item.reason.words))
    }

    /// Adds a pass that followed at once: the work is added, and the things left are the later pass's.
    package mutating func add(_ next: MirrorReport) {
        let sums = (taken + next.taken, written + next.written, moved + next.moved, removed + next.removed)
        self = next
        (taken, written, moved, removed) = sums
    }
}
