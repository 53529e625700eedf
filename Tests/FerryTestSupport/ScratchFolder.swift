import Foundation

/// A folder that is gone when the test is over.
public final class ScratchFolder: Sendable {
    public let path: String

    public init() throws {
        path = try Self.make("ferry-test").path
    }

    /// Makes a folder that stays until somebody removes it; in memory where the computer has a disk there, so that a test
    /// which begins anew a hundred times waits for no other.
    /// - Parameter name: what its name begins with.
    public static func make(_ name: String) throws -> URL {
        let memory = URL(fileURLWithPath: "/dev/shm")
        let place =
            FileManager.default.isWritableFile(atPath: memory.path) ? memory : FileManager.default.temporaryDirectory
        let folder = place.appendingPathComponent("\(name)-\(UUID().uuidString.lowercased())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }  // it harms nothing where it stays

    /// The path of something in the folder.
    public func path(_ name: String) -> String { path + "/" + name }
}
