import FerryCore
import FerryEngine
import FerryStore
import Foundation
import GRDB
import XCTest

@testable import FerryKeyValue

/// What becomes of settings where a database leaves its container.
final class LeavingTests: XCTestCase {
    private func sql(_ path: String, _ statement: String) throws -> [String] {
        let queue = try DatabaseQueue(path: path)
        defer { try? queue.close() }  // the test has read what it wanted
        return try queue.read { try String.fetchAll($0, sql: statement) }
    }

    func testSettingsStayAndComeAlongIntoTheNextContainer() throws {
        let pair = try TwoStores()
        try pair.second.set("dark", forKey: "theme")
        try pair.second.add(contentsOf: ["a", "b"], toSet: "read")
        try pair.second.increment("launches", by: 3)
        try pair.settle()
        let report = try pair.engines[1].replica.leave()
        XCTAssertEqual(report.keyValueRows, 4)
        let path = pair.databasePath(1)
        XCTAssertEqual(
            try sql(path, "SELECT name FROM sqlite_schema WHERE name LIKE 'ferry%' AND type = 'table' ORDER BY 1"),
            ["ferry_kv_counter", "ferry_kv_member", "ferry_kv_value"])
        XCTAssertEqual(
            try sql(path, "SELECT member FROM ferry_kv_member WHERE \"set\" = 'read' ORDER BY 1"), ["a", "b"])
        // The container goes on meanwhile.
        pair.waitForALaterMillisecond()
        try pair.first.set("light", forKey: "theme")
        try pair.first.set("x", forKey: "new")
        _ = try pair.engines[0].replica.sync()
        let container = pair.folder.appendingPathComponent("container").path
        let joined = try Replica.join(databasePath: path, containerPath: container, name: "again")
        let again = try KeyValueStore(SyncEngine(XCTUnwrap(joined.replica)))
        for _ in 0..<3 { for replica in [pair.engines[0].replica, again.engine.replica] { _ = try replica.sync() } }
        for store in [pair.first, again] {
            XCTAssertEqual(try store.string(forKey: "theme"), "light")
            XCTAssertEqual(try store.string(forKey: "new"), "x")
            XCTAssertEqual(try store.members(ofSet: "read"), ["a", "b"])
            XCTAssertEqual(try store.counter("launches"), 3)
        }
        XCTAssertEqual(try again.engine.replica.verify(deep: true).differences, [])
    }

    /// Two people were the first ones. The second leaves and joins the first, with the settings.
    func testSettingsOfASecondFirstDeviceComeAlong() throws {
        let one = try TwoStores()
        let other = try TwoStores(count: 1)
        try one.first.set("one", forKey: "both")
        try other.first.set("other", forKey: "both")
        try other.first.set("kept", forKey: "mine")
        try other.first.add("m", toSet: "s")
        try other.first.increment("c", by: 2)
        try one.first.increment("c", by: 5)
        _ = try one.engines[0].replica.sync()
        _ = try other.engines[0].replica.sync()
        XCTAssertEqual(try other.engines[0].replica.leave().keyValueRows, 4)
        let container = one.folder.appendingPathComponent("container").path
        let joined = try Replica.join(other.engines[0].store, containerPath: container)
        for _ in 0..<3 { for replica in [one.engines[0].replica, joined.replica] { _ = try replica.sync() } }
        for store in [one.first, try KeyValueStore(SyncEngine(joined.replica))] {
            XCTAssertEqual(try store.string(forKey: "both"), "one")
            XCTAssertEqual(try store.string(forKey: "mine"), "kept")
            XCTAssertEqual(try store.members(ofSet: "s"), ["m"])
            XCTAssertEqual(try store.counter("c"), 7)
        }
    }

    /// A new container of the same database begins with the settings.
    func testANewContainerBeginsWithTheSettings() throws {
        let pair = try TwoStores(count: 1)
        try pair.first.set("dark", forKey: "theme")
        _ = try pair.engines[0].replica.leave()
        let place = pair.folder.appendingPathComponent("another").path
        let replica = try Replica.create(pair.engines[0].store, containerPath: place, sealing: .open, name: "a").replica
        let joined = try Replica.join(
            databasePath: pair.databasePath(1), containerPath: place, name: "b")
        XCTAssertEqual(
            try KeyValueStore(SyncEngine(XCTUnwrap(joined.replica))).string(forKey: "theme"), "dark")
        XCTAssertEqual(try KeyValueStore(SyncEngine(replica)).string(forKey: "theme"), "dark")
    }

    func testADatabaseWithoutSettingsKeepsNoTable() throws {
        let pair = try TwoStores(count: 1)
        XCTAssertNil(try pair.engines[0].replica.leave().keyValueRows)
        XCTAssertEqual(try sql(pair.databasePath(0), "SELECT name FROM sqlite_schema WHERE name LIKE 'ferry%'"), [])
    }

    /// What was left can be read, and a write says that the database left.
    func testAStoreOfADatabaseThatLeftSaysSo() throws {
        let pair = try TwoStores(count: 1)
        try pair.first.set("dark", forKey: "theme")
        let changes = Collected(pair.first.externalChanges)
        pair.engines[0].start()
        _ = try pair.engines[0].replica.leave()
        changes.wait("the database belongs to no container") { $0 == [KeyValueChange(reason: .containerChange)] }
        XCTAssertEqual(try pair.first.string(forKey: "theme"), "dark")
        assertFails(.notTracked, naming: "left its container") { try pair.first.set("light", forKey: "theme") }
        XCTAssertEqual(try pair.first.string(forKey: "theme"), "dark")
        assertFails(.notTracked) { _ = try KeyValueStore(pair.engines[0].store) }
    }

    func testAWriteInsideATransactionIsAnError() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ferry-kv-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // a temporary folder
        let pool = try DatabasePool(path: folder.appendingPathComponent("a.sqlite").path)
        try pool.write { try $0.execute(sql: "CREATE TABLE note(id INTEGER PRIMARY KEY)") }
        let replica = try Replica.create(
            Store(pool), containerPath: folder.appendingPathComponent("c").path, sealing: .open, name: "a"
        ).replica
        let store = try KeyValueStore(SyncEngine(replica))
        try pool.write { _ in
            assertFails(.invalidArgument, naming: "inside a transaction") { try store.set(1, forKey: "a") }
            assertFails(.invalidArgument, naming: "inside a transaction") { _ = try store.string(forKey: "a") }
        }
        XCTAssertNil(try store.value(forKey: "a"))
    }
}
