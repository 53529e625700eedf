import FerryCore
import GRDB
import GRDBSQLite

@testable import FerryStore

/// An object's registers, folded the plain way.
struct OracleObject {
    struct Field {
        var stamp: Stamp
        var value: FieldValue?
    }

    let table: String
    let id: ObjectID
    var inserted: Stamp?
    var deleted: Stamp?
    var fields: [String: Field] = [:]

    var isAlive: Bool {
        guard let inserted else { return false }
        let written = fields.values.map(\.stamp).reduce(inserted, max)
        return deleted.map { $0 < written } ?? true
    }

    func value(_ column: String) -> FieldValue { fields[column]?.value ?? .null }
}

/// Computes state and rows from changesets over all objects, by the plainest code that says what DESIGN and
/// Docs/Merge.md say: it shares nothing with the store but the types of the vocabulary.
final class Oracle {
    let schema: OracleSchema
    private let scratch: DatabaseQueue

    init(_ schema: TestSchema) throws {
        self.schema = try OracleSchema(schema)
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        scratch = try DatabaseQueue(configuration: configuration)
        scratch.inDatabase { _ = sqlite3_set_authorizer($0.sqliteConnection, nil, nil) }
        try scratch.write { try $0.execute(sql: schema.sql) }
    }

    // MARK: State

    func state(_ changesets: [Changeset]) -> [String: [ObjectID: OracleObject]] {
        var state: [String: [ObjectID: OracleObject]] = [:]
        for changeset in changesets {
            for table in changeset.tables {
                for operation in table.operations {
                    var object =
                        state[table.name]?[operation.object] ?? OracleObject(table: table.name, id: operation.object)
                    let stamp = Stamp(time: operation.time, device: changeset.device)
                    switch operation.kind {
                    case .insert: object.inserted = max(object.inserted ?? stamp, stamp)
                    case .delete: object.deleted = max(object.deleted ?? stamp, stamp)
                    case .update: break
                    }
                    for (column, value) in zip(table.shapes[operation.shape], table.values(of: operation)) {
                        let name = table.columns[column]
                        if let known = object.fields[name], let present = known.value,
                            (stamp, value) < (known.stamp, present)
                        {
                            continue
                        }
                        object.fields[name] = .init(stamp: stamp, value: value)
                    }
                    state[table.name, default: [:]][operation.object] = object
                }
            }
        }
        return state
    }

    // MARK: Rows

    /// The rows of a state, by object.
    func rows(_ state: [String: [ObjectID: OracleObject]]) throws -> [String: [ObjectID: [String: FieldValue]]] {
        let objects = schema.tables.flatMap { table in (state[table.name] ?? [:]).values.sorted { $0.id < $1.id } }
        let links = objects.map { references(of: $0, objects) }
        let claims = try objects.map { object in try self.claims(of: object) }
        let present = revive(objects, links)
        var refused: Set<Int> = []
        while true {
            let (shown, cleared) = settle(objects, links, claims, present.subtracting(refused))
            var rows: [Int: [String: FieldValue]] = [:]
            for index in shown {
                rows[index] = try displayed(objects[index], cleared[index] ?? [], shown: shown.map { objects[$0] })
            }
            let bad = try shown.filter { index in try isRefused(objects[index], rows[index] ?? [:]) }
            if bad.isEmpty {
                var result: [String: [ObjectID: [String: FieldValue]]] = [:]
                for table in schema.tables { result[table.name] = [:] }
                for (index, row) in rows { result[objects[index].table]?[objects[index].id] = row }
                return result
            }
            refused.formUnion(bad)
        }
    }

    /// A foreign key of an object with no NULL: the objects that it may mean.
    private struct Link {
        var key: OracleSchema.ForeignKey
        var targets: [Int]
        var isHolding: Bool { key.action == "NO ACTION" || key.action == "RESTRICT" }
        var isClearing: Bool { key.action == "SET NULL" || key.action == "SET DEFAULT" }
    }

    private func references(of object: OracleObject, _ objects: [OracleObject]) -> [Link] {
        schema[object.table].foreignKeys.compactMap { key in
            let values = key.columns.map { object.value($0) }
            if values.contains(.null) { return nil }
            let parent = schema[key.parent]
            let targets = objects.indices.filter { index in
                let candidate = objects[index]
                guard candidate.table == key.parent else { return false }
                if parent.isMapped, key.parentColumns == parent.primaryKey {
                    return values == [.reference(candidate.id)]
                }
                return zip(values, key.parentColumns).allSatisfy { value, column in
                    sqlEqual(value, candidate.value(column), parent.collations[column] ?? "BINARY")
                }
            }
            return Link(key: key, targets: targets)
        }
    }

