/// Makes random schemas, which a seed alone determines: keys of every kind, foreign keys with every action, UNIQUE in every
/// form, CHECK, NOT NULL, defaults, STRICT, WITHOUT ROWID, generated columns.
package struct RandomSchema {
    private var chance: Chance
    /// Decides which tables get two columns that limit each other, which `RandomStatements` writes often: rows that the
    /// schema refuses hardly ever come about otherwise.
    private var limits: Chance
    /// Decides which compound references may be NULL, whole or in part.
    private var nulls: Chance
    private var tables: [Table] = []
    private var declared: [String: [String]] = [:]

    private struct Column {
        var name: String
        var type: String
        var isNotNull = false
        var collation: String?
        var constraints = ""

        var definition: String {
            var text = "\(name) \(type)"
            if let collation { text += " COLLATE \(collation)" }
            if isNotNull { text += " NOT NULL" }
            return text + constraints
        }
    }

    private struct Table {
        var name: String
        var columns: [Column] = []
        /// Names of the key's columns; one INTEGER is a surrogate.
        var key: [String] = []
        /// Columns under a UNIQUE constraint, which foreign keys may refer to.
        var uniques: [[String]] = []
        var constraints: [String] = []
        var indexes: [String] = []
        var options: [String] = []

        func column(_ name: String) -> Column? { columns.first { $0.name == name } }
    }

    /// The statements of a schema, and the columns that identify the rows of tables whose keys do not.
    package static func statements(seed: UInt64) -> (sql: String, declared: [String: [String]]) {
        var maker = RandomSchema(
            chance: Chance(seed: seed ^ 0x5eed), limits: Chance(seed: seed ^ 0x11a1),
            nulls: Chance(seed: seed ^ 0x9011))
        maker.make()
        return (maker.tables.map(Self.sql).joined(separator: "\n"), maker.declared)
    }

    private static func sql(_ table: Table) -> String {
        var parts = table.columns.map(\.definition)
        if !(table.key.count == 1 && table.columns.contains { $0.constraints.contains("PRIMARY KEY") }) {
            parts.append("PRIMARY KEY (\(table.key.joined(separator: ", ")))")
        }
        parts += table.constraints
        let options = table.options.isEmpty ? "" : " " + table.options.joined(separator: ", ")
        return (["CREATE TABLE \(table.name)(\(parts.joined(separator: ", ")))\(options);"] + table.indexes)
            .joined(separator: "\n")
    }

    private mutating func make() {
        let count = 2 + chance.below(4)
        for number in 0..<count { makeTable("t\(number)", of: count) }
    }

    private mutating func makeTable(_ name: String, of count: Int) {
        var table = Table(name: name)
        let isStrict = chance.oneIn(4)
        if isStrict { table.options.append("STRICT") }
        makeKey(&table)
        for number in 0..<(1 + chance.below(4)) { table.columns.append(plainColumn("c\(number)", isStrict)) }
        for number in 0..<chance.below(3) { makeReference("r\(number)", &table) }
        if chance.oneIn(3), !tables.isEmpty { makeCompoundReference(&table) }
        makeUniques(&table)
        if chance.oneIn(6), let column = table.columns.first(where: { $0.name == "c0" }) {
            let type = isStrict ? "ANY " : ""
            table.columns.append(
                Column(name: "g", type: "\(type)GENERATED ALWAYS AS (coalesce(\(column.name), 0) || 'x')"))
        }
        if chance.oneIn(6), let column = table.columns.first(where: { $0.type == "INTEGER" && $0.name.hasPrefix("c") })
        {
            table.constraints.append("CHECK (\(column.name) < 5)")
        }
        let numbers = table.columns.filter { $0.type == "INTEGER" && $0.name.hasPrefix("c") }.map(\.name)
        if numbers.count > 1, !chance.oneIn(3) {
            // Each side keeps it, and both together may not.
            table.constraints.append("CHECK (\(numbers[0]) <= \(numbers[1]))")
        }
        if limits.oneIn(3) {
            table.columns.append(Column(name: "low", type: "INTEGER", constraints: " DEFAULT 1"))
            table.columns.append(Column(name: "high", type: "INTEGER", constraints: " DEFAULT 4"))
            table.constraints.append("CHECK (low <= high)")
        }
        if table.columns.first(where: { $0.constraints.contains("PRIMARY KEY") }) == nil, chance.oneIn(3) {
            table.options.append("WITHOUT ROWID")
        }
        tables.append(table)
    }

    private mutating func plainColumn(_ name: String, _ isStrict: Bool) -> Column {
        let types = isStrict ? ["INTEGER", "TEXT", "REAL", "ANY"] : ["INTEGER", "TEXT", "REAL", "BLOB", ""]
        var column = Column(name: name, type: chance.pick(types))
        if column.type == "TEXT", chance.oneIn(4) { column.collation = "NOCASE" }
        if chance.oneIn(6) {
            column.isNotNull = true
            switch column.type {
            case "TEXT": column.constraints = " DEFAULT 'a'"
            case "BLOB": column.constraints = " DEFAULT x'00'"
            default: column.constraints = " DEFAULT 1"
            }
        }
        return column
    }

    // MARK: Keys

    private mutating func makeKey(_ table: inout Table) {
        switch chance.below(8) {
        case 0..<4:
            table.key = ["id"]
            let isAutoincrement = chance.oneIn(4)
            table.columns.append(
                Column(
                    name: "id", type: "INTEGER",
                    constraints: " PRIMARY KEY" + (isAutoincrement ? " AUTOINCREMENT" : "")))
        case 4:
            table.key = ["code"]
            table.columns.append(
                Column(name: "code", type: "TEXT", isNotNull: true, collation: chance.oneIn(3) ? "NOCASE" : nil))
        case 5:
            table.key = ["a", "b"]
            table.columns.append(Column(name: "a", type: "TEXT", isNotNull: true))
            table.columns.append(Column(name: "b", type: "INTEGER", isNotNull: true))
        default:
            // A link between two other tables, or a row for each of another's.
            let parents = tables.filter { $0.key.count == 1 }
            guard !parents.isEmpty else {
                table.key = ["id"]
                table.columns.append(Column(name: "id", type: "INTEGER", constraints: " PRIMARY KEY"))
                return
            }
            let count = 1 + chance.below(2)
            for number in 0..<count {
                let parent = chance.pick(parents)
                let name = "k\(number)"
                table.key.append(name)
                table.columns.append(child(name, in: table, of: parent, parent.key[0], isNotNull: true))
                table.constraints.append(
                    foreignKey([name], parent, parent.key, actions: ["CASCADE", "RESTRICT", "NO ACTION"]))
            }
        }
    }

    /// A column that refers to another: its type and collation.
    private func child(
        _ name: String, in table: Table, of parent: Table, _ column: String, isNotNull: Bool = false
    ) -> Column {
        let referred = parent.column(column)
        var type = referred?.type ?? ""
        // The same affinity: no type is none, which a STRICT table calls ANY.
        if type.isEmpty || type == "ANY" { type = table.options.contains("STRICT") ? "ANY" : "" }
        return Column(name: name, type: type, isNotNull: isNotNull, collation: referred?.collation)
    }

    private mutating func foreignKey(
        _ columns: [String], _ parent: Table, _ parentColumns: [String], actions: [String]
    ) -> String {
        var text =
            "FOREIGN KEY (\(columns.joined(separator: ", "))) REFERENCES "
            + "\(parent.name)(\(parentColumns.joined(separator: ", "))) ON DELETE \(chance.pick(actions))"
        if chance.oneIn(3) { text += " ON UPDATE CASCADE" }
        if chance.oneIn(4) { text += " DEFERRABLE INITIALLY DEFERRED" }
        return text
    }

    // MARK: References

    private static let actions = ["CASCADE", "RESTRICT", "NO ACTION", "SET NULL"]

    private mutating func makeReference(_ name: String, _ table: inout Table) {
        // To itself now and then.
        let parent = tables.isEmpty || chance.oneIn(5) ? table : chance.pick(tables)
        let targets = ([parent.key] + parent.uniques).filter { $0.count == 1 }
        guard let target = targets.isEmpty ? nil : chance.pick(targets) else { return }
        var column = child(name, in: table, of: parent, target[0])
        column.isNotNull = chance.oneIn(6)
        let actions = column.isNotNull && !chance.oneIn(4) ? Array(Self.actions.prefix(3)) : Self.actions
        table.columns.append(column)
        table.constraints.append(foreignKey([name], parent, target, actions: actions))
    }

    private mutating func makeCompoundReference(_ table: inout Table) {
        let parents = tables.filter { parent in ([parent.key] + parent.uniques).contains { $0.count > 1 } }
        guard !parents.isEmpty else { return }
        let parent = chance.pick(parents)
        let target = chance.pick(([parent.key] + parent.uniques).filter { $0.count > 1 })
        let names = target.indices.map { "f\($0)" }
        let mayBeNull = nulls.oneIn(2)
        for (name, column) in zip(names, target) {
            let isNotNull = !mayBeNull || nulls.oneIn(4)
            table.columns.append(child(name, in: table, of: parent, column, isNotNull: isNotNull))
        }
        // SET NULL where it may be done, and now and then where it may not.
        let isClearable = names.allSatisfy { name in table.column(name).map { !$0.isNotNull } ?? false }
        let actions = isClearable || mayBeNull && nulls.oneIn(4) ? Self.actions : Array(Self.actions.prefix(3))
        table.constraints.append(foreignKey(names, parent, target, actions: actions))
    }

    // MARK: UNIQUE

    private mutating func makeUniques(_ table: inout Table) {
        let candidates = table.columns.filter { !table.key.contains($0.name) }.map(\.name)
        for number in 0..<chance.below(3) {
            guard !candidates.isEmpty else { return }
            let first = chance.pick(candidates)
            let index = "\(table.name)_u\(number)"
            switch chance.below(6) {
            case 0, 1:
                if table.uniques.contains([first]) { continue }
                table.uniques.append([first])
                table.constraints.append("UNIQUE (\(first))")
            case 2, 3:
                let second = chance.pick(candidates)
                if second == first || table.uniques.contains([first, second]) { continue }
                table.uniques.append([first, second])
                table.constraints.append("UNIQUE (\(first), \(second))")
            case 4:
                let other = chance.pick(candidates)
                table.indexes.append(
                    "CREATE UNIQUE INDEX \(index) ON \(table.name)(\(first)) WHERE \(other) IS NOT NULL;")
            default:
                table.indexes.append(
                    "CREATE UNIQUE INDEX \(index) ON \(table.name)(\(first) COLLATE NOCASE, typeof(\(first)));")
            }
        }
        guard table.key == ["id"], chance.oneIn(5), let column = candidates.first(where: { $0.hasPrefix("c") }) else {
            return
        }
        declared[table.name] = [column]
    }
}
