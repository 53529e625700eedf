import FerryContainer
import FerryCore

/// The place of a container's files, past all faults: a folder on a disk, or an object storage.
///
/// Paths are relative to the container.
protocol SimulatedPlace: AnyObject {
    /// All files of the container, by path.
    func containerFiles() throws -> [String: [UInt8]]
    /// Writes a file in an uninterrupted step, durably.
    func putContainerFile(_ content: [UInt8], at path: String) throws
    /// Removes a file, if present.
    func removeContainerFile(_ path: String) throws
}

extension MemoryFileSystem: SimulatedPlace {
    func containerFiles() throws -> [String: [UInt8]] { try Provider.files(on: self) }
    func putContainerFile(_ content: [UInt8], at path: String) throws { try Provider.put(content, at: path, on: self) }
    func removeContainerFile(_ path: String) throws { try Provider.remove(path, on: self) }
}

extension SimulatedStorage: SimulatedPlace {
    func containerFiles() throws -> [String: [UInt8]] { memory.contents }

    func putContainerFile(_ content: [UInt8], at path: String) throws {
        note(path, content)
        memory.set(path, content)
    }

    func removeContainerFile(_ path: String) throws { memory.set(path, nil) }
}
