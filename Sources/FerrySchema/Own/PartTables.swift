import FerryCore
import FerrySQL

/// Ferry's table for the parts of large values (Docs/Architecture/store-tables.md, "Between the app and the log"). A store has the
/// table from its first large value on.
package enum PartTables {
    /// The parts to which this device's segments refer: by the segment's first and last changeset. The bytes stay here until they are
    /// in the container.
    private static let create = """
        CREATE TABLE ferry_part(
            first INTEGER NOT NULL, last INTEGER NOT NULL, checksum BLOB NOT NULL, bytes BLOB,
            UNIQUE(first, last, checksum));
        """

    static let names: Set<String> = OwnNames.tables(in: create)

    package static func areMade(_ meta: MetaTable) throws -> Bool { try meta.integer(.parts) != nil }

    /// Makes the table, unless it is there.
    /// - Throws: `unsupportedTable` where the app has a table, a view or an index by the name.
    package static func make(_ meta: MetaTable) throws {
        if try areMade(meta) { return }
        for row in try meta.connection.rows("SELECT name FROM sqlite_schema WHERE name = 'ferry_part' COLLATE NOCASE") {
            throw FerryError(
                .unsupportedTable,
                "The database has “\(row[0].text)” of its own, and Ferry keeps parts of large values under that name. Rename it "
                    + "first.")
        }
        let before = try schemaVersion(meta)
        try meta.connection.executeScript(create)
        try meta.set(.parts, 1)
        // The app's schema is as it was.
        if try meta.integer(.schemaVersion) == before { try meta.set(.schemaVersion, schemaVersion(meta)) }
    }

    private static func schemaVersion(_ meta: MetaTable) throws -> Int64 {
        Int64(try meta.connection.count("PRAGMA schema_version"))
    }
}
