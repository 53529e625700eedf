/// The least that any design of Ferry's kind would have to do, in plain SQLite: triggers note which row was written, and
/// beside each row there is a state with the object's ID, a time and a check. Nothing is encoded, decided or verified.
///
/// As Ferry does, whoever packs and replays has a connection of its own with 61 MB of pages and without foreign keys, works
/// in one transaction, and inserts sixteen rows by a statement.
struct LeastDesign {
    /// What is known of an object that was written.
    struct Change {
        var table: LeastTable
        var object: LeastID
        var key: [Value]
        /// The value of the column that was updated.
        var value: Value?
    }

    /// The app's connection.
    let app: Database
    let own: Database
    let tables: [LeastTable]

    /// Makes a database.
    init(_ workload: any Workload, path: String) throws {
        app = try Database(path: path)
        try app.execute(workload.schema)
        tables = try LeastTable.all(app)
        for table in tables { try app.execute(Self.createState(table)) }
        own = try Database(path: path)
        try own.execute("PRAGMA foreign_keys = OFF; \(Database.pageCache)")
    }

    private static func createState(_ table: LeastTable) -> String {
        let isMapped = table.identity == .mapped
        return """
            CREATE TABLE \(table.state)(
                object BLOB PRIMARY KEY, \(isMapped ? "key INTEGER, " : "")time INTEGER, device INTEGER,
                changed INTEGER, deleted INTEGER, shown INTEGER, "check" INTEGER) WITHOUT ROWID;
            """ + (isMapped ? "CREATE UNIQUE INDEX \(table.state)_key ON \(table.state)(key)" : "")
    }

    // MARK: Capture

    /// What triggers note of every row written.
    enum Note {
        /// Nothing: they never fire.
        case nothing
        /// Its key, and a constant.
        case key
        /// Also what the changes of several devices cannot be merged without: the time, which columns an update changed, and
        /// the values of a row that is deleted, which an update on another device may bring back.
        case change
    }

    /// Has triggers note what is written.
    static func track(_ database: Database, _ note: Note = .key) throws {
        let tables = try LeastTable.all(database)
        func slots(_ name: String, _ count: Int) -> String { (0..<count).map { ", \(name)\($0)" }.joined() }
        let keys = tables.map(\.keys.count).max() ?? 1
        let values = note == .change ? tables.map(\.columns.count).max() ?? 0 : 0
        try database.execute(
            """
            CREATE TABLE least_log(
                sequence INTEGER PRIMARY KEY, event INTEGER\(slots("k", keys))
                \(note == .change ? ", time REAL, mask INTEGER" : "")\(slots("v", values)))
            """)
        for table in tables {
            for (event, (name, row)) in [("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")].enumerated() {
                var columns = "event" + slots("k", table.keys.count)
                var noted = ["\(table.number << 2 | event)"] + table.keys.map { "\(row).\($0)" }
                if note == .change {
                    columns += ", time"
                    noted.append("julianday('now')")
                    if name == "UPDATE" {
                        columns += ", mask"
                        noted.append(table.mask)
                    } else if name == "DELETE" {
                        columns += slots("v", table.columns.count)
                        noted += table.columns.map { "OLD.\($0)" }
                    }
                }
                try database.execute(
                    """
                    CREATE TRIGGER least_\(table.name)_\(name) AFTER \(name) ON \(table.name)
                    \(note == .nothing ? "WHEN 0" : "") BEGIN
                        INSERT INTO least_log(\(columns)) VALUES (\(noted.joined(separator: ", ")));
                    END
                    """)
            }
        }
    }

    /// Goes through the log in its order.
    private func readLog(_ body: (LeastTable, [Value]) throws -> Void) throws {
        let log = try own.prepare("SELECT * FROM least_log ORDER BY sequence")
        defer { log.rewind() }
        while try log.step() {
            let table = tables[log.integer(1) >> 2]
            try body(table, (0..<table.keys.count).map { log.value(Int32($0) + 2) })
        }
    }

    func inTransaction(_ body: () throws -> Void) throws {
        try own.prepare("BEGIN IMMEDIATE").run()
        try body()
        try own.prepare("COMMIT").run()
    }

    /// Empties the log.
    func empty() throws { try own.prepare("DELETE FROM least_log").run() }

    // MARK: Packing

