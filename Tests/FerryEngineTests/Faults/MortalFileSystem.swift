import FerryContainer
import FerryTestSupport

/// What a process does not see that died at a call of SQLite's.
struct DeadProcess: Error {}

/// The container of a process that dies with its database.
struct MortalFileSystem: FileSystem {
    let files: MemoryFileSystem
    let faults: FaultVFS

    private var living: MemoryFileSystem {
        get throws {
            if faults.isCrashed { throw DeadProcess() }
            return files
        }
    }

    func readFile(at path: String, maximumBytes: Int) throws -> [UInt8]? {
        try living.readFile(at: path, maximumBytes: maximumBytes)
    }
    func entryNames(ofDirectoryAt path: String, maximumCount: Int) throws -> [String]? {
        try living.entryNames(ofDirectoryAt: path, maximumCount: maximumCount)
    }
    func item(at path: String) throws -> FileItem { try living.item(at: path) }
    func createDirectory(at path: String) throws -> Bool { try living.createDirectory(at: path) }
    func write(_ bytes: [UInt8], toNewFileAt path: String) throws { try living.write(bytes, toNewFileAt: path) }
    func rename(_ path: String, to newPath: String) throws { try living.rename(path, to: newPath) }
    func synchronizeDirectory(at path: String) throws { try living.synchronizeDirectory(at: path) }
    func removeFile(at path: String) throws -> Bool { try living.removeFile(at: path) }
    func openFile(at path: String) throws -> (any ReadableFile)? { try living.openFile(at: path) }
    func createFile(at path: String) throws -> any WritableFile { try living.createFile(at: path) }
    func continueFile(at path: String) throws -> (any WritableFile)? { try living.continueFile(at: path) }
    func makeReadOnly(at path: String) throws { try living.makeReadOnly(at: path) }
    func link(_ path: String, to newPath: String) throws -> Bool { try living.link(path, to: newPath) }
}
