import FerryCore
import FerryStore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// A migration renames a column and changes something else in the same transaction, as Django's migrations do. Nobody writes when a
/// migration runs, so the migration overwrites nothing.
final class RenameWithOtherChangesTests: XCTestCase {
    /// Of two values of one time the device's ID decides, so each story is told with several pairs of devices.
    private let pairs = 4

    private func rebuild(
        _ columns: String, _ values: String, former: String = "ALTER TABLE book RENAME COLUMN title TO name;"
    ) -> String {
        """
        BEGIN; \(former) CREATE TABLE n(id INTEGER PRIMARY KEY, \(columns)); INSERT INTO n SELECT id, \(values) FROM book;
        DROP TABLE book; ALTER TABLE n RENAME TO book; COMMIT;
        """
    }

    /// The first device migrates and writes nothing; the second device writes and migrates. Either may sync first.
    private func play(
        _ schema: String, _ migration: String, write: String, _ query: String, expect: String, sends: Bool,
        line: UInt = #line
    ) throws {
        for round in 0..<pairs {
            let fleet = try Fleet.two(schema)
            try fleet.settle()
            try fleet.shell(0, migration)
            if round % 2 == 0 {
                XCTAssertEqual(try fleet.replicas[0].sync().published.changes > 0, sends, line: line)
            }
            try fleet.shell(1, write)
            if round % 4 >= 2 { _ = try fleet.replicas[1].sync() }
            try fleet.shell(1, migration)
            try fleet.assertSettled(query, expect, line: line)
            if !sends {
                for replica in fleet.replicas { XCTAssertEqual(try replica.store.conflictCount(), 0, line: line) }
            }
            try fleet.join()
            try fleet.assertSettled(query, expect, line: line)
        }
    }

    private let books = """
        CREATE TABLE book(id INTEGER PRIMARY KEY, title TEXT NOT NULL, stock INT NOT NULL, note TEXT);
        INSERT INTO book VALUES (1, 'one', 11, 'n1'), (2, 'two', 12, 'n2'), (3, 'three', 13, 'n3'), (4, 'four', 14, NULL);
        """
    private let write = "UPDATE book SET title = 'written', stock = 99 WHERE id = 2"

    func testAnotherColumnGetsAnotherType() throws {
        try play(
            books, rebuild("name TEXT NOT NULL, stock TEXT NOT NULL, note TEXT", "name, stock, note"), write: write,
            "SELECT name, stock, typeof(stock) FROM book ORDER BY id",
            expect: "one|11|text\nwritten|99|text\nthree|13|text\nfour|14|text\n", sends: false)
    }

    func testTheRenamedColumnGetsAnotherType() throws {
        try play(
            books,
            rebuild("title TEXT NOT NULL, amount TEXT NOT NULL, note TEXT", "title, stock, note", former: ""),
            write: write,
            "SELECT title, amount FROM book ORDER BY id", expect: "one|11\nwritten|99\nthree|13\nfour|14\n",
            sends: false)
    }

    func testAnotherColumnForbidsNull() throws {
        try play(
            books,
            rebuild("name TEXT NOT NULL, stock INT NOT NULL, note TEXT NOT NULL", "name, stock, coalesce(note, '')"),
            write: write, "SELECT name, stock, note FROM book WHERE id < 4 ORDER BY id",
            expect: "one|11|n1\nwritten|99|n2\nthree|13|n3\n", sends: true)
    }

    func testAnotherColumnWithoutContentIsDropped() throws {
        try play(
            books.replacing("'n1'", with: "''").replacing("'n2'", with: "NULL").replacing("'n3'", with: "''"),
            rebuild("name TEXT NOT NULL, stock INT NOT NULL", "name, stock"), write: write,
            "SELECT name, stock FROM book ORDER BY id", expect: "one|11\nwritten|99\nthree|13\nfour|14\n", sends: false)
    }

