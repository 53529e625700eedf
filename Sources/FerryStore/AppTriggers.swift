import FerryCore

/// Lets the app's own triggers run while Ferry writes rows, and takes back what they did to rows that travel.
///
/// What a trigger derives in a table that does not travel (a full-text index, a local cache) must happen on every
/// device. What it derives in a table that travels was captured where the change was made and comes by itself: done
/// twice it would be doubled, or sent back and forth. So temporary triggers of this connection note every row as it was
/// before it is first touched; Ferry notes what it means to write; in the end, with triggers off, every touched row is
/// made what it was before plus what Ferry wrote.
///
/// A row that a trigger displaces by OR REPLACE vanishes without a DELETE trigger. So where anything of the app's replaces
/// rows, those that hold what a statement is about to claim are noted too. What is missing after a write of Ferry's is put
/// back at once, because Ferry reads rows; so is all that triggers did where Ferry's own row finds its value taken.
struct AppTriggers {
    let access: StoreAccess
    private var connection: SQLConnection { access.connection }
    private var tables: [TrackedTable] { access.registry.parentsFirst.filter(\.isLocal) }

    init(_ access: StoreAccess) { self.access = access }

    /// Runs `body`, which writes rows, with the app's triggers on where there are any.
    func run<Result>(_ body: () throws -> Result) throws -> Result {
        guard access.registry.appHasTriggers else { return try body() }
        let lastNote = try connection.count("SELECT coalesce(max(sequence), 0) FROM ferry_pending")
        try connection.executeScript(
            "CREATE TEMP TABLE \(Self.held)(\"table\" INTEGER NOT NULL, place INTEGER NOT NULL)")
        for table in tables { try watch(table) }
        let replacesRows = try replacesRows()
        if replacesRows {
            for table in tables { try watchHolders(in: table) }
        }
        try connection.execute("UPDATE ferry_replay SET active = 1")
        access.intents = RowIntents(mayBeDisplacing: replacesRows)
        access.digests.unsettled = [:]
        try connection.setTriggersEnabled(true)
        defer {
            access.intents = nil
            access.digests.unsettled = nil
        }
        let result = try body()
        try takeBack()
        access.intents = nil
        try connection.setTriggersEnabled(false)
        let saved = access.digests.unsettled ?? [:]
        access.digests.unsettled = nil
        for (table, objects) in saved { try CheckRenewal(access, access.registry[table]).renew(objects) }
        try connection.execute("UPDATE ferry_replay SET active = 0")
        try forgetNotes(after: lastNote)
        connection.finalizeStatements()
        for table in tables { try unwatch(table) }
        try connection.executeScript("DROP TABLE temp.\(Self.held)")
        return result
    }

    private static func before(_ table: TrackedTable) -> String { "ferry_before_\(table.id)" }

    /// The table of rows that held what a statement was about to claim, by their places in the tables of rows as they were.
    private static let held = "ferry_held"

    /// Whether any trigger or constraint of the app's may remove a row that is in the way of another one; some other use of
    /// the word costs only time.
    private func replacesRows() throws -> Bool {
        try connection.count(
            "SELECT EXISTS(SELECT 1 FROM (SELECT * FROM sqlite_schema UNION ALL SELECT * FROM sqlite_temp_schema) "
                + "WHERE sql LIKE '%replace%' AND (substr(name, 1, 6) <> 'ferry_' "
                + "OR type = 'trigger' AND name NOT GLOB 'ferry_[0-9]*' AND name NOT GLOB 'ferry_*_[0-9]*'))") != 0
    }

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

    /// Makes the temporary triggers that keep a row as it was before another one may displace it.
    private func watchHolders(in table: TrackedTable) throws {
        let capture = CaptureTriggers(table: table)
        let claims = table.uniqueIndexes.map { capture.isHolder(of: $0) } + [capture.isKeyHolder]
        let update = capture.updateCondition
        let newKeyClaims =
            CaptureTriggers.needsNewKeyTrigger(table)
            ? table.uniqueIndexes.filter(\.isOnKey).map(capture.isHolder(ofNewKeyIn:)) : []
        try watch(
            "replace_insert", in: table, before: "INSERT", when: "1",
            (claims + newKeyClaims).map { $0.joined(separator: " AND ") })
        try watch(
            "replace_update", in: table, before: update.event, when: update.when,
            claims.map { ($0 + [capture.notSelf("OLD")]).joined(separator: " AND ") })
        let names = UnforeseenDefaults(table: table).names(isUpdate: true)
        if names.isEmpty { return }
        for event in ["INSERT", "UPDATE"] {
            try watch("unforeseen_\(event)", in: table, before: event, when: UnforeseenDefaults.isGiven(names), ["1"])
        }
    }

