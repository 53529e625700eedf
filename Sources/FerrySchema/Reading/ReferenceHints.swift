import FerryCore
import FerrySQL

/// Finds undeclared columns likely to be references, by names and by values.
package struct ReferenceHints {
    package let connection: SQLConnection
    package let schema: Schema
    package let tracked: [TrackedTableRecord]

    /// Number of values read from each column.
    package static let sampleSize = 1000
    /// Percentage of values required to be keys of the parent table.
    package static let requiredPercentage = 95

    package func find(besides known: [UndeclaredReference]) throws -> [UndeclaredReference] {
        var found: [UndeclaredReference] = []
        let parents = parentsByWord()
        let coreData = try CoreDataStore(connection, schema)
        for record in tracked where !isFerryName(record.name) {
            guard let table = schema.table(record.name) else { continue }
            for column in table.columns where isCandidate(column, of: table, known) {
                if let parent = coreData?.parent(of: column, in: table), isTracked(parent),
                    try contradictions(of: column, of: table, to: parent) == 0
                {
                    found.append(
                        UndeclaredReference(table: table.name, column: column.name, parent: parent.name))
                    continue
                }
                let words = Self.words(of: column.name)
                var meant = words.sorted().flatMap { parents[$0] ?? [] }
                if words.contains("parent"), table.isIntegerKey { meant.append(table) }
                for parent in meant where try holds(column, of: table, keysOf: parent) {
                    found.append(
                        UndeclaredReference(table: table.name, column: column.name, parent: parent.name))
                    break
                }
            }
        }
        return found
    }

    private func isCandidate(_ column: SchemaColumn, of table: SchemaTable, _ known: [UndeclaredReference]) -> Bool {
        if column.isGenerated || column.affinity == .text { return false }
        if table.primaryKey.count == 1, equalNames(table.primaryKey[0], column.name) { return false }
        if table.foreignKeys.contains(where: { $0.columns.contains { equalNames($0, column.name) } }) { return false }
        return !known.contains { equalNames($0.table, table.name) && equalNames($0.column, column.name) }
    }

    /// Returns tables with device-specific integer keys, by each word a column may use for the table.
    private func parentsByWord() -> [String: [SchemaTable]] {
        var parents: [String: [SchemaTable]] = [:]
        for record in tracked {
            if case .key = record.identity { continue }
            guard let parent = schema.table(record.name), parent.isIntegerKey else { continue }
            for word in Self.words(ofTable: parent.name) { parents[word, default: []].append(parent) }
        }
        return parents
    }

    /// The candidate table words in a column's name, for `album_id`, `albumId`, `idAlbum`, `album` or `fk_album`.
    package static func words(of column: String) -> Set<String> {
        let name = bare(column)
        let words =
            [name]
            + ["id", "fk", "ref", "key"].flatMap { word -> [String] in
                (name.hasSuffix(word) ? [String(name.dropLast(word.count))] : [])
                    + (name.hasPrefix(word) ? [String(name.dropFirst(word.count))] : [])
            }
        return Set(words.filter { !$0.isEmpty }.flatMap(singulars))
    }

    /// True for a name that says of a column that the column holds keys: `album_id`, `albumId`, `fk_album`; not `album`.
    private static func namesAKey(_ column: String) -> Bool {
        let name = bare(column)
        return ["id", "fk"].contains { name.hasSuffix($0) || name.hasPrefix($0) }
    }

    /// The words a column may use for a table: `album` for `album`, `albums` or `Album`.
    package static func words(ofTable name: String) -> Set<String> { Set(singulars(of: bare(name))) }

    private static func bare(_ name: String) -> String {
        foldedName(name).filter { $0 != "_" && $0 != "-" && $0 != " " }
    }

    private static func singulars(of name: String) -> [String] {
        var forms = [name]
        if name.hasSuffix("ies") { forms.append(name.dropLast(3) + "y") }
        if name.hasSuffix("es") { forms.append(String(name.dropLast(2))) }
        if name.hasSuffix("s") { forms.append(String(name.dropLast())) }
        return forms
    }

    private func isTracked(_ table: SchemaTable) -> Bool { tracked.contains { equalNames($0.name, table.name) } }

    /// Counts sampled values of a column without a matching key in the parent table.
    private func contradictions(
        of column: SchemaColumn, of table: SchemaTable, to parent: SchemaTable
    ) throws -> Int {
        let name = quoted(column.name)
        return try connection.count(
            """
            SELECT count(*) FROM (
                SELECT \(name) AS value FROM \(table.quotedName) WHERE \(name) IS NOT NULL LIMIT \(Self.sampleSize))
            WHERE NOT EXISTS (SELECT 1 FROM \(parent.quotedName) WHERE \(quoted(parent.primaryKey[0])) = value)
            """)
    }

    /// True if all sampled values are integers, some are above 0, and nearly all values above 0 are keys of the parent
    /// table. Without any value the name alone decides: an app makes its tables before it has rows.
    private func holds(_ column: SchemaColumn, of table: SchemaTable, keysOf parent: SchemaTable) throws -> Bool {
        let name = quoted(column.name)
        let rows = try connection.rows(
            """
            SELECT count(*), sum(typeof(value) <> 'integer'), sum(value > 0), sum(value > 0 AND EXISTS (
                SELECT 1 FROM \(parent.quotedName) WHERE \(quoted(parent.primaryKey[0])) = value))
            FROM (SELECT \(name) AS value FROM \(table.quotedName) WHERE \(name) IS NOT NULL LIMIT \(Self.sampleSize))
            """)
        if case .integer(0)? = rows.first?[0] { return Self.namesAKey(column.name) && column.affinity == .integer }
        guard case .integer(0)? = rows.first?[1], case .integer(let positive)? = rows.first?[2], positive > 0,
            case .integer(let present)? = rows.first?[3]
        else { return false }
        return present * 100 >= positive * Int64(Self.requiredPercentage)
    }

    package init(connection: SQLConnection, schema: Schema, tracked: [TrackedTableRecord]) {
        self.connection = connection
        self.schema = schema
        self.tracked = tracked
    }
}
