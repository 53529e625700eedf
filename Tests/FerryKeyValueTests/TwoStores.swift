import FerryContainer
import FerryCore
import FerryEngine
import FerryStore
import Foundation
import XCTest

@testable import FerryKeyValue

/// Devices with key-value stores and a container in a temporary folder; they sync when told to.
final class TwoStores {
    let folder: URL
    let engines: [SyncEngine]
    let stores: [KeyValueStore]

    init(limits: KeyValueLimits = KeyValueLimits(), count: Int = 2) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("ferry-kv-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let container = folder.appendingPathComponent("container").path
        let first = Self.path(folder, 0)
        // An app that keeps nothing but values has a table all the same.
        _ = FileManager.default.createFile(atPath: first, contents: nil)
        let store = try Store(path: first)
        try store.write { try $0.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)") }
        var replicas = [try Replica.create(store, containerPath: container, sealing: .open, name: "device0").replica]
        for index in 1..<count {
            let joined = try Replica.join(
                databasePath: Self.path(folder, index), containerPath: container, name: "device\(index)")
            replicas.append(try XCTUnwrap(joined.replica))
        }
        engines = replicas.map { SyncEngine($0) }
        stores = try engines.map { try KeyValueStore($0, limits: limits) }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }  // a temporary folder

    private static func path(_ folder: URL, _ index: Int) -> String {
        folder.appendingPathComponent("db\(index).sqlite").path
    }
    func databasePath(_ index: Int) -> String { Self.path(folder, index) }

    var first: KeyValueStore { stores[0] }
    var second: KeyValueStore { stores[1] }

    /// Waits until the wall clock shows a later millisecond. Stamps have milliseconds, so the next write on any device is
    /// later than all writes before.
    func waitForALaterMillisecond() {
        let start = Date().timeIntervalSince1970
        while Date().timeIntervalSince1970 < start + 0.002 {}
    }

    /// Syncs all devices until nothing goes either way any more.
    func settle() throws {
        for _ in 0..<20 {
            var hasNews = false
            for engine in engines { hasNews = try engine.replica.sync().hasNews || hasNews }
            if !hasNews { break }
        }
        for store in stores { try store.checkForChanges() }
    }
}

/// Asks every millisecond until a condition holds. Returns false after a generous time.
func isSoInTime(_ isSo: () -> Bool) -> Bool {
    for _ in 0..<20_000 {
        if isSo() { return true }
        Thread.sleep(forTimeInterval: 0.001)
    }
    return false
}

/// What a stream has delivered so far.
final class Collected<Value: Sendable>: Sendable {
    private let values = Locked<[Value]>([])
    private let task: Task<Void, Never>

    init(_ stream: AsyncStream<Value>) {
        let values = values
        task = Task.detached { for await value in stream { values.withLock { $0.append(value) } } }
    }

    deinit { task.cancel() }

    var all: [Value] { values.withLock { $0 } }

    /// Waits until what was delivered is as wanted; fails after a generous time.
    func wait(_ what: String, file: StaticString = #filePath, line: UInt = #line, _ isSo: ([Value]) -> Bool) {
        if !isSoInTime({ isSo(all) }) { XCTFail("\(what): \(all)", file: file, line: line) }
    }
}

func assertFails(
    _ code: FerryError.Code, naming text: String = "", file: StaticString = #filePath, line: UInt = #line,
    _ body: () throws -> Void
) {
    XCTAssertThrowsError(try body(), file: file, line: line) { error in
        XCTAssertEqual((error as? FerryError)?.code, code, file: file, line: line)
        XCTAssertTrue(text.isEmpty || "\(error)".contains(text), "\(error)", file: file, line: line)
    }
}