    /// The row does not tell which of its values were there before, and the write is told all the same.
    func testAnotherColumnIsDroppedOrComputed() throws {
        try play(
            books, rebuild("name TEXT NOT NULL, stock INT NOT NULL", "name, stock"), write: write,
            "SELECT name, stock FROM book ORDER BY id", expect: "one|11\nwritten|99\nthree|13\nfour|14\n", sends: true)
        try play(
            books, rebuild("name TEXT NOT NULL, stock INT NOT NULL, note TEXT", "name, stock, note || '!'"),
            write: write, "SELECT name, stock FROM book ORDER BY id",
            expect: "one|11\nwritten|99\nthree|13\nfour|14\n", sends: true)
    }

    func testAMigrationAfterOneThatConverted() throws {
        for _ in 0..<pairs {
            let fleet = try Fleet.two(books)
            let first = rebuild("title TEXT NOT NULL, stock TEXT NOT NULL, note TEXT", "title, stock, note", former: "")
            for device in 0...1 { try fleet.shell(device, first) }
            try fleet.settle()
            let second = rebuild("name TEXT NOT NULL, stock TEXT NOT NULL, note TEXT", "title, stock, note", former: "")
            try fleet.shell(0, second)
            XCTAssertEqual(try fleet.replicas[0].sync().published.changes, 0)
            try fleet.shell(1, "UPDATE book SET title = 'written' WHERE id = 2")
            try fleet.shell(1, second)
            try fleet.assertSettled(
                "SELECT name, stock FROM book ORDER BY id", "one|11\nwritten|12\nthree|13\nfour|14\n")
        }
    }

    private let children = """
        CREATE TABLE p(id INTEGER PRIMARY KEY, n TEXT); INSERT INTO p VALUES (1, 'a'), (2, 'b'), (3, 'c');
        CREATE TABLE book(id INTEGER PRIMARY KEY, p_id INT NOT NULL REFERENCES p(id), stock INT NOT NULL);
        INSERT INTO book VALUES (1, 3, 11), (2, 2, 12), (3, 1, 13);
        """

    func testAForeignKeyIsRenamed() throws {
        for type in ["INT", "TEXT"] {
            try play(
                children,
                rebuild("stock \(type) NOT NULL, q_id INT NOT NULL REFERENCES p(id)", "stock, p_id", former: ""),
                write: "UPDATE book SET p_id = 1 WHERE id = 2", "SELECT stock, q_id FROM book ORDER BY id",
                expect: "11|3\n12|1\n13|1\n", sends: false)
        }
    }
}

/// Rows that are one by UNIQUE, on devices that migrate at times of their own.
final class MigratedUnifiedRowTests: XCTestCase {
    private let pairs = 4
    private let schema = """
        CREATE TABLE book(id INTEGER PRIMARY KEY, title TEXT NOT NULL, stock INT NOT NULL, note TEXT NOT NULL DEFAULT '');
        CREATE UNIQUE INDEX u ON book(title);
        CREATE TABLE review(id INTEGER PRIMARY KEY, book_id INT NOT NULL REFERENCES book(id) ON DELETE CASCADE, w TEXT);
        """

    private func rebuild(_ columns: String, _ values: String, index: String) -> String {
        """
        PRAGMA foreign_keys = OFF;
        BEGIN; CREATE TABLE n(id INTEGER PRIMARY KEY, \(columns)); INSERT INTO n SELECT id, \(values) FROM book;
        DROP TABLE book; ALTER TABLE n RENAME TO book; CREATE UNIQUE INDEX u ON book(\(index)); COMMIT;
        """
    }

    /// Two devices with a row of the same title each, and a review of each device.
    private func unified(_ more: String = "") throws -> Fleet {
        let fleet = try Fleet.two(schema)
        try fleet.shell(
            0, "INSERT INTO book VALUES (1, 'x', 5, 'a')\(more); INSERT INTO review VALUES (1, 1, 'by a');")
        try fleet.shell(1, "INSERT INTO book VALUES (1, 'x', 6, 'b'); INSERT INTO review VALUES (1, 1, 'by b');")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT title, stock, note FROM book WHERE title = 'x'"), "x|6|b\n")
        return fleet
    }

