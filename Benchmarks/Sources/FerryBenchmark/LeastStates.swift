/// A statement that inserts sixteen rows, and one for those that are left in the end.
struct RowInsertion {
    static let number = 16

    let many: Statement
    let one: Statement

    /// - Parameters:
    ///   - target: the table, and the columns in parentheses where they are not all.
    ///   - row: a row's values in parentheses.
    init(_ database: Database, into target: String, row: String) throws {
        // FAIL needs no copy of the pages that the statement changes.
        let insertion = "INSERT OR FAIL INTO \(target) VALUES "
        many = try database.prepare(insertion + Array(repeating: row, count: Self.number).joined(separator: ", "))
        one = try database.prepare(insertion + row)
    }

    /// So many parameters in parentheses.
    static func row(_ count: Int) -> String { "(" + Array(repeating: "?", count: count).joined(separator: ", ") + ")" }
}

/// Rows for one table, always sixteen of them by a statement.
final class ManyRows {
    private let insertion: RowInsertion
    private var waiting: [[Value]] = []

    init(_ database: Database, into table: String, columns: Int) throws {
        insertion = try RowInsertion(database, into: table, row: RowInsertion.row(columns))
    }

    func append(_ row: [Value]) throws {
        waiting.append(row)
        if waiting.count < RowInsertion.number { return }
        for row in waiting { for value in row { insertion.many.bind(value) } }
        try insertion.many.run()
        waiting.removeAll(keepingCapacity: true)
    }

    /// Writes those that wait.
    func finish() throws {
        for row in waiting {
            for value in row { insertion.one.bind(value) }
            try insertion.one.run()
        }
        waiting = []
    }
}

/// States of new objects, always sixteen of them by a statement.
final class LeastStates {
    /// As long as a hybrid time: milliseconds and a counter.
    static let time = 1_767_225_600_000 << 16
    /// As long as a hash of the row.
    static func check(_ object: LeastID) -> Int {
        Int(truncatingIfNeeded: object.high ^ object.low &* 0x9e37_79b9_7f4a_7c15)
    }

    private let isMapped: Bool
    private let insertion: RowInsertion
    private var waiting: [(object: LeastID, key: Value)] = []

    convenience init(_ database: Database, _ table: LeastTable) throws {
        try self.init(database, table.state, isMapped: table.identity == .mapped)
    }

    /// - Parameter isMapped: whether the table leads from local keys to objects.
    init(_ database: Database, _ table: String, isMapped: Bool) throws {
        self.isMapped = isMapped
        insertion = try RowInsertion(
            database, into: "\(table)(object, \(isMapped ? "key, " : "")time, device, shown, \"check\")",
            row: isMapped ? "(?, ?, ?, 1, 1, ?)" : "(?, ?, 1, 1, ?)")
    }

    func append(_ object: LeastID, _ key: [Value] = []) throws {
        waiting.append((object, key.first ?? .null))
        if waiting.count < RowInsertion.number { return }
        for state in waiting { bind(state, insertion.many) }
        try insertion.many.run()
        waiting.removeAll(keepingCapacity: true)
    }

    /// Writes those that wait.
    func finish() throws {
        for state in waiting {
            bind(state, insertion.one)
            try insertion.one.run()
        }
        waiting = []
    }

    private func bind(_ state: (object: LeastID, key: Value), _ statement: Statement) {
        statement.bind(state.object)
        if isMapped { statement.bind(state.key) }
        statement.bind(Self.time).bind(Self.check(state.object))
    }
}
