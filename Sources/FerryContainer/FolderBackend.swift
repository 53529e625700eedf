import FerryCore

#if canImport(Darwin)
import Foundation
#endif

/// A container in a folder.
///
/// Invariants:
/// - A file appears by renaming a temporary file (`.ferry-tmp-` and 16 hexadecimal digits) whose content is durable.
/// - Directories are created only while the container's marker is there, so that nothing is ever written below the
///   mount point of a missing disk.
/// - No directory below the root that is a symbolic link is entered.
package final class FolderBackend: ContainerBackend {
    /// The prefix of files that are being written.
    package static let temporaryPrefix = ".ferry-tmp-"
    /// A directory with more names is not listed.
    package static let maximumEntries = 250_000
    /// The directory below which leftovers are removed: there, every directory has a single writer.
    private static let singleWriterDirectory = "devices/"

    /// The folder's path, without a slash at the end.
    package let root: String
    private let fileSystem: any FileSystem
    private let random: any RandomSource
    /// Whether reads and writes take turns with the folder's provider (`FolderCoordination`).
    private let isCoordinated: Bool
    private let state = Locked(State())

    private struct State {
        /// Directories whose own names are durable and that hold no leftovers of an earlier process.
        var prepared: Set<String> = []
        /// Directories whose own names are durable: those prepared, and those around them.
        var durable: Set<String> = []
        /// Names of the temporary files that are being written.
        var inFlight: Set<String> = []
    }

    /// Uses the folder at a path, present or not. The folder itself may be a symbolic link.
    package init(
        root: String, fileSystem: any FileSystem = PosixFileSystem(), random: any RandomSource = SystemRandom()
    ) {
        var root = Substring(root)
        while root.count > 1, root.last == "/" { root.removeLast() }
        // An empty path, with a slash after it, would be the root of the whole file system.
        self.root = root.isEmpty ? "." : String(root)
        isCoordinated = FolderCoordination.isNeeded(at: self.root)
        self.fileSystem = fileSystem
        self.random = random
    }

    // MARK: Reading

    package func checkRoot() throws {
        if try fileSystem.item(at: path("")) == .directory { return }
        // A symbolic link that leads nowhere leads to an unmounted disk.
        if case .file = try fileSystem.item(at: root) {
            throw FerryError(.containerMissing, "\(root) is not a folder. Name the container's folder.", path: root)
        }
        throw FerryError(
            .containerMissing, "The folder \(root) is not there; is it mounted? Nothing was changed.", path: root)
    }

    package func list(_ directory: String, after name: String?) throws -> [String] {
        try check(directory)
        guard try isThere(directory),
            let names = try fileSystem.entryNames(ofDirectoryAt: path(directory), maximumCount: Self.maximumEntries)
        else { return [] }
        return names.filter { entry in
            !entry.hasPrefix(Self.temporaryPrefix) && name.map { $0 < entry } != false
        }.sorted()
    }

    package func read(_ name: String, maximumBytes: Int) throws -> [UInt8]? {
        try check(name)
        guard try isThere(Self.directory(of: name)) else { return nil }
        return try reading(name) { try fileSystem.readFile(at: $0, maximumBytes: maximumBytes) }
    }

    package func read(_ name: String, range: Range<Int>) throws -> [UInt8]? {
        try check(name)
        guard try isThere(Self.directory(of: name)) else { return nil }
        return try reading(name) { try fileSystem.readFile(at: $0, range: range) }
    }

    private func reading<Result>(_ name: String, _ body: (String) throws -> Result) throws -> Result {
        let path = path(name)
        return isCoordinated ? try FolderCoordination.reading(path) { try body(path) } : try body(path)
    }

    package func version(of name: String) throws -> FileVersion? {
        try check(name)
        return try fileSystem.version(at: path(name))
    }

    package func haveVersions(_ versions: [(path: String, version: FileVersion)], below directory: String) -> Bool {
        fileSystem.haveVersions(versions, below: path(directory))
    }

    package func localPath(_ name: String) -> String? { path(name) }

    package func describe(_ name: String) -> String { name.isEmpty ? root : path(name) }

    #if canImport(Darwin)
    package func requestDownload(_ name: String) {
        let url = URL(fileURLWithPath: path(name))
        try? FileManager.default.startDownloadingUbiquitousItem(at: url)  // no provider's folder: nobody to ask
    }
    #endif

    // MARK: Writing

    /// Creates the folder if missing, durably, below an existing parent.
    package func prepareForCreation() throws {
        if try fileSystem.item(at: root) == .missing {
            let parent = root.lastIndex(of: "/").map { String(root[...$0]) } ?? "./"
            guard try fileSystem.item(at: parent) == .directory else {
                throw FerryError(
                    .containerMissing, "The folder \(parent) is not there; is it mounted? Nothing was created.",
                    path: parent)
            }
            try fileSystem.createDirectory(at: root)
            try fileSystem.synchronizeDirectory(at: parent)
        }
        try checkRoot()
    }

    /// Creates the directory of all devices, and removes the leftovers of interrupted creations from beside the marker, the only
    /// file there.
    package func completeCreation() throws {
        try prepare(Container.devicesDirectory)
        try removeLeftovers(in: "")
    }

    package func writeOnce(_ name: String, _ bytes: [UInt8]) throws {
        try check(name)
        let directory = Self.directory(of: name)
        let item = try isThere(directory) ? fileSystem.item(at: path(name)) : .missing
        guard item != .missing else { return try place(bytes, at: name) }
        guard item == .file(size: bytes.count),
            try fileSystem.readFile(at: path(name), maximumBytes: bytes.count) == bytes
        else {
            throw FerryError(
                .damagedFile, "\(path(name)) holds something else than was written there. Move it away.",
                path: path(name))
        }
        // The process may have ended after the rename and before the name was durable.
        try prepare(directory)
        try fileSystem.synchronizeDirectory(at: path(directory))
    }

    package func replace(_ name: String, _ bytes: [UInt8]) throws {
        try check(name)
        try place(bytes, at: name)
    }

    package func remove(_ name: String) throws {
        try check(name)
        guard try isThere(Self.directory(of: name)) else { return }
        try fileSystem.removeFile(at: path(name))
    }

    package func removeDirectory(_ name: String) throws -> Bool {
        try check(name)
        guard try isThere(name) else { return false }
        state.withLock { _ = $0.prepared.remove(name) }
        return try fileSystem.removeEmptyDirectory(at: path(name))
    }

    package func settle(_ directory: String) throws {
        try check(directory)
        guard try isThere(directory) else { return }
        try fileSystem.synchronizeDirectory(at: path(directory))
    }

    package func writeOnce(_ name: String, movingIn path: String, of files: any FileSystem) throws {
        try check(name)
        guard let source = try files.openFile(at: path) else {
            throw FerryError(.inputOutput, "\(path) is not there any more, and was to be published.", path: path)
        }
        let (directory, target) = (Self.directory(of: name), self.path(name))
        if try isThere(directory), let present = try fileSystem.openFile(at: target) {
            guard try FileCopy.areEqual(present, source) else {
                throw FerryError(
                    .damagedFile, "\(target) holds something else than was written there. Move it away.", path: target)
            }
            // The process may have ended after the rename and before the name was durable.
            try prepare(directory)
            return try fileSystem.synchronizeDirectory(at: self.path(directory))
        }
        try place(at: name) { temporary in
            // The same version means the same file: the file lies on this file system.
            if try fileSystem.version(at: path) == source.version(), try fileSystem.link(path, to: temporary) { return }
            try FileCopy.copy(source, to: temporary, in: fileSystem)
        } isPlaced: {
            try fileSystem.openFile(at: target).map { try FileCopy.areEqual($0, source) } ?? false
        }
    }

    /// Writes a temporary file, renames the file and makes the name durable.
    private func place(_ bytes: [UInt8], at name: String) throws {
        try place(at: name) {
            try fileSystem.write(bytes, toNewFileAt: $0)
        } isPlaced: {
            try fileSystem.readFile(at: path(name), maximumBytes: bytes.count) == bytes
        }
    }

    /// As `place(_:at:)`.
    /// - Parameters:
    ///   - write: makes the temporary file, durable but for its name.
    ///   - isPlaced: whether the bytes are under the final name.
    private func place(at name: String, _ write: (String) throws -> Void, isPlaced: () throws -> Bool) throws {
        let directory = Self.directory(of: name)
        try prepare(directory)
        let temporaryName = Self.temporaryPrefix + hexString(withUnsafeBytes(of: random.next().bigEndian, Array.init))
        let temporary = path(Self.join(directory, temporaryName))
        state.withLock { _ = $0.inFlight.insert(temporaryName) }
        defer { state.withLock { _ = $0.inFlight.remove(temporaryName) } }
        do {
            try write(temporary)
            try rename(temporary, to: path(name), isPlaced)
            try fileSystem.synchronizeDirectory(at: path(directory))
        } catch {
            // A leftover that cannot be removed now is removed before the next writing: the directory is not prepared
            // any more.
            state.withLock { _ = $0.prepared.remove(directory) }
            _ = try? fileSystem.removeFile(at: temporary)  // a temporary file
            throw Self.named(path(name), in: error, insteadOf: temporary)
        }
    }

    /// The error with the path of the final file. The name of a temporary file differs at each attempt, so that a
    /// single failure would look like many.
    private static func named(_ path: String, in error: any Error, insteadOf temporary: String) -> any Error {
        guard var error = error as? FerryError else { return error }
        if error.path == temporary { error.path = path }
        if let range = error.message.firstRange(of: temporary) { error.message.replaceSubrange(range, with: path) }
        return error
    }

    /// Renames, and believes an error only if the file is not there: a network file system may lose the answer.
    private func rename(_ temporary: String, to path: String, _ isPlaced: () throws -> Bool) throws {
        do {
            if isCoordinated {
                try FolderCoordination.replacing(path) { try fileSystem.rename(temporary, to: path) }
            } else {
                try fileSystem.rename(temporary, to: path)
            }
        } catch {
            let isFound = try? isPlaced()  // the first error tells
            let isGone = (try? fileSystem.item(at: temporary)) == .missing  // as above
            guard isGone, isFound == true else { throw error }
        }
    }

    /// Makes a directory ready for writing, once in this backend's life. Creates missing directories, makes the names
    /// on the way durable and removes the leftovers of earlier processes.
    private func prepare(_ directory: String) throws {
        guard !directory.isEmpty else { return }
        if state.withLock({ $0.prepared.contains(directory) }), try isThere(directory) { return }
        try requireMarker()
        var parent = ""
        for component in directory.split(separator: "/") {
            let child = Self.join(parent, String(component))
            if try !state.withLock({ $0.durable.contains(child) }) || !isThere(child) {
                try fileSystem.createDirectory(at: path(child))
                try fileSystem.synchronizeDirectory(at: path(parent))
                state.withLock { _ = $0.durable.insert(child) }
            }
            parent = child
        }
        if directory.hasPrefix(Self.singleWriterDirectory) { try removeLeftovers(in: directory) }
        state.withLock { _ = $0.prepared.insert(directory) }
    }

    /// Removes temporary files that nobody is writing.
    package func removeLeftovers(in directory: String) throws {
        try check(directory)
        guard try isThere(directory) else { return }
        let names = try fileSystem.entryNames(ofDirectoryAt: path(directory), maximumCount: Self.maximumEntries) ?? []
        for name in names where name.hasPrefix(Self.temporaryPrefix) {
            if state.withLock({ $0.inFlight.contains(name) }) { continue }
            try fileSystem.removeFile(at: path(Self.join(directory, name)))
        }
    }

    /// Throws if the folder is missing or has no marker: then the folder is not the container, or not now.
    private func requireMarker() throws {
        // A container that is being copied here says so until its marker comes, last of all.
        for name in [ContainerDescription.fileName, ContainerDescription.carriedFileName] {
            if case .file = try fileSystem.item(at: path(name)) { return }
        }
        try checkRoot()
        throw ContainerDescription.missing(in: root, isEmpty: false)
    }

    // MARK: Names

    /// True if a directory is there, below directories alone.
    private func isThere(_ directory: String) throws -> Bool {
        var name = ""
        for component in directory.split(separator: "/") {
            name = Self.join(name, String(component))
            switch try fileSystem.item(at: path(name)) {
            case .directory: continue
            case .missing: return false
            case .file, .other: throw FerryError.wrongKind(path(name), shouldBe: "folder")
            }
        }
        return true
    }

    /// The slash makes the root itself a directory for lstat(2) and O_NOFOLLOW, even if the root is a symbolic link.
    private func path(_ name: String) -> String { root == "/" ? "/" + name : root + "/" + name }

    private static func directory(of name: String) -> String {
        name.lastIndex(of: "/").map { String(name[..<$0]) } ?? ""
    }

    private static func join(_ directory: String, _ name: String) -> String {
        directory.isEmpty ? name : directory + "/" + name
    }

    /// Refuses names that lead out of the folder.
    private func check(_ name: String) throws {
        guard name.isEmpty || Self.staysWithin(name.utf8) else {
            throw FerryError(.invalidArgument, "\"\(name)\" is not a name within a container.", path: root)
        }
    }

    /// True if no component is empty, `.` or `..`, and none has a NUL. Called several times for each device and look.
    private static func staysWithin(_ name: String.UTF8View) -> Bool {
        var (length, dots) = (0, 0)
        for byte in name {
            switch byte {
            case UInt8(ascii: "/"):
                if length == dots, length <= 2 { return false }
                (length, dots) = (0, 0)
                continue
            case UInt8(ascii: "."): dots += 1
            case 0: return false
            default: break
            }
            length += 1
        }
        return length != dots || length > 2
    }
}
