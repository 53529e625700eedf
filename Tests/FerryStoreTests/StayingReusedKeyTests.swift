import XCTest

@testable import FerryStore

/// Tables that stay on a device and refer to rows whose key is a reference: on this device an integer, which another row may
/// have next.
final class StayingReusedKeyTests: XCTestCase {
    /// In one pass a product goes with its stock, and another one comes under its integer, with a stock of its own.
    func testARowThatStaysDoesNotReferToWhoGetsTheIntegerNext() throws {
        for (action, expected) in [("CASCADE", []), ("SET NULL", ["NULL|NULL"])] {
            let schema = TestSchema(
                name: "stocks",
                sql: """
                    CREATE TABLE product(id INTEGER PRIMARY KEY, name TEXT);
                    CREATE TABLE place(id INTEGER PRIMARY KEY);
                    CREATE TABLE stock(product INTEGER PRIMARY KEY REFERENCES product(id) ON DELETE CASCADE);
                    CREATE TABLE shelf(product INTEGER REFERENCES product(id) ON DELETE CASCADE,
                        place INTEGER REFERENCES place(id), PRIMARY KEY(product, place));
                    CREATE TABLE pin(product INTEGER REFERENCES stock(product) ON DELETE \(action));
                    CREATE TABLE mark(product INTEGER, place INTEGER,
                        FOREIGN KEY(product, place) REFERENCES shelf(product, place) ON DELETE \(action));
                    """, staying: ["pin", "mark"])
            let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema))
            let third = try TestDevice(3, schema)
            try first.run(
                """
                INSERT INTO place VALUES (1); INSERT INTO product VALUES (1, 'pen'), (2, 'ink');
                INSERT INTO stock VALUES (1), (2); INSERT INTO shelf VALUES (1, 1), (2, 1)
                """)
            try first.flush()
            try second.receive(first)
            try third.receive(first)
            try second.run("INSERT INTO pin VALUES (1), (2); INSERT INTO mark VALUES (1, 1), (2, 1)")
            try first.run("DELETE FROM product WHERE id = 1")
            try first.flush()
            try third.receive(first)
            try third.run(
                "INSERT INTO product VALUES (1, 'cup'); INSERT INTO stock VALUES (1); INSERT INTO shelf VALUES (1, 1)")
            try third.flush()
            try second.receive(first, third)
            XCTAssertEqual(try second.query("SELECT * FROM product ORDER BY 1"), ["1|cup", "2|ink"])
            XCTAssertEqual(
                try second.query("SELECT product, product FROM pin ORDER BY 1"), expected + ["2|2"], action)
            XCTAssertEqual(try second.query("SELECT * FROM mark ORDER BY 1"), expected + ["2|1"], action)
            XCTAssertTrue(try second.store.verify(deep: true).isSound)
        }
    }
}
