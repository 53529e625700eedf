import FerryCore
import FerrySchema
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// A migration renames a parent out of the way and makes it anew, so SQLite leaves the children's foreign keys with a table that is gone.
final class VanishedParentTests: XCTestCase {
    private func migration(_ former: String, by tool: String = "id INTEGER PRIMARY KEY, title, prio") -> String {
        """
        PRAGMA foreign_keys = OFF; BEGIN; ALTER TABLE note RENAME TO "\(former)"; CREATE TABLE note(\(tool));
        INSERT INTO note(id, title) SELECT id, title FROM "\(former)"; DROP TABLE "\(former)"; COMMIT;
        """
    }

    private let formerNames = [
        "temporary_note", "note_old", "note__old", "_note_old_20240131", "note_backup", "tmp_note", "old_note",
    ]

    /// SQLite's own check of foreign keys goes on to name the table that is gone.
    private func assertShown(_ fleet: Fleet, _ query: String, _ expected: String, _ former: String) throws {
        try fleet.settle()
        for device in fleet.replicas.indices {
            XCTAssertEqual(try fleet.shell(device, query), expected, "\(former), device \(device)")
            let report = try fleet.replicas[device].verify(deep: true)
            XCTAssertTrue(report.isSound, "\(former), device \(device): \(report.differences) \(report.foreignKeys)")
        }
    }

    func testATableWithoutItsParentStaysHereAndItsRowsAreNobodysFault() throws {
        let fleet = try Fleet.two(
            """
            CREATE TABLE client(id INTEGER PRIMARY KEY);
            CREATE TABLE project(id INTEGER PRIMARY KEY, client INTEGER NOT NULL REFERENCES client(id), code UNIQUE);
            CREATE TABLE entry(id INTEGER PRIMARY KEY, v);
            """)
        try fleet.shell(0, "DROP TABLE client", foreignKeys: false)
        _ = try fleet.replicas[0].sync()
        try fleet.shell(
            0, "INSERT INTO project VALUES (1, 1, 'a'); INSERT INTO entry VALUES (1, 'x')", foreignKeys: false)
        _ = try fleet.replicas[0].sync()
        let status = try fleet.replicas[0].status()
        XCTAssertFalse(status.tables.contains { $0.name == "project" })
        XCTAssertEqual(status.leftOut.map(\.name), ["project"])
        let report = try fleet.replicas[0].verify(deep: true)
        XCTAssertTrue(report.isSound, "\(report.differences)")
        XCTAssertEqual(report.tables.map(\.name).first, "entry")
    }

    func testReferencesGoOnToTheTableThatWasMadeAnew() throws {
        for former in formerNames {
            let fleet = try Fleet.two(
                """
                CREATE TABLE note(id INTEGER PRIMARY KEY, title);
                CREATE TABLE child(id INTEGER PRIMARY KEY, note_id INTEGER REFERENCES note(id), tag TEXT);
                INSERT INTO note VALUES (1, 'n1'); INSERT INTO child VALUES (1, 1, 't1');
                """)
            for device in 0...1 { try fleet.shell(device, migration(former), foreignKeys: false) }
            try fleet.settle()
            for device in 0...1 {
                try fleet.shell(
                    device,
                    """
                    INSERT INTO note(title) VALUES ('m\(device)');
                    INSERT INTO child(note_id, tag) SELECT id, 'c\(device)' FROM note WHERE title = 'm\(device)';
                    """, foreignKeys: false)
            }
            try assertShown(
                fleet,
                "SELECT c.tag || ' ' || n.title FROM child AS c LEFT JOIN note AS n ON n.id = c.note_id ORDER BY 1",
                "c0 m0\nc1 m1\nt1 n1\n", former)
        }
    }

    func testRowsWithSuchAReferenceInTheirKeyKeepTheirIdentity() throws {
        let fleet = try Fleet.two(
            """
            CREATE TABLE note(id INTEGER PRIMARY KEY, title);
            CREATE TABLE child(note_id INTEGER NOT NULL REFERENCES note(id), tag TEXT NOT NULL, PRIMARY KEY(note_id, tag));
            INSERT INTO note VALUES (1, 'n1'), (2, 'n2'); INSERT INTO child VALUES (1, 't1'), (2, 't2');
            """)
        for device in 0...1 { try fleet.shell(device, migration("temporary_note"), foreignKeys: false) }
        try fleet.settle()
        try fleet.join()
        try assertShown(fleet, "SELECT count(*) FROM child", "2\n", "")
    }

    func testATableOfALongerNameIsNoHeir() throws {
        let tables = try Fleet.two(
            "CREATE TABLE note(id INTEGER PRIMARY KEY); CREATE TABLE tag(id INTEGER PRIMARY KEY)"
        )
        .replicas[0].store.read { try SchemaReader(connection: $0).read().tables }
        XCTAssertEqual(VanishedParent.heir(of: "NOTE__old", [], among: tables), "note")
        XCTAssertEqual(VanishedParent.heir(of: "tmp_note", ["id"], among: tables), "note")
        for missing in ["note_tags", "notebook", "note1", "footnote", "note_", "old", "tag_note_old", ""] {
            XCTAssertNil(VanishedParent.heir(of: missing, [], among: tables), missing)
        }
        XCTAssertNil(VanishedParent.heir(of: "note_old", ["other"], among: tables))
    }
}
