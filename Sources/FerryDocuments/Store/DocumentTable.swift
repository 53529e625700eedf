import FerryCore
import FerrySQL
import FerryStore

/// The rows of documents and versions (`ferry_document`, `ferry_version`): read, and written as an app writes.
package struct DocumentTable {
    private let connection: SQLConnection

    /// - Parameter connection: of a store with the document tables.
    package init(_ connection: SQLConnection) { self.connection = connection }

    // MARK: Reading

    /// All documents. Rows in a form which no Ferry writes are passed over.
    package func documents() throws -> [DocumentRow] {
        var rows: [DocumentRow] = []
        try connection.forEachRow("SELECT id, folder, name, kind, named FROM ferry_document") { row in
            if let document = Self.document(row) { rows.append(document) }
        }
        return rows
    }

    /// A document's row; `nil` for an unknown document.
    package func document(_ id: DocumentID) throws -> DocumentRow? {
        var found: DocumentRow?
        try connection.forEachRow(
            "SELECT id, folder, name, kind, named FROM ferry_document WHERE id = ?", [.blob(id.bytes[...])]
        ) { found = Self.document($0) }
        return found
    }

    /// Whether a row has an ID.
    package func isTaken(_ id: DocumentID) throws -> Bool {
        try connection.count("SELECT EXISTS(SELECT 1 FROM ferry_document WHERE id = ?)", .blob(id.bytes[...])) != 0
    }

    private static func document(_ row: SQLStatement) -> DocumentRow? {
        guard let id: DocumentID = row.id(0), let kind = DocumentKind(rawValue: row.int(3)) else { return nil }
        return DocumentRow(
            id: id, folder: row.id(1), name: row.string(2), kind: kind,
            namedMilliseconds: row.isNull(4) ? nil : row.integer(4))
    }

    private static let versionColumns = "id, document, content, supersedes, superseded, made, device, modified, mode"

    /// All versions. Rows in a form which no Ferry writes are passed over.
    package func versions() throws -> [VersionRow] { try versions("", []) }

    /// The versions of a document.
    package func versions(of document: DocumentID) throws -> [VersionRow] {
        try versions(" WHERE document = ?", [.blob(document.bytes[...])])
    }

    private func versions(_ condition: String, _ values: [FieldValue]) throws -> [VersionRow] {
        var rows: [VersionRow] = []
        try connection.forEachRow("SELECT \(Self.versionColumns) FROM ferry_version\(condition)", values) { row in
            guard let id: VersionID = row.id(0), let document: DocumentID = row.id(1),
                row.isNull(2) || (row.id(2) as ContentID?) != nil
            else { return }
            rows.append(
                VersionRow(
                    id: id, document: document, content: row.id(2), supersedes: Self.superseded(row.value(3)),
                    isSuperseded: row.int(4) != 0, madeMilliseconds: row.integer(5), device: row.id(6),
                    modifiedMicroseconds: row.integer(7), mode: row.integer(8)))
        }
        return rows
    }

    /// The versions named by a column, in order.
    private static func superseded(_ value: FieldValue) -> [VersionID] {
        guard case .blob(let bytes) = value, bytes.count % 16 == 0 else { return [] }
        return stride(from: bytes.startIndex, to: bytes.endIndex, by: 16).compactMap {
            VersionID(bytes: bytes[$0..<$0 + 16])
        }
    }

    /// The length of each content.
    package func sizes() throws -> [ContentID: Int] {
        var sizes: [ContentID: Int] = [:]
        try connection.forEachRow("SELECT id, size FROM ferry_content WHERE \(ContentRows.hasSize("size"))") { row in
            if let id: ContentID = row.id(0) { sizes[id] = row.int(1) }
        }
        return sizes
    }

    /// Numbers that describe the visible documents and versions. Every visible change alters at least one of the
    /// numbers.
    package func fingerprint() throws -> [Int64] {
        var numbers: [Int64] = []
        let queries = [
            "SELECT count(*), coalesce(sum(named), 0), coalesce(sum(length(name)), 0), count(folder) FROM ferry_document",
            "SELECT count(*), coalesce(sum(superseded), 0), coalesce(max(made), 0), count(content) FROM ferry_version",
        ]
        for query in queries {
            try connection.forEachRow(query) { row in
                for column in Int32(0)..<4 { numbers.append(row.integer(column)) }
            }
        }
        return numbers
    }

    // MARK: Writing

    /// Carries a change out. The contents of the change's versions must have their rows.
    package func apply(_ change: DocumentChange) throws {
        for document in change.documents { try insert(document) }
        for version in change.versions { try insert(version) }
        for version in change.superseded.sorted() {
            try connection.execute(
                "UPDATE ferry_version SET superseded = 1 WHERE id = ? AND superseded IS NOT 1",
                .blob(version.bytes[...]))
        }
    }

    private func insert(_ document: DocumentRow) throws {
        try connection.execute(
            "INSERT OR IGNORE INTO ferry_document(id, folder, name, kind, named) VALUES (?, ?, ?, ?, ?)",
            .blob(document.id.bytes[...]), document.folder.value(), .text(document.name),
            .integer(Int64(document.kind.rawValue)), document.namedMilliseconds.map { .integer($0) } ?? .null)
    }

    private func insert(_ version: VersionRow) throws {
        let supersedes = version.supersedes.flatMap(\.bytes)
        try connection.execute(
            """
            INSERT OR IGNORE INTO ferry_version(\(Self.versionColumns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, .blob(version.id.bytes[...]), .blob(version.document.bytes[...]), version.content.value(),
            supersedes.isEmpty ? .null : .blob(supersedes[...]), .integer(version.isSuperseded ? 1 : 0),
            .integer(version.madeMilliseconds), version.device.value(), .integer(version.modifiedMicroseconds),
            .integer(version.mode))
    }

    /// Moves or renames a document.
    package func place(_ id: DocumentID, in folder: DocumentID?, as name: String, atMilliseconds now: Int64) throws {
        try connection.execute(
            "UPDATE ferry_document SET folder = ?, name = ?, named = ? WHERE id = ?", folder.value(), .text(name),
            .integer(now), .blob(id.bytes[...]))
    }

    /// Removes expired documents and versions.
    func remove(_ plan: DocumentRetention.Plan) throws {
        for version in plan.superseded {
            try connection.execute(
                "UPDATE ferry_version SET superseded = 1 WHERE id = ? AND superseded IS NOT 1",
                .blob(version.bytes[...]))
        }
        for version in plan.versions {
            try connection.execute("DELETE FROM ferry_version WHERE id = ?", .blob(version.bytes[...]))
        }
        for document in plan.documents {
            try connection.execute("DELETE FROM ferry_document WHERE id = ?", .blob(document.bytes[...]))
        }
    }
}

extension Optional {
    /// The ID as a value of a row; NULL for `nil`.
    fileprivate func value<Kind>() -> FieldValue where Wrapped == UniqueID<Kind> {
        map { .blob($0.bytes[...]) } ?? .null
    }
}
