import FerryCore
import XCTest

@testable import FerryStore

/// References by value to rows that are one with another row: they mean an object by a value that no row shows.
final class ValueReferenceTests: XCTestCase {
    private static let schema = TestSchema(
        name: "makers",
        sql: """
            CREATE TABLE maker(id INTEGER PRIMARY KEY, name TEXT UNIQUE, code TEXT UNIQUE);
            CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT UNIQUE, maker TEXT REFERENCES maker(code));
            """)

    /// A value that is referred to by value refers to another one by value.
    private static let chain = TestSchema(
        name: "chain",
        sql: """
            CREATE TABLE maker(id INTEGER PRIMARY KEY, name TEXT UNIQUE, code TEXT UNIQUE);
            CREATE TABLE shop(id INTEGER PRIMARY KEY, maker TEXT UNIQUE REFERENCES maker(code));
            CREATE TABLE offer(id INTEGER PRIMARY KEY, price INTEGER, shop TEXT REFERENCES shop(maker));
            """)

    /// The same with integer keys.
    private static let mappedChain = TestSchema(
        name: "mapped chain",
        sql: """
            CREATE TABLE maker(id INTEGER PRIMARY KEY, name TEXT UNIQUE, code TEXT);
            CREATE TABLE shop(id INTEGER PRIMARY KEY, maker INTEGER UNIQUE REFERENCES maker(id));
            CREATE TABLE offer(id INTEGER PRIMARY KEY, price INTEGER, shop INTEGER REFERENCES shop(maker));
            """)

    /// The same, and shops have names by which they become one.
    private static let namedShops = TestSchema(
        name: "named shops",
        sql: """
            CREATE TABLE maker(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE shop(id INTEGER PRIMARY KEY, maker INTEGER UNIQUE REFERENCES maker(id), name TEXT UNIQUE);
            CREATE TABLE offer(id INTEGER PRIMARY KEY, price INTEGER, shop INTEGER REFERENCES shop(maker));
            """)

    /// Two columns are referred to together.
    private static let pairs = TestSchema(
        name: "pairs",
        sql: """
            CREATE TABLE place(id INTEGER PRIMARY KEY, name TEXT UNIQUE, land TEXT, city TEXT, UNIQUE(land, city));
            CREATE TABLE visit(
                id INTEGER PRIMARY KEY, land TEXT, city TEXT,
                FOREIGN KEY(land, city) REFERENCES place(land, city) ON UPDATE CASCADE);
            """)

    private func check(_ devices: [TestDevice], _ query: String, shows expected: [String]) throws {
        for device in devices {
            let oracle = try Oracle(device.schema)
            let name = "device \(device.id.low)"
            XCTAssertEqual(try device.query(query), expected, name)
            XCTAssertEqual(try oracle.complaints(about: device), [], name)
            let problems = try device.store.verify(deep: true).differences.map { "\($0.key): \($0.problem)" }
            XCTAssertEqual(problems, [], name)
        }
    }

    /// The value that the item refers to is changed by somebody who does not know of the item, while the row goes on
    /// showing another maker's.
    func testAValueThatNoRowShowsIsTakenFromUnderAReference() throws {
        let (first, second) = (try TestDevice(1, Self.schema), try TestDevice(2, Self.schema, hoursAhead: 1))
        let (third, fourth) = (try TestDevice(3, Self.schema), try TestDevice(4, Self.schema))
        try first.run("INSERT INTO maker(name, code) VALUES ('x', 'a')")
        try first.flush()
        try third.receive(first)
        try third.run("INSERT INTO item(title, maker) VALUES ('one', 'a')")
        try third.flush()
        try second.run("INSERT INTO maker(name, code) VALUES ('x', 'b')")
        try second.flush()
        try fourth.receive(first, second, third)
        try check([fourth], "SELECT title, maker FROM item", shows: ["one|b"])
        try first.run("UPDATE maker SET code = 'c'")
        try first.flush()
        try fourth.receive(first)
        try first.receive(second, third)
        try second.receive(first, third)
        try check([first, second, fourth], "SELECT title FROM item", shows: [])
        // It waits for somebody with that value.
        try fourth.run("INSERT INTO maker(name, code) VALUES ('y', 'a')")
        try fourth.flush()
        try first.receive(fourth)
        try second.receive(fourth)
        try check([first, second, fourth], "SELECT title, maker FROM item", shows: ["one|a"])
    }

