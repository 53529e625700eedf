import FerryContent
import FerryCore
import FerryEngine
import FerrySQL
import FerryStore

/// The bytes of a version, in a file beside the database.
package struct OpenedFile: Sendable {
    let held: HeldContent
    package let version: VersionID
    package let isExecutable: Bool
    package let modifiedMicroseconds: Int64

    package var path: String { held.path }
}

/// Bytes of documents, and columns of the app with references to contents.
extension DocumentAccess {
    /// A read-only file beside the database, with a document's shown version or any given version. Nobody in this process evicts the file
    /// while the result is held.
    /// - Throws: `contentNotHere`, `contentLost`; `nothingFound` for a deletion or an unknown version; `invalidArgument` for a folder.
    package func file(
        of document: DocumentID, version: VersionID? = nil, progress: ((Int) throws -> Void)? = nil
    ) throws -> OpenedFile {
        guard try store.hasDocumentTables() else {
            throw FerryError(.nothingFound, "The database has no documents.")
        }
        let versions = try store.read { connection in
            try Self.refuseFolder(document, DocumentTable(connection))
            return try DocumentTable(connection).versions(of: document)
        }
        let row = version.map { id in versions.first { $0.id == id } } ?? DocumentLeaves(versions).current
        guard let row, let content = row.content else {
            throw FerryError(.nothingFound, "The document has no such version with content.")
        }
        return OpenedFile(
            held: try replica.heldContent(content, progress: progress), version: row.id,
            isExecutable: row.mode & 1 != 0,
            modifiedMicroseconds: row.modifiedMicroseconds)
    }

    /// A folder has no bytes that anybody could see.
    /// - Throws: `invalidArgument` for a folder.
    static func refuseFolder(_ document: DocumentID, _ table: DocumentTable) throws {
        guard let row = try table.document(document), row.kind == .folder else { return }
        throw FerryError(.invalidArgument, "“\(row.name)” is a folder, and has no bytes. Name a document.")
    }

    // MARK: Attachments

    /// The columns with IDs of contents, as `table.column`.
    package func attachments() throws -> [String] {
        guard try store.hasDocumentTables() else { return [] }
        return try store.read { connection in
            try connection.rows("SELECT target FROM ferry_attachment ORDER BY target").map { $0[0].text }
        }
    }

    /// Declares a column with IDs of contents, on all devices. Contents named by such a column are kept and fetched.
    /// - Throws: `invalidArgument` for a local table, or for an unknown column.
    package func declareAttachments(_ table: String, _ column: String) throws {
        let called = AttachmentTarget(table: table, column: column)
        guard let target = try store.attachmentTarget(called) else {
            throw FerryError(
                .invalidArgument,
                "No column “\(called.text)” travels from this database. Check the spelling; `ferry status` lists the tables."
            )
        }
        try store.makeDocumentTables()
        try store.write { connection in
            try connection.execute("INSERT OR IGNORE INTO ferry_attachment(target) VALUES (?)", .text(target.text))
        }
    }

    /// Takes a declaration back.
    /// - Throws: `nothingFound` for an undeclared column.
    package func withdrawAttachments(_ table: String, _ column: String) throws {
        let target = AttachmentTarget(table: table, column: column)
        var count = 0
        if try store.hasDocumentTables() {
            let travelling = try store.attachmentTarget(target) ?? target
            count = try store.write { connection in
                try connection.execute(
                    "DELETE FROM ferry_attachment WHERE target IN (?, ?)", .text(target.text), .text(travelling.text))
                return connection.changedRowCount
            }
        }
        if count == 0 {
            throw FerryError(.nothingFound, "The column “\(target.text)” was not declared for attachments.")
        }
    }
}
