import FerryContainer
import FerryCore
import FerryTestSupport
import Foundation

/// The object storage of a process that dies at a request. What the process does to its databases from then on never reaches the disk.
final class MortalStorage: ObjectStorage {
    private let storage: MemoryStorage
    private let faults: FaultVFS
    private let folder: String
    /// The databases' files at the death, by name.
    private let remains = Locked<[String: Data]?>(nil)

    /// - Parameter folder: the folder of the databases, which the faults are about.
    init(_ storage: MemoryStorage, _ faults: FaultVFS, folder: String) {
        (self.storage, self.faults, self.folder) = (storage, faults, folder)
    }

    private func living<Answer>(_ request: (MemoryStorage) throws -> Answer) throws -> Answer {
        if faults.isCrashed { throw DeadProcess() }
        do {
            return try request(storage)
        } catch {
            if storage.isKilled { try die() }
            throw error
        }
    }

    private func die() throws {
        if remains.withLock({ $0 }) != nil { return }
        var files: [String: Data] = [:]
        for name in try Self.files(in: folder) where !name.hasSuffix("-shm") {
            files[name] = try Data(contentsOf: URL(filePath: folder).appending(path: name))
        }
        remains.withLock { $0 = files }
        faults.arm(.crash, at: 1)
    }

    private static func files(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { name in
            ["", "-wal", "-shm", "-journal"].contains { name.hasSuffix(".sqlite" + $0) }
        }
    }

    /// Gives the disk what it had at the death, after the faults' recovery. Nothing, where the process did not die at a request.
    func bury() throws {
        guard let files = remains.withLock({ $0 }) else { return }
        remains.withLock { $0 = nil }
        for name in try Self.files(in: folder) { try FileManager.default.removeItem(atPath: folder + "/" + name) }
        for (name, bytes) in files { try bytes.write(to: URL(filePath: folder).appending(path: name)) }
        faults.takeAsSynchronized()
    }

    // MARK: ObjectStorage

    var traits: StorageTraits { storage.traits }

    func list(_ prefix: String, after key: String?, _ token: String?) throws -> ObjectPage {
        try living { try $0.list(prefix, after: key, token) }
    }
    func get(_ key: String, unless tag: String?, maximumBytes: Int) throws -> ObjectAnswer {
        try living { try $0.get(key, unless: tag, maximumBytes: maximumBytes) }
    }
    func get(_ key: String, range: Range<Int>) throws -> [UInt8]? { try living { try $0.get(key, range: range) } }
    func put(_ key: String, _ bytes: [UInt8], onlyIfAbsent: Bool) throws -> PutAnswer {
        try living { try $0.put(key, bytes, onlyIfAbsent: onlyIfAbsent) }
    }
    func delete(_ key: String) throws { try living { try $0.delete(key) } }
    func examine() throws -> StorageExamination { try living { try $0.examine() } }
    func describe(_ key: String) -> String { storage.describe(key) }
}
