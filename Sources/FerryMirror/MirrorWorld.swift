import FerryCore
import FerryDocuments

/// A directory as a mirror uses it. Paths are below it, and no call leaves it or follows a link.
package protocol MirrorDisk {
    /// Bytes that can be read: a file's path, or the bytes of a test.
    associatedtype Source

    var rules: DiskRules { get }

    /// The text of the ignore file; `nil` without one.
    func ignoreText() throws -> String?

    /// Looks at everything that is not ignored, and at what lies aside in the mirror's own folder. Nothing is read.
    func scan(_ ignoring: IgnoreRules) throws -> DiskScan

    /// A file or a folder; `nil` for anything else, and without one.
    func item(at path: DiskPath) throws -> DiskItem?

    func source(at path: DiskPath) -> Source

    /// Whether a program has a file open for writing, as far as the system tells.
    func isOpenForWriting(_ path: DiskPath) throws -> Bool

    /// Why a file has to wait that cannot be read now, where that may last: a database that is in use. `nil` for any other file.
    func waitReason(_ path: DiskPath) throws -> String?

    /// - Returns: `false` where something has the name, or there is no folder around.
    func makeFolder(at path: DiskPath) throws -> Bool

    /// Removes a folder that has nothing, or only what systems litter.
    /// - Returns: `false` where it stays.
    func removeFolder(at path: DiskPath) throws -> Bool

    /// Renames a file or a folder, and never replaces anything. Names are durable after `synchronize`.
    /// - Returns: `false` where something has the new name, the old one is gone, or there is no folder around.
    func rename(_ path: DiskPath, to new: DiskPath) throws -> Bool

    /// Makes all names durable that were changed.
    func synchronize() throws

    /// Exchanges two files' names at once.
    /// - Returns: `nil` where the disk cannot, `false` where one of the two is gone.
    func exchange(_ one: DiskPath, with other: DiskPath) throws -> Bool?

    /// Removes a file in the mirror's own folder.
    func removeWork(_ name: String) throws

    /// The names in the mirror's own folder.
    func workNames() throws -> [String]

    /// Makes the bytes of files in the mirror's own folder durable.
    func synchronizeWork(_ names: [String]) throws

    /// Writes a file into the mirror's own folder, with the time and the mode of an item. What lies there goes.
    /// - Parameter old: the file in whose place it is to come; its rights are kept.
    func write(_ source: Source, toWork name: String, _ item: WantedItem, like old: DiskPath?) throws
}

/// The documents as a mirror uses them, and what the mirror knows of its directory.
package protocol MirrorBase {
    associatedtype Source

    /// In milliseconds since the Unix epoch.
    func nowMilliseconds() -> Int64

    func tree() throws -> MirrorTree
    func entries() throws -> [MirrorEntry]

    /// Stores files as contents, durably beside the database; nobody refers to them yet.
    /// - Returns: for each the content, or why it could not be read.
    func store(_ files: [Source]) throws -> [Result<ContentID, FerryError>]

    /// Runs a change in one transaction.
    func change<R>(_ body: (any MirrorRows) throws -> R) throws -> R

    /// The bytes of a content.
    func source(of content: ContentID) throws -> Result<Source, FerryError>
}

/// What a pass of a mirror did, and what it left.
///
/// Invariants:
/// - While `held` is not 0, nothing was done but to go on with files that were on their way.
/// - `left` has a line for each document that `missing` counts.
package struct MirrorReport: Sendable {
    /// Documents and versions that were made of files.
    package var taken = 0
    /// Files that were written or replaced, moved, and removed, here; moved and removed also counts documents.
    package var written = 0
    package var moved = 0
    package var removed = 0
    /// Files that are gone, and more than anybody may have meant. Not 0: nothing was done.
    package var held = 0
    /// Documents with copies of rivals.
    package var conflicts = 0
    /// What lies there and is no document, or is a document and does not lie there.
    package var left: [DiskScan.Left] = []
    /// Documents that are not written, because something stands in their place.
    package var blocked: [BlockedDocument] = []
    /// Files and folders of which no document is made, because their names are not UTF-8. `left` has them, too.
    package var unreadable: [String] = []
    /// Documents under another name than their own.
    package var renamed: [DiskScan.Left] = []
    /// Files that somebody writes, or that are gone for a moment: look again soon.
    package var waiting = 0
    /// Documents whose bytes are not on this device yet.
    package var missing = 0
    /// The folders of the directory, for who watches them.
    package var folders: [DiskPath] = []

    package init() {}

    /// True if documents changed, so that there is something to publish.
    package var hasNews: Bool { taken + written + moved + removed > 0 }

    /// Adds a pass that followed at once: what it did is added, what it left is what is left.
    package mutating func add(_ next: MirrorReport) {
        let sums = (taken + next.taken, written + next.written, moved + next.moved, removed + next.removed)
        self = next
        (taken, written, moved, removed) = sums
    }
}
