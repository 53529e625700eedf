import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// Foreign keys of several columns, one of which is an integer key: of the child, or of the parent.
final class CompoundForeignKeyTests: XCTestCase {
    /// As apps with Room write them: a row beside a link.
    func testTheKeyIsTheRowThatItNames() throws {
        let fleet = try Fleet.two(
            """
            CREATE TABLE playlist(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE song(id TEXT PRIMARY KEY NOT NULL);
            CREATE TABLE link(
                playlist INTEGER NOT NULL REFERENCES playlist ON DELETE CASCADE, song TEXT NOT NULL REFERENCES song,
                PRIMARY KEY(playlist, song));
            CREATE TABLE current(
                playlist INTEGER PRIMARY KEY NOT NULL, song TEXT NOT NULL,
                FOREIGN KEY(playlist, song) REFERENCES link(playlist, song) ON DELETE CASCADE);
            INSERT INTO song VALUES ('s');
            """)
        try fleet.shell(0, "INSERT INTO playlist(name) VALUES ('of a')")
        try fleet.shell(
            1,
            "INSERT INTO playlist(name) VALUES ('of b'); INSERT INTO link VALUES (1, 's'); INSERT INTO current VALUES (1, 's')"
        )
        try fleet.settle()
        for device in 0...1 {
            XCTAssertEqual(
                try fleet.shell(device, "SELECT name FROM playlist JOIN current ON playlist = id"), "of b\n")
            XCTAssertEqual(try fleet.shell(device, "PRAGMA foreign_key_check"), "")
        }
        try fleet.assertSoundAndInStep()
    }