    /// The column counts as new where nothing proves the rename. All objects of the row have its value.
    func testANewColumnUnderUniqueBelongsToAllObjectsOfTheRow() throws {
        let migrations = [
            rebuild("name TEXT NOT NULL, stock TEXT NOT NULL", "title, stock", index: "name"),
            rebuild("name TEXT NOT NULL, stock INT NOT NULL", "upper(title), stock", index: "name"),
        ]
        for (migration, name) in zip(migrations, ["x", "X"]) {
            for round in 0..<pairs {
                let fleet = try unified()
                if round % 2 == 1 { try fleet.shell(1, "UPDATE book SET title = 'y', stock = 99") }
                try fleet.shell(0, migration)
                for device in round < 2 ? [0, 1, 0] : [] { _ = try fleet.replicas[device].sync() }
                try fleet.shell(1, migration)
                let shown = round % 2 == 1 ? (name == "X" ? "Y|99\n" : "y|99\n") : "\(name)|6\n"
                try fleet.assertSettled("SELECT name, stock FROM book", shown)
                try fleet.assertSettled(
                    "SELECT w, stock FROM review JOIN book ON book.id = book_id ORDER BY w",
                    round % 2 == 1 ? "by a|99\nby b|99\n" : "by a|6\nby b|6\n")
                XCTAssertEqual(try fleet.replicas.map { try $0.store.hiddenRows().count }, [1, 1])
            }
        }
    }

    func testAWriteAfterARebuildGoesToAllObjectsOfTheRow() throws {
        let same = rebuild(
            "title VARCHAR(50) NOT NULL, stock INT NOT NULL, note TEXT NOT NULL DEFAULT ''", "title, stock, note",
            index: "title")
        let writes = [
            ("UPDATE book SET title = 'new' WHERE id = 1", "new|6|b\n"),
            ("UPDATE book SET title = 'new', stock = 7 WHERE id = 1", "new|7|b\n"),
            ("UPDATE book SET title = 'new', stock = 7, note = 'n' WHERE id = 1", "new|7|n\n"),
            ("UPDATE book SET stock = 7 WHERE id = 1", "x|7|b\n"),
        ]
        for (write, shown) in writes {
            for device in 0...1 {
                let fleet = try unified()
                try fleet.shell(device, same + write)
                try fleet.assertSettled("SELECT title, stock, note FROM book", shown)
                try fleet.assertSettled(
                    "SELECT w FROM review JOIN book ON book.id = book_id ORDER BY w", "by a\nby b\n")
            }
        }
    }

    /// Nothing proves the rename, so the UNIQUE index is another one.
    func testAWriteAfterAMigrationToANewColumnGoesToAllObjectsOfTheRow() throws {
        let migration = rebuild("name TEXT NOT NULL, stock INT NOT NULL", "title, stock", index: "name")
        for device in 0...1 {
            let fleet = try unified()
            try fleet.shell(device, migration + "UPDATE book SET stock = 7;")
            _ = try fleet.replicas[device].sync()
            try fleet.shell(1 - device, migration)
            try fleet.assertSettled("SELECT name, stock FROM book", "x|7\n")
            try fleet.assertSettled("SELECT w FROM review JOIN book ON book.id = book_id ORDER BY w", "by a\nby b\n")
        }
    }

    func testARebuildThatComputesTheUniqueColumnLeavesOneRow() throws {
        for device in 0...1 {
            let fleet = try unified(", (2, 'y', 1, ''), (3, 'z', 2, '')")
            let upper = rebuild(
                "title TEXT NOT NULL, stock INT NOT NULL, note TEXT NOT NULL DEFAULT ''", "upper(title), stock, note",
                index: "title")
            try fleet.shell(device, upper)
            let rows = "SELECT title, stock FROM book ORDER BY title"
            try fleet.assertSettled(rows, "X|6\nY|1\nZ|2\n")
            try fleet.shell(1 - device, upper)
            try fleet.assertSettled(rows, "X|6\nY|1\nZ|2\n")
        }
    }
}