    /// Reads every row inserted, in the order of the log, and gives it a state.
    /// - Returns: the number of rows.
    func packInsertions() throws -> Int {
        let states = try tables.map { try LeastStates(own, $0) }
        let rows = try tables.map { try own.prepare($0.selection) }
        var (count, bytes) = (0, 0)
        try inTransaction {
            try readLog { table, key in
                let row = rows[table.number]
                for part in key { row.bind(part) }
                guard try row.step() else { throw BenchmarkError("a row is missing") }
                bytes += row.touchValues()
                row.rewind()
                try states[table.number].append(table.identifier(key), key)
                count += 1
            }
            for states in states { try states.finish() }
            try empty()
        }
        if bytes == 0 { throw BenchmarkError("the rows hold nothing") }
        return count
    }

    /// Notes in the states of the rows deleted that they are.
    /// - Returns: the number of rows.
    func packDeletions() throws -> Int {
        let buried = try tables.map { table in
            let place = table.identity == .mapped ? "key" : "object"
            return try own.prepare(Self.burial(table, where: place))
        }
        var count = 0
        try inTransaction {
            try readLog { table, key in
                let statement = buried[table.number].bind(LeastStates.time)
                if table.identity == .mapped {
                    statement.bind(key[0])
                } else {
                    statement.bind(try table.identifier(key))
                }
                try statement.run()
                count += 1
            }
            try empty()
        }
        return count
    }

    private static func burial(_ table: LeastTable, where place: String) -> String {
        "UPDATE \(table.state) SET deleted = ?, shown = 0, \"check\" = 0 WHERE \(place) = ?"
    }

    /// What the log says, in the order of IDs. Not to be measured.
    /// - Parameter column: the column that was updated; or else the rows were deleted.
    func changes(updated column: String? = nil) throws -> [Change] {
        var changes: [Change] = []
        try readLog { table, key in
            var change = Change(table: table, object: try table.identifier(key), key: key)
            if let column {
                let row = try own.prepare(table.selection(of: column))
                for part in key { row.bind(part) }
                if try row.step() { change.value = row.value(0) }
                row.rewind()
            }
            changes.append(change)
        }
        return changes.sorted { ($0.table.number, $0.object) < ($1.table.number, $1.object) }
    }

    // MARK: Joining and replay

    /// All rows of a table, in the order of IDs. Not to be measured.
    func rows(_ table: LeastTable) throws -> [(object: LeastID, row: [Value])] {
        try own.rows("SELECT * FROM \(table.name)")
            .map { (try table.identifier(table.key(ofRow: $0)), $0) }
            .sorted { $0.object < $1.object }
    }

    /// Inserts rows and their states.
    func join(_ rows: [[(object: LeastID, row: [Value])]]) throws {
        try inTransaction {
            for (table, rows) in zip(tables, rows) {
                let states = try LeastStates(own, table)
                let inserted = try ManyRows(own, into: table.name, columns: table.columns.count)
                for (object, row) in rows {
                    try inserted.append(row)
                    try states.append(object, table.key(ofRow: row))
                }
                try inserted.finish()
                try states.finish()
            }
        }
    }

    /// Updates a column of rows that the log of another one told, and their states.
    /// - Returns: the number of rows.
    @discardableResult
    func replayUpdates(_ changes: [Change], of column: String) throws -> Int {
        guard let table = changes.first?.table else { return 0 }
        let row = try own.prepare(table.update(of: column))
        let state = try own.prepare("UPDATE \(table.state) SET changed = ?, \"check\" = ? WHERE object = ?")
        try replay(changes) { change, key in
            guard let value = change.value else { throw BenchmarkError("an update has no value") }
            row.bind(value)
            for part in key { row.bind(part) }
            try row.run()
            try state.bind(LeastStates.time + 1).bind(LeastStates.check(change.object) ^ 1).bind(change.object).run()
        }
        return changes.count
    }

    /// Deletes rows, and notes in their states that they are.
    /// - Returns: the number of rows.
    func replayDeletions(_ changes: [Change]) throws -> Int {
        let rows = try tables.map { try own.prepare($0.deletion) }
        let states = try tables.map { try own.prepare(Self.burial($0, where: "object")) }
        try replay(changes) { change, key in
            let row = rows[change.table.number]
            for part in key { row.bind(part) }
            try row.run()
            try states[change.table.number].bind(LeastStates.time).bind(change.object).run()
        }
        return changes.count
    }

    /// - Parameter body: is told a change, and the local key of its object.
    private func replay(_ changes: [Change], _ body: (Change, [Value]) throws -> Void) throws {
        // Which integer an object has here is known to the state alone.
        let keys = try tables.map { table in
            table.identity == .mapped ? try own.prepare("SELECT key FROM \(table.state) WHERE object = ?") : nil
        }
        try inTransaction {
            for change in changes {
                if let statement = keys[change.table.number] {
                    try body(change, [.integer(statement.bind(change.object).integer())])
                } else {
                    try body(change, change.key)
                }
            }
        }
    }
}
