import FerrySQL
import FerryTestSupport
import GRDB
import GRDBSQLite
import XCTest

@testable import FerryReferenceModel
@testable import FerryStore

/// The same statements on a plain and on a tracked database: an app must not see that Ferry is there.
///
/// Each statement gives the same rows, result code, message, `changes()` and `last_insert_rowid()`, and both databases hold
/// the same rows afterward, also once Ferry has packed. `make transparency` runs scripts of SQL that other people wrote.
final class TransparencyTests: XCTestCase {
    func testStatementsGiveTheSameOnAPlainAndATrackedDatabase() throws {
        try play(foreignKeys: true, defaultCount: 40)
    }

    func testStatementsGiveTheSameWhereTheAppEnforcesNoForeignKeys() throws {
        try play(foreignKeys: false, defaultCount: 40)
    }

    private func play(foreignKeys: Bool, defaultCount: UInt64) throws {
        for seed in Seeds(defaultCount: defaultCount).all {
            do {
                var pair = try TransparentPair(seed: seed, foreignKeys: foreignKeys)
                try pair.play()
            } catch is TransparentPair.DefectOfSQLite {
                continue
            } catch {
                XCTFail("FERRY_SEED=\(seed), foreign keys \(foreignKeys ? "on" : "off"): \(error)")
                return
            }
        }
    }

    func testAnAppSeesItsOwnCountsAndKeys() throws {
        let schema = TestSchema(name: "counts", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, x UNIQUE, y);")
        let pair = try TransparentPair(schema, seed: 1, foreignKeys: true)
        try pair.run([
            "INSERT INTO t VALUES (7, 'a', 1), (9, 'b', 2)", "INSERT OR REPLACE INTO t(x, y) VALUES ('a', 3)",
            "INSERT INTO t(x) VALUES ('b') ON CONFLICT(x) DO UPDATE SET y = 4", "UPDATE OR REPLACE t SET x = 'b'",
            "INSERT OR IGNORE INTO t(x) VALUES ('b')", "DELETE FROM t RETURNING id, x", "DELETE FROM t",
            "INSERT INTO t(x) VALUES ('c') RETURNING *",
        ])
        try pair.compareRows(after: "all")
    }
}

/// A plain database and a tracked one that are given the same statements.
struct TransparentPair {
    private let plain: DatabaseQueue
    private let tracked: TestDevice
    private let names: [String]
    private var statements: RandomStatements
    private var chance: Chance
    private let enforcesForeignKeys: Bool

    init(seed: UInt64, foreignKeys: Bool) throws {
        try self.init(RandomSchema.schema(seed: seed), seed: seed, foreignKeys: foreignKeys)
    }

    init(_ schema: TestSchema, seed: UInt64, foreignKeys: Bool) throws {
        tracked = try TestDevice(1, schema)
        plain = try DatabaseQueue()
        chance = Chance(seed: seed ^ 0x7ab5)
        enforcesForeignKeys = foreignKeys
        let oracle = try OracleSchema(schema)
        names = oracle.tables.map(\.name)
        statements = RandomStatements(schema: oracle, chance: Chance(seed: seed ^ 0x57a7))
        let settings = "PRAGMA foreign_keys = \(foreignKeys); PRAGMA recursive_triggers = \(chance.oneIn(3));"
        try tracked.run(settings)
        try plain.writeWithoutTransaction { try $0.execute(sql: settings + schema.sql) }
    }

    mutating func play() throws {
        for _ in 0..<40 {
            try run(statements.transaction(for: tracked).map { varied($0) })
            if chance.oneIn(4) { _ = try tracked.flush() }
            try compareRows(after: "a transaction")
        }
        _ = try tracked.flush()
        try compareRows(after: "the last flush")
        let found = try tracked.store.verify(deep: true)
        if !found.isSound { throw Difference(statement: "verify", plain: "sound", tracked: "\(found)") }
    }

    /// A statement as some people write it.
    private mutating func varied(_ statement: String) -> String {
        let changesRows = ["INSERT", "UPDATE", "DELETE"].contains { statement.hasPrefix($0) }
        return changesRows && chance.oneIn(4) ? statement + " RETURNING *" : statement
    }

