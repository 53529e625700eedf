import Feeds
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The folder for fetched feeds: beside the database, for one process at a time. A second process that fetches meanwhile
/// uses a temporary one of its own.
final class FeedCacheFolder: Sendable {
    let url: URL
    private let lock: Int32
    private let isTemporary: Bool

    init(database path: String) throws {
        let shared = URL(fileURLWithPath: path + "-feeds")
        try Self.make(shared)
        let lock = open(shared.appendingPathComponent("lock").path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        if lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0 {
            (url, self.lock, isTemporary) = (shared, lock, false)
        } else {
            if lock >= 0 { close(lock) }
            let own = FileManager.default.temporaryDirectory.appendingPathComponent("reader-\(UUID().uuidString)")
            try Self.make(own)
            (url, self.lock, isTemporary) = (own, -1, true)
        }
    }

    deinit {
        if lock >= 0 { close(lock) }
        if isTemporary { try? FileManager.default.removeItem(at: url) }  // harmless: it is for temporary files
    }

    private static func make(_ folder: URL) throws {
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
            throw ReaderError(
                .inputOutput,
                "the folder \(folder.path) for fetched feeds cannot be made; check that it may be written to")
        }
    }
}
