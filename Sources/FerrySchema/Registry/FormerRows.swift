import FerryCore
import FerrySQL

/// Tells which rows of a leaving table belong to the former generation (`Generations.leaving`), where the present key
/// allows several rows with a former key.
///
/// A migration copies each row once, and an app may insert rows with the same former key before Ferry looks: a text in
/// a second language, for one. So the first of the rows is the former generation's. The others are rows of the next
/// generation alone. First is a row in which the new parts of the key have their defaults, and then the older one.
package struct FormerRows: Sendable {
    /// The table's name in SQL.
    private let table: String
    private let key: [(name: String, collation: String)]
    /// Terms that order rows of the same former key, for a row with a given name. None of the terms is NULL.
    private let order: [Term]

    private enum Term: Sendable {
        case column(String)
        /// 0 for a column's default, and 1 for any other value.
        case isOther(column: String, standard: String)
    }

    /// - Parameters:
    ///   - table: the table as the schema describes it.
    ///   - key: the present names of the former key's columns.
    ///   - collations: the collations by which former keys are equal, in key order; empty for those of the columns.
    /// - Returns: `nil` where the present key allows a single row with a former key.
    package init?(_ table: SchemaTable, formerKey key: [String], collations: [String]) {
        let present = table.primaryKey
        let isUnique = present.allSatisfy { part in key.contains { equalNames($0, part) } }
        if isUnique { return nil }
        self.table = table.quotedName
        self.key = key.enumerated().map { place, name in
            (name, place < collations.count ? collations[place] : table.column(name)?.collation ?? "BINARY")
        }
        var order: [Term] = []
        for part in present where !key.contains(where: { equalNames($0, part) }) {
            guard let standard = table.column(part)?.defaultSQL, DefaultText.isSteady(standard) else { continue }
            order.append(.isOther(column: part, standard: standard))
        }
        let rowID = table.isWithoutRowID ? nil : rowIDNames(besides: table.columns.map(\.name)).first
        order += rowID.map { [.column($0)] } ?? present.map { .column($0) }
        self.order = order
    }

    /// The condition for a row that no other row with its former key precedes.
    /// - Parameter row: the row's name: an alias, OLD or NEW.
    func isFirst(_ row: String) -> String {
        // The index has the column's own collation.
        let same = key.map { name, collation in
            let pair = ["other.\(quoted(name))", "\(row).\(quoted(name))"]
            return "\(pair[0]) = \(pair[1]) AND \(pair[0]) COLLATE \(quoted(collation)) = \(pair[1])"
        }.joined(separator: " AND ")
        return "NOT EXISTS (SELECT 1 FROM \(table) AS other WHERE \(same) AND (\(terms("other"))) < (\(terms(row))))"
    }

    private func terms(_ row: String) -> String {
        order.map { term in
            switch term {
            case .column(let name): "\(row).\(quoted(name))"
            case .isOther(let column, let standard): "\(row).\(quoted(column)) IS NOT (\(standard))"
            }
        }.joined(separator: ", ")
    }

    /// The rows of the former generation, as a table of a FROM clause.
    var source: String { "(SELECT * FROM \(table) AS former WHERE \(isFirst("former")))" }
}