    /// Runs the statements of a transaction, which ends with the last of them, or with the first that fails.
    ///
    /// SQLite 3.40 lets an `OR REPLACE` leave a row that refers to nothing where a statement failed before it in the
    /// transaction, or where the row refers to the one that it replaces. Any trigger on the table makes SQLite refuse it.
    /// - Throws: `DefectOfSQLite` there.
    func run(_ statements: [String]) throws {
        func outcomes(_ queue: DatabaseQueue) -> [Outcome] {
            queue.writeWithoutTransaction { database in
                var outcomes: [Outcome] = []
                for statement in statements {
                    outcomes.append(Outcome(statement, database.sqliteConnection))
                    if outcomes.last?.code != SQLITE_DONE { break }
                }
                return outcomes.last?.isOpen ?? false
                    ? outcomes + [Outcome("ROLLBACK", database.sqliteConnection)] : outcomes
            }
        }
        for (place, (here, there)) in zip(outcomes(plain), outcomes(tracked.queue)).enumerated() where here != there {
            if enforcesForeignKeys, here.refersToNothing { throw DefectOfSQLite() }
            let statement = place < statements.count ? statements[place] : "ROLLBACK"
            throw Difference(statement: statement, plain: "\(here)", tracked: "\(there)")
        }
    }

    func compareRows(after what: String) throws {
        for name in names {
            let query = "SELECT * FROM \(quoted(name)) ORDER BY 1, 2"
            let here = plain.writeWithoutTransaction { Outcome(query, $0.sqliteConnection).rows }
            let there = tracked.queue.writeWithoutTransaction { Outcome(query, $0.sqliteConnection).rows }
            if here.sorted() != there.sorted() {
                throw Difference(statement: "\(name) after \(what)", plain: "\(here)", tracked: "\(there)")
            }
        }
    }

    struct DefectOfSQLite: Error {}

    struct Difference: Error, CustomStringConvertible {
        var statement: String
        var plain: String
        var tracked: String

        var description: String { "\(statement)\n  plain   \(plain)\n  tracked \(tracked)" }
    }

    /// What a statement gives an app.
    struct Outcome: Equatable {
        var code: Int32
        var message: String
        /// Values as text, each with its type.
        var rows: [String] = []
        /// Only of statements that succeed: where a foreign key refuses an insertion, SQLite checks the key before the row
        /// is written on tables without triggers, and after it on tables with any.
        var changes: Int64?
        var lastKey: Int64?
        var isOpen: Bool
        /// Whether a row refers to nothing once the statement has succeeded.
        var refersToNothing = false

        static func == (left: Outcome, right: Outcome) -> Bool {
            left.code == right.code && left.message == right.message && left.rows == right.rows
                && left.changes == right.changes && left.lastKey == right.lastKey && left.isOpen == right.isOpen
        }

        init(_ sql: String, _ handle: OpaquePointer?) {
            var statement: OpaquePointer?
            code = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
            if code == SQLITE_OK {
                code = sqlite3_step(statement)
                while code == SQLITE_ROW {
                    rows.append(Self.row(statement))
                    code = sqlite3_step(statement)
                }
            }
            message = code == SQLITE_DONE ? "" : String(cString: sqlite3_errmsg(handle))
            sqlite3_finalize(statement)
            isOpen = sqlite3_get_autocommit(handle) == 0
            guard code == SQLITE_DONE else {
                // RETURNING hands out rows before SQLite checks foreign keys.
                rows = []
                sqlite3_set_last_insert_rowid(handle, 0)
                return
            }
            // What the statement before changed may have been a statement of Ferry's, on a connection that both use.
            if ["INSERT", "UPDATE", "DELETE"].contains(where: { sql.hasPrefix($0) }) {
                changes = sqlite3_changes64(handle)
            }
            lastKey = sqlite3_last_insert_rowid(handle)
            if sqlite3_prepare_v2(handle, "PRAGMA foreign_key_check", -1, &statement, nil) == SQLITE_OK {
                refersToNothing = sqlite3_step(statement) == SQLITE_ROW
            }
            sqlite3_finalize(statement)
        }

        private static func row(_ statement: OpaquePointer?) -> String {
            (0..<sqlite3_column_count(statement)).map { column in
                let type = sqlite3_column_type(statement, column)
                guard let bytes = sqlite3_column_blob(statement, column) else { return "\(type)" }
                let count = Int(sqlite3_column_bytes(statement, column))
                return "\(type):\(Array(UnsafeRawBufferPointer(start: bytes, count: count)))"
            }.joined(separator: "|")
        }
    }
}
