import FerryCore
import XCTest

@testable import FerryStore

/// What is written to a table while no trigger stands there: a rebuild, DROP and CREATE, triggers that somebody dropped.
final class UnseenWriteTests: XCTestCase {
    private struct Kind {
        var name: String
        var table: String
        var columns: String
        /// The key of row 1, 2, …
        var key: (Int) -> String
    }

    private let kinds = [
        Kind(name: "integer key", table: "t", columns: "id INTEGER PRIMARY KEY, x TEXT, y TEXT", key: { "\($0)" }),
        Kind(
            name: "text key", table: "\"My \"\"T\"\"\"",
            columns: "\"the key\" TEXT PRIMARY KEY NOT NULL, x TEXT, y TEXT",
            key: { "'k\($0)'" }),
        Kind(
            name: "compound key", table: "[Pair Of]", columns: "a INTEGER, b TEXT, x TEXT, y TEXT, PRIMARY KEY(a, b)",
            key: { "\($0), 'b'" }),
        Kind(
            name: "WITHOUT ROWID", table: "W", columns: "k BLOB PRIMARY KEY, x TEXT UNIQUE, y TEXT",
            key: { "x'0\($0)'" }),
    ]

    private func devices(_ kind: Kind, _ count: Int = 3) throws -> [TestDevice] {
        let options = kind.name == "WITHOUT ROWID" ? " WITHOUT ROWID" : ""
        let schema = TestSchema(name: kind.name, sql: "CREATE TABLE \(kind.table)(\(kind.columns))\(options);")
        let devices = try (1...count).map { try TestDevice($0, schema, hoursAhead: Int64($0 % 2)) }
        let rows = (1...3).map { "(\(kind.key($0)), 'x\($0)', 'y\($0)')" }.joined(separator: ", ")
        try devices[0].run("INSERT INTO \(kind.table) VALUES \(rows)")
        try settle(devices)
        return devices
    }

    /// A rebuild in twelve steps, in which `select` makes the rows.
    private func rebuild(_ kind: Kind, select: String = "*", extra: String = "") -> String {
        let options = kind.name == "WITHOUT ROWID" ? " WITHOUT ROWID" : ""
        let columns = kind.columns.components(separatedBy: ", PRIMARY KEY(a, b)")
        let made = columns[0] + extra + (columns.count > 1 ? ", PRIMARY KEY(a, b)" : "")
        return """
            BEGIN; CREATE TABLE "new one"(\(made))\(options);
            INSERT INTO "new one" SELECT \(select) FROM \(kind.table); DROP TABLE \(kind.table);
            ALTER TABLE "new one" RENAME TO \(kind.table); COMMIT;
            """
    }

    private func settle(_ devices: [TestDevice]) throws {
        for _ in 0..<2 {
            for device in devices {
                device.clock.now += 1000
                try device.flush()
                for other in devices where other.id != device.id { try device.receive(other) }
            }
        }
    }

    private func assertShown(
        _ expected: [String], _ kind: Kind, _ devices: [TestDevice], columns: String = "x, y",
        file: StaticString = #filePath, line: UInt = #line
    ) throws {
        for device in devices {
            let name = "\(kind.name), device \(device.id.low)"
            XCTAssertEqual(
                try device.query("SELECT \(columns) FROM \(kind.table) ORDER BY 1"), expected, name, file: file,
                line: line)
            XCTAssertEqual(try device.store.verify(deep: true).differences, [], name, file: file, line: line)
        }
        XCTAssertEqual(
            Set(try devices.map { try $0.store.statePosition().digests }).count, 1, kind.name, file: file, line: line)
    }

    func testWritesBetweenARebuildAndTheNextLookTravel() throws {
        for kind in kinds {
            let devices = try devices(kind)
            try devices[0].run(
                rebuild(kind)
                    + """
                    UPDATE \(kind.table) SET x = 'changed' WHERE x = 'x1'; DELETE FROM \(kind.table) WHERE x = 'x2';
                    INSERT INTO \(kind.table) VALUES (\(kind.key(4)), 'x4', 'y4');
                    """)
            try settle(devices)
            try assertShown(["changed|y1", "x3|y3", "x4|y4"], kind, devices)
        }
    }

    func testARebuildThatChangesNothingSendsNothing() throws {
        for kind in kinds {
            let devices = try devices(kind, 1)
            try devices[0].run(rebuild(kind, select: "*, 7", extra: ", added INTEGER DEFAULT 7"))
            try devices[0].flush()
            XCTAssertEqual(devices[0].log.last?.operationCount, 0, kind.name)
        }
    }

