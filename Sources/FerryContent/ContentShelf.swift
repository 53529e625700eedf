import FerryContainer
import FerryCore

/// The directory beside a database that keeps bytes of contents on this device: `<database>-ferry-content`.
///
///     pending/<checksum>.pack     packs that are not in the container yet
///     whole/<xx>/<id>             contents for whoever opens them, read-only; <xx> is the beginning of the ID
///     partial/<id>                contents that are being fetched
///
/// Invariants:
/// - A file in `pending` or `whole` has one content for ever: it was durable before it got its name.
/// - Nothing is removed but what a caller names, and temporary files that nobody writes.
/// - All but `pending` can be made again.
package final class ContentShelf: Sendable {
    /// The prefix of files that are being written.
    static let temporaryPrefix = ".ferry-tmp-"
    /// A directory with more names is not listed.
    private static let maximumEntries = 1_000_000

    package let root: String
    package let fileSystem: any FileSystem
    private let random: any RandomSource
    private let state = Locked(State())

    private struct State {
        /// Directories that were made or found, and whose names are durable.
        var prepared: Set<String> = []
        /// Names of the temporary files that are being written.
        var inFlight: Set<String> = []
    }

    /// Uses the directory beside a database, present or not. Nothing is made before something is kept.
    package init(
        besideDatabase path: String, fileSystem: any FileSystem = PosixFileSystem(),
        random: any RandomSource = SystemRandom()
    ) {
        root = path + "-ferry-content"
        self.fileSystem = fileSystem
        self.random = random
    }

    // MARK: Packs

    /// Begins a pack. Nobody sees it before it is finished.
    package func beginPack(_ writer: PackWriter) throws -> PendingPack {
        try prepare("pending")
        return try PendingPack(writer, on: self)
    }

    /// The packs that are not in the container yet, as far as is known here; in ascending order.
    package func pendingPacks() throws -> [PackID] {
        try names(in: "pending").compactMap { PackName($0)?.id }.sorted()
    }

    /// Where a pack is, for who moves it into the container.
    package func path(ofPending id: PackID) -> String { path("pending/" + PackName(id).fileName) }

    /// Opens a pack for reading; `nil` where it is not here.
    package func openPending(_ id: PackID) throws -> (any ReadableFile)? {
        try fileSystem.openFile(at: path(ofPending: id))
    }

    /// Removes a pack that is durable in the container, or that no row names.
    package func removePending(_ id: PackID) throws {
        try fileSystem.removeFile(at: path(ofPending: id))
    }

    // MARK: Whole contents

    /// Where a whole content is.
    /// - Parameter byteCount: how long the content is. What has another length does not count.
    /// - Returns: `nil` where it is not here.
    package func path(ofWhole id: ContentID, byteCount: Int) throws -> String? {
        let path = path(Self.wholeName(id))
        return try fileSystem.item(at: path) == .file(size: byteCount) ? path : nil
    }

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

    /// Removes a whole content that the caller names. Whoever has it open keeps reading.
    /// - Returns: true if it was here.
    @discardableResult
    package func evict(_ id: ContentID) throws -> Bool {
        try fileSystem.removeFile(at: path(Self.wholeName(id)))
    }

    // MARK: Contents that are being fetched

    /// Begins or continues a content. What an earlier attempt left counts as far as it is proved.
    /// - Parameters:
    ///   - body: the content's list.
    ///   - leaving: how many bytes must stay free on the disk.
    /// - Throws: `limitExceeded` where the disk has no room, `inputOutput`.
    package func beginPartial(
        _ id: ContentID, _ body: ContentList.Body, _ key: ContentKey, leaving: Int = 0
    ) throws -> PartialContent {
        try prepare("partial")
        return try PartialContent(id, body, key, on: self, leaving: leaving)
    }

    /// The contents of which there is a part.
    package func partialContents() throws -> [ContentID] {
        try names(in: "partial").compactMap { name in ContentID(name).flatMap { $0.hex == name ? $0 : nil } }
    }

    /// Removes what is here of a content that nobody wants any more.
    package func discardPartial(_ id: ContentID) throws {
        try fileSystem.removeFile(at: path(Self.partialName(id)))
    }

    // MARK: Upkeep

    /// Removes everything, for a database that leaves its container.
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

    /// Files of `pending` that are no packs, and that this process is not writing: what processes left, or are writing.
    package func temporaryFiles() throws -> [String] {
        try names(in: "pending").filter { name in
            PackName(name) == nil && !state.withLock { $0.inFlight.contains(name) }
        }
    }

    /// Removes a file that `temporaryFiles` named.
    package func removeTemporaryFile(_ name: String) throws { try fileSystem.removeFile(at: path("pending/" + name)) }

    /// Removes temporary files that nobody is writing. One process at a time writes to the shelf.
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

    /// Makes the directories of whole contents, which can be made again: durably together.
    func prepare(forWhole directories: [String]) throws {
        let missing = try directories.filter { try fileSystem.item(at: path($0)) != .directory }
        if missing.isEmpty { return }
        try prepare("whole")
        for directory in missing { try fileSystem.createDirectory(at: path(directory)) }
        try fileSystem.synchronizeDirectory(at: path("whole"))
    }

    /// Makes a temporary file that `removeLeftovers` leaves alone until `forget`.
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

    /// Says that a temporary file is written no more.
    func forget(_ name: String) { state.withLock { _ = $0.inFlight.remove(name) } }
}
