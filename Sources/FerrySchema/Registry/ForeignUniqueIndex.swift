import FerryCore
import FerrySQL

/// A UNIQUE index of the container's newest schema that this database lacks, and that rows here would break. The migration that
/// makes the index fails here as long as these rows stand.
package struct ForeignUniqueIndex: Equatable, Sendable {
    /// The table's name here.
    @ComparedByBytes package var table: String
    /// The names of the columns here, in the order of the index.
    @ComparedByBytes package var columns: [String]
    /// The number of values that stand in several rows.
    package var values: Int
    /// A statement that lists these values.
    @ComparedByBytes package var query: String

    /// The indexes with rows against them. Reads each table with such an index once.
    /// - Parameters:
    ///   - schema: the present schema of this database.
    ///   - device: this device. Its own schema has nothing to tell.
    package static func all(_ connection: SQLConnection, _ schema: Schema, device: DeviceID) throws -> [Self] {
        guard let newest = try NewestSchema(connection).read(), newest.stamp.device != device else { return [] }
        var found: [Self] = []
        for tracked in newest.record.tracked {
            guard let here = schema.table(tracked.name), here.kind == .table,
                let statement = newest.record.statement(of: tracked)
            else { continue }
            let texts = [statement.sql] + newest.record.indexStatements(of: tracked).map(\.sql)
            guard let there = try RecordedTable.read(tracked.statementName, texts) else { continue }
            for index in there.uniqueIndexes {
                guard let terms = terms(index, tracked, here), !has(here, terms, index.condition) else { continue }
                let query = query(here, terms, index.condition)
                guard let values = try count(query, connection), values > 0 else { continue }
                found.append(.init(table: here.localName, columns: terms.map(\.column), values: values, query: query))
            }
        }
        return found
    }

    private struct Term: Hashable {
        var column: String
        var collation: String
    }

    /// The terms of an index by the columns here; `nil` for an index over expressions or over a column that is not here.
    private static func terms(_ index: SchemaUniqueIndex, _ table: TrackedTableRecord, _ here: SchemaTable) -> [Term]? {
        var terms: [Term] = []
        for term in index.terms {
            guard let name = term.column else { return nil }
            let travelling = table.renamedColumns.first { equalNames($0.localName, name) }?.name ?? name
            guard let column = here.column(travelling: travelling) else { return nil }
            terms.append(Term(column: column.name, collation: term.collation))
        }
        // A condition names columns by their names there.
        return index.condition != nil && !table.renamedColumns.isEmpty ? nil : terms
    }

    /// True if an index or the key here keeps these values apart as well.
    private static func has(_ here: SchemaTable, _ terms: [Term], _ condition: String?) -> Bool {
        let wanted = Set(terms.map { Term(column: foldedName($0.column), collation: foldedName($0.collation)) })
        let key = zip(here.primaryKey, here.keyCollations).map {
            Term(column: foldedName($0), collation: foldedName($1))
        }
        if !key.isEmpty, wanted.isSuperset(of: key) { return true }
        return here.uniqueIndexes.contains { index in
            guard index.condition == nil || String?.areEqualBytes(index.condition, condition) else { return false }
            let own = index.terms.map { term in
                term.column.map { Term(column: foldedName($0), collation: foldedName(term.collation)) }
            }
            return own.allSatisfy { $0.map(wanted.contains) ?? false }
        }
    }

    private static func query(_ here: SchemaTable, _ terms: [Term], _ condition: String?) -> String {
        let columns = terms.map { quoted($0.column) }.joined(separator: ", ")
        // SQLite takes NULLs for different from each other (https://www.sqlite.org/lang_createindex.html).
        let conditions = (condition.map { ["(\($0))"] } ?? []) + terms.map { "\(quoted($0.column)) IS NOT NULL" }
        let groups = terms.map { term in
            let isOwn = here.column(term.column).map { equalNames($0.collation, term.collation) } ?? false
            return quoted(term.column) + (isOwn ? "" : " COLLATE \(quoted(term.collation))")
        }.joined(separator: ", ")
        return
            "SELECT \(columns), count(*) FROM \(here.quotedName) WHERE \(conditions.joined(separator: " AND ")) GROUP BY "
            + "\(groups) HAVING count(*) > 1"
    }

    /// - Returns: `nil` where this process lacks a part of the condition.
    private static func count(_ query: String, _ connection: SQLConnection) throws -> Int? {
        do {
            return try connection.count("SELECT count(*) FROM (\(query))")
        } catch let error as FerryError where error.isOfStatement {
            return nil
        }
    }
}