    /// - Parameter claims: conditions of a row `holder`, one of which holds for any that a statement may displace.
    private func watch(
        _ suffix: String, in table: TrackedTable, before event: String, when condition: String, _ claims: [String]
    ) throws {
        let name = Self.before(table)
        let isHeld = claims.map { "EXISTS (SELECT 1 FROM main.\(quoted(table.name)) AS holder WHERE \($0))" }
        let keys = table.keyColumns.map { ", holder.\(quoted($0))" }.joined().dropFirst(2)
        let old = table.localColumns.map { ", holder.\(quoted($0.name))" }.joined()
        let isFirst = table.keyColumns.enumerated().map { "first.k\($0) IS holder.\(quoted($1))" }
        let aliases = table.keyColumns.enumerated().map { "holder.\(quoted($1)) AS k\($0)" }
        let isNoted = table.keyColumns.indices.map { "first.k\($0) IS row.k\($0)" }
        let body = claims.map { claim in
            // A claim names columns as the app does: no other table may be beside the app's.
            let source = "FROM main.\(quoted(table.name)) AS holder WHERE \(claim)"
            return """
                INSERT INTO \(name) SELECT \(keys), 1\(old) \(source)
                AND NOT EXISTS (SELECT 1 FROM \(name) AS first WHERE \(isFirst.joined(separator: " AND ")));
                INSERT INTO \(Self.held) SELECT \(table.id), first.rowid
                FROM (SELECT \(aliases.joined(separator: ", ")) \(source)) AS row
                JOIN \(name) AS first ON \(isNoted.joined(separator: " AND "));
                """
        }
        try connection.executeScript(
            "CREATE TEMP TRIGGER \(name)_\(suffix) BEFORE \(event) ON main.\(quoted(table.name)) "
                + "WHEN (\(condition)) AND (\(isHeld.joined(separator: " OR "))) "
                + "BEGIN \(body.joined(separator: " ")) END")
    }

    private func unwatch(_ table: TrackedTable) throws {
        let triggers = try connection.rows(
            "SELECT name FROM temp.sqlite_schema WHERE type = 'trigger' AND substr(name, 1, ?) = ?",
            .integer(Int64(Self.before(table).utf8.count + 1)), .text(Self.before(table) + "_"))
        for case .text(let name) in triggers.compactMap(\.first) {
            try connection.executeScript("DROP TRIGGER temp.\(quoted(String(decoding: name, as: UTF8.self)))")
        }
        try connection.executeScript("DROP TABLE temp.\(Self.before(table))")
    }

    /// Puts back, while the app's triggers run, what they displaced since it was asked last.
    func putBackMissingRows() throws {
        guard access.intents?.mayBeDisplacing ?? false else { return }
        let numbers = try connection.rows("SELECT DISTINCT \"table\" FROM temp.\(Self.held)")
        if numbers.isEmpty { return }
        for case .integer(let number) in numbers.compactMap(\.first) {
            let table = access.registry[Int(number)]
            let isSame = table.keyColumns.enumerated().map { "present.\(quoted($1)) = first.k\($0)" }
            let missing = try connection.count(
                "SELECT EXISTS(SELECT 1 FROM temp.\(Self.held) JOIN temp.\(Self.before(table)) AS first "
                    + "ON first.rowid = place WHERE \"table\" = ? AND NOT EXISTS (SELECT 1 "
                    + "FROM main.\(quoted(table.name)) AS present WHERE \(isSame.joined(separator: " AND "))))",
                .integer(number))
            if missing != 0 { return try takeBack() }
        }
        try connection.execute("DELETE FROM temp.\(Self.held)")
    }

