import FerryCore

/// Which of a database's tables and triggers are Ferry's: those of an exact list, and those that bear the number of a table
/// in the registry. Whatever else begins with `ferry_` is the app's: it stays on the device and is left alone.
struct OwnNames {
    /// The names of Ferry's tables, folded; none where the database is not tracked.
    private let tables: Set<String>

    init(_ connection: SQLConnection) throws {
        guard try Self.areMade(connection) else {
            tables = []
            return
        }
        var names = Self.fixed
        try connection.forEachRow("SELECT number FROM ferry_table") { row in
            names.insert("\(Self.objects)\(row.int(0))")
            names.insert("\(Self.oldRows)\(row.int(0))")
        }
        tables = names
    }

    /// Whether the database has Ferry's tables, and not a table of the app's by the name of one.
    static func areMade(_ connection: SQLConnection) throws -> Bool {
        try connection.count("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'ferry_meta'") != 0
            && connection.count("SELECT count(*) FROM pragma_table_info('ferry_meta') WHERE name IN ('name', 'value')")
                == 2
    }

    static let objects = "ferry_object_"
    static let oldRows = "ferry_old_"

    /// The tables that every tracked database has.
    static let fixed: Set<String> = {
        let words = StoreTables.create.split(whereSeparator: { $0.isWhitespace || $0 == "(" })
        return Set(
            zip(words, words.dropFirst()).compactMap { word, next in
                word == "TABLE" ? String(next) : nil
            })
    }()

    /// Whether a table is Ferry's own, one that travels like the app's included.
    func contains(table name: String) -> Bool { tables.contains(foldedName(name)) }

    /// Whether a table by a name of Ferry's has the columns that Ferry gives it.
    func hasShape(table name: String, _ connection: SQLConnection) throws -> Bool {
        let columns = try connection.rows("SELECT name FROM pragma_table_info(?)", .text(name)).map { $0[0].text }
        let folded = foldedName(name)
        if folded.hasPrefix(Self.objects) {
            return Set(["object", "k0", "shown", "check", "state", "kept"]).isSubset(of: columns)
        }
        if folded.hasPrefix(Self.oldRows) {
            return columns.first == "sequence" && columns.dropFirst().allSatisfy { $0.hasPrefix("c") }
        }
        return true
    }

    /// Refuses a database that is to be tracked and has tables by the names that Ferry needs.
    /// - Throws: `unsupportedTable`.
    static func checkFree(_ connection: SQLConnection) throws {
        for row in try connection.rows("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view', 'index')") {
            guard fixed.contains(foldedName(row[0].text)) else { continue }
            // One stayed for the app's triggers when Ferry left the database.
            if foldedName(row[0].text) == ReplayFlag.table, try ReplayFlag(connection).isThere() { continue }
            throw FerryError(
                .unsupportedTable,
                "The database has “\(row[0].text)” of its own, and Ferry keeps a table by that name. Rename it first.")
        }
    }

    /// The number of the table whose changes a trigger notes; `nil` where the trigger is not Ferry's.
    static func table(ofTrigger name: String) -> Int? {
        let parts = name.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count >= 3, parts[0] == "ferry", let number = Int(parts[1]) else { return nil }
        let rest = parts[2...].joined(separator: "_")
        if triggers.contains(rest) { return number }
        guard let last = parts.last, Int(last) != nil else { return nil }
        return ["update", "update_key", "reference"].contains(parts[2..<parts.count - 1].joined(separator: "_"))
            ? number : nil
    }

    private static let triggers: Set<String> = [
        "insert", "delete", "rekey", "displace_insert", "displace_update", CaptureTriggers.newKeyTrigger,
        "unforeseen_insert", UnforeseenDefaults.updateTrigger,
    ]
}

/// Hands out numbers for tables of the registry whose tables' names are free. What the schema has is read once, when the first
/// number is asked for.
struct FreeNumbers {
    private let connection: SQLConnection
    private var taken: Set<String>?

    init(_ connection: SQLConnection) { self.connection = connection }

    /// The next number; the registry has the former ones by now.
    mutating func next() throws -> Int {
        var taken: Set<String>
        if let known = self.taken {
            taken = known
        } else {
            taken = []
            try connection.forEachRow("SELECT name FROM sqlite_schema") { row in
                let name = foldedName(row.string(0))
                if name.hasPrefix("ferry_") { taken.insert(name) }
            }
            self.taken = taken
        }
        var number = try connection.count("SELECT coalesce(max(number), 0) + 1 FROM ferry_table")
        while taken.contains("\(OwnNames.objects)\(number)") || taken.contains("\(OwnNames.oldRows)\(number)") {
            number += 1
        }
        return number
    }
}
