import FerryContainer
import FerryTestSupport

/// A disk of a process that dies with its database and its other disk: the folder's, or the key store's.
struct MortalPlace: PrivateFileSystem {
    let files: MemoryFileSystem
    let other: MemoryFileSystem
    let faults: FaultVFS
    /// The object storage at which the process may die, too.
    var storage: MemoryStorage?

    private func living<Result>(_ body: (MemoryFileSystem) throws -> Result) throws -> Result {
        if faults.isCrashed || other.isKilled || storage?.isKilled ?? false { throw DeadProcess() }
        do {
            return try body(files)
        } catch {
            // The process died here: its database reaches the disk no more.
            if files.isKilled { faults.arm(.crash, at: 1) }
            throw error
        }
    }

    func readFile(at path: String, maximumBytes: Int) throws -> [UInt8]? {
        try living { try $0.readFile(at: path, maximumBytes: maximumBytes) }
    }
    func entryNames(ofDirectoryAt path: String, maximumCount: Int) throws -> [String]? {
        try living { try $0.entryNames(ofDirectoryAt: path, maximumCount: maximumCount) }
    }
    func item(at path: String) throws -> FileItem { try living { try $0.item(at: path) } }
    func version(at path: String) throws -> FileVersion? { try living { try $0.version(at: path) } }
    func createDirectory(at path: String) throws -> Bool { try living { try $0.createDirectory(at: path) } }
    func write(_ bytes: [UInt8], toNewFileAt path: String) throws {
        try living { try $0.write(bytes, toNewFileAt: path) }
    }
    func rename(_ path: String, to newPath: String) throws { try living { try $0.rename(path, to: newPath) } }
    func synchronizeDirectory(at path: String) throws { try living { try $0.synchronizeDirectory(at: path) } }
    func removeFile(at path: String) throws -> Bool { try living { try $0.removeFile(at: path) } }
    func removeEmptyDirectory(at path: String) throws -> Bool { try living { try $0.removeEmptyDirectory(at: path) } }
    func createPrivateDirectory(at path: String) throws -> Bool {
        try living { try $0.createPrivateDirectory(at: path) }
    }
    func write(_ bytes: [UInt8], toNewPrivateFileAt path: String) throws {
        try living { try $0.write(bytes, toNewPrivateFileAt: path) }
    }
    func openFile(at path: String) throws -> (any ReadableFile)? { try living { try $0.openFile(at: path) } }
    func createFile(at path: String) throws -> any WritableFile { try living { try $0.createFile(at: path) } }
    func continueFile(at path: String) throws -> (any WritableFile)? { try living { try $0.continueFile(at: path) } }
    func makeReadOnly(at path: String) throws { try living { try $0.makeReadOnly(at: path) } }
    func link(_ path: String, to newPath: String) throws -> Bool { try living { try $0.link(path, to: newPath) } }
    func destination(of path: String) -> String { files.destination(of: path) }
    func isExposed(at path: String) throws -> Bool { try living { try $0.isExposed(at: path) } }
}
