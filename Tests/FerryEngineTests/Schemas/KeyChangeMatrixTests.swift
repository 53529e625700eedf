import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// Every change between ten kinds of table, by each means, with writes pending on no device, on one, or on both.
///
/// Some cells are drawn by default; `FERRY_MATRIX=all` plays all of them, `FERRY_MATRIX=text` those from and to one kind, and
/// `FERRY_SEED` tells which are drawn.
final class KeyChangeMatrixTests: XCTestCase {
    func testEveryChangeBetweenKindsOfTablesWithPendingWrites() throws {
        var cells = KeyChange.all
        let wanted = ProcessInfo.processInfo.environment["FERRY_MATRIX"]
        if let kind = wanted.flatMap(KeyChange.Kind.init) {
            cells = cells.filter { $0.from == kind || $0.to == kind }
        } else if wanted != "all" {
            var chance = Chance(seed: Seeds(defaultCount: 1).all.lowerBound)
            cells.shuffle(using: &chance)
            cells = Array(cells.prefix(16))
        }
        for cell in cells {
            do {
                try cell.play()
            } catch {
                XCTFail("\(cell): \(error)")
            }
        }
    }
}

/// One cell of the matrix: a migration from one kind of table to another.
private struct KeyChange: CustomStringConvertible {
    enum Kind: String, CaseIterable {
        case integer, text, compound, otherCompound, withoutRowID, otherColumn, autoincrement, noKey, otherColumns
        case otherInteger

        /// The statement that makes it.
        func create(_ name: String) -> String {
            let (columns, key, rest): (String, String?, String) =
                switch self {
                case .integer: ("id INTEGER PRIMARY KEY", nil, "")
                case .autoincrement: ("id INTEGER PRIMARY KEY AUTOINCREMENT", nil, "")
                case .otherColumns: ("id INTEGER PRIMARY KEY, extra TEXT DEFAULT 'new'", nil, "")
                case .otherInteger: ("id INTEGER, no INTEGER PRIMARY KEY", nil, "")
                case .text: ("id INTEGER", "code", "")
                case .compound: ("id INTEGER", "code, part", "")
                case .otherCompound: ("id INTEGER NOT NULL", "part, id", "")
                case .withoutRowID: ("id INTEGER", "code", " WITHOUT ROWID")
                case .otherColumn: ("id INTEGER", "part", "")
                case .noKey: ("id INTEGER", nil, "")
                }
            let constraint = key.map { ", PRIMARY KEY(\($0))" } ?? ""
            return
                "CREATE TABLE \(name)(\(columns), code TEXT NOT NULL, part TEXT NOT NULL, value TEXT\(constraint))\(rest);"
        }
    }

    enum Means: CaseIterable {
        case rebuild, rename, dropAndCreate

        func run(_ kind: Kind) -> String {
            let copy = "(id, code, part, value) SELECT id, code, part, value FROM"
            return switch self {
            case .rebuild:
                "BEGIN; \(kind.create("new_t")) INSERT INTO new_t\(copy) t; DROP TABLE t; ALTER TABLE new_t RENAME TO t; COMMIT;"
            case .rename:
                "BEGIN; ALTER TABLE t RENAME TO old_t; \(kind.create("t")) INSERT INTO t\(copy) old_t; DROP TABLE old_t; COMMIT;"
            case .dropAndCreate:
                "CREATE TEMP TABLE aside AS SELECT * FROM t; DROP TABLE t; \(kind.create("t")) INSERT INTO t\(copy) aside;"
            }
        }
    }

    enum Pending: Int, CaseIterable { case none, one, both }

    var from: Kind
    var to: Kind
    var means: Means
    var pending: Pending

    static var all: [KeyChange] {
        // Without the column of its integers nothing tells a table's rows: no change begins with such a table.
        Kind.allCases.filter { $0 != .otherInteger }.flatMap { from in
            Kind.allCases.filter { $0 != from }.flatMap { to in
                Means.allCases.flatMap { means in
                    Pending.allCases.map { KeyChange(from: from, to: to, means: means, pending: $0) }
                }
            }
        }
    }

    var description: String { "\(from) to \(to) by \(means), pending on \(pending)" }

    func play() throws {
        let fleet = try Fleet()
        try fleet.start(from.create("t") + "CREATE TABLE other(id INTEGER PRIMARY KEY, value TEXT);")
        try fleet.join()
        let rows = (1...6).map { "(\($0), 'c\($0)', 'p\($0)', 'v\($0)')" }
        // Rows of a table without a key do not travel: each device has some of its own.
        if from == .noKey {
            try fleet.shell(0, insert(rows[0..<3]))
            try fleet.shell(1, insert(rows[3..<6]))
        } else {
            try fleet.shell(0, insert(rows[...]))
        }
        try fleet.settle()
        var expected = Dictionary(uniqueKeysWithValues: (1...6).map { ($0, "c\($0)|p\($0)|v\($0)") })
        func write(_ device: Int, _ changed: Int, _ deleted: Int, _ added: Int) throws {
            try fleet.shell(
                device,
                "UPDATE t SET value = 'by \(device)' WHERE id = \(changed); DELETE FROM t WHERE id = \(deleted);"
                    + insert(["(\(added), 'c\(added)', 'p\(added)', 'v\(added)')"]))
            expected[changed] = "c\(changed)|p\(changed)|by \(device)"
            expected[deleted] = nil
            expected[added] = "c\(added)|p\(added)|v\(added)"
        }
        if pending.rawValue > 0 { try write(0, 1, 2, 7) }
        if pending == .both { try write(1, 4, 5, 8) }
        let rest = "INSERT INTO other(value) VALUES ('from 0');"
        try fleet.shell(0, means.run(to) + rest)
        _ = try fleet.replicas[0].sync()
        // The other table does not wait.
        XCTAssertEqual(try fleet.replicas[1].sync().waiting, [], description)
        XCTAssertEqual(try fleet.shell(1, "SELECT value FROM other"), "from 0\n", description)
        try fleet.shell(1, means.run(to))
        try fleet.settle()
        if to == .noKey { return try fleet.assertSound() }
        let lines = expected.sorted { $0.key < $1.key }.map { "\($0.key)|\($0.value)\n" }.joined()
        try check(fleet, lines, "in line")
        try fleet.join()
        try fleet.settle()
        try check(fleet, lines, "joined")
        try fleet.shell(0, "UPDATE t SET value = 'later' WHERE id = 3;")
        try fleet.shell(2, "DELETE FROM t WHERE id = 6;" + insert(["(9, 'c9', 'p9', 'v9')"]))
        try fleet.settle()
        expected[3] = "c3|p3|later"
        expected[6] = nil
        expected[9] = "c9|p9|v9"
        try check(fleet, expected.sorted { $0.key < $1.key }.map { "\($0.key)|\($0.value)\n" }.joined(), "afterwards")
        for replica in fleet.replicas {
            XCTAssertEqual(try replica.verify(deep: true).differences, [], description)
        }
    }

    private func insert(_ rows: ArraySlice<String>) -> String {
        "INSERT INTO t(id, code, part, value) VALUES \(rows.joined(separator: ", "));"
    }

    private func check(_ fleet: Fleet, _ lines: String, _ when: String) throws {
        for index in fleet.replicas.indices {
            XCTAssertEqual(
                try fleet.shell(index, "SELECT id, code, part, value FROM t ORDER BY id, code"), lines,
                "\(self), \(when), device \(index)")
        }
        try fleet.assertSound()
    }
}
