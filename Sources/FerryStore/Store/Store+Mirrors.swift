import FerryCore
import FerrySQL
import FerrySchema

/// Mirrors: directories that are kept in step with documents (Docs/Documents.md).
extension Store {
    /// True if the store has, or had, a mirror.
    package func hasMirrorTables() throws -> Bool { try read { try DocumentTables.areMirrorsMade($0) } }

    /// True if the store has the table of what the passes of mirrors left.
    package func hasMirrorStandings() throws -> Bool { try read { try DocumentTables.areMirrorStandingsMade($0) } }

    /// Makes the tables of mirrors, and those of documents, where the store has none.
    /// - Throws: as `makeDocumentTables`.
    package func makeMirrorTables() throws {
        try makeDocumentTables()
        try writeAsFerry { connection in
            try DocumentTables.makeMirrors(connection)
            return ((), [])
        }
    }
}
