import FerryCore

/// Lets the app's own triggers run while Ferry writes rows, and takes back what they did to rows that travel.
///
/// What a trigger derives in a table that does not travel (a full-text index, a local cache) must happen on every
/// device. What it derives in a table that travels was captured where the change was made and comes by itself: done
/// twice it would be doubled, or sent back and forth. So temporary triggers of this connection note every row as it was
/// before it is first touched; Ferry notes what it means to write; in the end, with triggers off, every touched row is
/// made what it was before plus what Ferry wrote.
struct AppTriggers {
    let access: StoreAccess
    private var connection: SQLConnection { access.connection }
    private var tables: [TrackedTable] { access.registry.parentsFirst.filter(\.isLocal) }

    init(_ access: StoreAccess) { self.access = access }

    /// Runs `body`, which writes rows, with the app's triggers on where there are any.
    func run<Result>(_ body: () throws -> Result) throws -> Result {
        guard access.registry.appHasTriggers else { return try body() }
        let lastNote = try connection.count("SELECT coalesce(max(sequence), 0) FROM ferry_pending")
        for table in tables { try watch(table) }
        try connection.execute("UPDATE ferry_replay SET active = 1")
        access.intents = RowIntents()
        access.digests.unsettled = [:]
        try connection.setTriggersEnabled(true)
        defer {
            access.intents = nil
            access.digests.unsettled = nil
        }
        let result = try body()
        try connection.setTriggersEnabled(false)
        for table in tables { try takeBack(table) }
        let saved = access.digests.unsettled ?? [:]
        access.digests.unsettled = nil
        for (table, objects) in saved { try CheckRenewal(access, access.registry[table]).renew(objects) }
        try connection.execute("UPDATE ferry_replay SET active = 0")
        try forgetNotes(after: lastNote)
        connection.finalizeStatements()
        for table in tables { try unwatch(table) }
        return result
    }

    private static func before(_ table: TrackedTable) -> String { "ferry_before_\(table.id)" }

    /// Makes the temporary table and triggers that keep a row as it was before it was first touched. `present` tells
    /// whether there was one.
    private func watch(_ table: TrackedTable) throws {
        let keys = table.keyColumns.indices.map { "k\($0)" }
        let columns = table.localColumns
        let name = Self.before(table)
        // Keys are compared as the table compares them.
        let collated = zip(keys, table.keyColumns).map { slot, column in
            let collation = table.columnID(column).map { table.columns[$0].collation } ?? "BINARY"
            return "\(slot) COLLATE \(quoted(collation))"
        }
        let all = collated + ["present"] + columns.map { "c\($0.id)" }
        try connection.executeScript(
            "CREATE TEMP TABLE \(name)(\(all.joined(separator: ", ")), PRIMARY KEY(\(keys.joined(separator: ", "))))")
        func key(_ row: String) -> String { table.keyColumns.map { "\(row).\(quoted($0))" }.joined(separator: ", ") }
        let old = columns.map { ", OLD.\(quoted($0.name))" }.joined()
        // No OR IGNORE: the statement that fires a trigger may overrule it.
        func isFirst(_ row: String) -> String {
            let condition = zip(keys, table.keyColumns).map { "\($0) IS \(row).\(quoted($1))" }
            return "WHERE NOT EXISTS (SELECT 1 FROM \(name) WHERE \(condition.joined(separator: " AND ")))"
        }
        let keepOld = "INSERT INTO \(name) SELECT \(key("OLD")), 1\(old) \(isFirst("OLD"));"
        let keepAbsent =
            "INSERT INTO \(name)(\((keys + ["present"]).joined(separator: ", "))) SELECT \(key("NEW")), 0 \(isFirst("NEW"));"
        let on = "ON main.\(quoted(table.name))"
        try connection.executeScript("CREATE TEMP TRIGGER \(name)_update BEFORE UPDATE \(on) BEGIN \(keepOld) END")
        try connection.executeScript("CREATE TEMP TRIGGER \(name)_moved AFTER UPDATE \(on) BEGIN \(keepAbsent) END")
        try connection.executeScript("CREATE TEMP TRIGGER \(name)_delete BEFORE DELETE \(on) BEGIN \(keepOld) END")
        try connection.executeScript("CREATE TEMP TRIGGER \(name)_insert AFTER INSERT \(on) BEGIN \(keepAbsent) END")
    }

