import FerryCore
import XCTest

@testable import FerryStore

/// Numbers in Ferry's tables that no Ferry wrote end in an error, never in a trap.
final class DamagedNumberTests: XCTestCase {
    private static let schema = TestSchema(
        name: "numbers",
        sql: "CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT); CREATE TABLE tag(name TEXT PRIMARY KEY);")

    private func device() throws -> TestDevice {
        let device = try TestDevice(1, Self.schema)
        try device.run("INSERT INTO song VALUES (1, 'a'); INSERT INTO tag VALUES ('x')")
        try device.flush()
        return device
    }

    /// Everything that reads Ferry's tables. What is thrown must be an error of Ferry's.
    private func use(_ device: TestDevice, _ what: String) {
        let uses: [() throws -> Void] = [
            { _ = try device.store.status() }, { _ = try device.store.verify(deep: true) },
            { _ = try device.store.hiddenRows() }, { _ = try device.store.conflicts() },
            { _ = try device.store.findRows(table: "song", key: ["1"]) }, { _ = try device.store.reading() },
            { try device.run("UPDATE song SET title = title || 'b'") }, { _ = try device.flush() },
        ]
        for use in uses {
            do { try use() } catch { XCTAssertTrue(error is FerryError, "\(what): \(error)") }
        }
    }

    func testNumbersOfTablesColumnsKindsAndDevices() throws {
        let damages = [
            "INSERT INTO ferry_exception VALUES (999, x'01', 1, '[]', 0), (-5, zeroblob(16), 99, '[', 7)",
            "INSERT INTO ferry_exception SELECT number, zeroblob(16), 10, '[]', -1 FROM ferry_table",
            "INSERT INTO ferry_exception_token VALUES (999, zeroblob(16), 998, zeroblob(16)), (-1, x'', -1, x'')",
            "INSERT INTO ferry_joined VALUES (999, zeroblob(16), zeroblob(16), 0), (1, zeroblob(16), zeroblob(16), 7)",
            """
            INSERT INTO ferry_conflict SELECT 1, number, zeroblob(16), 500, 'field', NULL, 99, -1, NULL, -7, 0, 0, NULL
            FROM ferry_table LIMIT 1
            """,
            "UPDATE ferry_column SET number = number + 7", "DELETE FROM ferry_column WHERE number = 0",
            "UPDATE ferry_digest SET \"table\" = \"table\" + 900", "DELETE FROM ferry_digest",
            """
            INSERT INTO ferry_pending("table", event, mask, at, value, k0) VALUES (999, 1, -1, 9e99, 1, 1), (1, 99, 1, 1, 1, 1),
                (1, 2, -9223372036854775808, -9e99, NULL, 1), (2, 3, 77, NULL, x'00', 'x')
            """,
        ]
        for damage in damages {
            let device = try device()
            try device.run(damage)
            use(device, damage)
        }
    }

    func testAStateWithAColumnThatTheTableDoesNotHave() throws {
        // `kept`: column 500 + 1 as a varint, then NULL; cut off; a column beyond all limits.
        for (kept, code) in [
            ("x'f50300'", FerryError.Code.databaseCorrupt), ("x'02'", nil), ("x'ffffffffff7f00'", nil),
        ] {
            let device = try device()
            for table in try device.query("SELECT number FROM ferry_table WHERE name IN ('song', 'tag')") {
                try device.run("UPDATE ferry_object_\(table) SET kept = \(kept)")
            }
            let song = try device.store.readAccess { access in
                try XCTUnwrap(access.registry.table(named: "song"))
            }
            XCTAssertThrowsError(
                try device.store.readAccess { access in
                    let object = try XCTUnwrap(access.objects(of: song.id).last())
                    return try access.objects(of: song.id).load(object).key
                }, kept
            ) { error in
                XCTAssertTrue(error is FerryError, "\(error)")
                if let code { XCTAssertEqual((error as? FerryError)?.code, code, kept) }
            }
            use(device, kept)
        }
    }
}
