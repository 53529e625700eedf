import FerryCore
import FerrySQL
import FerrySchema
import FerryTestSupport

@testable import FerryReferenceModel
@testable import FerryStore

/// Makes random statements that a schema and a device's present rows give meaning to.
struct RandomStatements {
    let schema: OracleSchema
    var chance: Chance
    /// 0: plain statements only. Each level adds kinds of statements.
    var level = 2

    /// One statement on any table.
    mutating func statement(for device: TestDevice) throws -> String {
        let table = chance.pick(schema.tables)
        // Without rows there is nothing to update or delete.
        if try device.rows("SELECT 1 FROM \(quoted(table.name)) LIMIT 1").isEmpty {
            return try insertion(table, device)
        }
        switch chance.below(10) {
        case 0..<5: return try insertion(table, device)
        case 5..<8: return try update(table, device)
        default:
            let condition = try self.condition(table, device)
            return "DELETE FROM \(quoted(table.name)) WHERE \(condition)"
        }
    }

    /// A deletion from any table.
    mutating func deletion(for device: TestDevice) throws -> String {
        let table = chance.pick(schema.tables)
        let condition = try self.condition(table, device)
        return "DELETE FROM \(quoted(table.name)) WHERE \(condition)"
    }

    /// The statements of one transaction, its brackets included.
    mutating func transaction(for device: TestDevice) throws -> [String] {
        var statements: [String] = []
        let count = 1 + chance.below(4)
        let isBracketed = count > 1 && chance.oneIn(2)
        if isBracketed { statements.append("BEGIN") }
        for _ in 0..<count {
            let isNested = isBracketed && level > 1 && chance.oneIn(4)
            if isNested { statements.append("SAVEPOINT s") }
            statements.append(try statement(for: device))
            if isNested {
                if chance.oneIn(2) { statements.append("ROLLBACK TO s") }
                statements.append("RELEASE s")
            }
        }
        if isBracketed { statements.append(level > 1 && chance.oneIn(5) ? "ROLLBACK" : "COMMIT") }
        return statements
    }

    private mutating func insertion(_ table: OracleSchema.Table, _ device: TestDevice) throws -> String {
        var names: [String] = []
        var values: [String] = []
        for (place, column) in table.columns.enumerated() {
            let isKey = table.key.contains(place)
            // A surrogate key is mostly left to SQLite.
            if table.isMapped, isKey, !chance.oneIn(3) { continue }
            if !isKey, chance.oneIn(6) { continue }
            names.append(quoted(column.name))
            values.append(try value(column, table, device, mayBeNull: !isKey))
        }
        if names.isEmpty { return "INSERT INTO \(quoted(table.name)) DEFAULT VALUES" }
        var verb = "INSERT"
        var tail = ""
        if level > 0 {
            switch chance.below(8) {
            case 0, 1: verb = "INSERT OR REPLACE"
            case 2: verb = "INSERT OR IGNORE"
            case 3:
                let column = chance.pick(table.columns)
                tail = " ON CONFLICT DO UPDATE SET \(quoted(column.name)) = excluded.\(quoted(column.name))"
            case 4: tail = " ON CONFLICT DO NOTHING"
            default: break
            }
        }
        return
            "\(verb) INTO \(quoted(table.name))(\(names.joined(separator: ", "))) VALUES (\(values.joined(separator: ", ")))\(tail)"
    }