    func testAPlainValueIsTheSameOnAllDevices() throws {
        let fleet = try Fleet.two(
            """
            CREATE TABLE page(id INTEGER NOT NULL, lang TEXT NOT NULL, PRIMARY KEY(id, lang));
            CREATE TABLE shown(
                id INTEGER PRIMARY KEY, lang TEXT NOT NULL, FOREIGN KEY(id, lang) REFERENCES page(id, lang));
            INSERT INTO page VALUES (1, 'en'), (1, 'de');
            """)
        try fleet.shell(0, "INSERT INTO shown VALUES (1, 'en')")
        try fleet.shell(1, "INSERT INTO shown VALUES (1, 'de')")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*), min(id) FROM shown"), "1|1\n")
        XCTAssertEqual(try fleet.shell(0, "SELECT * FROM shown"), try fleet.shell(1, "SELECT * FROM shown"))
        for device in 0...1 { XCTAssertEqual(try fleet.shell(device, "PRAGMA foreign_key_check"), "") }
        try fleet.assertSoundAndInStep()
    }

    /// The usual guard of a subtype or of a tenant: the parent's integer key, and a column beside it.
    private let guarded = """
        CREATE TABLE project(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT, UNIQUE(id, kind));
        CREATE TABLE task(
            id INTEGER PRIMARY KEY, project INTEGER NOT NULL, kind TEXT NOT NULL, title TEXT,
            FOREIGN KEY(project, kind) REFERENCES project(id, kind) ON DELETE CASCADE ON UPDATE CASCADE);
        """
    private let placed = "SELECT title, name FROM task JOIN project ON project.id = task.project ORDER BY 1"

    func testAGuardedReferenceLeadsToItsRow() throws {
        let fleet = try Fleet.two(guarded)
        for (device, name) in [(0, "a"), (1, "b")] {
            try fleet.shell(
                device,
                """
                INSERT INTO project(kind, name) VALUES ('x', 'project of \(name)');
                INSERT INTO task(project, kind, title) VALUES (1, 'x', 'task of \(name)');
                """)
        }
        try fleet.settle()
        for device in 0...1 {
            XCTAssertEqual(try fleet.shell(device, placed), "task of a|project of a\ntask of b|project of b\n")
        }
        try fleet.assertSoundAndInStep()
        // A task that moves to another project, and the deletion of a project, mean the same rows everywhere.
        try fleet.shell(0, "UPDATE task SET project = (SELECT id FROM project WHERE name = 'project of b')")
        try fleet.settle()
        try fleet.shell(1, "DELETE FROM project WHERE name = 'project of a'")
        try fleet.settle()
        for device in 0...1 {
            XCTAssertEqual(try fleet.shell(device, placed), "task of a|project of b\ntask of b|project of b\n")
            XCTAssertEqual(try fleet.shell(device, "PRAGMA foreign_key_check"), "")
        }
        try fleet.assertSoundAndInStep()
    }

    /// A row that is added to a parent which another device deletes goes with the parent, as CASCADE says.
    func testADeletedParentTakesGuardedRowsAlong() throws {
        let fleet = try Fleet.two(guarded + "INSERT INTO project VALUES (1, 'x', 'P');")
        try fleet.shell(0, "DELETE FROM project")
        try fleet.shell(1, "INSERT INTO task(project, kind, title) VALUES (1, 'x', 'T')")
        try fleet.settle()
        for device in 0...1 {
            XCTAssertEqual(try fleet.shell(device, "SELECT count(*) FROM task"), "0\n")
            XCTAssertEqual(try fleet.shell(device, "PRAGMA foreign_key_check"), "")
        }
        try fleet.assertSoundAndInStep()
    }

    /// With a NULL beside the integer SQLite enforces nothing. The integer means the row all the same.
    func testAReferenceWhoseGuardMayBeNULLLeadsToItsRow() throws {
        let fleet = try Fleet.two(
            """
            CREATE TABLE project(id INTEGER PRIMARY KEY, kind TEXT, name TEXT, UNIQUE(id, kind));
            CREATE TABLE task(
                id INTEGER PRIMARY KEY, project INTEGER, kind TEXT, title TEXT,
                FOREIGN KEY(project, kind) REFERENCES project(id, kind));
            """)
        for (device, name) in [(0, "a"), (1, "b")] {
            try fleet.shell(
                device,
                """
                INSERT INTO project(kind, name) VALUES ('x', 'project of \(name)');
                INSERT INTO task(project, kind, title) VALUES (1, 'x', 'task of \(name)'), (1, NULL, 'note of \(name)');
                """)
        }
        try fleet.settle()
        for device in 0...1 {
            XCTAssertEqual(
                try fleet.shell(device, placed),
                "note of a|project of a\nnote of b|project of b\ntask of a|project of a\ntask of b|project of b\n")
        }
        try fleet.assertSoundAndInStep()
    }

    /// The table of a subtype: its integer key is a part of the guarded reference.
    func testARowOfASubtypeBelongsToItsRow() throws {
        let fleet = try Fleet.two(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT, UNIQUE(id, kind));
            CREATE TABLE book(
                id INTEGER PRIMARY KEY, kind TEXT NOT NULL DEFAULT 'book' CHECK (kind = 'book'), pages INTEGER,
                FOREIGN KEY(id, kind) REFERENCES item(id, kind) ON DELETE CASCADE);
            """)
        try fleet.shell(0, "INSERT INTO item(kind, name) VALUES ('film', 'of a')")
        try fleet.shell(
            1, "INSERT INTO item(kind, name) VALUES ('book', 'of b'); INSERT INTO book(id, pages) VALUES (1, 9)")
        try fleet.settle()
        for device in 0...1 {
            XCTAssertEqual(
                try fleet.shell(device, "SELECT name, pages FROM item JOIN book USING (id)"), "of b|9\n")
            XCTAssertEqual(try fleet.shell(device, "PRAGMA foreign_key_check"), "")
        }
        try fleet.assertSoundAndInStep()
    }

    /// A generated column does not travel: no rule follows its foreign key, and people are told.
    func testAForeignKeyOfAGeneratedColumnIsListedAsAPlainReference() throws {
        let fleet = try Fleet.two(
            """
            CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, a TEXT, b TEXT AS (lower(a)) STORED UNIQUE);
            CREATE TABLE c(id TEXT PRIMARY KEY NOT NULL, j TEXT,
                r TEXT AS (json_extract(j, '$.p')) STORED REFERENCES p(id) ON DELETE CASCADE);
            CREATE TABLE d(id TEXT PRIMARY KEY NOT NULL, b TEXT REFERENCES p(b) ON DELETE CASCADE);
            INSERT INTO p(id, a) VALUES ('x', 'X');
            """)
        for replica in fleet.replicas {
            let references = try replica.store.plainReferences()
            XCTAssertEqual(references.map(\.columns), [["r"], ["b"]])
            XCTAssertTrue(references.allSatisfy { $0.reason.contains("generated column") }, "\(references)")
        }
        try fleet.shell(0, "DELETE FROM p")
        try fleet.shell(1, "INSERT INTO c(id, j) VALUES ('c', '{\"p\":\"x\"}'); INSERT INTO d VALUES ('d', 'x')")
        try fleet.settle()
        for index in 0..<2 {
            XCTAssertEqual(try fleet.shell(index, "SELECT id FROM c UNION SELECT id FROM d"), "c\nd\n")
        }
        for replica in fleet.replicas {
            let report = try replica.verify(deep: true)
            XCTAssertEqual(report.differences, [])
            XCTAssertEqual(report.foreignKeys.count, 0)
            XCTAssertEqual(try replica.status().devices.map(\.standing), [.inStep])
        }
    }
}
