import FerryContainer
import FerryCore

/// The directory beside a database for bytes of contents on this device: `<database>-ferry-content`.
///
///     pending/<checksum>.pack     packs outside the container so far
///     whole/<xx>/<id>             contents for readers, read-only; <xx> is the beginning of the ID
///     partial/<id>                contents in the middle of fetching
///
/// Invariants:
/// - A file in `pending` or `whole` has a single content for ever: the file was durable before the file got the name.
/// - The shelf removes only files named by a caller, and temporary files without a writer.
/// - All but `pending` can be made again.
package final class ContentShelf: Sendable {
    /// The prefix of files still being written.
    static let temporaryPrefix = ".ferry-tmp-"
    /// A directory with more names is not listed.
    private static let maximumEntries = 1_000_000

    package let root: String
    package let fileSystem: any FileSystem
    private let random: any RandomSource
    private let state = Locked(State())

    private struct State {
        /// Directories made or found before, with durable names.
        var prepared: Set<String> = []
        /// Names of the temporary files in the middle of writing.
        var inFlight: Set<String> = []
    }

    /// Uses the directory beside a database, present or not. Nothing is made before something is kept.
    package convenience init(
        besideDatabase path: String, fileSystem: any FileSystem = PosixFileSystem(),
        random: any RandomSource = SystemRandom()
    ) {
        self.init(at: DatabaseFiles(of: path).path(.content), fileSystem: fileSystem, random: random)
    }

    /// Uses a directory, present or not.
    package init(at root: String, fileSystem: any FileSystem, random: any RandomSource) {
        self.root = root
        self.fileSystem = fileSystem
        self.random = random
    }

    // MARK: Packs

    /// Begins a pack. Nobody sees it before it is finished.
    package func beginPack(_ writer: PackWriter) throws -> PendingPack {
        try prepare("pending")
        return try PendingPack(writer, on: self)
    }

    /// The packs not yet in the container, as far as this device knows; in ascending order.
    package func pendingPacks() throws -> [PackID] {
        try names(in: "pending").compactMap { PackName($0)?.id }.sorted()
    }

    /// The path of a pack, for moving the pack into the container.
    package func path(ofPending id: PackID) -> String { path("pending/" + PackName(id).fileName) }

    /// Opens a pack for reading; `nil` without the pack here.
    package func openPending(_ id: PackID) throws -> (any ReadableFile)? {
        try fileSystem.openFile(at: path(ofPending: id))
    }

    /// Takes a pack from another shelf on the same disk.
    package func adopt(_ id: PackID, from other: ContentShelf) throws {
        try prepare("pending")
        try fileSystem.rename(other.path(ofPending: id), to: path(ofPending: id))
        try fileSystem.synchronizeDirectory(at: path("pending"))
    }

    /// Removes a pack after the container has the pack durably, or a pack without a row.
    package func removePending(_ id: PackID) throws {
        try fileSystem.removeFile(at: path(ofPending: id))
    }

    // MARK: Whole contents

    /// Where a whole content is.
    /// - Parameter byteCount: the length of the content. A file with a different length does not count.
    /// - Returns: `nil` without the content here.
    package func path(ofWhole id: ContentID, byteCount: Int) throws -> String? {
        let path = path(Self.wholeName(id))
        return try fileSystem.item(at: path) == .file(size: byteCount) ? path : nil
    }

    /// The path of a damaged content's file, for people.
    package func path(ofDamaged id: ContentID) -> String { path(Self.wholeName(id)) }

    /// Opens a whole content for reading; as `path(ofWhole:byteCount:)`.
    package func openWhole(_ id: ContentID, byteCount: Int) throws -> (any ReadableFile)? {
        guard let file = try fileSystem.openFile(at: path(Self.wholeName(id))), try file.byteCount() == byteCount else {
            return nil
        }
        return file
    }

    /// The whole contents here with their lengths, in no order.
    package func wholeContents() throws -> [(id: ContentID, byteCount: Int)] {
        try names(in: "whole").flatMap { folder in
            try names(in: "whole/" + folder).compactMap { name -> (id: ContentID, byteCount: Int)? in
                guard let id = ContentID(name), Self.wholeName(id) == "whole/\(folder)/\(name)",
                    case .file(let count) = try fileSystem.item(at: path(Self.wholeName(id)))
                else { return nil }
                return (id, count)
            }
        }
    }

    /// Removes a whole content. Readers with the file open keep reading.
    /// - Returns: true if the content was here.
    @discardableResult
    package func evict(_ id: ContentID) throws -> Bool {
        let path = path(Self.wholeName(id))
        return try HeldContent.unlessHeld(path) { try fileSystem.removeFile(at: path) }
    }

    // MARK: Contents in the middle of fetching

    /// Begins or continues a content. Verified chunks of an earlier attempt count.
    /// - Parameters:
    ///   - body: the content's list.
    ///   - key: `nil` for a content that stands in its row, where the key is not here: nobody can prove the content then.
    ///   - leaving: how many bytes must stay free on the disk.
    /// - Throws: `limitExceeded` where the disk has no room, `inputOutput`.
    package func beginPartial(
        _ id: ContentID, _ body: ContentList.Body, _ key: ContentKey?, leaving: Int = 0
    ) throws -> PartialContent {
        try prepare("partial")
        return try PartialContent(id, body, key, on: self, leaving: leaving)
    }

    /// The contents with some of their chunks here.
    package func partialContents() throws -> [ContentID] {
        try names(in: "partial").compactMap { name in ContentID(name).flatMap { $0.hex == name ? $0 : nil } }
    }

    /// Removes the chunks of a partial content after nobody wants the content any more.
    package func discardPartial(_ id: ContentID) throws {
        try fileSystem.removeFile(at: path(Self.partialName(id)))
    }

    // MARK: Upkeep

    /// Whether anything was ever kept here.
    package func isThere() throws -> Bool { try fileSystem.item(at: root) == .directory }

    /// Removes everything, for a database on leaving the container.
    package func removeAll() throws {
        for folder in try names(in: "whole") {
            for name in try names(in: "whole/" + folder) {
                try fileSystem.removeFile(at: path("whole/\(folder)/\(name)"))
            }
            try fileSystem.removeEmptyDirectory(at: path("whole/" + folder))
        }
        for directory in ["pending", "partial"] {
            for name in try names(in: directory) { try fileSystem.removeFile(at: path(directory + "/" + name)) }
        }
        for directory in ["whole", "pending", "partial"] { try fileSystem.removeEmptyDirectory(at: path(directory)) }
        try fileSystem.removeEmptyDirectory(at: root)
        state.withLock { $0.prepared = [] }
    }

    /// Files of `pending` that are no packs, and without a writer in this process. Other processes left them, or are
    /// writing them.
    package func temporaryFiles() throws -> [String] {
        try names(in: "pending").filter { name in
            PackName(name) == nil && !state.withLock { $0.inFlight.contains(name) }
        }
    }

    /// Removes a file from the list of `temporaryFiles`.
    package func removeTemporaryFile(_ name: String) throws { try fileSystem.removeFile(at: path("pending/" + name)) }

    /// Removes temporary files without a writer. One process at a time writes to the shelf.
    package func removeLeftovers() throws {
        for name in try names(in: "pending") where name.hasPrefix(Self.temporaryPrefix) {
            if state.withLock({ $0.inFlight.contains(name) }) { continue }
            try fileSystem.removeFile(at: path("pending/" + name))
        }
    }

    // MARK: Names

    static func partialName(_ id: ContentID) -> String { "partial/" + id.hex }

    static func wholeName(_ id: ContentID) -> String { "whole/\(id.hex.prefix(2))/\(id.hex)" }

    static func directory(of name: String) -> String { name.lastIndex(of: "/").map { String(name[..<$0]) } ?? "" }

    func path(_ name: String) -> String { root + "/" + name }

    private func names(in directory: String) throws -> [String] {
        try fileSystem.entryNames(ofDirectoryAt: path(directory), maximumCount: Self.maximumEntries) ?? []
    }

    /// Makes directories, each durably before the next.
    func prepare(_ directory: String) throws {
        if state.withLock({ $0.prepared.contains(directory) }), try fileSystem.item(at: path(directory)) == .directory {
            return
        }
        let beside = root.lastIndex(of: "/").map { String(root[...$0]) } ?? "./"
        try fileSystem.createDirectory(at: root)
        try fileSystem.synchronizeDirectory(at: beside)
        var parent = root
        for name in directory.split(separator: "/") {
            try fileSystem.createDirectory(at: parent + "/" + name)
            try fileSystem.synchronizeDirectory(at: parent)
            parent += "/" + name
        }
        state.withLock { _ = $0.prepared.insert(directory) }
    }

    /// Makes the directories of whole contents, all durable together. Lost directories can be made again.
    func prepare(forWhole directories: [String]) throws {
        let missing = try directories.filter { try fileSystem.item(at: path($0)) != .directory }
        if missing.isEmpty { return }
        try prepare("whole")
        for directory in missing { try fileSystem.createDirectory(at: path(directory)) }
        try fileSystem.synchronizeDirectory(at: path("whole"))
    }

    /// Makes a temporary file. `removeLeftovers` leaves the file alone until `forget`.
    func createTemporary(in directory: String) throws -> (name: String, file: any WritableFile) {
        let name = Self.temporaryPrefix + hexString(withUnsafeBytes(of: random.next().bigEndian, Array.init))
        state.withLock { _ = $0.inFlight.insert(name) }
        do {
            return (name, try fileSystem.createFile(at: path(directory + "/" + name)))
        } catch {
            forget(name)
            throw error
        }
    }

    /// Ends the protection of a temporary file after the last write.
    func forget(_ name: String) { state.withLock { _ = $0.inFlight.remove(name) } }
}
