import XCTest

@testable import FerryStore

/// Tables that stay on a device and refer to rows whose key is a reference: on this device an integer, which another row may
/// have next.
final class LocalTableReusedKeyTests: XCTestCase {
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

    /// A link of the younger tag is shown under the older one, and goes in the same pass in which the older one's own link
    /// comes: a row that stays refers to whichever row has the key, unless the younger tag is no more the older one.
    func testARowThatStaysRefersToTheLinkThatHasItsKeyNext() throws {
        for (action, isApart) in [("CASCADE", false), ("SET NULL", false), ("CASCADE", true), ("SET NULL", true)] {
            let schema = TestSchema(
                name: "tags",
                sql: """
                    CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT);
                    CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
                    CREATE TABLE song_tag(song INTEGER REFERENCES song(id), tag INTEGER REFERENCES tag(id), note TEXT,
                        PRIMARY KEY(song, tag));
                    CREATE TABLE pin(song INTEGER, tag INTEGER,
                        FOREIGN KEY(song, tag) REFERENCES song_tag(song, tag) ON DELETE \(action));
                    """, staying: ["pin"])
            let devices = try (1...3).map { try TestDevice($0, schema) }
            try devices[0].run("INSERT INTO song VALUES (1, 's'); INSERT INTO tag VALUES (1, 'x')")
            try devices[0].flush()
            for device in devices { device.clock.now += 1000 }
            try devices[1].receive(devices[0])
            try devices[2].receive(devices[0])
            // Another tag of that name, before it hears of the first one's.
            try devices[1].run("INSERT INTO tag VALUES (2, 'y'); INSERT INTO song_tag VALUES (1, 2, 'younger')")
            try devices[1].flush()
            try devices[0].receive(devices[1])
            try devices[0].run("UPDATE tag SET name = 'z' WHERE id = 1")
            try devices[1].run("UPDATE tag SET name = 'z' WHERE id = 2")
            try devices[1].flush()
            try devices[0].receive(devices[1])
            XCTAssertEqual(try devices[0].query("SELECT * FROM song_tag"), ["1|1|younger"], action)
            try devices[0].run("INSERT INTO pin VALUES (1, 1)")
            for device in devices { device.clock.now += 1000 }
            try devices[1].run("DELETE FROM song_tag")
            if isApart { try devices[1].run("UPDATE tag SET name = 'w' WHERE id = 2") }
            try devices[1].flush()
            try devices[2].run("INSERT INTO song_tag VALUES (1, 1, 'older')")
            try devices[2].flush()
            try devices[0].receive(devices[1], devices[2])
            XCTAssertEqual(try devices[0].query("SELECT * FROM song_tag"), ["1|1|older"], action)
            let expected = !isApart ? ["1|1"] : action == "CASCADE" ? [] : ["NULL|NULL"]
            XCTAssertEqual(try devices[0].query("SELECT * FROM pin"), expected, "\(action), apart: \(isApart)")
            XCTAssertTrue(try devices[0].store.verify(deep: true).isSound)
        }
    }
}
