import FerryCore
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryDocuments
@testable import FerryEngine

/// When a database gets Ferry's tables of documents, and what becomes of an app's tables by the same names.
final class DocumentTableStoryTests: XCTestCase {
    private static let names = [
        "ferry_attachment", "ferry_content", "ferry_document", "ferry_document_setting", "ferry_pack", "ferry_version",
    ]

    /// The travelling tables that a database has.
    private func tables(_ home: DocumentHome, _ index: Int) throws -> [String] {
        let list = Self.names.map { "'\($0)'" }.joined(separator: ", ")
        return try home.sql(
            index, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN (\(list)) ORDER BY 1"
        )
        .map { $0[0].text }
    }

    func testADatabaseWithoutDocumentsHasNoneOfTheirTables() throws {
        let home = try DocumentHome()
        try home.write(0, "INSERT INTO photo(title) VALUES ('a')")
        try home.settle()
        for index in 0..<2 {
            XCTAssertEqual(try tables(home, index), [])
            XCTAssertEqual(try home.devices[index].list(.below(.top)), [])
            XCTAssertEqual(try home.devices[index].attachments(), [])
            XCTAssertNil(try home.replica(index).status().documents)
            XCTAssertEqual(try home.names(below: home.shelfPath(index)), [])
        }
    }

    func testTheFirstDocumentMakesTheTablesHereAndWhereItArrives() throws {
        let home = try DocumentHome()
        try home.add(0, "F/a", "1")
        XCTAssertEqual(try tables(home, 0), Self.names)
        XCTAssertEqual(try tables(home, 1), [])
        _ = try home.replica(0).sync()
        let segments = "\(DocumentHome.containerPath)/devices/\(home.deviceID(1).hex)/segments"
        let before = try home.names(below: segments)
        let report = try home.replica(1).sync()
        XCTAssertEqual(try tables(home, 1), Self.names)
        XCTAssertEqual(report.published.changes, 0, "what arrives is not sent back")
        // The device tells its schema, which has the tables now, and nothing else.
        XCTAssertLessThanOrEqual(try home.names(below: segments).count, before.count + 1)
        let after = try home.replica(1).sync()
        XCTAssertFalse(after.hasNews)
        try home.assertSettled(["F/": "", "F/a": "1"])
    }

    func testBothDevicesMakeTheTablesAtOnce() throws {
        let home = try DocumentHome()
        try home.add(0, "a", "1")
        try home.add(1, "b", "2")
        try home.assertSettled(["a": "1", "b": "2"])
    }

    func testAJoiningDeviceGetsTablesAndDocuments() throws {
        let home = try DocumentHome(devices: 1)
        let bytes = noise(20_000, seed: 1)
        try home.add(0, "F/a", bytes)
        try home.settle()
        try home.addDevice()
        try home.settle()
        XCTAssertEqual(try tables(home, 1), Self.names)
        XCTAssertEqual(try home.bytes(1, "F/a"), bytes)
        try home.assertEqualRows([0, 1])
        try home.assertSound(1)
    }

    func testADeviceThatJoinsBySnapshotGetsTablesAndDocuments() throws {
        let home = try DocumentHome(devices: 1)
        let bytes = noise(20_000, seed: 1)
        try home.add(0, "F/a", bytes)
        (home.retention.snapshotMinimumBytes, home.retention.firstSnapshotChangesPerRow) = (1, 0)
        try home.reopen(0)
        for number in 0..<30 {
            try home.write(0, "INSERT INTO photo(title) VALUES ('\(number)')")
            _ = try home.replica(0).sync()
        }
        _ = try home.replica(0).compact()
        let snapshots = try home.names(below: "\(DocumentHome.containerPath)/devices/\(home.deviceID(0).hex)/snapshots")
        XCTAssertFalse(snapshots.isEmpty)
        try home.addDevice()
        try home.settle()
        XCTAssertEqual(try tables(home, 1), Self.names)
        XCTAssertEqual(try home.bytes(1, "F/a"), bytes)
        try home.assertEqualRows([0, 1])
    }

    func testAnArchiveBringsTablesToADeviceThatHasNone() throws {
        let home = try DocumentHome()
        try home.add(0, "F/a", "1")
        let archive = home.folder.appendingPathComponent("all.ferry").path
        _ = try home.replica(0).exportSnapshot(to: archive)
        _ = try home.replica(1).importSnapshot(from: archive)
        XCTAssertEqual(try tables(home, 1), Self.names)
        XCTAssertEqual(try home.shown(1), ["F/": "", "F/a": "1"])
        try home.assertSettled(["F/": "", "F/a": "1"])
    }