    /// Takes back what the app's triggers did so far where a row was touched that is about to be read for what it was.
    func takeBack(ifTouched key: [FieldValue], of table: TrackedTable) throws {
        if access.intents == nil || key.isEmpty { return }
        let isSame = key.indices.map { "k\($0) = ?" }.joined(separator: " AND ")
        let touched = try connection.rows("SELECT 1 FROM temp.\(Self.before(table)) WHERE \(isSame)", values: key)
        if !touched.isEmpty { try takeBack() }
    }

    /// Takes back, while the app's triggers run, what they did so far. What Ferry wrote so far counts as there from here on.
    func takeBack() throws {
        guard let intents = access.intents else { return }
        // What follows only restores: it is no write of Ferry's, and needs no room.
        access.intents = nil
        let changedRows = access.changedRows
        access.changedRows = nil
        defer { access.changedRows = changedRows }
        try connection.setTriggersEnabled(false)
        for table in tables { try takeBack(table, intents.rows[table.id] ?? [:]) }
        for table in tables { try connection.execute("DELETE FROM temp.\(Self.before(table))") }
        try connection.execute("DELETE FROM temp.\(Self.held)")
        try connection.setTriggersEnabled(true)
        access.intents = RowIntents(mayBeDisplacing: intents.mayBeDisplacing)
    }

    /// Takes back what the app's triggers did so far where they touched rows that refer to others by RESTRICT or NO ACTION:
    /// who asks whether a row is referred to must find them as they were.
    func takeBackReferences() throws {
        guard let intents = access.intents else { return }
        for table in tables where table.foreignKeys.contains(where: { $0.action == .restrict }) {
            // Of each row that Ferry wrote there is one note, and none ever goes by itself.
            let noted = try connection.count("SELECT coalesce(max(rowid), 0) FROM temp.\(Self.before(table))")
            if noted != intents.rows[table.id]?.count ?? 0 { return try takeBack() }
        }
    }

    /// Makes every touched row of a table what it was, plus what Ferry wrote.
    private func takeBack(_ table: TrackedTable, _ intents: [[FieldValue]: RowIntents.Intent]) throws {
        let keys = table.keyColumns.indices.map { "k\($0)" }
        let columns = table.localColumns
        let all = (keys + ["present"] + columns.map { "c\($0.id)" }).joined(separator: ", ")
        let reader = access.reader(of: table.id)
        let writer = access.writer(of: table.id)
        var updates: [(key: [FieldValue], expected: FieldValues, different: FieldValues)] = []
        var insertions: [(key: [FieldValue], expected: FieldValues)] = []
        // Whatever is in the way of others goes first.
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
            switch (expected, try reader.read(key)) {
            case (nil, nil): break
            case (nil, _?): try check(writer.delete(key: key, of: nil), table)
            case (let expected?, nil): insertions.append((key, expected))
            case (let expected?, let present?):
                let different = expected.filter { present[$0.key] != $0.value }
                if !different.isEmpty { updates.append((key, expected, different)) }
            }
        }
        for (key, expected, different) in updates {
            let refusal = try writer.update(key: key, Self.sorted(different), of: nil)
            if let refusal, refusal.isTakenValue {
                // Still held by a row that is about to let go of it: written anew after all have let go.
                try check(writer.delete(key: key, of: nil), table)
                insertions.append((key, expected))
            } else {
                try check(refusal, table)
            }
        }
        for (key, expected) in insertions {
            try check(writer.insert(key: table.isMapped ? key[0] : nil, Self.sorted(expected)), table)
        }
    }

    private static func sorted(_ values: FieldValues) -> [(column: Int, value: FieldValue)] {
        values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private func check(_ refusal: RowWriter.Refusal?, _ table: TrackedTable) throws {
        guard let refusal else { return }
        throw FerryError(
            .database,
            "A trigger on \(table.name) changed a row during replay in a way that cannot be taken back: "
                + "\(refusal.message). Let the trigger do nothing while ferry_replay.active is 1.")
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

    /// Whether the app's triggers may displace rows by OR REPLACE.
    let mayBeDisplacing: Bool
    var rows: [Int: [[FieldValue]: Intent]] = [:]

    init(mayBeDisplacing: Bool) { self.mayBeDisplacing = mayBeDisplacing }

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
