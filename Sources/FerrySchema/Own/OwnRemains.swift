import FerryCore
import FerrySQL

/// Ferry's tables and triggers in a database in which somebody dropped some of the tables by hand.
package struct OwnRemains {
    private let connection: SQLConnection
    /// Ferry's present tables, by folded name. Tables of the app under Ferry's names have other columns.
    private let present: [String: String]
    /// Folded names of Ferry's tables that are not there. Without `ferry_meta` only the fixed names are known.
    package let missing: [String]

    package init(_ connection: SQLConnection) throws {
        self.connection = connection
        var columns: [String: [String]] = [:]
        // One statement: each store that is opened asks this, and may have thousands of tables. A virtual table has no root page.
        try connection.forEachRow(
            """
            SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
            WHERE t.type = 'table' AND t.rootpage <> 0 AND substr(t.name, 1, 6) = 'ferry_' COLLATE NOCASE
            ORDER BY t.rowid, c.cid
            """
        ) { row in columns[exactKey(row.value(0).text), default: []].append(row.value(1).text) }
        var present: [String: String] = [:]
        for (name, columns) in columns where Self.isOwn(foldedName(name), columns) {
            present[foldedName(name)] = plainText(name)
        }
        var needed = OwnNames.fixed
        if present["ferry_table"] != nil {
            for number in try RegisteredTables(connection).numbers() {
                needed.insert("\(OwnNames.objects)\(number)")
            }
        }
        // The columns of before-images alone prove little.
        for name in present.keys {
            guard let number = Self.number(in: name, after: OwnNames.oldRows) else { continue }
            let objects = "\(OwnNames.objects)\(number)"
            if !needed.contains(objects), present[objects] == nil { present[name] = nil }
        }
        if present[OwnNames.meta] == nil {
            // Nothing says whether the store was sealed: the columns do.
        } else if try OwnNames.isSealed(connection) {
            needed.formUnion(OwnNames.sealed)
        } else {
            for name in OwnNames.sealed { present[name] = nil }
        }
        // Emptied by hand the table says nothing, not even the version.
        let isEmpty = try present[OwnNames.meta] != nil && connection.count("SELECT count(*) FROM ferry_meta") == 0
        self.present = present
        missing = needed.filter { present[$0] == nil || isEmpty && $0 == OwnNames.meta }.sorted()
    }

    /// True if the present tables and triggers are Ferry's beyond doubt. `ferry leave` keeps the key-value store, and the replay flag for
    /// the app's triggers, and an app may have a table of a similar shape.
    package var areThere: Bool {
        get throws { try present.keys.filter { !KeyValueRemains.contains($0) }.count >= 3 || !triggers.isEmpty }
    }

    /// The triggers. Without Ferry's tables every write of the app fails on them.
    package var triggers: [String] {
        get throws {
            try connection.rows(
                """
                SELECT name FROM sqlite_schema WHERE type = 'trigger'
                AND (instr(sql, 'INSERT INTO ferry_pending(') OR instr(sql, 'INSERT INTO \(OwnNames.oldRows)'))
                """
            ).map { $0[0].text }.filter { OwnNames.table(ofTrigger: $0) != nil }
        }
    }

    /// Says what is missing and what to do.
    package func failure(in path: String) -> FerryError { Self.failure(missing, in: path) }

    package static func failure(_ missing: [String], in path: String?) -> FerryError {
        let shown = missing.prefix(3).joined(separator: ", ")
        let more = missing.count > 3 ? " and \(missing.count - 3) more" : ""
        return FerryError(
            .storeIncomplete,
            "Somebody removed \(missing.count == 1 ? "a table" : "tables") of Ferry's from the database (\(shown)\(more)), "
                + "so changes can be neither noted nor merged. Run `ferry leave`, which keeps the app's rows, and then "
                + "`ferry join` with `--match keys`.", path: path)
    }

    /// The table of Ferry's that SQLite misses, by SQLite's message; `nil` for any other message.
    package static func missingTable(_ refusal: SQLiteRefusal) -> String? {
        let message = refusal.message
        let start = "no such table: "
        guard message.hasPrefix(start) else { return nil }
        var name = foldedName(String(message.dropFirst(start.count)))
        if name.hasPrefix("main.") { name.removeFirst("main.".count) }
        return OwnNames.fixed.contains(name) || OwnNames.sealed.contains(name)
            || number(in: name, after: OwnNames.objects) != nil ? name : nil
    }

    /// Removes the triggers, the indexes and the tables. The app's rows stay, and those of the key-value store.
    /// - Returns: how much there was, and the app's triggers and views that read the replay flag, which stays for them.
    package func remove() throws -> (triggers: Int, tables: Int, askers: [String]) {
        let names = try triggers
        for name in names { try connection.executeScript("DROP TRIGGER \(quoted(name))") }
        for row in try connection.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'index' AND name LIKE 'ferry!_%!_former' ESCAPE '!'")
        where Self.number(in: foldedName(row[0].text), after: "ferry_", before: "_former") != nil {
            try connection.executeScript("DROP INDEX \(quoted(row[0].text))")
        }
        let askers = try ReplayFlag(connection).askers()
        var tables = present
        if !askers.isEmpty, tables.removeValue(forKey: ReplayFlag.table) != nil { try ReplayFlag(connection).rest() }
        if try KeyValueRemains(connection).count() > 0 { tables = tables.filter { !KeyValueRemains.contains($0.key) } }
        for name in tables.values.sorted() { try connection.executeScript("DROP TABLE \(quoted(name))") }
        return (names.count, tables.count, askers)
    }

    // MARK: Recognition

    /// True for a table with a folded name and the columns of a table of Ferry's.
    private static func isOwn(_ folded: String, _ columns: [String]) -> Bool {
        if number(in: folded, after: OwnNames.objects) != nil || number(in: folded, after: OwnNames.oldRows) != nil {
            return OwnNames.hasShape(folded, columns)
        }
        if OwnNames.sealed.contains(folded) { return Set(columns).isSubset(of: StoreTables.words) }
        // `ferry_pending` has as many key columns as the longest key of a table needs.
        return OwnNames.fixed.contains(folded)
            && columns.allSatisfy { StoreTables.words.contains($0) || number(in: $0, after: "k") != nil }
    }

    private static func number(in name: String, after prefix: String, before suffix: String = "") -> Int? {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
        return Int(name.dropFirst(prefix.count).dropLast(suffix.count))
    }
}

extension StoreTables {
    /// The words of the tables' definitions: the names of all their columns are among them. An upgraded table lacks none.
    fileprivate static let words = Set(
        // Bytes, because each process does this once, and characters take a millisecond.
        (create + createSealed).utf8.split { byte in
            !(0x61...0x7a).contains(byte | 0x20) && !(0x30...0x39).contains(byte) && byte != UInt8(ascii: "_")
        }.map { String(Substring($0)) })
}