    /// A row takes a name that one of the joined makers has and their row does not show. That maker lets go of it, and
    /// stays one with the others by the code that they show; the item that means it stays with it.
    func testWhatRefersToALetGoValueFollows() throws {
        let (first, second) = (try TestDevice(1, Self.schema), try TestDevice(2, Self.schema))
        let (third, fourth) = (try TestDevice(3, Self.schema, hoursAhead: 1), try TestDevice(4, Self.schema))
        try first.run(
            "INSERT INTO maker(name, code) VALUES ('x', 'a'); INSERT INTO item(title, maker) VALUES ('one', 'a')")
        try first.flush()
        second.clock.now += 1000
        try second.run("INSERT INTO maker(name, code) VALUES ('x', 'b')")
        try second.flush()
        try third.run("INSERT INTO maker(name, code) VALUES (NULL, 'b')")
        try third.flush()
        try fourth.receive(first, second, third)
        try check([fourth], "SELECT name, code FROM maker", shows: ["NULL|b"])
        try fourth.run("INSERT INTO maker(name, code) VALUES ('x', 'c')")
        try fourth.flush()
        for device in [first, second, third] { try device.receive(first, second, third, fourth) }
        try check(
            [first, second, third, fourth],
            "SELECT title, maker FROM item UNION ALL SELECT name, code FROM maker ORDER BY 2, 1",
            shows: ["NULL|b", "one|b", "x|c"])
    }