    private mutating func update(_ table: OracleSchema.Table, _ device: TestDevice) throws -> String {
        let keyNames = table.key.map { table.columns[$0].name }
        var columns = table.columns.filter { level > 0 || !keyNames.contains($0.name) }
        // Keys change seldom.
        columns = columns.filter { !keyNames.contains($0.name) || chance.oneIn(3) }
        if columns.isEmpty { columns = [chance.pick(table.columns)] }
        // One of two columns that limit each other: another device writes the other one, and both together may not be.
        let limits = columns.filter { $0.name == "low" || $0.name == "high" }
        if limits.count == 2, chance.oneIn(2) {
            let column = chance.pick(limits).name
            return "UPDATE OR IGNORE \(quoted(table.name)) SET \(quoted(column)) = \(chance.below(5))"
        }
        var assignments: [String] = []
        let first = chance.pick(columns)
        assignments.append("\(quoted(first.name)) = \(try value(first, table, device, mayBeNull: true))")
        let second = chance.pick(columns)
        if second.name != first.name, chance.oneIn(3) {
            assignments.append("\(quoted(second.name)) = \(try value(second, table, device, mayBeNull: true))")
        }
        let verb = level > 0 && chance.oneIn(4) ? chance.pick(["UPDATE OR REPLACE", "UPDATE OR IGNORE"]) : "UPDATE"
        let condition = try self.condition(table, device)
        return "\(verb) \(quoted(table.name)) SET \(assignments.joined(separator: ", ")) WHERE \(condition)"
    }

    private mutating func condition(_ table: OracleSchema.Table, _ device: TestDevice) throws -> String {
        if chance.oneIn(12) { return "1" }
        if chance.oneIn(5) {
            let column = chance.pick(table.columns)
            return "\(quoted(column.name)) = \(try value(column, table, device, mayBeNull: false))"
        }
        let keyNames = table.key.map { table.columns[$0].name }
        let keys = try existing(keyNames, of: table, device)
        if keys.isEmpty { return "0" }
        let key = chance.pick(keys)
        return zip(keyNames, key).map { "\(quoted($0)) = \(literal($1))" }.joined(separator: " AND ")
    }

    private func existing(
        _ columns: [String], of table: OracleSchema.Table, _ device: TestDevice
    ) throws -> [[FieldValue]] {
        let list = columns.map(quoted).joined(separator: ", ")
        return try device.rows("SELECT \(list) FROM \(quoted(table.name)) ORDER BY \(list)")
    }

    private mutating func value(
        _ column: ModelSchema.Column, _ table: OracleSchema.Table, _ device: TestDevice, mayBeNull: Bool
    ) throws -> String {
        // OR REPLACE puts the default in its place, which is only of interest where nobody knows it.
        let isUnforeseen = column.defaultSQL.map { !DefaultText.isSteady($0) } ?? false
        if mayBeNull, chance.oneIn(isUnforeseen ? 4 : column.isNotNull ? 40 : 7) { return "NULL" }
        let keys = table.foreignKeys.filter { $0.columns.contains { table.columns[$0].name == column.name } }
        if !keys.isEmpty, !chance.oneIn(6) {
            let key = chance.pick(keys)
            guard let place = key.columns.firstIndex(where: { table.columns[$0].name == column.name }) else {
                return "NULL"
            }
            let parent = schema.tables[key.parent]
            let values = try existing([parent.columns[key.parentColumns[place]].name], of: parent, device)
            if !values.isEmpty { return literal(chance.pick(values)[0]) }
        }
        if keys.isEmpty, let parent = column.reference, !chance.oneIn(3) {
            let target = schema.tables[parent]
            let values = try existing(target.key.map { target.columns[$0].name }, of: target, device)
            if !values.isEmpty { return literal(chance.pick(values)[0]) }
        }
        switch column.type.uppercased() {
        case "INTEGER", "INT": return "\(chance.below(6))"
        case "REAL": return chance.pick(["0.5", "1.0", "-0.0", "2", "1e999"])
        case "TEXT": return "'" + chance.pick(["a", "b", "c", "A", "d"]) + "'"
        case "BLOB": return chance.pick(["x'00'", "x'ff00'", "zeroblob(16)"])
        default: return chance.pick(["1", "1.0", "'1'", "x'31'", "'a'", "-0.0", "9223372036854775807"])
        }
    }

    private func literal(_ value: FieldValue) -> String {
        switch value {
        case .text(let bytes): "'" + String(decoding: bytes, as: UTF8.self).replacing("'", with: "''") + "'"
        case .real(let real) where real.isInfinite: real < 0 ? "-1e999" : "1e999"
        default: value.text
        }
    }
}