    /// Rule 1. Where values under a UNIQUE key may mean several dead objects, the oldest insertion is meant.
    private func revive(_ objects: [OracleObject], _ links: [[Link]]) -> Set<Int> {
        var present = Set(objects.indices.filter { objects[$0].isAlive })
        let alive = present
        while true {
            let before = present
            for index in before {
                for link in links[index] where link.isHolding {
                    if link.targets.contains(where: alive.contains) { continue }
                    let restorable = link.targets.filter { objects[$0].inserted != nil }
                    if let oldest = restorable.min(by: { isOlder(objects[$0], objects[$1]) }) { present.insert(oldest) }
                }
            }
            if present == before { return present }
        }
    }

    private func isOlder(_ left: OracleObject, _ right: OracleObject) -> Bool {
        let (a, b) = (left.inserted, right.inserted)
        if a != b, let a, let b { return a < b }
        return left.id < right.id
    }

    /// Rules 2 and 3.
    private func settle(
        _ objects: [OracleObject], _ links: [[Link]], _ claims: [[Claim]], _ candidates: Set<Int>
    ) -> (shown: Set<Int>, cleared: [Int: [OracleSchema.ForeignKey]]) {
        var lost: Set<Int> = []
        while true {
            var shown = candidates.subtracting(lost)
            while true {
                let waiting = shown.filter { index in
                    links[index].contains { link in !link.isClearing && !link.targets.contains(where: shown.contains) }
                }
                if waiting.isEmpty { break }
                shown.subtract(waiting)
            }
            var cleared: [Int: [OracleSchema.ForeignKey]] = [:]
            for index in shown {
                cleared[index] = links[index].filter { !$0.targets.contains(where: shown.contains) }.map(\.key)
            }
            var owners: [(table: String, claim: Claim)] = []
            var losers: Set<Int> = []
            for index in shown.sorted(by: { isOlder(objects[$0], objects[$1]) }) {
                let hidden = Set((cleared[index] ?? []).flatMap(\.columns))
                let own = claims[index].filter { claim in !claim.columns.contains { hidden.contains($0) } }
                let isTaken = own.contains { claim in
                    owners.contains { $0.table == objects[index].table && $0.claim.collides(with: claim) }
                }
                if isTaken { losers.insert(index) } else { owners += own.map { (objects[index].table, $0) } }
            }
            if losers.isEmpty { return (shown, cleared) }
            lost.formUnion(losers)
        }
    }

    private struct Claim {
        var index: Int
        var columns: [String]
        var terms: [FieldValue]
        var collations: [String]

        func collides(with other: Claim) -> Bool {
            guard index == other.index else { return false }
            return terms.indices.allSatisfy { sqlEqual(terms[$0], other.terms[$0], collations[$0]) }
        }
    }

    private func claims(of object: OracleObject) throws -> [Claim] {
        let table = schema[object.table]
        return try table.uniques.enumerated().compactMap { place, unique in
            let terms: [FieldValue]
            if unique.columns.contains(nil) || unique.condition != nil {
                guard let computed = try evaluate(unique, object, table) else { return nil }
                terms = computed
            } else {
                terms = unique.columns.map { object.value($0 ?? "") }
            }
            if terms.contains(.null) { return nil }
            return Claim(
                index: place, columns: unique.columns.compactMap { $0 }, terms: terms, collations: unique.collations)
        }
    }

    private func evaluate(
        _ unique: OracleSchema.Unique, _ object: OracleObject, _ table: OracleSchema.Table
    ) throws -> [FieldValue]? {
        try scratch.writeWithoutTransaction { database -> [FieldValue]? in
            guard let handle = database.sqliteConnection else { return nil }
            let connection = SQLConnection(handle)
            defer { connection.finalizeStatements() }
            let columns = table.columns.filter {
                $0.reference == nil && !(table.isMapped && $0.name == table.primaryKey[0])
            }
            let source = columns.enumerated().map { "?\($0 + 1) AS \(quoted($1.name))" }.joined(separator: ", ")
            return try connection.rows(
                "SELECT \(unique.terms.joined(separator: ", ")) FROM (SELECT \(source)) WHERE \(unique.condition ?? "1")",
                values: columns.map { object.value($0.name) }
            ).first
        }
    }

    /// What the row of an object shows.
    private func displayed(
        _ object: OracleObject, _ cleared: [OracleSchema.ForeignKey], shown: [OracleObject]
    ) throws -> [String: FieldValue] {
        let table = schema[object.table]
        var row: [String: FieldValue] = [:]
        for column in table.columns where !(table.isMapped && column.name == table.primaryKey[0]) {
            row[column.name] = object.value(column.name)
            guard let key = cleared.first(where: { $0.columns.contains(column.name) }) else { continue }
            row[column.name] = .null
            if key.action == "SET DEFAULT", let sql = column.defaultSQL {
                let value =
                    try scratch.read {
                        try Row.fetchOne($0, sql: "SELECT \(sql)").map { FieldValue(databaseValue: $0[0]) }
                    } ?? .null
                let isThere = shown.contains {
                    $0.table == key.parent
                        && sqlEqual(
                            $0.value(key.parentColumns[0]), value,
                            schema[key.parent].collations[key.parentColumns[0]] ?? "BINARY")
                }
                if isThere { row[column.name] = value }
            }
        }
        return row
    }

