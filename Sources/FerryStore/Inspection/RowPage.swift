import FerryCore
import FerrySQL
import FerrySchema

/// A page of the rows that a travelling table shows, in the order of their keys.
package struct RowPage: Equatable, Sendable {
    /// A value as a list shows it.
    package struct Cell: Equatable, Sendable {
        /// The value, or its beginning.
        package var value: FieldValue
        /// The length of the whole value, in characters of a text or bytes of a blob, if `value` is only the beginning.
        package var wholeLength: Int?

        package init(value: FieldValue, wholeLength: Int? = nil) {
            self.value = value
            self.wholeLength = wholeLength
        }
    }

    package struct Row: Equatable, Sendable {
        package var key: [FieldValue]
        /// In the order of `columns`.
        package var cells: [Cell]
    }

    /// The table's name in this database.
    package var table: String
    package var keyColumns: [String]
    /// The columns of the page; a wide table has more.
    package var columns: [String]
    /// The number of columns that the page leaves out.
    package var furtherColumns: Int
    package var rows: [Row]
    /// The key behind which the next page begins; `nil` at the end of the table.
    package var next: [FieldValue]?
    /// The number of rows that were looked at.
    package var searched: Int
}

/// Reads pages of a table's rows. A page costs a bounded number of rows, whatever is searched for, so that no read is long.
struct RowPager {
    /// The most columns of a page.
    static let maximumColumns = 40
    /// The most characters of a text, and bytes of a blob, on a page.
    static let maximumLength = 200
    /// The most rows that a page looks at. A search goes on with the next page.
    static let maximumSearched = 20_000

    private let connection: SQLConnection
    private let table: TrackedTable
    private let columns: [String]
    private let shown: ArraySlice<String>

    init(_ access: StoreAccess, _ table: TrackedTable) {
        connection = access.connection
        self.table = table
        let key = table.isMapped ? table.keyColumns : []
        columns = key + table.localColumns.map(\.name) + table.generatedColumns.map(\.name)
        shown = columns.prefix(Self.maximumColumns)
    }

    /// - Parameters:
    ///   - key: the key behind which the page begins; `nil` for the first page.
    ///   - search: only rows with this text in any column, whatever the case of ASCII letters; empty for all rows.
    ///   - limit: the maximum number of rows.
    /// - Throws: `invalidArgument` for a key of another width.
    func page(after key: [FieldValue]?, search: String, limit: Int) throws -> RowPage {
        var page = RowPage(
            table: table.localName, keyColumns: table.keyColumns, columns: Array(shown),
            furtherColumns: columns.count - shown.count, rows: [], searched: 0)
        guard table.isLocal else { return page }
        if let key, key.count != table.keyColumns.count || key.contains(where: { !$0.isOfSQLite }) {
            throw FerryError(.invalidArgument, "That is no place in \(table.localName). Begin at the first page.")
        }
        let wanted = search.isEmpty ? [] : [FieldValue.text(search)]
        let most = search.isEmpty ? limit : Self.maximumSearched
        let statement = try connection.prepare(text(isAfter: key != nil, isSearch: !search.isEmpty))
        defer { statement.reset() }
        // One row more tells whether there is another page.
        let values = (key ?? []) + wanted + [.integer(Int64(most) + 1)]
        for (index, value) in values.enumerated() { statement.bind(value, Int32(index + 1)) }
        let width = Int32(table.keyColumns.count)
        var last: [FieldValue]?
        while try statement.step() {
            if page.searched == most || page.rows.count == limit {
                page.next = last
                break
            }
            page.searched += 1
            let found = (0..<width).map { statement.value($0) }
            last = found
            if statement.int(width) != 0 { page.rows.append(RowPage.Row(key: found, cells: cells(statement))) }
        }
        return page
    }

    private func cells(_ statement: SQLStatement) -> [RowPage.Cell] {
        let first = Int32(table.keyColumns.count) + 1
        return shown.indices.map { index in
            let place = first + Int32(index) * 2
            let value = statement.value(place)
            if statement.isNull(place + 1) { return Self.cell(value) }
            return RowPage.Cell(value: value, wholeLength: statement.int(place + 1))
        }
    }

    /// A cell of a value that SQLite gave as it is. A long text among these has a NUL.
    private static func cell(_ value: FieldValue) -> RowPage.Cell {
        guard case .text(let text) = value, text.count > maximumLength else { return RowPage.Cell(value: value) }
        // A character is a byte that continues none in UTF-8, as SQLite counts.
        var (length, end) = (0, text.endIndex)
        for place in text.indices where text[place] & 0xC0 != 0x80 {
            if length == maximumLength { end = place }
            length += 1
        }
        if length <= maximumLength { return RowPage.Cell(value: value) }
        return RowPage.Cell(value: .text(text[..<end]), wholeLength: length)
    }

    /// The key's columns, compared as the key compares them.
    private var keyTerms: [String] {
        table.keyColumns.enumerated().map { place, name in
            guard !table.isMapped, place < table.keyCollations.count else { return quoted(name) }
            return "\(quoted(name)) COLLATE \(quoted(table.keyCollations[place]))"
        }
    }

    private func text(isAfter: Bool, isSearch: Bool) -> String {
        let width = table.keyColumns.count
        let terms = keyTerms.joined(separator: ", ")
        var conditions = table.keyColumns.map { "\(quoted($0)) IS NOT NULL" }
        if isAfter {
            let places = (1...width).map { "?\($0)" }.joined(separator: ", ")
            conditions.append(width == 1 ? "\(terms) > ?1" : "(\(terms)) > (\(places))")
        }
        let first = isAfter ? width + 1 : 1
        let match = isSearch ? columns.map { Self.match($0, parameter: first) }.joined(separator: " OR ") : "1"
        let cells = shown.map { name in
            let column = quoted(name)
            // SQLite's substr() and length() end a text at a NUL (https://www.sqlite.org/nulinstr.html); instr() does not. Of an empty
            // blob substr() makes NULL.
            let isPlain =
                "typeof(\(column)) = 'blob' AND length(\(column)) > 0 OR typeof(\(column)) = 'text' AND instr(\(column), char(0)) = 0"
            return """
                CASE WHEN \(isPlain) THEN substr(\(column), 1, \(Self.maximumLength)) ELSE \(column) END,
                CASE WHEN (\(isPlain)) AND length(\(column)) > \(Self.maximumLength) THEN length(\(column)) END
                """
        }
        return """
            SELECT \(table.keyList), \(match), \(cells.joined(separator: ", ")) FROM \(table.quotedName)
            WHERE \(conditions.joined(separator: " AND ")) ORDER BY \(terms) LIMIT ?\(isSearch ? first + 1 : first)
            """
    }

    /// SQLite's LIKE ends a text at a NUL, and instr() does not. Both take ASCII's letters for equal, here by lower().
    private static func match(_ column: String, parameter: Int) -> String {
        "ifnull(typeof(\(quoted(column))) <> 'blob' AND instr(lower(\(quoted(column))), lower(?\(parameter))) > 0, 0)"
    }
}

extension FieldValue {
    /// True for a value that SQLite can compare with a column: references are objects.
    fileprivate var isOfSQLite: Bool {
        switch self {
        case .null, .reference: false
        default: true
        }
    }
}