    func testAnotherColumnThatSomebodyChangedMeanwhileKeepsItsValue() throws {
        for kind in kinds {
            let devices = try devices(kind)
            try devices[1].run("UPDATE \(kind.table) SET y = 'theirs' WHERE x = 'x1'")
            try devices[0].run(rebuild(kind) + "UPDATE \(kind.table) SET x = 'ours' WHERE x = 'x1'")
            try settle(devices)
            try assertShown(["ours|theirs", "x2|y2", "x3|y3"], kind, devices)
        }
    }

    func testPendingWritesBeforeARebuildAndWritesAfterItAreBothThere() throws {
        for kind in kinds {
            let devices = try devices(kind)
            try devices[0].run(
                """
                UPDATE \(kind.table) SET y = 'before' WHERE x = 'x1'; DELETE FROM \(kind.table) WHERE x = 'x2';
                INSERT INTO \(kind.table) VALUES (\(kind.key(4)), 'x4', 'y4'), (\(kind.key(5)), 'x5', 'y5');
                """ + rebuild(kind)
                    + """
                    UPDATE \(kind.table) SET x = 'x1 after' WHERE x = 'x1'; DELETE FROM \(kind.table) WHERE x = 'x4';
                    UPDATE \(kind.table) SET y = 'after' WHERE x = 'x5';
                    INSERT INTO \(kind.table) VALUES (\(kind.key(2)), 'again', 'y');
                    """)
            try settle(devices)
            try assertShown(["again|y", "x1 after|before", "x3|y3", "x5|after"], kind, devices)
        }
    }

    func testDropCreateAndRefillSendsWhatIsOther() throws {
        for kind in kinds {
            let devices = try devices(kind)
            let options = kind.name == "WITHOUT ROWID" ? " WITHOUT ROWID" : ""
            try devices[0].run(
                """
                DROP TABLE \(kind.table); CREATE TABLE \(kind.table)(\(kind.columns))\(options);
                INSERT INTO \(kind.table) VALUES (\(kind.key(1)), 'x1', 'y1'), (\(kind.key(2)), 'x2', 'new'),
                    (\(kind.key(6)), 'x6', 'y6');
                """)
            try settle(devices)
            try assertShown(["x1|y1", "x2|new", "x6|y6"], kind, devices)
        }
    }

    func testATableThatIsEmptiedByDropAndCreateDeletesNothingElsewhereAndShowsNothingPieceByPiece() throws {
        for kind in kinds {
            let devices = try devices(kind)
            let options = kind.name == "WITHOUT ROWID" ? " WITHOUT ROWID" : ""
            try devices[0].run(
                """
                UPDATE \(kind.table) SET y = 'lost' WHERE x = 'x1'; INSERT INTO \(kind.table) VALUES (\(kind.key(4)), 'x4', 'y4');
                DROP TABLE \(kind.table); CREATE TABLE \(kind.table)(\(kind.columns))\(options);
                """)
            try devices[1].run(
                "UPDATE \(kind.table) SET y = 'theirs' WHERE x = 'x2'; DELETE FROM \(kind.table) WHERE x = 'x3'")
            try settle(devices)
            XCTAssertEqual(try devices[0].query("SELECT count(*) FROM \(kind.table)"), ["0"], kind.name)
            XCTAssertEqual(try devices[0].store.verify(deep: true).differences, [], kind.name)
            XCTAssertEqual(try devices[0].store.status().left.values.reduce(0, +), 2, kind.name)
            try assertShown(["x1|y1", "x2|theirs"], kind, Array(devices[1...]))
            // Who writes the rows again has them, everywhere.
            try devices[0].run("INSERT INTO \(kind.table) VALUES (\(kind.key(1)), 'mine', 'again')")
            try devices[1].run("INSERT INTO \(kind.table) VALUES (\(kind.key(8)), 'x8', 'y8')")
            try settle(devices)
            XCTAssertEqual(
                try devices[0].query("SELECT x, y FROM \(kind.table) ORDER BY 1"), ["mine|again", "x8|y8"], kind.name)
            try assertShown(["mine|again", "x2|theirs", "x8|y8"], kind, Array(devices[1...]))
        }
    }

    func testRowsOfADroppedTableDoNotComeBackWhenItIsMadeAgainLater() throws {
        for kind in kinds {
            let devices = try devices(kind)
            let options = kind.name == "WITHOUT ROWID" ? " WITHOUT ROWID" : ""
            try devices[0].run("DROP TABLE \(kind.table)")
            try settle(devices)
            try devices[1].run("UPDATE \(kind.table) SET y = 'theirs' WHERE x = 'x2'")
            try settle(devices)
            try devices[0].run(
                """
                CREATE TABLE \(kind.table)(\(kind.columns))\(options);
                INSERT INTO \(kind.table) VALUES (\(kind.key(7)), 'x7', 'y7');
                """)
            try settle(devices)
            XCTAssertEqual(try devices[0].query("SELECT x, y FROM \(kind.table)"), ["x7|y7"], kind.name)
            XCTAssertEqual(try devices[0].store.verify(deep: true).differences, [], kind.name)
            try assertShown(["x1|y1", "x2|theirs", "x3|y3", "x7|y7"], kind, Array(devices[1...]))
        }
    }

