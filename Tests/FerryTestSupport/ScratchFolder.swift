import Foundation

/// A folder that is removed at the end of the test.
public final class ScratchFolder: Sendable {
    public let path: String

    public init() throws {
        path = try Self.make("ferry-test").path
    }

    /// Makes a folder that stays until removed. The folder is in memory if possible, so that a test with a hundred
    /// restarts does not wait for a disk.
    /// - Parameter name: the beginning of the folder's name.
    public static func make(_ name: String) throws -> URL {
        let memory = URL(fileURLWithPath: "/dev/shm")
        let place =
            FileManager.default.isWritableFile(atPath: memory.path) ? memory : FileManager.default.temporaryDirectory
        let folder = place.appendingPathComponent("\(name)-\(UUID().uuidString.lowercased())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }  // a folder left behind harms nothing

    /// The path of an entry in the folder.
    public func path(_ name: String) -> String { path + "/" + name }
}