    /// Whether SQLite refuses the row by itself, whatever others there are.
    private func isRefused(_ object: OracleObject, _ row: [String: FieldValue]) throws -> Bool {
        let table = schema[object.table]
        return try scratch.writeWithoutTransaction { database in
            guard let handle = database.sqliteConnection else { return false }
            let connection = SQLConnection(handle)
            defer { connection.finalizeStatements() }
            let names = row.keys.sorted()
            let list = names.map(quoted).joined(separator: ", ")
            let places = names.map { _ in "?" }.joined(separator: ", ")
            try connection.executeScript("BEGIN")
            defer { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
            let values = names.map { name -> FieldValue in
                if case .reference(let object) = row[name] { return .integer(Int64(object.low >> 8) & 0xff_ffff) }
                return row[name] ?? .null
            }
            do {
                try connection.execute("INSERT INTO \(quoted(table.name))(\(list)) VALUES (\(places))", values)
                return false
            } catch {
                return true
            }
        }
    }
}

extension FieldValue {
    init(databaseValue: DatabaseValue) {
        switch databaseValue.storage {
        case .null: self = .null
        case .int64(let value): self = .integer(value)
        case .double(let value): self = .real(value)
        case .string(let value): self = .text(value)
        case .blob(let value): self = .blob(ArraySlice(value))
        }
    }
}

// MARK: Comparing

extension Oracle {
    /// Describes the first differences between a device and what its changesets say; empty where there is none.
    func complaints(about device: TestDevice) throws -> [String] {
        var complaints: [String] = []
        for pragma in ["foreign_key_check", "integrity_check"] {
            let found = try device.query("PRAGMA \(pragma)").filter { $0 != "ok" }
            complaints += found.map { "\(pragma): \($0)" }
        }
        let state = state(device.history)
        complaints += Self.difference(try device.registers(schema), state)
        let rows = try self.rows(state)
        complaints += Self.difference(try device.shownRows(schema), rows)
        return complaints
    }

    static func difference(
        _ present: [String: [ObjectID: OracleObject]], _ expected: [String: [ObjectID: OracleObject]]
    ) -> [String] {
        var complaints: [String] = []
        for table in Set(present.keys).union(expected.keys).sorted() {
            let (left, right) = (present[table] ?? [:], expected[table] ?? [:])
            for id in Set(left.keys).union(right.keys).sorted() {
                guard let a = left[id], let b = right[id] else {
                    complaints.append(
                        "state of \(table) \(id): \(left[id] == nil ? "unknown to the store" : "known to the store only")"
                    )
                    continue
                }
                if a.inserted != b.inserted {
                    complaints.append("state of \(table) \(id): inserted \(text(a.inserted)), not \(text(b.inserted))")
                }
                if a.deleted != b.deleted {
                    complaints.append("state of \(table) \(id): deleted \(text(a.deleted)), not \(text(b.deleted))")
                }
                for column in Set(a.fields.keys).union(b.fields.keys).sorted() {
                    let (x, y) = (a.fields[column], b.fields[column])
                    if x?.stamp == y?.stamp, x?.value == y?.value { continue }
                    complaints.append(
                        "state of \(table) \(id).\(column): \(x?.value?.text ?? "-") \(text(x?.stamp)), not \(y?.value?.text ?? "-") \(text(y?.stamp))"
                    )
                }
            }
        }
        return complaints
    }

    static func difference(
        _ present: [String: [ObjectID: [String: FieldValue]]], _ expected: [String: [ObjectID: [String: FieldValue]]]
    ) -> [String] {
        var complaints: [String] = []
        for table in Set(present.keys).union(expected.keys).sorted() {
            let (left, right) = (present[table] ?? [:], expected[table] ?? [:])
            for id in Set(left.keys).union(right.keys).sorted() where left[id] != right[id] {
                complaints.append("row of \(table) \(id): \(text(left[id])), not \(text(right[id]))")
            }
        }
        return complaints
    }

    static func text(_ row: [String: FieldValue]?) -> String {
        guard let row else { return "none" }
        return "(" + row.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.text)" }.joined(separator: ", ") + ")"
    }

    static func text(_ stamp: Stamp?) -> String {
        guard let stamp else { return "never" }
        return "\(stamp.time.milliseconds)+\(stamp.time.counter)@\(stamp.device.low)"
    }
}
