import FerryCore

/// The file system as Ferry uses it: files that are written once, made visible by a rename, and made durable on request; whole, or in
/// ranges through an open file.
///
/// Synchronous and stateless to the caller. `PosixFileSystem` is the live implementation; `MemoryFileSystem` models the
/// remains of a crash, for tests and simulations. Every method throws `FerryError` with the path and a remedy in its
/// message. No method follows a symbolic link in the last component of a path, unless the path ends in a slash.
package protocol FileSystem: Sendable {
    /// Reads a whole regular file, without ever blocking on a FIFO or a device.
    ///
    /// A growing file is cut off at its first size, and a shrinking file comes back shorter: both fail their checksums,
    /// as incomplete files do.
    /// - Parameter maximumBytes: the caller's capacity; nothing is allocated for a larger file.
    /// - Returns: `nil` without such a file.
    /// - Throws: `damagedFile` for anything but a regular file, `limitExceeded` for a larger file, `inputOutput`.
    func readFile(at path: String, maximumBytes: Int) throws -> [UInt8]?

    /// Opens a regular file for reading, without ever blocking on a FIFO or a device.
    /// - Returns: `nil` without such a file.
    /// - Throws: `damagedFile` for anything but a regular file, `inputOutput`.
    func openFile(at path: String) throws -> (any ReadableFile)?

    /// Lists the names in a directory in no particular order, without `.` and `..`, and without names that are not
    /// UTF-8 (Ferry makes none).
    /// - Returns: `nil` without such a directory.
    /// - Throws: `damagedFile` for anything but a directory, `limitExceeded` for more than `maximumCount` names,
    ///   `inputOutput`.
    func entryNames(ofDirectoryAt path: String, maximumCount: Int) throws -> [String]?

    /// The kind of thing at a path.
    func item(at path: String) throws -> FileItem

    /// The version of a regular file or a directory at a path, without reading. The version changes after a file was
    /// replaced or written to, or an entry of the directory came or went. Changes within a tick of the file system's
    /// clock may look alike.
    /// - Returns: `nil` without such a thing, or if unknown: read the file.
    func version(at path: String) throws -> FileVersion?

    /// True if all of these files and directories below a directory certainly have these versions, as in
    /// `version(at:)`; `false` if any is unknown.
    /// - Parameter versions: by their paths within the directory.
    func haveVersions(_ versions: [(path: String, version: FileVersion)], below directory: String) -> Bool

    /// Creates a directory whose parent exists. The new entry is durable once the parent is synchronized.
    /// - Returns: true if the directory was created; `false` if there was a directory already.
    /// - Throws: `damagedFile` if something else has the name, `inputOutput`.
    @discardableResult
    func createDirectory(at path: String) throws -> Bool

    /// Writes a new file and makes its content durable, but not its name.
    ///
    /// After an error the content counts as not written and the file is gone again: write a new file.
    func write(_ bytes: [UInt8], toNewFileAt path: String) throws

    /// Creates an empty file for writing. Neither content nor name is durable.
    /// - Throws: `inputOutput`, also where something has the name.
    func createFile(at path: String) throws -> any WritableFile

    /// Opens a regular file for writing, and changes nothing of it yet.
    /// - Returns: `nil` without such a file.
    /// - Throws: `damagedFile` for anything but a regular file, `inputOutput`, also for a file that is read-only.
    func continueFile(at path: String) throws -> (any WritableFile)?

    /// Takes everybody's right to write to a regular file. Its name can still be removed.
    func makeReadOnly(at path: String) throws

    /// Gives a regular file a second name in another directory of the same disk. Durable once the directory is synchronized.
    /// - Returns: `false` where the disk cannot do that, or the file lies on another one: copy the file.
    /// - Throws: `inputOutput`, also where something has the new name, or there is no such file.
    func link(_ path: String, to newPath: String) throws -> Bool

    /// Renames a file, replacing a file of the new name atomically. Durable once the directory is synchronized.
    ///
    /// On network file systems a rename can succeed although its answer got lost: after an error, look.
    func rename(_ path: String, to newPath: String) throws

    /// Makes the names in a directory durable.
    func synchronizeDirectory(at path: String) throws

    /// Makes files and the names in directories durable, all on one disk. Many of them wait for the disk once, where the system can.
    /// - Throws: `inputOutput`; some are durable then.
    func synchronize(_ files: [any WritableFile], _ directories: [String]) throws

    /// Removes a file's name, whatever the file is, but not a directory's.
    /// - Returns: true if there was a file.
    @discardableResult
    func removeFile(at path: String) throws -> Bool

    /// Removes a directory that has no entries. Durable once the parent is synchronized.
    /// - Returns: true if the directory is gone; `false` if there was none, or it has entries.
    @discardableResult
    func removeEmptyDirectory(at path: String) throws -> Bool

    /// How many bytes may still be written to the disk of a file or directory; `nil` if unknown.
    func availableBytes(at path: String) -> Int?
}

