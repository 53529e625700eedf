import FerryContainer
import FerryCore
import FerrySchema
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// Files with valid checksums and a wrong meaning: they stop the log of their author, and nothing else.
final class ForgedLogTests: XCTestCase {
    private static let schema = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
        CREATE TABLE song(id INTEGER PRIMARY KEY, artist INTEGER REFERENCES artist(id), title TEXT);
        CREATE TABLE "my tag"(song INTEGER REFERENCES song(id), "Word" TEXT, weight REAL, PRIMARY KEY (song, "Word")) WITHOUT ROWID;
        CREATE TABLE setting(name TEXT PRIMARY KEY NOT NULL, value);
        CREATE VIEW view_of_artist AS SELECT * FROM artist;
        INSERT INTO artist VALUES (1, 'Ann'); INSERT INTO song VALUES (1, 1, 'Sea');
        INSERT INTO "my tag" VALUES (1, 'blue', 0.5); INSERT INTO setting VALUES ('volume', 11);
        """
    private static let rows =
        "SELECT * FROM artist ORDER BY 1; SELECT * FROM song ORDER BY 1; SELECT * FROM \"my tag\"; SELECT * FROM setting ORDER BY 1;"

    private func household() throws -> (Fleet, ForgedDevice) {
        let fleet = try Fleet()
        try fleet.start(Self.schema)
        try fleet.join()
        try fleet.settle()
        return (fleet, try ForgedDevice(fleet.containerPath))
    }

    /// Two honest devices go on in all their tables, and are told of the third one: which file, why, and what to do.
    private func assertOnlyItsLogStops(
        _ what: String, _ table: TableChanges, at time: HybridTime? = nil, file: StaticString = #filePath,
        line: UInt = #line
    ) throws {
        let (fleet, evil) = try household()
        try evil.publish([
            ForgedDevice.row(
                "setting", .key(["name"]), key: nil, object: try settingID(fleet), fields: [:], kind: .update)
        ])
        let name = try evil.publish([table], at: time)
        try fleet.shell(0, "INSERT INTO song VALUES (10, 1, 'from a'); UPDATE setting SET value = 12")
        try fleet.shell(1, "INSERT INTO artist VALUES (20, 'from b')")
        for _ in 0..<2 {
            for replica in fleet.replicas {
                let report = try replica.sync()
                XCTAssertEqual(report.waiting.map(\.device), ["evil"], what, file: file, line: line)
                XCTAssertEqual(report.waiting.map(\.isDamage), [true], what, file: file, line: line)
                XCTAssertEqual(
                    report.waiting.first?.file.map { ($0 as NSString).lastPathComponent }, name.fileName, what,
                    file: file, line: line)
            }
        }
        try fleet.assertEqual(Self.rows, file: file, line: line)
        let rows = try fleet.shell(1, Self.rows)
        XCTAssertTrue(rows.contains("from a") && rows.contains("from b"), rows, file: file, line: line)
        for replica in fleet.replicas {
            let peer = try XCTUnwrap(try replica.status().devices.first { $0.name == "evil" }, file: file, line: line)
            XCTAssertNotNil(peer.problem, what, file: file, line: line)
            XCTAssertNotNil(peer.problemFile, what, file: file, line: line)
            // What stands before the fault is replayed.
            XCTAssertEqual(peer.behind, 1, what, file: file, line: line)
            let findings = try replica.examine().findings.filter { $0.severity != .note }
            XCTAssertEqual(findings.map(\.subject), ["evil"], what, file: file, line: line)
            XCTAssertEqual(findings.first?.file, peer.problemFile, what, file: file, line: line)
            XCTAssertEqual(try replica.verify(deep: true).differences.count, 0, what, file: file, line: line)
        }
        // A device that joins has what can be read.
        let joined = try fleet.join()
        XCTAssertEqual(joined.waiting.map(\.device), ["evil"], what, file: file, line: line)
        try fleet.assertEqual(Self.rows, file: file, line: line)
    }

    private func settingID(_ fleet: Fleet) throws -> ObjectID {
        let hex = try fleet.shell(
            0, "SELECT hex(object) FROM ferry_object_\(try number(of: "setting", fleet)) LIMIT 1")
        return try XCTUnwrap(ObjectID(hex.trimmingCharacters(in: .whitespacesAndNewlines).lowercased()))
    }

    private func number(of table: String, _ fleet: Fleet) throws -> String {
        try fleet.shell(0, "SELECT number FROM ferry_table WHERE name = '\(table)'")
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func testTablesThatCannotTravelStopTheirAuthorsLog() throws {
        for name in [
            "sqlite_master", "SQLite_Sequence", "ferry_meta", "Ferry_Object_1", "ferry_pending", "Ferry_Record",
        ] {
            try assertOnlyItsLogStops(name, ForgedDevice.row(name, fields: ["name": .text([0x78])]))
        }
    }

    /// A newer Ferry may have further tables of its own that travel. An older one keeps what comes, and goes on.
    func testATravellingTableOfANewerFerryStopsNoLog() throws {
        let (fleet, newer) = try household()
        try fleet.shell(
            1, "CREATE TABLE ferry_news(id TEXT PRIMARY KEY, text TEXT); INSERT INTO ferry_news VALUES ('own', 'x')")
        let news = ForgedDevice.row(
            "ferry_news", .key(["id"]), key: nil, fields: ["id": .text(Array("a".utf8)[...]), "text": .text([0x79])])
        try newer.publish([news])
        try newer.publish([ForgedDevice.row("artist", fields: ["name": .text(Array("Zoe".utf8)[...])])])
        try fleet.settle()
        try fleet.join()
        try fleet.settle()
        for (index, replica) in fleet.replicas.enumerated() {
            XCTAssertEqual(try replica.status().devices.compactMap(\.problem), [], "device \(index)")
            XCTAssertEqual(try fleet.shell(index, "SELECT name FROM artist ORDER BY 1"), "Ann\nZoe\n")
            XCTAssertEqual(try replica.verify(deep: true).differences, [])
            let number = try number(of: "ferry_news", fleet)
            XCTAssertEqual(try fleet.shell(index, "SELECT count(*) FROM ferry_object_\(number)"), "1\n")
        }
        XCTAssertEqual(try fleet.shell(1, "SELECT * FROM ferry_news"), "own|x\n")
    }

    func testFerrysOwnTablesIdentifiedInAnotherWayStopTheirAuthorsLog() throws {
        for name in ["ferry_policy", "ferry_kv_value", "ferry_kv_counter"] {
            try assertOnlyItsLogStops(name, ForgedDevice.row(name, fields: ["name": .text([0x78])]))
        }
    }

    func testNamesThatNoTableHasStopTheirAuthorsLog() throws {
        try assertOnlyItsLogStops("NUL", ForgedDevice.row("art\0ist", fields: ["name": .null]))
        try assertOnlyItsLogStops("empty", ForgedDevice.row("", fields: ["name": .null]))
        try assertOnlyItsLogStops("a column", ForgedDevice.row("artist", fields: ["na\0me": .null]))
        try assertOnlyItsLogStops("no key", ForgedDevice.row("new one", .key([]), key: nil, fields: ["name": .null]))
        try assertOnlyItsLogStops("twice", ForgedDevice.row("new", .key(["a", "A"]), key: nil, fields: ["a": .null]))
    }

    /// Twins are equal to Swift, and two names to SQLite: a log may have any of them, with and without a schema.
    func testTwinsOfNamesStopNoLogAndNoDevice() throws {
        let twins = ["n\u{e9}e", "ne\u{301}e"]
        let quoted = twins.map { "\"\($0)\"" }
        let list = quoted.joined(separator: ", ")
        let statements = quoted.map { "CREATE TABLE \($0)(\(list), PRIMARY KEY (\(list)))" }
        let artist = "CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE, \(list))"
        let schema = SchemaRecord(
            userVersion: 0, applicationID: 0,
            statements: zip(twins + ["artist"], statements + [artist]).map {
                .init(type: "table", name: $0, table: $0, sql: $1)
            },
            tracked: twins.map { TrackedTableRecord(name: $0, identity: .key(twins)) } + [
                TrackedTableRecord(
                    name: "artist", identity: .surrogate,
                    renamedColumns: zip(twins, twins.reversed()).map { RenamedColumn(name: $0, localName: $1) })
            ])
        func row(_ table: String, _ columns: [String], _ texts: [String]) -> TableChanges {
            var key = CanonicalKey(table: table)
            let values = texts.map { FieldValue.text(Array($0.utf8)[...]) }
            for value in values.prefix(columns.count) { key.append(value, collation: "BINARY") }
            return TableChanges(
                name: table, identity: .key(columns),
                columns: table == PolicyList.table ? ["target", "policy"] : columns,
                shapes: [[0, 1]],
                operations: [
                    ObjectOperation(object: key.id, kind: .insert, time: ForgedDevice.now, shape: 0, firstValue: 0)
                ], values: values)
        }
        let policies = twins.map { row(PolicyList.table, ["target"], ["column:artist.\($0)", "max"]) }
        for schema in [nil, schema] {
            let (fleet, evil) = try household()
            try evil.publish(twins.map { row($0, twins, ["a", "b"]) } + policies.prefix(1), schema: schema)
            try evil.publish([policies[1], ForgedDevice.row("artist", fields: [twins[0]: .null, twins[1]: .null])])
            try fleet.settle()
            try fleet.join()
            try fleet.shell(0, "CREATE TABLE IF NOT EXISTS \(quoted[0])(\(list), PRIMARY KEY (\(list)))")
            try fleet.settle()
            for (index, replica) in fleet.replicas.enumerated() {
                XCTAssertEqual(try replica.status().devices.compactMap(\.problem), [], "device \(index)")
                XCTAssertEqual(try replica.verify(deep: true).differences, [], "device \(index)")
                XCTAssertEqual(try fleet.shell(index, "SELECT name FROM artist ORDER BY 1"), "\nAnn\n")
            }
            XCTAssertEqual(try fleet.shell(0, "SELECT * FROM \(quoted[0])"), "a|b\n")
        }
    }

    func testKeysThatAreNoneStopTheirAuthorsLog() throws {
        let reference = FieldValue.reference(ObjectID(high: 7, low: 7))
        try assertOnlyItsLogStops("a reference", ForgedDevice.row("artist", key: reference, fields: ["name": .null]))
        try assertOnlyItsLogStops(
            "beside columns",
            ForgedDevice.row("setting", .key(["name"]), key: .integer(1), fields: ["name": .text([0x78])]))
    }

    func testTimesThatNoClockTellsStopTheirAuthorsLog() throws {
        try assertOnlyItsLogStops("an operation", ForgedDevice.row("artist", fields: ["name": .null], time: .latest))
        try assertOnlyItsLogStops("a changeset", ForgedDevice.row("artist", fields: ["name": .null]), at: .latest)
    }

    // MARK: Schemas

    /// A newer schema with a statement that no database can run. The record tracks a table that nobody has.
    private static let impossible = [
        "create table evil(a, b", "drop table artist", "create table evil as select * from artist",
        "select 1", "",
    ].map { sql in
        SchemaRecord(
            userVersion: 0, applicationID: 0,
            statements: [.init(type: "table", name: "evil", table: "evil", sql: sql)],
            tracked: [TrackedTableRecord(name: "evil", identity: .declared(["no_such"]))])
    }

    func testASchemaThatNoDatabaseCanHaveStopsNoJoin() throws {
        for schema in Self.impossible {
            let what = schema.statements[0].sql
            let (fleet, evil) = try household()
            try evil.publish([], schema: schema)
            for replica in fleet.replicas { XCTAssertEqual(try replica.sync().waiting, [], what) }
            let joined = try fleet.join()
            XCTAssertEqual(joined.refusedSchemas.map(\.device), ["evil"], what)
            XCTAssertFalse(joined.refusedSchemas[0].reason.isEmpty, what)
            XCTAssertEqual(
                Set(joined.createdTables), ["artist", "song", "my tag", "setting"], what)
            try fleet.settle()
            try fleet.assertEqual(Self.rows)
        }
    }

    func testATableIdentifiedByColumnsThatItLacksStopsNoJoin() throws {
        let (fleet, evil) = try household()
        try evil.publish(
            [],
            schema: SchemaRecord(
                userVersion: 0, applicationID: 0,
                statements: [
                    .init(type: "table", name: "evil", table: "evil", sql: "CREATE TABLE evil(id INTEGER PRIMARY KEY)")
                ],
                tracked: [TrackedTableRecord(name: "evil", identity: .declared(["no_such"]))]))
        let joined = try fleet.join()
        XCTAssertEqual(joined.refusedSchemas.map(\.device), ["evil"])
        try fleet.settle()
        try fleet.assertEqual(Self.rows)
    }

    /// The snapshot of an honest device that replayed the forged log holds a schema that can be made.
    func testASnapshotPassesNoImpossibleSchemaOn() throws {
        for schema in Self.impossible {
            let (fleet, evil) = try household()
            try evil.publish([], schema: schema)
            try fleet.settle()
            let record = try XCTUnwrap(try fleet.writeSnapshot(0).manifest.schema).record
            XCTAssertTrue(record.statements.contains { $0.name == "artist" }, schema.statements[0].sql)
            let joined = try fleet.join()
            XCTAssertEqual(
                Set(joined.createdTables), ["artist", "song", "my tag", "setting"], schema.statements[0].sql)
            try fleet.assertEqual(Self.rows)
        }
    }

    /// Without any possible schema the reason is told, and nothing is made.
    func testWithoutAPossibleSchemaAJoinSaysWhy() throws {
        let fleet = try Fleet()
        _ = try Container.create(at: fleet.containerPath, name: "container", fileSystem: PosixFileSystem())
        try ForgedDevice(fleet.containerPath).publish([], schema: Self.impossible[0])
        XCTAssertThrowsError(try fleet.join()) { XCTAssertEqual(($0 as? FerryError)?.code, .damagedFile) }
        XCTAssertFalse(FileManager.default.fileExists(atPath: fleet.databasePath(0)))
    }
}
