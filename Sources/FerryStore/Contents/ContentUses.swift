import FerryCore
import FerrySQL
import FerrySchema

/// Which contents something uses: versions of documents, and columns of the app's that hold IDs of contents.
struct ContentUses {
    private let connection: SQLConnection
    private let registry: Registry

    init(_ access: StoreAccess) {
        connection = access.connection
        registry = access.registry
    }

    /// The declared columns that this database has, as they are named here.
    func attachmentColumns() throws -> [(table: String, column: String)] {
        try connection.rows("SELECT target FROM ferry_attachment ORDER BY target").compactMap { row in
            guard let target = AttachmentTarget(row[0].text), let table = registry.table(called: target.table),
                table.isLocal, let column = table.localColumn(called: target.column)
            else { return nil }
            return (table.quotedName, quoted(column.presentName ?? column.name))
        }
    }

    /// The contents that columns of the app's refer to, each once. Contents without a row are left out.
    func attached() throws -> [ContentID] {
        var found: Set<ContentID> = []
        for (table, column) in try attachmentColumns() {
            try connection.forEachRow("SELECT id FROM ferry_content WHERE id IN (SELECT \(column) FROM \(table))", []) {
                if let id: ContentID = $0.id(0) { found.insert(id) }
            }
        }
        return found.sorted()
    }

    /// The contents that somebody may want to open: of current versions and rivals, and of attachments. Pinned ones always, others
    /// up to a length.
    /// - Parameters:
    ///   - maximumBytes: longer contents are passed over; `nil` for all.
    ///   - includingWhole: true for those, too, that are known to be whole here.
    func wanted(maximumBytes: Int?, includingWhole: Bool) throws -> [WantedContent] {
        var sources = ["SELECT content AS id FROM ferry_version WHERE superseded IS NOT 1 AND content IS NOT NULL"]
        for (table, column) in try attachmentColumns() {
            sources.append("SELECT \(column) FROM \(table) WHERE typeof(\(column)) = 'blob' AND length(\(column)) = 16")
        }
        let whole = includingWhole ? "" : "AND coalesce(s.whole, 0) = 0"
        var found: [WantedContent] = []
        try connection.forEachRow(
            """
            SELECT c.id, c.size, coalesce(s.pinned, 0), coalesce(s.whole, 0), s.used NOT NULL AND s.reason IS NULL,
                substr(c.list, 1, 1) = x'00'
            FROM ferry_content AS c LEFT JOIN ferry_content_state AS s ON s.content = c.id
            WHERE \(ContentRows.hasSize("c.size")) AND (c.size <= ?1 OR s.pinned) \(whole)
                AND c.id IN (\(sources.joined(separator: " UNION ALL "))) ORDER BY c.size, c.id
            """, [.integer(Int64(maximumBytes ?? .max))]
        ) { row in
            guard let id: ContentID = row.id(0) else { return }
            found.append(
                WantedContent(
                    content: id, byteCount: row.int(1), isPinned: row.int(2) != 0, isWhole: row.int(3) != 0,
                    isEvicted: row.int(2) == 0 && row.int(3) == 0 && row.int(4) != 0, isInRow: row.int(5) != 0))
        }
        return found
    }
}

/// A content that somebody may want to open.
package struct WantedContent: Hashable, Sendable {
    package let content: ContentID
    package let byteCount: Int
    package let isPinned: Bool
    /// Whether the content was whole here when it was last looked at.
    package let isWhole: Bool
    /// Whether the content was here and went, because somebody wanted the room. It comes back on request alone.
    package let isEvicted: Bool
    /// Whether the bytes stand in the row, so that nothing is to be fetched before somebody opens the content.
    package let isInRow: Bool
}

/// A column of the app's that holds IDs of contents: `photo.image`.
package struct AttachmentTarget: Hashable, Sendable {
    @ComparedByBytes package private(set) var table: String
    @ComparedByBytes package private(set) var column: String

    package init(table: String, column: String) {
        self.table = table
        self.column = column
    }

    /// Reads `table.column`; `nil` for any other text.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
        self.init(table: parts[0], column: parts[1])
    }

    package var text: String { "\(table).\(column)" }
}

extension TrackedTable {
    /// The column of the local table that a declaration means: the one that travels under that name, the one of that name, or the
    /// one that took its place in a migration.
    func localColumn(called name: String) -> TrackedColumn? {
        let local = columns.filter(\.isLocal)
        if let column = local.first(where: { equalNames($0.baseName, name) })
            ?? local.first(where: { equalNames($0.presentName ?? $0.name, name) })
        {
            return column
        }
        guard let number = columnID(name) else { return nil }
        return local.first { isPrecursor(number, of: $0.id) }
    }

    /// Whether a column took another one's place, perhaps by way of others.
    private func isPrecursor(_ former: Int, of column: Int) -> Bool {
        var (next, seen): ([Int], Set<Int>) = (columns[column].precursors, [column])
        while let number = next.popLast() {
            if number == former { return true }
            if columns.indices.contains(number), seen.insert(number).inserted { next += columns[number].precursors }
        }
        return false
    }
}
