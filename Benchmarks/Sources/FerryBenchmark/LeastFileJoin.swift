import FerryCore

extension LeastDesign {
    /// Inserts the rows of segments and their states, as `join` does with rows that are at hand: values are taken out of what
    /// was decoded, and references, which are IDs there, become the keys that those rows have here.
    /// - Parameter changesets: insertions alone, those of a table with the same columns.
    func join(_ changesets: [Changeset]) throws {
        let keys = LeastKeys()
        try inTransaction {
            for table in tables {
                let states = try LeastStates(own, table)
                for changes in changesets.flatMap(\.tables) where changes.name == table.name {
                    try DecodedRows(changes, table, try parents(of: table, changes), keys, own).insert(states)
                }
                try states.finish()
            }
        }
    }

    /// By the columns of changes: the number of the table that they refer to.
    private func parents(of table: LeastTable, _ changes: TableChanges) throws -> [Int?] {
        let references = try own.rows("SELECT \"from\", \"table\" FROM pragma_foreign_key_list('\(table.name)')")
        var parents: [String: Int] = [:]
        for reference in references {
            guard case .text(let column) = reference[0], case .text(let parent) = reference[1] else { continue }
            parents[column] = tables.first { $0.name == parent }?.number
        }
        return changes.columns.map { parents[$0] }
    }
}

/// The integer keys of the rows that were inserted, by table and object.
private final class LeastKeys {
    private var tables: [Int: [ObjectID: Int]] = [:]

    func note(_ object: ObjectID, _ table: Int, key: Int) { tables[table, default: [:]][object] = key }

    func key(_ object: ObjectID, _ table: Int) throws -> Int {
        guard let key = tables[table]?[object] else { throw BenchmarkError("a row refers to one that is missing") }
        return key
    }
}

/// Inserts decoded rows, sixteen by a statement.
private struct DecodedRows {
    private let changes: TableChanges
    private let table: LeastTable
    private let parents: [Int?]
    private let keys: LeastKeys
    private let insertion: RowInsertion
    /// By column: what was asked for last. Many rows refer to the same one.
    private var last: [(object: ObjectID, key: Int)?]

    init(
        _ changes: TableChanges, _ table: LeastTable, _ parents: [Int?], _ keys: LeastKeys, _ database: Database
    ) throws {
        self.changes = changes
        self.table = table
        self.parents = parents
        self.keys = keys
        guard changes.shapes.count == 1, changes.shapes[0] == Array(changes.columns.indices) else {
            throw BenchmarkError("rows of \(table.name) have different columns")
        }
        last = Array(repeating: nil, count: changes.columns.count)
        let names = changes.columns + (table.identity == .mapped ? table.keys : [])
        insertion = try RowInsertion(
            database, into: "\(table.name)(\(names.joined(separator: ", ")))", row: RowInsertion.row(names.count))
    }

    consuming func insert(_ states: LeastStates) throws {
        let (number, count) = (RowInsertion.number, changes.operations.count)
        for first in stride(from: 0, to: count, by: number) {
            let operations = changes.operations[first..<min(first + number, count)]
            let isWhole = operations.count == number
            for operation in operations {
                try bind(operation, isWhole ? insertion.many : insertion.one)
                if !isWhole { try insertion.one.run() }
            }
            if isWhole { try insertion.many.run() }
            for operation in operations {
                let object = LeastID(high: operation.object.high, low: operation.object.low)
                if case .integer(let key)? = operation.key {
                    keys.note(operation.object, table.number, key: Int(key))
                    try states.append(object, [.integer(Int(key))])
                } else {
                    try states.append(object)
                }
            }
        }
    }

    private mutating func bind(_ operation: ObjectOperation, _ statement: Statement) throws {
        for (column, value) in changes.values(of: operation).enumerated() {
            switch value {
            case .null: statement.bind(Value.null)
            case .integer(let integer): statement.bind(Int(integer))
            case .real(let real): statement.bind(real)
            case .text(let bytes): statement.bind(bytes, isText: true)
            case .blob(let bytes): statement.bind(bytes, isText: false)
            case .reference(let target): statement.bind(try key(of: target, column))
            }
        }
        if case .integer(let key)? = operation.key { statement.bind(Int(key)) }
    }

    private mutating func key(of target: ObjectID, _ column: Int) throws -> Int {
        if let last = last[column], last.object == target { return last.key }
        guard let parent = parents[column] else { throw BenchmarkError("a column refers to no table") }
        let key = try keys.key(target, parent)
        last[column] = (target, key)
        return key
    }
}
