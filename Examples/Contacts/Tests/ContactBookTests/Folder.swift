import Foundation

/// A folder that goes with the test.
final class Folder: Sendable {
    private let url = FileManager.default.temporaryDirectory.appendingPathComponent("contacts-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

    deinit {
        // What is left of it is in a folder for what is temporary.
        try? FileManager.default.removeItem(at: url)  // a temporary folder
    }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}

/// What `logging` reports.
final class Log: @unchecked Sendable {  // because `kept` is touched under the lock alone
    private let lock = NSLock()
    private var kept: [(sql: String, seconds: TimeInterval)] = []

    func add(_ sql: String, _ seconds: TimeInterval) { lock.withLock { kept.append((sql, seconds)) } }
    var lines: [(sql: String, seconds: TimeInterval)] { lock.withLock { kept } }
}
