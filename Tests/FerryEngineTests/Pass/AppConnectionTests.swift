import FerryContainer
import FerryCore
import FerryStore
import FerryTestSupport
import Foundation
import GRDB
import XCTest

@testable import FerryEngine

/// What an app may do with its own connection: close it, and call Ferry at the wrong moment.
final class AppConnectionTests: XCTestCase {
    private let scratch = Locked<ScratchFolder?>(nil)

    override func setUpWithError() throws {
        let folder = try ScratchFolder()
        scratch.withLock { $0 = folder }
    }

    override func tearDownWithError() throws { scratch.withLock { $0 = nil } }

    private func path(_ name: String) throws -> String { try XCTUnwrap(scratch.withLock { $0 }).path(name) }

    private func writers() throws -> [(String, any DatabaseWriter)] {
        [
            ("pool", try DatabasePool(path: path("pool.sqlite"))),
            ("queue", try DatabaseQueue(path: path("queue.sqlite"))),
        ]
    }

    private func replica(_ name: String, _ writer: any DatabaseWriter) throws -> Replica {
        try writer.write { try $0.execute(sql: "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)") }
        return try Replica.create(Store(writer), containerPath: path("container-\(name)"), sealing: .open, name: name)
            .replica
    }

    private func assertFails(
        _ code: FerryError.Code, saying words: String, _ what: String, file: StaticString = #filePath,
        line: UInt = #line,
        _ body: () throws -> Void
    ) {
        XCTAssertThrowsError(try body(), what, file: file, line: line) { error in
            XCTAssertEqual((error as? FerryError)?.code, code, "\(what): \(error)", file: file, line: line)
            XCTAssertTrue("\(error)".contains(words), "\(what): \(error)", file: file, line: line)
        }
    }

    func testAClosedConnectionIsAnError() throws {
        for (name, writer) in try writers() {
            let replica = try replica(name, writer)
            _ = try replica.sync()
            try writer.close()
            let calls: [(String, () throws -> Void)] = [
                ("sync", { _ = try replica.sync() }), ("status", { _ = try replica.status() }),
                ("verify", { _ = try replica.verify(deep: true) }),
                ("leave", { _ = try replica.leave() }), ("identity", { _ = try replica.store.identity() }),
                ("conflicts", { _ = try replica.store.conflicts() }),
                ("alter", { try replica.store.alter("ALTER TABLE note ADD COLUMN more") }),
                ("replica", { _ = try Replica(Store(writer)) }),
                ("join", { _ = try Replica.join(Store(writer), containerPath: self.path("container-\(name)")) }),
            ]
            for (what, call) in calls {
                assertFails(.database, saying: "The database is closed.", "\(what) of a \(name)", call)
            }
        }
    }

    func testAnEngineFailsWhenTheAppClosesItsConnection() async throws {
        for (name, writer) in try writers() {
            let engine = SyncEngine(try replica(name, writer))
            engine.start()
            try await engine.sync()
            try writer.close()
            try waitUntil("the engine of a \(name) fails") {
                if case .failing(let error) = engine.state { return error.message.contains("closed") }
                // A look at a file that changes wakes the watch.
                _ = FileManager.default.createFile(atPath: try path("container-\(name)") + "/devices/x", contents: nil)
                return false
            }
            await engine.stop()
        }
    }

    /// A path counts from the directory in which the store was made.
    func testARelativePathStaysWhereItIs() throws {
        let directory = FileManager.default.currentDirectoryPath
        defer { XCTAssertTrue(FileManager.default.changeCurrentDirectoryPath(directory)) }
        let (home, elsewhere) = (try path("home"), try path("elsewhere"))
        for folder in [home, elsewhere] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        XCTAssertTrue(FileManager.default.changeCurrentDirectoryPath(home))
        let pool = try DatabasePool(path: "relative.sqlite")
        try pool.write { try $0.execute(sql: "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)") }
        let store = Store(pool, keyDirectory: "keys")
        let replica = try Replica.create(store, containerPath: "shared", sealing: .sealed(recovery: nil), name: "a")
            .replica
        XCTAssertTrue(FileManager.default.changeCurrentDirectoryPath(elsewhere))
        try pool.write { try $0.execute(sql: "INSERT INTO note VALUES (1, 'a')") }
        XCTAssertEqual(try replica.sync().published.changes, 1)
        XCTAssertEqual(try replica.status().unpublished, 0)
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: elsewhere), [])
        try pool.close()
    }

    func testFerryInsideATransactionIsAnError() throws {
        for (name, writer) in try writers() {
            let replica = try replica(name, writer)
            try writer.write { _ in
                let calls: [(String, () throws -> Void)] = [
                    ("sync", { _ = try replica.sync() }), ("status", { _ = try replica.status() }),
                    ("identity", { _ = try replica.store.identity() }), ("leave", { _ = try replica.leave() }),
                    ("alter", { try replica.store.alter("ALTER TABLE note ADD COLUMN more") }),
                ]
                for (what, call) in calls {
                    assertFails(.invalidArgument, saying: "inside a transaction", "\(what) in a \(name)", call)
                }
            }
            XCTAssertNoThrow(try replica.sync())
        }
    }

    /// GRDB's default is not to wait at all. The app's own writes fail then, and Ferry's accesses wait for a while.
    func testAPassWaitsForAnotherProgram() throws {
        for (name, writer) in try writers() {
            let replica = try replica(name, writer)
            try writer.write { try $0.execute(sql: "INSERT INTO note VALUES (1, 'a')") }
            let other = try DatabaseQueue(path: path("\(name).sqlite"))
            let (isLocked, isOver) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            DispatchQueue.global().async {
                do {
                    try other.writeWithoutTransaction { database in
                        try database.inTransaction(.immediate) {
                            isLocked.signal()
                            // Until the app has met the lock, and then until the pass has waited for a moment.
                            isOver.wait()
                            _ = isOver.wait(timeout: .now() + .milliseconds(300))
                            return .rollback
                        }
                    }
                } catch {
                    XCTFail("\(error)")
                }
            }
            isLocked.wait()
            XCTAssertThrowsError(try writer.write { try $0.execute(sql: "INSERT INTO note VALUES (2, 'b')") }, name)
            isOver.signal()
            XCTAssertEqual(try replica.sync().published.changes, 1, name)
            XCTAssertThrowsError(try writer.write { try $0.execute(sql: "INSERT INTO note VALUES (1, 'b')") }, name)
        }
    }

    /// The hook of a replay has the connection. Ferry tells so, and the pass fails with the hook's error.
    func testFerryInsideAHookIsAnError() throws {
        let writer = try DatabasePool(path: path("hook.sqlite"))
        let first = try replica("hook", writer)
        let pool = try DatabasePool(path: path("other.sqlite"))
        try pool.write { try $0.execute(sql: "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)") }
        let other = try Replica.join(Store(pool), containerPath: path("container-hook")).replica
        first.store.willCommitReplay = { [weak first] _, _ in
            _ = try first?.store.identity()
        }
        try pool.write { try $0.execute(sql: "INSERT INTO note VALUES (1, 'a')") }
        _ = try other.sync()
        assertFails(.replayHookFailed, saying: "inside a transaction", "the store in a hook") { _ = try first.sync() }
        first.store.willCommitReplay = { [weak first] _, _ in _ = try first?.sync() }
        assertFails(.replayHookFailed, saying: "inside a transaction", "a sync in a hook") { _ = try first.sync() }
        first.store.willCommitReplay = nil
        XCTAssertEqual(try first.sync().replayed.changes, 1)
    }
}
