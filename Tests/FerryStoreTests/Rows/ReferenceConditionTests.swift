import FerryCore
import FerrySchema
import XCTest

@testable import FerryStore

/// A child column by BINARY that refers to a parent key by NOCASE: SQLite compares by the parent's collation, and so does every
/// query of Ferry's (https://www.sqlite.org/foreignkeys.html).
final class ReferenceConditionTests: XCTestCase {
    private static let schema = TestSchema(
        name: "collations",
        sql: """
            CREATE TABLE tag(id INTEGER PRIMARY KEY, code TEXT UNIQUE, name TEXT COLLATE NOCASE NOT NULL UNIQUE);
            CREATE TABLE label(id INTEGER PRIMARY KEY,
                tag TEXT COLLATE BINARY REFERENCES tag(name) ON UPDATE CASCADE ON DELETE CASCADE);
            """)

    private func device(_ number: Int = 1) throws -> TestDevice { try TestDevice(number, Self.schema) }

    /// The tables, and the reference.
    private func parts(_ access: StoreAccess) throws -> (tag: TrackedTable, label: TrackedTable, TrackedForeignKey) {
        let tag = try XCTUnwrap(access.registry.table(named: "tag"))
        let label = try XCTUnwrap(access.registry.table(named: "label"))
        return (tag, label, try XCTUnwrap(label.foreignKeys.first))
    }

    func testEveryQueryComparesByTheParentKeysCollation() throws {
        let device = try device()
        try device.run(
            """
            INSERT INTO tag VALUES (1, 'r', 'Rock'), (2, 'j', 'Jazz');
            INSERT INTO label VALUES (1, 'ROCK'), (2, 'rock'), (3, NULL), (4, 'Rock'), (5, 'JAZZ');
            """)
        try device.flush()
        XCTAssertEqual(try device.query("SELECT count(*) FROM label JOIN tag ON tag.name = label.tag"), ["4"])
        try device.store.transaction { session in
            let access = session.access
            let (tag, label, key) = try self.parts(access)
            let translator = ReferenceTranslator(access)
            XCTAssertEqual(try translator.objects(of: label, referringBy: key, to: [.text("rOCK")]).count, 3)
            XCTAssertEqual(try translator.objects(of: label, referringBy: key, to: [.text("pop")]).count, 0)
            // Beyond the first searches, the scan looks into its own copy.
            let scan = ReferenceScan(access)
            for _ in 0..<12 {
                XCTAssertEqual(try scan.keys(of: label, referringBy: key, to: [.text("rOCK")]).count, 3)
            }
            try scan.finish()
            let target = access.registry.condition(onTargetOf: key)
            XCTAssertEqual(
                try access.connection.rows("SELECT id FROM tag WHERE \(target)", .text("jAZZ")), [[.integer(2)]])
            let name = try XCTUnwrap(tag.columnID("name"))
            let joining = access.registry.condition(joining: key, of: label, to: [name], of: tag)
            let orphans = "SELECT child.id FROM label AS child WHERE NOT EXISTS (SELECT 1 FROM tag AS parent WHERE "
            XCTAssertEqual(try access.connection.rows("\(orphans)\(joining))"), [[.integer(3)]])
        }
    }

    func testNoRowIsAnOrphanUntilTheParentKeyIsGone() throws {
        let device = try device()
        try device.run(
            "INSERT INTO tag VALUES (1, 'r', 'Rock'); INSERT INTO label VALUES (1, 'ROCK'), (2, 'rock'), (3, 'Rock')")
        try device.flush()
        func orphans() throws -> Int {
            try device.store.transaction { session -> Int in
                let (tag, _, _) = try self.parts(session.access)
                var search = OrphanSearch(session.access)
                let object = try XCTUnwrap(session.access.objects(of: tag.id).object(forKey: .integer(1)))
                let touched = TouchedObject(
                    table: tag.id, object: object, columns: tag.columns.map(\.id), isDeleted: false, needsRules: false)
                return try search.search(touched, tag).count
            }
        }
        XCTAssertEqual(try orphans(), 0)
        try device.run("PRAGMA foreign_keys = OFF; UPDATE tag SET name = 'Jazz'; PRAGMA foreign_keys = ON")
        XCTAssertEqual(try orphans(), 3)
    }

    func testAReferenceInAnotherCaseFollowsTheUnifiedRow() throws {
        let (a, b) = try (device(1), device(2))
        try a.run("INSERT INTO tag VALUES (1, 'x', 'Rock')")
        try a.flush()
        b.clock.now += 1000
        try b.run("INSERT INTO tag VALUES (1, 'x', 'Pop'); INSERT INTO label VALUES (1, 'POP')")
        try b.flush()
        try a.receive(b)
        try b.receive(a)
        a.clock.now += 5000
        try a.run("UPDATE tag SET name = 'Soul' WHERE code = 'x'")
        try a.flush()
        try b.receive(a)
        try a.receive(b)
        for device in [a, b] {
            XCTAssertEqual(
                try device.query("SELECT tag.name FROM label JOIN tag ON tag.name = label.tag"), ["Soul"])
            XCTAssertEqual(try device.store.verify(deep: true).differences.map(\.problem), [])
        }
        XCTAssertEqual(try a.query("SELECT tag FROM label"), try b.query("SELECT tag FROM label"))
    }
}
