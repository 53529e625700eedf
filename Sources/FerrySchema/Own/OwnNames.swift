import FerryCore
import FerrySQL

/// Recognizes Ferry's tables and triggers in a database: an exact list, and names with a registered table's number. All
/// further names beginning with `ferry_` belong to the app; such tables stay local and untouched.
package struct OwnNames {
    /// The folded names of Ferry's tables; empty for an untracked database.
    private let tables: Set<String>

    package init(_ connection: SQLConnection) throws {
        guard try Self.areMade(connection) else {
            tables = []
            return
        }
        var names = Self.fixed
        if try Self.isSealed(connection) { names.formUnion(Self.sealed) }
        if try PartTables.areMade(MetaTable(connection: connection)) { names.formUnion(PartTables.names) }
        if try DocumentTables.areMade(MetaTable(connection: connection)) { names.formUnion(DocumentTables.names) }
        for number in try RegisteredTables(connection).numbers() {
            names.insert("\(Self.objects)\(number)")
            names.insert("\(Self.oldRows)\(number)")
        }
        tables = names
    }

    /// True if the database has Ferry's tables, and not an app's table named `ferry_meta`.
    package static func areMade(_ connection: SQLConnection) throws -> Bool {
        try connection.count("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'ferry_meta'") != 0
            && connection.count("SELECT count(*) FROM pragma_table_info('ferry_meta') WHERE name IN ('name', 'value')")
                == 2
    }

    package static let meta = "ferry_meta"
    package static let objects = "ferry_object_"
    package static let oldRows = "ferry_old_"

    /// The tables of every tracked database.
    package static let fixed = tables(in: StoreTables.create)

    /// The tables of stores of sealed containers, besides `fixed`.
    package static let sealed = tables(in: StoreTables.createSealed)

    static func tables(in script: String) -> Set<String> {
        // Bytes, because each process does this once, and characters take a millisecond.
        let words = script.utf8.split { byte in
            byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\t")
                || byte == UInt8(ascii: "(")
        }
        return Set(
            zip(words, words.dropFirst()).compactMap { word, next in
                word.elementsEqual("TABLE".utf8) ? String(Substring(next)) : nil
            })
    }

    /// True if a store, whose `ferry_meta` is there, belongs to a sealed container.
    package static func isSealed(_ connection: SQLConnection) throws -> Bool {
        try connection.count("SELECT count(*) FROM ferry_meta WHERE name = 'genesis'") != 0
    }

    /// True for a table of Ferry's own, including travelling tables.
    package func contains(table name: String) -> Bool { tables.contains(foldedName(name)) }

    /// True for a name of a table that Ferry keeps in every store, or in a sealed one. Such a table never travels. Another
    /// name that begins with `ferry_` may be a travelling table of a newer Ferry.
    package static func stays(_ name: String) -> Bool {
        let folded = foldedName(name)
        if mayTravel(folded) { return false }
        return fixed.contains(folded) || DocumentTables.names.contains(folded) || sealed.contains(folded)
            || PartTables.names.contains(folded)
            || folded.hasPrefix(objects)
            || folded.hasPrefix(oldRows)
    }

    /// True if a table with a name of Ferry's has the columns Ferry gives such a table.
    package static func hasShape(table name: String, _ connection: SQLConnection) throws -> Bool {
        let columns = try connection.rows("SELECT name FROM pragma_table_info(?)", .text(name)).map { $0[0].text }
        return hasShape(foldedName(name), columns)
    }

    /// As `hasShape(table:_:)`, for a folded name and columns that the caller has read.
    package static func hasShape(_ folded: String, _ columns: [String]) -> Bool {
        if folded.hasPrefix(objects) {
            return Set(["object", "k0", "shown", "check", "state", "kept"]).isSubset(of: columns)
        }
        if folded.hasPrefix(oldRows) {
            return columns.first == "sequence" && columns.dropFirst().allSatisfy { $0.hasPrefix("c") }
        }
        return true
    }

    /// Refuses to track a database with an app's table under a name needed by Ferry.
    /// - Throws: `unsupportedTable`.
    package static func checkFree(_ connection: SQLConnection) throws {
        for row in try connection.rows("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view', 'index')") {
            guard fixed.contains(foldedName(row[0].text)) else { continue }
            // `ferry leave` keeps the replay flag for the app's triggers.
            if foldedName(row[0].text) == ReplayFlag.table, try ReplayFlag(connection).isThere() { continue }
            // It also keeps the rows of the key-value store.
            if try KeyValueRemains(connection).tables().contains(row[0].text) { continue }
            throw FerryError(
                .unsupportedTable,
                "The database has “\(row[0].text)” of its own, and Ferry keeps a table by that name. Rename it first.")
        }
    }

    /// Refuses to seal a database with an app's table under a name that only sealed stores need.
    /// - Throws: `unsupportedTable`.
    package static func checkFreeForSealing(_ connection: SQLConnection) throws {
        for row in try connection.rows("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view', 'index')")
        where sealed.contains(foldedName(row[0].text)) {
            throw FerryError(
                .unsupportedTable,
                "The database has “\(row[0].text)” of its own, and Ferry keeps a table by that name. Rename it first.")
        }
    }

    /// The number of the table recorded by a trigger; `nil` for an app's trigger.
    package static func table(ofTrigger name: String) -> Int? {
        guard name.utf8.starts(with: "ferry_".utf8) else { return nil }
        let parts = name.utf8.split(separator: UInt8(ascii: "_"), omittingEmptySubsequences: false).map(Substring.init)
        guard parts.count >= 3, parts[0] == "ferry", let number = Int(parts[1]) else { return nil }
        let rest = parts[2...].joined(separator: "_")
        if triggers.contains(rest) { return number }
        guard let last = parts.last, Int(last) != nil else { return nil }
        return ["update", "update_key", "reference"].contains(parts[2..<parts.count - 1].joined(separator: "_"))
            ? number : nil
    }

    private static let triggers: Set<String> = [
        "insert", "delete", "rekey", "displace_insert", "displace_update", newKeyTrigger, "unforeseen_insert",
        unforeseenUpdateTrigger,
    ]

    /// The last part of a trigger's name, for triggers of some tables only.
    package static let newKeyTrigger = "displace_new_key"
    package static let unforeseenUpdateTrigger = "unforeseen_update"

    /// The table of the policies.
    package static let policyTable = "ferry_policy"
    /// Ferry's own travelling tables in every store: the content of the key-value store, and the policies.
    private static let travelling: Set<String> = ["ferry_kv_value", "ferry_kv_member", "ferry_kv_counter", policyTable]

    /// True for a name of a table of Ferry's own that travels. An app's table may have such a name, too.
    package static func mayTravel(_ name: String) -> Bool { travelling.contains(name) || DocumentTables.contains(name) }

    /// Whether a table is one of Ferry's own that travel.
    package static func isTravelling(_ name: String, columns: some Sequence<String>) -> Bool {
        travelling.contains(name) || DocumentTables.isTravelling(name, columns: columns)
    }
}

/// Allocates numbers for registered tables, skipping numbers with table names in use. Reads the schema's names once, at
/// the first allocation.
package struct FreeNumbers {
    private let connection: SQLConnection
    private var taken: Set<String>?

    package init(_ connection: SQLConnection) { self.connection = connection }

    /// Returns the next number. The caller has already registered all previous numbers.
    package mutating func next() throws -> Int {
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
        var number = try RegisteredTables(connection).nextNumber()
        while taken.contains("\(OwnNames.objects)\(number)") || taken.contains("\(OwnNames.oldRows)\(number)") {
            number += 1
        }
        return number
    }
}