extension FileSystem {
    /// Reads a range of a regular file, fewer bytes where the file ends before. The caller bounds the range.
    /// - Returns: `nil` without such a file.
    /// - Throws: as `openFile(at:)`.
    package func readFile(at path: String, range: Range<Int>) throws -> [UInt8]? {
        try openFile(at: path)?.read(range)
    }

    package func version(at path: String) throws -> FileVersion? { nil }

    package func haveVersions(_ versions: [(path: String, version: FileVersion)], below directory: String) -> Bool {
        // No error is lost: `false` makes the caller ask for each version alone, which throws the error again.
        versions.allSatisfy { (try? version(at: directory + "/" + $0.path)) == $0.version }
    }

    package func availableBytes(at path: String) -> Int? { nil }

    /// Removes nothing: an empty directory does no harm.
    package func removeEmptyDirectory(at path: String) throws -> Bool { false }
}

/// The kind of thing at a path.
package enum FileItem: Hashable, Sendable {
    case missing
    /// A regular file with its size in bytes.
    case file(size: Int)
    case directory
    /// A symbolic link, FIFO, socket or device: never Ferry's, never opened.
    case other
}

/// Identifies a version of a file or directory: lstat(2)'s device, inode, size and times of change.
package struct FileVersion: Hashable, Sendable {
    var device: UInt64 = 0
    var number: UInt64
    /// In bytes.
    package internal(set) var size: Int
    /// In nanoseconds: of the content, and of anything about the file.
    var modified: Int64 = 0
    var changed: Int64 = 0
    /// True if two contents never have the same version, however fast one follows the other.
    package private(set) var isExact = false

    init(
        device: UInt64 = 0, number: UInt64, size: Int, modified: Int64 = 0, changed: Int64 = 0
    ) {
        self.device = device
        self.number = number
        self.size = size
        self.modified = modified
        self.changed = changed
    }

    /// The version of an object with a tag.
    init(tag: String, size: Int) {
        let hash = ContentHash.checksum(Array(tag.utf8))
        self.init(device: hash.high, number: hash.low, size: size)
        isExact = true
    }

    /// The version of a directory in a listing that counts its changes.
    init(directoryCount count: UInt64, of instance: UInt64) {
        self.init(device: instance, number: count, size: 0)
        isExact = true
    }
}

extension FerryError {
    /// The error for a symbolic link, FIFO, socket, device or directory where a file should be, or the reverse.
    static func wrongKind(_ path: String, shouldBe kind: String) -> FerryError {
        FerryError(
            .damagedFile,
            "\(path.split(separator: "/").last ?? "/") is not a \(kind). Move it away; the right one will be synced again.",
            path: path)
    }

    /// The error for a file above the caller's limit.
    static func tooLarge(_ path: String, size: Int, maximumBytes: Int) -> FerryError {
        FerryError(
            .limitExceeded, "\(path) is \(size) bytes long; no more than \(maximumBytes) are read there.", path: path)
    }

    /// The error for a directory with more names than the caller holds.
    static func tooManyEntries(_ path: String, maximumCount: Int) -> FerryError {
        FerryError(
            .limitExceeded,
            "The folder \(path) has more than \(maximumCount) entries. Move away what does not belong there.",
            path: path)
    }
}

extension FileSystem {
    package func synchronize(_ files: [any WritableFile], _ directories: [String]) throws {
        for file in files { try file.synchronize() }
        for directory in directories { try synchronizeDirectory(at: directory) }
    }
}