    /// The shop shows another maker than its own, and what comes later refers to it by its own.
    func testAReferenceThatComesLaterLeadsToARowThatShowsAnotherValue() throws {
        for schema in [Self.chain, Self.mappedChain] {
            let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema))
            let (third, fourth) = (try TestDevice(3, schema, hoursAhead: 1), try TestDevice(4, schema))
            // By an integer the oldest maker is shown, by its code the newest.
            for (device, code) in [(first, "a"), (second, "b"), (third, "c")] {
                device.clock.now += 1000 * Int64(device.id.low)
                try device.run("INSERT INTO maker(id, name, code) VALUES (1, 'x', '\(code)')")
                try device.flush()
            }
            try second.run("INSERT INTO shop(id, maker) SELECT 1, \(schema.name == "chain" ? "code" : "id") FROM maker")
            try second.flush()
            let fifth = try TestDevice(5, schema)
            try fifth.receive(second)
            try fifth.run("INSERT INTO offer(price, shop) SELECT 1, maker FROM shop")
            try fifth.flush()
            try fourth.receive(first, second, third)
            try fourth.receive(fifth)
            try fifth.receive(first, third)
            let code = schema.name == "chain" ? "c" : "1"
            try check(
                [fourth, fifth],
                "SELECT maker FROM shop UNION ALL SELECT price || ' ' || shop FROM offer", shows: [code, "1 \(code)"])
        }
    }

    /// Nobody has the maker that the offer means any more, but a shop has one that is the same maker, the oldest or another
    /// one. Either may come last.
    func testAReferenceLeadsToWhoRefersToTheSameRowByAnotherValue() throws {
        for (isReversed, isOldest) in [(false, false), (true, false), (false, true), (true, true)] {
            let (first, second) = (try TestDevice(1, Self.mappedChain), try TestDevice(2, Self.mappedChain))
            let (third, fourth) = (try TestDevice(3, Self.mappedChain), try TestDevice(4, Self.mappedChain))
            for device in [first, second, third] {
                device.clock.now += 1000 * Int64(device.id.low)
                try device.run("INSERT INTO maker(id, name) VALUES (1, 'x')")
                try device.flush()
            }
            try third.run("INSERT INTO shop(id, maker) VALUES (1, 1)")
            try third.flush()
            let fifth = try TestDevice(5, Self.mappedChain)
            try fifth.receive(third)
            try fifth.run("INSERT INTO offer(price, shop) SELECT 1, maker FROM shop")
            try fifth.flush()
            try third.run("UPDATE shop SET maker = NULL")
            try third.flush()
            let shop = try TestDevice(6, Self.mappedChain)
            try shop.receive(isOldest ? first : second)
            try shop.run("INSERT INTO shop(id, maker) VALUES (2, 1)")
            try shop.flush()
            try fourth.receive(first, second, third)
            if isReversed {
                try fourth.receive(fifth)
                try check([fourth], "SELECT price FROM offer", shows: [])
                try fourth.receive(shop)
            } else {
                try fourth.receive(shop)
                try fourth.receive(fifth)
            }
            try check([fourth], "SELECT price || ' ' || shop FROM offer", shows: ["1 1"])
        }
    }

    /// Two makers become one, and with them what a shop has and what an offer means.
    func testAReferenceThatWaitsIsShownOnceItMeansTheSame() throws {
        let (first, second) = (try TestDevice(1, Self.mappedChain), try TestDevice(2, Self.mappedChain))
        let third = try TestDevice(3, Self.mappedChain)
        try first.run(
            """
            INSERT INTO maker(id, name) VALUES (1, 'x'), (2, 'y'); INSERT INTO shop(id, maker) VALUES (1, 1), (2, 2);
            """)
        try first.flush()
        try second.receive(first)
        try second.run("INSERT INTO offer(price, shop) VALUES (1, 1)")
        try second.flush()
        first.clock.now += 1000
        try first.run("UPDATE shop SET maker = NULL WHERE id = 1")
        try first.flush()
        try third.receive(first, second)
        try check([third], "SELECT price FROM offer", shows: [])
        second.clock.now += 2000
        try second.run("UPDATE maker SET name = 'z' WHERE id = 1")
        try second.flush()
        try first.run("UPDATE maker SET name = 'z' WHERE id = 2")
        try first.flush()
        try third.receive(first, second)
        try check([third], "SELECT price || ' ' || shop FROM offer", shows: ["1 1"])
    }

    /// With foreign keys off the value of a joined row is changed, or the row deleted, and what refers to it stays.
    func testWhatAStatementLeavesBehindIsLookedAt() throws {
        for statement in ["UPDATE maker SET code = 'c'", "DELETE FROM maker"] {
            let (first, second) = (try TestDevice(1, Self.schema), try TestDevice(2, Self.schema, hoursAhead: 1))
            try first.run(
                "INSERT INTO maker(name, code) VALUES ('x', 'a'); INSERT INTO item(title, maker) VALUES ('one', 'a')")
            try first.flush()
            try second.run(
                "INSERT INTO maker(name, code) VALUES ('x', 'b'); INSERT INTO item(title, maker) VALUES ('two', 'b')")
            try second.flush()
            try first.receive(second)
            try second.receive(first)
            try check([first, second], "SELECT title, maker FROM item ORDER BY title", shows: ["one|b", "two|b"])
            try first.run(statement, foreignKeys: false)
            try first.flush()
            try second.receive(first)
            try check([first, second], "SELECT title FROM item ORDER BY title", shows: ["one", "two"])
        }
    }

    /// The row gets another value, and then is replaced under its own key: that is no insertion.
    func testAReplacedRowMayLeaveSomebodyBehind() throws {
        let device = try TestDevice(1, Self.schema)
        try device.run(
            "INSERT INTO maker(id, name, code) VALUES (1, 'x', 'a'); INSERT INTO item(title, maker) VALUES ('one', 'a')"
        )
        try device.flush()
        try device.run("UPDATE maker SET code = 'b'", foreignKeys: false)
        try device.run("INSERT OR REPLACE INTO maker(id, code) VALUES (1, 'b')")
        try device.flush()
        try check([device], "SELECT title || maker FROM item", shows: ["onea"])
    }

    /// The row of two items shows no maker, so SQLite lets the maker change; to the older item it was one.
    func testAValueThatOnlyAJoinedObjectMeansIsChanged() throws {
        let (first, second) = (try TestDevice(1, Self.schema), try TestDevice(2, Self.schema, hoursAhead: 1))
        try first.run(
            "INSERT INTO maker(name, code) VALUES ('x', 'a'); INSERT INTO item(title, maker) VALUES ('one', 'a')")
        try first.flush()
        try second.run("INSERT INTO item(title) VALUES ('one')")
        try second.flush()
        try second.receive(first)
        try check([second], "SELECT title, maker FROM item", shows: ["one|NULL"])
        try second.run("UPDATE maker SET code = 'b'")
        try second.flush()
        try first.receive(second)
        try check([first, second], "SELECT title, maker FROM item", shows: ["one|NULL"])
    }

    /// The same, and the maker is deleted in the same flush: with that value nobody has it ever been.
    func testAValueThatOnlyAJoinedObjectMeansIsChangedAndItsRowDeleted() throws {
        let (first, second) = (try TestDevice(1, Self.schema), try TestDevice(2, Self.schema, hoursAhead: 1))
        try first.run(
            "INSERT INTO maker(name, code) VALUES ('x', 'a'); INSERT INTO item(title, maker) VALUES ('one', 'a')")
        try first.flush()
        try second.run("INSERT INTO item(title) VALUES ('one')")
        try second.flush()
        try second.receive(first)
        let third = try TestDevice(3, Self.schema)
        try third.receive(first, second)
        try second.run("UPDATE maker SET code = 'b'; DELETE FROM maker")
        try second.flush()
        try first.receive(second)
        try third.receive(second)
        try check([first, second, third], "SELECT title, maker FROM item", shows: ["one|NULL"])
        try check([first, second, third], "SELECT name FROM maker", shows: [])
    }

    /// Two makers would be one row without a code, but one of them needs the other's: they are not, and yet what refers to
    /// that code has lost its place on every device.
    func testWhatARowWouldHaveShownCountsForThoseWhoReferToIt() throws {
        let schema = TestSchema(
            name: "bosses",
            sql: """
                CREATE TABLE maker(
                    id INTEGER PRIMARY KEY, name TEXT UNIQUE, code TEXT UNIQUE, boss TEXT REFERENCES maker(code));
                CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT, maker TEXT REFERENCES maker(code));
                """)
        let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
        let third = try TestDevice(3, schema)
        try first.run("INSERT INTO maker(name, code) VALUES ('x', 'a')")
        try first.flush()
        try second.receive(first)
        try first.run("UPDATE maker SET name = 'y'; INSERT INTO item(title, maker) VALUES ('one', 'a')")
        try first.flush()
        try second.run("INSERT INTO maker(name, boss) VALUES ('y', 'a')")
        try second.flush()
        try first.receive(second)
        try second.receive(first)
        try third.receive(first, second)
        try check([first, second, third], "SELECT name, code FROM maker", shows: ["y|a"])
    }

    /// The two values that others refer to together come from one of the objects, whoever wrote to either last: else the row
    /// would show a pair that no object has, and who refers to it would refer to nothing.
    func testAPairThatIsReferredToIsShownFromOneObject() throws {
        let (first, second) = (try TestDevice(1, Self.pairs), try TestDevice(2, Self.pairs))
        let third = try TestDevice(3, Self.pairs)
        try first.run("INSERT INTO place(name, land, city) VALUES ('x', 'fr', 'paris')")
        try first.flush()
        second.clock.now += 1000
        try second.run("INSERT INTO place(name, land, city) VALUES ('x', 'de', 'berlin')")
        try second.flush()
        first.clock.now += 2000
        try first.run("UPDATE place SET land = 'it'")
        try first.flush()
        third.clock.now += 3000
        try third.receive(first, second)
        try check([third], "SELECT name, land, city FROM place", shows: ["x|it|paris"])
        try third.run("INSERT INTO visit(land, city) VALUES ('it', 'paris')")
        try third.flush()
        try first.receive(second, third)
        try second.receive(first, third)
        try check([first, second, third], "SELECT land, city FROM visit", shows: ["it|paris"])
    }

    /// Who writes one of the two means the other one as the row shows it, though the oldest object has another.
    func testHalfOfAPairThatIsWrittenTakesTheOtherHalfAlong() throws {
        let (first, second) = (try TestDevice(1, Self.pairs), try TestDevice(2, Self.pairs))
        try first.run("INSERT INTO place(name, land, city) VALUES ('x', 'fr', 'paris')")
        try first.flush()
        second.clock.now += 1000
        try second.run("INSERT INTO place(name, land, city) VALUES ('x', 'de', 'berlin')")
        try second.run("INSERT INTO visit(land, city) VALUES ('de', 'berlin')")
        try second.flush()
        first.clock.now += 2000
        try first.receive(second)
        try check([first], "SELECT land, city FROM place", shows: ["de|berlin"])
        try first.run("PRAGMA foreign_keys = ON; UPDATE place SET city = 'bonn'")
        try first.flush()
        try second.receive(first)
        try check([first, second], "SELECT land, city FROM place", shows: ["de|bonn"])
        try check([first, second], "SELECT land, city FROM visit", shows: ["de|bonn"])
    }

    /// In one pass an offer comes to refer to a maker by way of a shop that is one with another shop, and the maker is
    /// deleted: what the offer's integer meant is not forgotten with the maker's row.
    func testAKeyThatIsReferredToByWayOfAnotherTableKeepsItsMeaningUntilTheRulesHaveLooked() throws {
        let (first, second) = (try TestDevice(1, Self.namedShops), try TestDevice(2, Self.namedShops))
        let third = try TestDevice(3, Self.namedShops)
        try first.run(
            """
            INSERT INTO maker VALUES (1, 'x'), (2, 'y');
            INSERT INTO shop VALUES (1, NULL, 's');
            INSERT INTO offer VALUES (1, 5, NULL);
            """)
        try first.flush()
        try second.receive(first)
        try third.receive(first)
        second.clock.now += 1000
        // The shop that is shown came first, and says last which maker it has.
        try second.run("INSERT INTO shop VALUES (2, 1, 't'); UPDATE offer SET shop = 1")
        try second.flush()
        third.clock.now += 2000
        try third.run("UPDATE shop SET name = 't', maker = 2")
        try third.flush()
        try first.receive(third)
        try third.run("DELETE FROM maker WHERE id = 1")
        try third.flush()
        try first.receive(second, third)
        try second.receive(third)
        try third.receive(second)
        try check([first, second, third], "SELECT maker, name FROM shop", shows: ["2|t"])
        try check([first, second, third], "SELECT price, shop FROM offer", shows: ["5|2"])
    }

    /// A row comes to show its value in capitals. To SQLite the reference is what it was, and it shows what the row shows.
    func testAReferenceShowsTheCaseInWhichItsRowShowsTheValue() throws {
        let schema = TestSchema(
            name: "makers in any case",
            sql: """
                CREATE TABLE maker(id INTEGER PRIMARY KEY, name TEXT UNIQUE, code TEXT COLLATE NOCASE UNIQUE);
                CREATE TABLE item(id INTEGER PRIMARY KEY, maker TEXT COLLATE NOCASE REFERENCES maker(code));
                """)
        let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema))
        let (third, fourth) = (try TestDevice(3, schema), try TestDevice(4, schema))
        try first.run("INSERT INTO maker(name, code) VALUES ('x', 'c'); INSERT INTO item(maker) VALUES ('c')")
        try first.flush()
        second.clock.now += 1000
        try second.run("INSERT INTO maker(name, code) VALUES ('x', 'a')")
        try second.flush()
        third.clock.now += 2000
        try third.run("INSERT INTO maker(name, code) VALUES ('x', 'A')")
        try third.flush()
        try fourth.receive(first, second)
        try check([fourth], "SELECT maker FROM item", shows: ["a"])
        try fourth.receive(third)
        try check([fourth], "SELECT maker FROM item", shows: ["A"])
    }
}
