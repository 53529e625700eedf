import FerryCore
import XCTest

@testable import FerryStore

/// Rows as people leaf through them.
final class RowPageTests: XCTestCase {
    private static let schema = TestSchema(
        name: "pages",
        sql: """
            CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, cover BLOB, loud TEXT AS (upper(title)));
            CREATE TABLE word(a TEXT COLLATE NOCASE, b INTEGER, meaning TEXT, PRIMARY KEY(a, b));
            CREATE TABLE note(text TEXT);
            """)

    private func device(_ script: String) throws -> TestDevice {
        let device = try TestDevice(1, Self.schema)
        try device.run(script)
        try device.flush()
        return device
    }

    /// All rows, page by page.
    private func pages(
        _ device: TestDevice, _ table: String, search: String = "", limit: Int
    ) throws -> [[[FieldValue]]] {
        var pages: [[[FieldValue]]] = []
        var next: [FieldValue]?
        repeat {
            let page = try device.store.rows(ofTable: table, after: next, search: search, limit: limit)
            pages.append(page.rows.map(\.key))
            next = page.next
        } while next != nil && pages.count < 20
        return pages
    }

    func testEveryRowIsOnOnePageInTheOrderOfKeys() throws {
        let device = try device("INSERT INTO song(id, title) VALUES (3, 'c'), (-1, 'a'), (2, NULL), (9, 'd'), (5, '')")
        XCTAssertEqual(
            try pages(device, "song", limit: 2),
            [[[.integer(-1)], [.integer(2)]], [[.integer(3)], [.integer(5)]], [[.integer(9)]]])
        XCTAssertEqual(try pages(device, "song", limit: 5).count, 1)
    }

    func testKeysOfSeveralColumnsAreComparedAsTheKeyCompares() throws {
        let device = try device(
            "INSERT INTO word VALUES ('b', 1, ''), ('B', 2, ''), ('a', 2, ''), ('A', 10, ''), ('c', 0, '')")
        XCTAssertEqual(
            try pages(device, "word", limit: 1).flatMap { $0 }.map { $0.map(\.text) },
            [["a", "2"], ["A", "10"], ["b", "1"], ["B", "2"], ["c", "0"]])
    }

    func testAPageHasAllColumnsAndGeneratedOnes() throws {
        let page = try device("INSERT INTO song(id, title) VALUES (1, 'low')").store.rows(ofTable: "SONG")
        XCTAssertEqual(page.table, "song")
        XCTAssertEqual(page.columns, ["id", "title", "cover", "loud"])
        XCTAssertEqual(page.rows[0].cells.map(\.value), [.integer(1), .text("low"), .null, .text("LOW")])
        XCTAssertNil(page.next)
    }

    func testASearchMeansTheTextAndNoPattern() throws {
        let device = try device(
            "INSERT INTO song(id, title, cover) VALUES (1, '100%', NULL), (2, '100 x', x'31303025'), (3, 'a_b', NULL), (4, 'aXb', NULL), "
                + "(5, 'C:\\dir', NULL), (77, 'seven', NULL)")
        func found(_ text: String) throws -> [String] {
            try device.store.rows(ofTable: "song", search: text).rows.map { $0.key[0].text }
        }
        XCTAssertEqual(try found("100%"), ["1"])
        XCTAssertEqual(try found("A_B"), ["3"])
        XCTAssertEqual(try found("\\dir"), ["5"])
        XCTAssertEqual(try found("77"), ["77"])
        XCTAssertEqual(try found("' OR 1 --"), [])
        XCTAssertEqual(try pages(device, "song", search: "x", limit: 1).flatMap { $0 }, [[.integer(2)], [.integer(4)]])
    }

    func testASearchLooksAtABoundedNumberOfRows() throws {
        let device = try device(
            """
            WITH RECURSIVE count(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM count WHERE i < 20001)
            INSERT INTO song(id, title) SELECT i, 'title ' || i FROM count
            """)
        let first = try device.store.rows(ofTable: "song", search: "title 20001")
        XCTAssertEqual(first.rows, [])
        XCTAssertEqual(first.searched, RowPager.maximumSearched)
        let second = try device.store.rows(ofTable: "song", after: try XCTUnwrap(first.next), search: "title 20001")
        XCTAssertEqual(second.rows.map(\.key), [[.integer(20001)]])
        XCTAssertNil(second.next)
    }

    func testLongValuesAreCutAndSaySo() throws {
        let page = try device(
            "INSERT INTO song(id, title, cover) VALUES (1, printf('%.300c', 'x'), zeroblob(1000)), (2, printf('%.200c', 'x'), NULL)"
        ).store.rows(ofTable: "song")
        XCTAssertEqual(page.rows[0].cells[1].value.byteCount, RowPager.maximumLength)
        XCTAssertEqual(page.rows[0].cells[1].wholeLength, 300)
        XCTAssertEqual(page.rows[0].cells[2].wholeLength, 1000)
        XCTAssertNil(page.rows[1].cells[1].wholeLength)
    }

    func testAnEmptyBlobIsNoNull() throws {
        let page = try device("INSERT INTO song(id, title, cover) VALUES (1, '', x''), (2, NULL, NULL)").store.rows(
            ofTable: "song")
        XCTAssertEqual(page.rows[0].cells[1...2].map(\.value), [.text(""), .blob([])])
        XCTAssertEqual(page.rows[1].cells[1...2].map(\.value), [.null, .null])
    }

    func testATextWithANULIsWholeAndFound() throws {
        let device = try device(
            "INSERT INTO song(id, title) VALUES (1, char(0) || 'Secret'), (2, 'ab' || char(0) || 'cd'), "
                + "(3, 'long' || char(0) || replace(hex(zeroblob(200)), '0', 'ü')), (4, 'plain')")
        let page = try device.store.rows(ofTable: "song")
        XCTAssertEqual(page.rows[0].cells[1], .init(value: .text("\u{0}Secret")))
        XCTAssertEqual(page.rows[1].cells[1], .init(value: .text("ab\u{0}cd")))
        XCTAssertEqual(
            page.rows[2].cells[1],
            .init(
                value: .text("long\u{0}" + String(repeating: "ü", count: RowPager.maximumLength - 5)), wholeLength: 405)
        )
        func found(_ text: String) throws -> [String] {
            try device.store.rows(ofTable: "song", search: text).rows.map { $0.key[0].text }
        }
        XCTAssertEqual(try found("secret"), ["1"])
        XCTAssertEqual(try found("CD"), ["2"])
        XCTAssertEqual(try found("b\u{0}c"), ["2"])
        XCTAssertEqual(try found("üü"), ["3"])
    }

    func testWhatIsNoTableOrNoPlaceIsRefused() throws {
        let device = try device("INSERT INTO song(id) VALUES (1)")
        for (table, key) in [
            ("none", nil), ("note", nil), ("song", [FieldValue.null]), ("song", [.integer(1), .integer(2)]),
        ] {
            XCTAssertThrowsError(try device.store.rows(ofTable: table, after: key)) {
                XCTAssertEqual(($0 as? FerryError)?.code, .invalidArgument)
            }
        }
    }
}
