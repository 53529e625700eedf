import FerryCore
import XCTest

@testable import FerryStore

/// Who wrote each field of a row, and when.
final class RowDetailTests: XCTestCase {
    private static let schema = TestSchema(
        name: "details",
        sql: """
            CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE, country TEXT);
            CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, plays INTEGER, artist_id INTEGER REFERENCES artist(id));
            """)

    private func pair(_ script: String) throws -> (first: TestDevice, second: TestDevice) {
        let first = try TestDevice(1, Self.schema)
        let second = try TestDevice(2, Self.schema, hoursAhead: 1)
        try first.run(script)
        try first.flush()
        try second.receive(first)
        return (first, second)
    }

    func testEachFieldHasItsWriter() throws {
        let (first, second) = try pair(
            "INSERT INTO artist VALUES (1, 'Ada', NULL); INSERT INTO song VALUES (7, 'One', 0, 1)")
        second.clock.now += 1000
        try second.run("UPDATE song SET plays = 5")
        try second.flush()
        try first.receive(second)
        let detail = try XCTUnwrap(try first.store.rowDetails(table: "song", key: ["7"]).first)
        XCTAssertEqual(detail.row.presence, .shown)
        XCTAssertEqual(detail.fields.map(\.column), ["id", "title", "plays", "artist_id"])
        XCTAssertEqual(detail.fields.map(\.value), [.integer(7), .text("One"), .integer(5), .integer(1)])
        XCTAssertEqual(detail.fields.map(\.device), [nil, first.id, second.id, first.id])
        XCTAssertEqual(detail.fields[1].deviceName, "device1")
        XCTAssertEqual(detail.fields[2].timeMilliseconds, second.clock.now)
        XCTAssertFalse(detail.isUnpacked)
        XCTAssertEqual(try first.store.rowDetail(table: "song", object: detail.row.object), detail)
    }

    func testARowWrittenSinceTheLastFlushSaysSo() throws {
        let (first, _) = try pair("INSERT INTO song VALUES (7, 'One', 0, NULL), (8, 'Two', 0, NULL)")
        try first.run("UPDATE song SET title = 'new' WHERE id = 7")
        let written = try XCTUnwrap(try first.store.rowDetails(table: "song", key: ["7"]).first)
        XCTAssertTrue(written.isUnpacked)
        XCTAssertEqual(written.fields[1].value, .text("new"))
        XCTAssertEqual(try first.store.rowDetails(table: "song", key: ["8"]).first?.isUnpacked, false)
    }

    func testAUnifiedRowTellsTheNewestWriterOfAllItsObjects() throws {
        let (first, second) = try pair("INSERT INTO song VALUES (1, 'x', 0, NULL)")
        try first.run("INSERT INTO artist VALUES (1, 'Ada', 'UK')")
        try first.flush()
        try second.run("INSERT INTO artist VALUES (1, 'Ada', 'GB')")
        try second.flush()
        try first.receive(second)
        let shown = try XCTUnwrap(
            try first.store.rowDetails(table: "artist", key: ["1"]).first { $0.row.presence == .shown })
        XCTAssertEqual(shown.fields[2].value, .text("GB"))
        XCTAssertEqual(shown.fields[2].device, second.id)
    }

    func testADeletedRowKeepsWhatIsKnownOfIt() throws {
        let (first, second) = try pair("INSERT INTO song VALUES (7, 'One', 0, NULL)")
        try second.run("DELETE FROM song")
        try second.flush()
        try first.receive(second)
        let detail = try XCTUnwrap(try first.store.rowDetails(table: "song", key: ["7"]).first)
        XCTAssertEqual(detail.row.presence, .deleted)
        XCTAssertFalse(detail.isUnpacked)
    }

    func testAnUnknownObjectIsNotFound() throws {
        let (first, _) = try pair("")
        XCTAssertThrowsError(try first.store.rowDetail(table: "song", object: ObjectID(high: 1, low: 2))) {
            XCTAssertEqual(($0 as? FerryError)?.code, .nothingFound)
        }
    }
}