    func testADatabaseIsMadeOfAnArchive() throws {
        let home = try DocumentHome()
        try home.add(0, "F/a", "1")
        try home.write(0, "INSERT INTO photo(title) VALUES ('a')")
        let archive = home.folder.appendingPathComponent("all.ferry").path
        _ = try home.replica(0).exportSnapshot(to: archive)
        var setup = ReplicaSetup(environment: home.environment)

        let joined = try setup.importDatabase(
            at: home.folder.appendingPathComponent("joined.sqlite").path, from: archive,
            containerPath: DocumentHome.containerPath, name: "joined")
        let access = DocumentAccess(try XCTUnwrap(joined.replica))
        XCTAssertEqual(try access.list(.below(.top)).map(\.path), ["F", "F/a"])
        try access.replica.store.close()

        // Without a container nothing of Ferry's stays, and the app's rows do.
        let path = home.folder.appendingPathComponent("plain.sqlite").path
        setup.importedDocuments = .discarded
        XCTAssertNil(try setup.importDatabase(at: path, from: archive).replica)
        let plain = try Store(path: path)
        XCTAssertEqual(try plain.read { try $0.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'ferry%'") }, [])
        XCTAssertEqual(try plain.read { try $0.count("SELECT count(*) FROM photo") }, 1)
    }

    // MARK: An app's own tables

    func testAnAppsOwnTableByTheNameStays() throws {
        for name in ["ferry_content", "ferry_document", "Ferry_Pack", "ferry_chunk"] {
            let home = try DocumentHome(devices: 0)
            try home.addDevice("CREATE TABLE photo(id INTEGER PRIMARY KEY); CREATE TABLE \(name)(x TEXT)")
            try home.write(0, "INSERT INTO \(name) VALUES ('of the app')")
            try home.settle()
            XCTAssertEqual(failure { try home.add(0, "a", "1") }?.code, .unsupportedTable, name)
            XCTAssertEqual(
                failure { _ = try home.replica(0).storeContents([home.source([1])]) }?.code, .unsupportedTable, name)
            XCTAssertEqual(try home.names(below: home.shelfPath(0)), [], name)
            XCTAssertEqual(try home.devices[0].list(.below(.top)), [], name)
            try home.settle()
            XCTAssertEqual(
                try home.replica(0).examine().findings.filter { $0.severity == .fault }.map(\.problem), [], name)
            _ = try home.replica(0).leave()
            XCTAssertEqual(try home.sql(0, "SELECT x FROM \(name)"), [[.text("of the app")]], name)
        }
    }

    func testWhatArrivesBesideAnAppsOwnTableIsKeptAndNotShown() throws {
        let home = try DocumentHome()
        try home.write(1, "CREATE TABLE ferry_document(x TEXT)")
        try home.write(1, "INSERT INTO ferry_document VALUES ('of the app')")
        try home.add(0, "F/a", "1")
        try home.write(0, "INSERT INTO photo(title) VALUES ('travels')")
        try home.settle()
        XCTAssertEqual(try home.sql(1, "SELECT title FROM photo"), [[.text("travels")]])
        XCTAssertEqual(try home.sql(1, "SELECT * FROM ferry_document"), [[.text("of the app")]])
        XCTAssertEqual(try home.devices[1].list(.below(.top)), [])
        XCTAssertEqual(failure { try home.add(1, "b", "2") }?.code, .unsupportedTable)
        XCTAssertEqual(try home.sql(0, "SELECT count(*) FROM ferry_document"), [[.integer(2)]])

        // Once the app gives the name up, everything is there.
        try home.write(1, "ALTER TABLE ferry_document RENAME TO of_the_app")
        try home.settle()
        try home.assertSettled(["F/": "", "F/a": "1"])
        XCTAssertEqual(try home.sql(1, "SELECT * FROM of_the_app"), [[.text("of the app")]])
    }

    func testLeavingBesideAnAppsOwnTableDropsNothingOfTheApps() throws {
        let home = try DocumentHome()
        try home.write(1, "CREATE TABLE ferry_version(x TEXT)")
        try home.write(1, "INSERT INTO ferry_version VALUES ('of the app')")
        try home.add(0, "a", "1")
        try home.settle()
        _ = try home.replica(1).leave(discardingDocuments: true)
        XCTAssertEqual(try home.sql(1, "SELECT * FROM ferry_version"), [[.text("of the app")]])
        XCTAssertEqual(
            try home.sql(1, "SELECT name FROM sqlite_schema WHERE name LIKE 'ferry%'"), [[.text("ferry_version")]])
    }

    func testLeavingTakesAllTablesAndAllBytesAlong() throws {
        let home = try DocumentHome()
        try home.add(0, "a", noise(20_000, seed: 1))
        try home.settle()
        XCTAssertEqual(failure { _ = try home.replica(1).leave() }?.code, .documentsPresent)
        XCTAssertEqual(try home.bytes(1, "a").count, 20_000, "a refusal changes nothing")
        _ = try home.replica(1).sync()
        XCTAssertEqual(try home.replica(1).leave(discardingDocuments: true).documents, 1)
        XCTAssertEqual(try home.sql(1, "SELECT name FROM sqlite_schema WHERE name LIKE 'ferry%'"), [])
        XCTAssertEqual(try home.names(below: home.shelfPath(1)), [])
        XCTAssertEqual(try home.files.item(at: home.shelfPath(1)), .missing)
        XCTAssertEqual(try home.bytes(0, "a").count, 20_000)
    }

    // MARK: Forged rows

    /// What no Ferry writes into its tables. IDs are those of nothing else.
    private static let forged: [String] = [
        "ferry_content VALUES (x'00', 5, x'00', NULL)",
        "ferry_content VALUES ('sixteen letters!', 5, x'0068656c6c6f', NULL)",
        "ferry_content VALUES (x'a0000000000000000000000000000001', -1, x'00', NULL)",
        "ferry_content VALUES (x'a0000000000000000000000000000002', 9223372036854775807, x'00', NULL)",
        "ferry_content VALUES (x'a0000000000000000000000000000003', 9223372036854775807, x'0100', NULL)",
        "ferry_content VALUES (x'a0000000000000000000000000000004', 'long', x'', NULL)",
        "ferry_content VALUES (x'a0000000000000000000000000000005', 5, x'0068656c6c6f', NULL)",
        "ferry_content VALUES (x'a0000000000000000000000000000006', 5, x'0068656c6c6f', x'01')",
        "ferry_content VALUES (x'a0000000000000000000000000000007', 5, x'0068656c6c6f', x'b0000000000000000000000000000001')",
        "ferry_content VALUES (x'a0000000000000000000000000000008', 70000, "
            + "x'0101c0000000000000000000000000000001f0a204', NULL)",
        "ferry_content VALUES (x'a0000000000000000000000000000009', 5, x'09ffffffff', NULL)",
        "ferry_pack VALUES (x'01', x'02', 3, x'04', x'05')",
        "ferry_pack VALUES (x'd0000000000000000000000000000001', x'e0000000000000000000000000000001', -5, x'01', NULL)",
        "ferry_pack VALUES (x'd0000000000000000000000000000002', x'e0000000000000000000000000000001', "
            + "9223372036854775807, x'01', NULL)",
        "ferry_pack VALUES (x'd0000000000000000000000000000003', x'e0000000000000000000000000000001', 100, "
            + "x'ffffffffff7f', NULL)",
        "ferry_pack VALUES (x'd0000000000000000000000000000004', x'e0000000000000000000000000000001', 100000, "
            + "x'01c000000000000000000000000000000100f0a204f0a204', NULL)",
        "ferry_pack VALUES (x'd0000000000000000000000000000005', 'nobody', 'many', 7, 'x')",
        "ferry_document VALUES (x'01', NULL, 'short', 0, NULL)",
        "ferry_document VALUES (x'f0000000000000000000000000000001', NULL, '../../etc/passwd', 0, NULL)",
        "ferry_document VALUES (x'f0000000000000000000000000000002', NULL, '', 99, NULL)",
        "ferry_document VALUES (x'f0000000000000000000000000000003', x'f0000000000000000000000000000003', 'self', 1, 'x')",
        "ferry_document VALUES (x'f0000000000000000000000000000004', NULL, x'ff00fe', 0, 9223372036854775807)",
        "ferry_document VALUES (x'f0000000000000000000000000000005', NULL, '', 0, -9223372036854775808)",
        "ferry_document VALUES (x'f0000000000000000000000000000006', x'f0000000000000000000000000000001', 'in a file', 0, NULL)",
        "ferry_version VALUES (x'01', x'01', NULL, NULL, 0, 0, NULL, 0, 0)",
        "ferry_version VALUES (x'f1000000000000000000000000000001', x'f0000000000000000000000000000001', "
            + "x'a0000000000000000000000000000002', x'0102', 'x', NULL, 'x', 1e300, -1)",
        "ferry_version VALUES (x'f1000000000000000000000000000002', x'f0000000000000000000000000000004', "
            + "x'a0000000000000000000000000000003', x'f1000000000000000000000000000002', 0, 9223372036854775807, NULL, "
            + "9223372036854775807, 9223372036854775807)",
        "ferry_version VALUES (x'f1000000000000000000000000000003', x'f0000000000000000000000000000005', "
            + "x'a0000000000000000000000000000005', NULL, 0, -9223372036854775808, NULL, -9223372036854775808, 0)",
        "ferry_version VALUES (x'f1000000000000000000000000000004', x'f0000000000000000000000000000005', "
            + "x'a0000000000000000000000000000008', NULL, NULL, NULL, NULL, NULL, NULL)",
        "ferry_version VALUES (x'f1000000000000000000000000000005', x'f0000000000000000000000000000006', "
            + "x'a0000000000000000000000000000009', NULL, 0, 1, NULL, 1, 0)",
        "ferry_version VALUES (x'f1000000000000000000000000000006', x'f0000000000000000000000000000003', "
            + "x'a0000000000000000000000000000007', NULL, 0, 1, NULL, 1, 0)",
        "ferry_attachment VALUES ('')",
        "ferry_attachment VALUES ('photo')",
        "ferry_attachment VALUES ('photo.image.more')",
        "ferry_attachment VALUES ('nothing.here')",
        "ferry_attachment VALUES ('sqlite_schema.sql')",
        "ferry_attachment VALUES ('ferry_content.id')",
        "ferry_attachment VALUES ('photo.\"image')",
        "ferry_document_setting VALUES ('keep', x'00')",
        "ferry_document_setting VALUES ('', 'x')",
    ]

    func testForgedRowsArePassedOverAndStopNothing() throws {
        let home = try DocumentHome()
        let bytes = noise(20_000, seed: 1)
        try home.add(0, "F/a", bytes)
        try home.settle()
        for row in Self.forged { try home.write(0, "INSERT INTO \(row)") }
        try home.settle()
        try home.add(1, "G/b", bytes + [1])
        try home.settle()
        XCTAssertEqual(
            try home.sql(1, "SELECT count(*) FROM ferry_version WHERE id = x'f1000000000000000000000000000002'"),
            [[.integer(1)]], "the rows travel")
        for index in 0..<2 {
            XCTAssertEqual(try home.bytes(index, "F/a"), bytes)
            XCTAssertEqual(try home.bytes(index, "G/b"), bytes + [1])
            let entries = try home.devices[index].list(.below(.top))
            XCTAssertTrue(entries.allSatisfy { !$0.name.contains("/") && !$0.name.isEmpty && $0.name != ".." })
            for entry in entries where !entry.path.hasPrefix("F") && !entry.path.hasPrefix("G") && entry.kind == .file {
                XCTAssertNotNil(
                    failure { _ = try home.devices[index].file(of: entry.id) },
                    "\(entry.path) has bytes on device \(index)")
                _ = try home.devices[index].versions(of: entry.id)
            }
            _ = try home.devices[index].list(.deleted)
            _ = try home.devices[index].list(.conflicts)
            XCTAssertNotNil(try home.replica(index).status().documents)
            XCTAssertTrue(
                try home.replica(index).examine().findings.contains { $0.problem.contains("is not Ferry's") })
            _ = try home.replica(index).verifyContents(isDeep: true)
            _ = try home.replica(index).examine(isRepairing: true)
            _ = try home.devices[index].removeExpired()
            XCTAssertEqual(try home.replica(index).verify(deep: true).differences, [])
        }
        try home.settle()
        try home.assertEqualRows([0, 1])
    }

    func testEachForgedRowAloneStopsNothing() throws {
        for row in Self.forged where !row.hasPrefix("ferry_version") {
            let home = try DocumentHome(devices: 1)
            try home.add(0, "a", noise(5000, seed: 1))
            guard (try? home.write(0, "INSERT INTO \(row)")) != nil else { continue }  // refers to another forged row
            XCTAssertNoThrow(try home.settle(), row)
            XCTAssertNoThrow(try home.add(0, "b", noise(5000, seed: 2)), row)
            XCTAssertNoThrow(try home.settle(), row)
            XCTAssertNoThrow(try home.bytes(0, "b"), row)
            XCTAssertNoThrow(try home.replica(0).status(), row)
            XCTAssertNoThrow(try home.replica(0).examine(isRepairing: true), row)
            XCTAssertNoThrow(try home.replica(0).verifyContents(isDeep: true), row)
        }
    }
}
