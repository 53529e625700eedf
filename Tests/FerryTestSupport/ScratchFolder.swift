import Foundation

/// A folder that is gone when the test is over; in memory where the computer has a disk there, so that a test which begins
/// anew a hundred times waits for no other.
public final class ScratchFolder: Sendable {
    public let path: String

    public init() throws {
        let memory = "/dev/shm"
        let place = FileManager.default.isWritableFile(atPath: memory) ? memory : NSTemporaryDirectory()
        path = place + "/ferry-test-\(UUID().uuidString.lowercased())"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }  // it harms nothing where it stays

    /// The path of something in the folder.
    public func path(_ name: String) -> String { path + "/" + name }
}
