import FerryContainer
import FerryCore

/// A device's view of the file system: a disk, of its own or shared, with the folder present or away. Has the flaws
/// of the kind of folder.
///
/// `@unchecked Sendable` because a simulation runs on a single thread.
final class DeviceFileSystem: FileSystem, @unchecked Sendable {
    /// The device's folder in place of the container.
    enum Mount: String, CaseIterable {
        case there
        case missing
        case empty
        /// The folder of a different container.
        case foreign
    }

    /// A flaw of network folders.
    enum NetworkFlaw: String, CaseIterable {
        /// A rename succeeds, and the answer is an error.
        case lostAnswer
        /// A listing repeats the listing before.
        case staleListing
        /// A file handle is stale (ESTALE).
        case staleHandle
    }

    let disk: MemoryFileSystem
    var mount = Mount.there
    /// True: writes fail, as on a full or read-only disk.
    var isFull = false
    /// The next flaw, once.
    var flaw: NetworkFlaw?
    /// Counts an occurrence of a fault, by kind.
    var met: (String) -> Void = { _ in }
    /// Called before every access, in the middle of a sync.
    var meanwhile: (() -> Void)?
    private var listings: [String: [String]] = [:]

    init(_ disk: MemoryFileSystem) { self.disk = disk }

    static let root = "/shared/container"
    /// The marker of another container.
    static let foreign = Array(
        #"{"format":1,"id":"11111111-2222-4333-8444-555555555555","name":"other","created":"2023-01-01T00:00:00Z"}"#
            .utf8)

    private func isInside(_ path: String) -> Bool { path.hasPrefix(Self.root + "/") || path == Self.root }

    private func isAway(_ path: String) -> Bool {
        meanwhile?()
        guard mount != .there, isInside(path) else { return false }
        met("folder \(mount.rawValue)")
        return mount == .missing || (path != Self.root && path != Self.root + "/")
    }

    /// Consumes the pending flaw of a kind.
    /// - Returns: true if the flaw happens now.
    private func take(_ kind: NetworkFlaw) -> Bool {
        guard flaw == kind else { return false }
        flaw = nil
        met("network \(kind.rawValue)")
        return true
    }

    private func willWrite(_ path: String) throws {
        if isAway(path) { throw memoryError(path, "its folder is not there") }
        if isFull, isInside(path) {
            met("folder full")
            throw memoryError(path, "no space is left on the device")
        }
    }

    private func memoryError(_ path: String, _ why: String) -> FerryError {
        FerryError(.inputOutput, "Ferry's access to \(path) failed: \(why).", path: path)
    }

    func readFile(at path: String, maximumBytes: Int) throws -> [UInt8]? {
        if isAway(path) {
            return mount == .foreign && path == Self.root + "/container.json" ? Self.foreign : nil
        }
        if take(.staleHandle) { throw memoryError(path, "stale file handle") }
        return try disk.readFile(at: path, maximumBytes: maximumBytes)
    }

    func entryNames(ofDirectoryAt path: String, maximumCount: Int) throws -> [String]? {
        if isAway(path) { return nil }
        if mount == .empty || mount == .foreign, isInside(path) { return mount == .empty ? [] : ["container.json"] }
        if let before = listings[path], take(.staleListing) { return before }
        let names = try disk.entryNames(ofDirectoryAt: path, maximumCount: maximumCount)
        listings[path] = names
        return names
    }

    func item(at path: String) throws -> FileItem {
        if isAway(path) {
            return mount == .foreign && path == Self.root + "/container.json"
                ? .file(size: Self.foreign.count) : .missing
        }
        return try disk.item(at: path)
    }

    func version(at path: String) throws -> FileVersion? {
        isAway(path) ? nil : try disk.version(at: path)
    }

    @discardableResult
    func createDirectory(at path: String) throws -> Bool {
        try willWrite(path)
        return try disk.createDirectory(at: path)
    }

    func write(_ bytes: [UInt8], toNewFileAt path: String) throws {
        try willWrite(path)
        try disk.write(bytes, toNewFileAt: path)
    }

    func openFile(at path: String) throws -> (any ReadableFile)? {
        if isAway(path) { return nil }
        if take(.staleHandle) { throw memoryError(path, "stale file handle") }
        return try disk.openFile(at: path)
    }

    func createFile(at path: String) throws -> any WritableFile {
        try willWrite(path)
        return try disk.createFile(at: path)
    }

    func continueFile(at path: String) throws -> (any WritableFile)? {
        try willWrite(path)
        return try disk.continueFile(at: path)
    }

    func makeReadOnly(at path: String) throws {
        try willWrite(path)
        try disk.makeReadOnly(at: path)
    }

    func link(_ path: String, to newPath: String) throws -> Bool {
        try willWrite(newPath)
        return try disk.link(path, to: newPath)
    }

    func rename(_ path: String, to newPath: String) throws {
        try willWrite(newPath)
        try disk.rename(path, to: newPath)
        if take(.lostAnswer) { throw memoryError(newPath, "the answer was lost") }
    }

    func synchronizeDirectory(at path: String) throws {
        try willWrite(path)
        try disk.synchronizeDirectory(at: path)
    }

    @discardableResult
    func removeFile(at path: String) throws -> Bool {
        try willWrite(path)
        return try disk.removeFile(at: path)
    }
}