    private func unwatch(_ table: TrackedTable) throws {
        for name in ["update", "moved", "delete", "insert"] {
            try connection.executeScript("DROP TRIGGER temp.\(Self.before(table))_\(name)")
        }
        try connection.executeScript("DROP TABLE temp.\(Self.before(table))")
    }

    /// Makes every touched row of a table what it was, plus what Ferry wrote.
    private func takeBack(_ table: TrackedTable) throws {
        let keys = table.keyColumns.indices.map { "k\($0)" }
        let columns = table.localColumns
        let all = (keys + ["present"] + columns.map { "c\($0.id)" }).joined(separator: ", ")
        let reader = access.reader(of: table.id)
        let writer = access.writer(of: table.id)
        let intents = access.intents?.rows[table.id] ?? [:]
        // Ferry's own writes end here; what follows only restores.
        let changedRows = access.changedRows
        access.changedRows = nil
        defer { access.changedRows = changedRows }
        for row in try connection.rows("SELECT \(all) FROM temp.\(Self.before(table))") {
            let key = Array(row[..<keys.count])
            var expected: FieldValues?
            if row[keys.count] == .integer(1) {
                expected = [:]
                for (index, column) in columns.enumerated() { expected?[column.id] = row[keys.count + 1 + index] }
            }
            switch intents[key] {
            case .write(let values, let isNew): expected = (isNew ? [:] : expected ?? [:]).overlaid(with: values)
            case .delete: expected = nil
            case nil: break
            }
            try restore(key, expected, try reader.read(key), table, writer)
        }
    }

    private func restore(
        _ key: [FieldValue], _ expected: FieldValues?, _ present: FieldValues?, _ table: TrackedTable,
        _ writer: RowWriter
    ) throws {
        var refusal: RowWriter.Refusal?
        switch (expected, present) {
        case (nil, nil): break
        case (nil, _?): refusal = try writer.delete(key: key, of: nil)
        case (let expected?, nil):
            refusal = try writer.insert(
                key: table.isMapped ? key[0] : nil, expected.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        case (let expected?, let present?):
            let different = expected.filter { present[$0.key] != $0.value }
            if !different.isEmpty {
                refusal = try writer.update(
                    key: key, different.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, of: nil)
            }
        }
        if let refusal {
            throw FerryError(
                .database,
                "A trigger on \(table.name) changed a row during replay in a way that cannot be taken back: "
                    + "\(refusal.message). Let the trigger do nothing while ferry_replay.active is 1.")
        }
    }

    /// Ferry's own capture ran too: its notes say nothing new.
    private func forgetNotes(after last: Int) throws {
        for table in tables {
            try connection.execute(
                "DELETE FROM \(table.oldRowsTable) WHERE sequence > ? OR sequence = \(UnforeseenDefaults.mark)",
                .integer(Int64(last)))
        }
        try connection.execute("DELETE FROM ferry_pending WHERE sequence > ?", .integer(Int64(last)))
    }
}

/// What Ferry meant to write, by table and key, while the app's triggers run.
struct RowIntents {
    enum Intent {
        /// Values by column; of a new row, or onto the present one.
        case write(FieldValues, isNew: Bool)
        case delete
    }

    var rows: [Int: [[FieldValue]: Intent]] = [:]

    mutating func write(
        _ table: Int, _ key: [FieldValue], _ values: [(column: Int, value: FieldValue)], isNew: Bool
    ) {
        var all: FieldValues = [:]
        var wasNew = isNew
        if !isNew, case .write(let known, let isNew)? = rows[table]?[key] {
            all = known
            wasNew = isNew
        }
        for (column, value) in values { all[column] = value }
        rows[table, default: [:]][key] = .write(all, isNew: wasNew)
    }

    mutating func delete(_ table: Int, _ key: [FieldValue]) {
        rows[table, default: [:]][key] = .delete
    }
}
