/// Rows for one table, always sixteen of them by a statement.
final class ManyRows {
    private static let number = 16

    private let many: Statement
    private let one: Statement
    private var waiting: [[Value]] = []

    init(_ database: Database, into table: String, columns: Int) throws {
        let row = "(" + Array(repeating: "?", count: columns).joined(separator: ", ") + ")"
        // FAIL needs no copy of the pages that the statement changes.
        let insertion = "INSERT OR FAIL INTO \(table) VALUES "
        many = try database.prepare(insertion + Array(repeating: row, count: Self.number).joined(separator: ", "))
        one = try database.prepare(insertion + row)
    }

    func append(_ row: [Value]) throws {
        waiting.append(row)
        if waiting.count < Self.number { return }
        for row in waiting { for value in row { many.bind(value) } }
        try many.run()
        waiting.removeAll(keepingCapacity: true)
    }

    /// Writes those that wait.
    func finish() throws {
        for row in waiting {
            for value in row { one.bind(value) }
            try one.run()
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

    private static let number = 16

    private let isMapped: Bool
    private let many: Statement
    private let one: Statement
    private var waiting: [(object: LeastID, key: Value)] = []

    convenience init(_ database: Database, _ table: LeastTable) throws {
        try self.init(database, table.state, isMapped: table.identity == .mapped)
    }

    /// - Parameter isMapped: whether the table leads from local keys to objects.
    init(_ database: Database, _ table: String, isMapped: Bool) throws {
        self.isMapped = isMapped
        let insertion =
            "INSERT OR FAIL INTO \(table)(object, \(isMapped ? "key, " : "")time, device, shown, \"check\") VALUES "
        let row = isMapped ? "(?, ?, ?, 1, 1, ?)" : "(?, ?, 1, 1, ?)"
        many = try database.prepare(insertion + Array(repeating: row, count: Self.number).joined(separator: ", "))
        one = try database.prepare(insertion + row)
    }

    func append(_ object: LeastID, _ key: [Value] = []) throws {
        waiting.append((object, key.first ?? .null))
        if waiting.count < Self.number { return }
        for state in waiting { bind(state, many) }
        try many.run()
        waiting.removeAll(keepingCapacity: true)
    }

    /// Writes those that wait.
    func finish() throws {
        for state in waiting {
            bind(state, one)
            try one.run()
        }
        waiting = []
    }

    private func bind(_ state: (object: LeastID, key: Value), _ statement: Statement) {
        statement.bind(state.object)
        if isMapped { statement.bind(state.key) }
        statement.bind(Self.time).bind(Self.check(state.object))
    }
}
