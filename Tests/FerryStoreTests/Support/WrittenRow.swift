import FerryCore
import FerrySQL

@testable import FerryReferenceModel
@testable import FerryStore

/// A row that statements wrote and that was not packed yet. It must stand once it was, but for the exceptions of Docs/Rules.md,
/// "What a statement did, stands".
struct WrittenRow {
    let table: ModelSchema.Table
    let key: [FieldValue]
    /// What it showed before it was packed; empty where it was deleted.
    private let shown: [[FieldValue]]
    private let joined: Int
    /// Whether something waited that may appear, or was held back and may go.
    private let mayAppear: Bool
    /// What the device knew before.
    private let known: [Changeset]

    /// What the statements since the last pass wrote.
    static func all(on device: TestDevice, _ schema: OracleSchema) throws -> [WrittenRow] {
        if try !device.query("PRAGMA foreign_key_check").isEmpty { return [] }
        let joined = try device.count(of: [.joined])
        let mayAppear = try device.count(of: [.waiting, .refused, .heldBack]) > 0
        return try schema.tables.flatMap { table in
            let slots = table.key.indices.map { "k\($0)" }.joined(separator: ", ")
            let number = "(SELECT number FROM ferry_table WHERE name = '\(table.name)')"
            let keys = try device.rows(
                "SELECT DISTINCT \(slots) FROM ferry_pending WHERE \"table\" = \(number) AND event IN (1, 2, 6)")
            return try keys.map { key in
                WrittenRow(
                    table: table, key: key, shown: try device.rows(table, key), joined: joined, mayAppear: mayAppear,
                    known: device.history)
            }
        }
    }

    /// What is wrong now that it was packed; `nil` where it stood.
    func complaint(on device: TestDevice, _ oracle: Oracle) throws -> String? {
        let present = try device.rows(table, key)
        if present == shown { return nil }
        if try mayAppear || device.count(of: [.heldBack]) > 0 || device.count(of: [.joined]) < joined { return nil }
        if try hasOnlyComeBack(present, device, oracle) { return nil }
        let text = { (rows: [[FieldValue]]) in rows.map { $0.map(\.text).joined(separator: "|") } }
        return "a statement's effect did not stand: \(table.name) \(key.map(\.text)) showed \(text(shown)), "
            + "then \(text(present))"
    }

    /// Whether it differs in nothing but references that SET NULL or SET DEFAULT had cleared before the statements: what they
    /// wait for is there again.
    private func hasOnlyComeBack(_ present: [[FieldValue]], _ device: TestDevice, _ oracle: Oracle) throws -> Bool {
        guard shown.count == 1, present.count == 1, let object = try device.object(table, key) else { return false }
        func cleared(_ changesets: [Changeset]) throws -> Set<String>? {
            let outcomes = try oracle.outcomes(
                oracle.state(changesets), plainReferences: Oracle.plainReferences(changesets))
            guard case .shown(let row) = outcomes[table.name]?[object] else { return nil }
            return row.cleared
        }
        guard let before = try cleared(known), let now = try cleared(device.history) else { return false }
        let different = table.columns.indices.filter { shown[0][$0] != present[0][$0] }.map { table.columns[$0].name }
        return before.subtracting(now).isSuperset(of: different)
    }
}

extension TestDevice {
    /// The number of exceptions of some kinds.
    func count(of kinds: [AnomalyKind]) throws -> Int {
        let list = kinds.map { "\($0.rawValue)" }.joined(separator: ", ")
        return try query("SELECT 1 FROM ferry_exception WHERE kind IN (\(list))").count
    }

    /// The row with a local key, if there is one.
    func rows(_ table: ModelSchema.Table, _ key: [FieldValue]) throws -> [[FieldValue]] {
        let columns = table.columns.map { quoted($0.name) }.joined(separator: ", ")
        let condition = table.key.enumerated().map { "\(quoted(table.columns[$1].name)) IS ?\($0 + 1)" }
        return try store.read {
            try $0.rows(
                "SELECT \(columns) FROM \(quoted(table.name)) WHERE \(condition.joined(separator: " AND "))",
                values: key)
        }
    }

    /// The object that the row with a local key shows.
    func object(_ table: ModelSchema.Table, _ key: [FieldValue]) throws -> ObjectID? {
        try store.readAccess { access in
            guard let tracked = access.registry.table(named: table.name) else { return nil }
            return try ReferenceTranslator(access).object(tracked, key)
        }
    }
}