    func testADroppedColumnLeavesUnchangedValuesToWhoeverChangesThem() throws {
        let schema = TestSchema(
            name: "dropped", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT, y TEXT, z TEXT);",
            declared: [:])
        let devices = try (1...2).map { try TestDevice($0, schema) }
        try devices[0].run("INSERT INTO t VALUES (1, 'a', 'p', 'secret'), (2, 'b', 'q', NULL), (3, 'c', 'r', '')")
        try settle(devices)
        try devices[1].run("UPDATE t SET y = 'theirs' WHERE id = 1")
        try devices[0].run(
            """
            BEGIN; CREATE TABLE n(id INTEGER PRIMARY KEY, x TEXT, y TEXT); INSERT INTO n SELECT id, x, y FROM t;
            DROP TABLE t; ALTER TABLE n RENAME TO t; COMMIT; UPDATE t SET x = 'ours' WHERE id = 1;
            """)
        try devices[0].flush()
        // Nothing of the rows whose dropped value can be guessed.
        XCTAssertEqual(devices[0].log.last?.tables.flatMap(\.operations).map(\.kind), [.update])
        try settle(devices)
        for device in devices {
            XCTAssertEqual(try device.query("SELECT id, x, y FROM t"), ["1|ours|theirs", "2|b|q", "3|c|r"])
        }
        XCTAssertEqual(try devices[1].query("SELECT z FROM t WHERE id = 1"), ["secret"])
    }

    func testTriggersThatSomebodyDroppedAreMissed() throws {
        for name in ["ferry_1_insert", "ferry_1_update_0", "ferry_1_delete", "ferry_1_rekey"] {
            let devices = try devices(kinds[0], 2)
            try devices[0].run(
                """
                DROP TRIGGER \(name); UPDATE t SET x = 'changed' WHERE id = 1; DELETE FROM t WHERE id = 2;
                INSERT INTO t VALUES (4, 'x4', 'y4'); UPDATE t SET id = 9 WHERE id = 3;
                """)
            try settle(devices)
            try assertShown(["changed|y1", "x3|y3", "x4|y4"], kinds[0], devices)
        }
    }

    func testRowsThatAreOneByAUniqueValueAreNoWrites() throws {
        let schema = TestSchema(
            name: "joined", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE, x TEXT, y TEXT);")
        let devices = try (1...2).map { try TestDevice($0, schema, hoursAhead: Int64($0)) }
        try devices[0].run("INSERT INTO t VALUES (1, 'n', 'x0', 'y0')")
        try devices[1].run("INSERT INTO t VALUES (2, 'n', 'x1', 'y1'); UPDATE t SET id = 1")
        try settle(devices)
        let rebuild = """
            BEGIN; CREATE TABLE n(id INTEGER PRIMARY KEY, name TEXT UNIQUE, x TEXT, y TEXT); INSERT INTO n SELECT * FROM t;
            DROP TABLE t; ALTER TABLE n RENAME TO t; COMMIT;
            """
        try devices[0].run(rebuild)
        try devices[0].flush()
        XCTAssertEqual(devices[0].log.last?.operationCount, 0)
        try devices[1].run(rebuild + "UPDATE t SET x = 'written'")
        try settle(devices)
        for device in devices {
            XCTAssertEqual(try device.query("SELECT name, x, y FROM t"), ["n|written|y1"])
            XCTAssertEqual(try device.store.verify(deep: true).differences, [])
        }
    }

    func testWhatVerifyFindsIsTakenAsChanges() throws {
        let devices = try devices(kinds[0], 2)
        try devices[1].run("UPDATE t SET y = 'theirs' WHERE id = 1")
        // As `sqlite3_blob_write` does: without a trigger.
        try devices[0].store.read { _ in }
        try devices[0].store.writeAsFerry { connection in
            try connection.executeScript(
                "UPDATE t SET x = 'unseen' WHERE id = 1; DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (8, 'x8', 'y8')"
            )
            return ((), [])
        }
        let found = try devices[0].store.verify(deep: true)
        XCTAssertEqual(Set(found.differences.map(\.kind)), [.check, .missingRow, .unknownRow])
        XCTAssertTrue(found.mayBeTaken)
        let taken = try devices[0].store.takeUnseenWrites(encode: devices[0].encode)
        XCTAssertEqual(taken, [UnseenChanges(table: "t", changed: 1, inserted: 1, deleted: 1, gone: 0)])
        XCTAssertEqual(try devices[0].store.takeUnseenWrites(encode: devices[0].encode), [])
        try settle(devices)
        try assertShown(["unseen|theirs", "x3|y3", "x8|y8"], kinds[0], devices)
    }
}
