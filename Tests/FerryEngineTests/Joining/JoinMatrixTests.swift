import FerryCore
import FerrySchema
import FerryStore
import XCTest

@testable import FerryEngine

/// Three databases with rows join a container one after the other, under all pairs of `--rows`, for each kind of identity, with
/// a full-text index that the app's triggers keep. What the rows must be is told by a model of a few lines.
final class JoinMatrixTests: XCTestCase {
    /// How rows of two devices are one.
    private enum Kind: String {
        case key = "k TEXT PRIMARY KEY NOT NULL, v TEXT, n INTEGER"
        case uniqueValue = "id INTEGER PRIMARY KEY, k TEXT UNIQUE, v TEXT, n INTEGER"
        case uniqueValueBesideAKey = "uid TEXT PRIMARY KEY NOT NULL, k TEXT UNIQUE, v TEXT, n INTEGER"
        case declared = "id INTEGER PRIMARY KEY, k TEXT NOT NULL, v TEXT, n INTEGER, spare TEXT"
        case equalKeys = "id INTEGER PRIMARY KEY, k TEXT, v TEXT, n INTEGER"

        /// The full-text index is one by row IDs, which a replay keeps in line through the app's triggers alone.
        var schema: String {
            """
            CREATE TABLE "my item"(\(rawValue));
            CREATE VIRTUAL TABLE words USING fts5(k, v, content='my item', content_rowid=rowid);
            CREATE TRIGGER i AFTER INSERT ON "my item" BEGIN
              INSERT INTO words(rowid, k, v) VALUES (new.rowid, new.k, new.v); END;
            CREATE TRIGGER d AFTER DELETE ON "my item" BEGIN
              INSERT INTO words(words, rowid, k, v) VALUES ('delete', old.rowid, old.k, old.v); END;
            CREATE TRIGGER u AFTER UPDATE ON "my item" BEGIN
              INSERT INTO words(words, rowid, k, v) VALUES ('delete', old.rowid, old.k, old.v);
              INSERT INTO words(rowid, k, v) VALUES (new.rowid, new.k, new.v); END;
            """
        }

        func insertion(of names: [String], on device: String) -> String {
            names.map { name in
                let values = "'\(name)', '\(name) of \(device)', \(names.count)"
                switch self {
                case .uniqueValueBesideAKey:
                    return "INSERT INTO \"my item\"(uid, k, v, n) VALUES ('\(device) \(name)', \(values));"
                case .equalKeys:
                    let key = ["first": 1, "second": 2, "third": 3][name] ?? Int(name.utf8.last ?? 0)
                    return "INSERT INTO \"my item\"(id, k, v, n) VALUES (\(key), \(values));"
                default: return "INSERT INTO \"my item\"(k, v, n) VALUES (\(values));"
                }
            }.joined()
        }

        var selection: TableSelection {
            TableSelection(declaredIdentities: self == .declared ? ["my item": ["k"]] : [:])
        }
    }

    private static let modes = JoinOptions.Rows.allCases

    func testRowsThatAreOneByTheirKey() throws { try play(.key) }
    func testRowsThatAreOneByAUniqueValue() throws { try play(.uniqueValue) }
    func testRowsThatAreOneByAUniqueValueBesideAKeyOfTheirOwn() throws { try play(.uniqueValueBesideAKey) }
    func testRowsThatAreOneByADeclaredIdentity() throws { try play(.declared) }
    func testRowsThatAreOneByEqualKeys() throws { try play(.equalKeys) }

    private func play(_ kind: Kind) throws {
        for (place, first) in Self.modes.enumerated() {
            for (other, second) in Self.modes.enumerated() {
                // All pairs where rows are one by a key or a value; the other kinds become one as these do.
                if (kind == .declared || kind == .equalKeys) && (place + 1) % 3 == other { continue }
                try play(kind, first, second, syncsBetween: (place + other) % 2 == 0)
            }
        }
    }

    private func play(
        _ kind: Kind, _ first: JoinOptions.Rows, _ second: JoinOptions.Rows, syncsBetween: Bool
    ) throws {
        let what = "\(kind), \(first) and then \(second), \(syncsBetween ? "with" : "without") a sync between"
        let fleet = try Fleet()
        // "first" all have, "second" the container and the last; "third" the first two that join; each has one of its own.
        try fleet.start(
            kind.schema + kind.insertion(of: ["first", "second", "x"], on: "a"), selection: kind.selection)
        var expected = ["first": "first of a", "second": "second of a", "x": "x of a"]
        func join(_ names: [String], as device: String, _ rows: JoinOptions.Rows) throws {
            let script = kind.schema + kind.insertion(of: names, on: device)
            let options = JoinOptions(rows: rows, match: kind == .equalKeys ? .keys : nil)
            let index = fleet.replicas.count
            try fleet.shell(index, script)
            let (_, rehearsed) = try Replica.join(
                databasePath: fleet.databasePath(index), containerPath: fleet.containerPath, options: options,
                isDryRun: true)
            let report = try fleet.join(options: options)
            XCTAssertEqual(rehearsed.compared, report.compared, what)
            XCTAssertEqual(rehearsed.removed, report.removed, what)
            XCTAssertEqual(rehearsed.conflicts, report.conflicts, what)
            var (differing, only) = (0, 0)
            for name in names {
                let own = "\(name) of \(device)"
                guard let present = expected[name] else {
                    only += 1
                    if rows != .theirs { expected[name] = own }
                    continue
                }
                if present != own { differing += 1 }
                if rows == .mine { expected[name] = own }
                let lost = rows == .mine ? present : own
                XCTAssertEqual(try conflicts(fleet, index, lost), lost == expected[name] ? 0 : 1, "\(what): \(lost)")
            }
            let count = try XCTUnwrap(report.compared.first { $0.table == "my item" })
            XCTAssertEqual([count.different, count.onlyHere], [differing, only], what)
            XCTAssertEqual(report.removed, rows == .theirs ? only : 0, what)
        }
        try join(["first", "third", "y"], as: "b", first)
        if syncsBetween { try fleet.settle() }
        try join(["first", "second", "third", "z"], as: "c", second)
        try fleet.settle()
        let rows = expected.sorted { $0.key < $1.key }.map { "\($0.key)|\($0.value)\n" }.joined()
        for index in fleet.replicas.indices {
            XCTAssertEqual(
                try fleet.shell(index, "SELECT k, v FROM \"my item\" ORDER BY k"), rows, "\(what): device \(index)")
            XCTAssertEqual(
                try fleet.shell(index, "INSERT INTO words(words, rank) VALUES ('integrity-check', 1)"), "", what)
            XCTAssertTrue(try fleet.replicas[index].verify(deep: true).isSound, what)
            let standings = try fleet.replicas[index].status().devices.map(\.standing)
            XCTAssertEqual(standings, Array(repeating: .inStep, count: standings.count), what)
        }
        if kind == .uniqueValueBesideAKey {
            // The key of a row is whose values count.
            let key = second == .mine ? "c first" : first == .mine ? "b first" : "a first"
            XCTAssertEqual(try fleet.shell(0, "SELECT uid FROM \"my item\" WHERE k = 'first'"), "\(key)\n", what)
            try fleet.assertEqual("SELECT * FROM \"my item\" ORDER BY k")
        }
    }

    /// How many conflicts of a device say that a value of the column `v` was lost.
    private func conflicts(_ fleet: Fleet, _ index: Int, _ value: String) throws -> Int {
        try fleet.replicas[index].store.conflicts().filter { conflict in
            conflict.column == "v" && conflict.lost.value == .text(Array(value.utf8)[...])
        }.count
    }
}
