import FerryCore
import FerrySQL

/// Ferry's tables for contents and documents (Docs/Architecture/store-tables.md, "Contents and documents").
///
/// A store has them from the first content on, its own or another device's. So a database without documents has none of their
/// tables and triggers. An app may have a table by one of these names: the columns tell both apart.
package enum DocumentTables {
    /// The tables that travel like the app's.
    static let createTravelling = """
        CREATE TABLE ferry_content(
            id BLOB PRIMARY KEY NOT NULL, size INTEGER NOT NULL, list BLOB NOT NULL, epoch BLOB);
        CREATE TABLE ferry_pack(
            id BLOB PRIMARY KEY NOT NULL, device BLOB NOT NULL, bytes INTEGER NOT NULL, list BLOB NOT NULL, epoch BLOB);
        CREATE TABLE ferry_document(
            id BLOB PRIMARY KEY NOT NULL,
            folder BLOB REFERENCES ferry_document(id) DEFERRABLE INITIALLY DEFERRED,
            name TEXT NOT NULL, kind INTEGER NOT NULL, named INTEGER) WITHOUT ROWID;
        CREATE INDEX ferry_document_place ON ferry_document(folder, name);
        CREATE TABLE ferry_version(
            id BLOB PRIMARY KEY NOT NULL,
            document BLOB NOT NULL REFERENCES ferry_document(id) DEFERRABLE INITIALLY DEFERRED,
            content BLOB REFERENCES ferry_content(id) DEFERRABLE INITIALLY DEFERRED,
            supersedes BLOB, superseded INTEGER, made INTEGER, device BLOB, modified INTEGER, mode INTEGER) WITHOUT ROWID;
        CREATE INDEX ferry_version_document ON ferry_version(document);
        CREATE INDEX ferry_version_content ON ferry_version(content);
        CREATE TABLE ferry_attachment(target TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID;
        CREATE TABLE ferry_document_setting(name TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;
        """

    /// The tables that stay on the device. All but choices of a person can be made again.
    static let createLocal = """
        -- Where each chunk lies, of all packs that have a row.
        CREATE TABLE ferry_chunk(
            chunk BLOB NOT NULL, pack BLOB NOT NULL, offset INTEGER NOT NULL, form INTEGER NOT NULL,
            stored INTEGER NOT NULL, size INTEGER NOT NULL, PRIMARY KEY(chunk, pack)) WITHOUT ROWID;
        CREATE INDEX ferry_chunk_pack ON ferry_chunk(pack);
        -- Which contents list a chunk.
        CREATE TABLE ferry_chunk_use(
            chunk BLOB NOT NULL, content BLOB NOT NULL, PRIMARY KEY(chunk, content)) WITHOUT ROWID;
        CREATE INDEX ferry_chunk_use_content ON ferry_chunk_use(content);
        -- The packs that ferry_chunk speaks of; a problem is the code for which a pack's list cannot be used.
        CREATE TABLE ferry_pack_local(pack BLOB PRIMARY KEY NOT NULL, problem TEXT) WITHOUT ROWID;
        -- The contents that ferry_chunk_use speaks of; a problem is the code for which a content's list cannot be used.
        CREATE TABLE ferry_content_local(content BLOB PRIMARY KEY NOT NULL, problem TEXT) WITHOUT ROWID;
        -- What a person chose, whether a content is whole beside the database, when it was last used, why it cannot be fetched
        -- (a code of FerryError, a file, a device), and since when. Times in milliseconds.
        CREATE TABLE ferry_content_state(
            content BLOB PRIMARY KEY NOT NULL, pinned INTEGER NOT NULL DEFAULT 0, whole INTEGER NOT NULL DEFAULT 0,
            used INTEGER, reason TEXT, file TEXT, device BLOB, since INTEGER) WITHOUT ROWID;
        CREATE TABLE \(unused)
        """

    /// Contents that nothing uses on this device, with the time since when, in milliseconds.
    private static let unused =
        "ferry_content_unused(content BLOB PRIMARY KEY NOT NULL, since INTEGER NOT NULL) WITHOUT ROWID;"

    /// Makes the table of unused contents in a store whose tables were made before there was one.
    package static let createUnused = "CREATE TABLE IF NOT EXISTS \(unused)"

    /// The tables of mirrors, which stay on the device. A store has them from its first mirror on.
    package static let createMirrors = """
        -- The directories that are kept in step, what to do where a file and a document meet (`prefer`), how many deletions wait for a
        -- person's word, since when, and why the last pass failed: a code of FerryError, and its arguments (FailureNote).
        CREATE TABLE ferry_mirror(
            id BLOB PRIMARY KEY NOT NULL, directory TEXT NOT NULL, prefer TEXT NOT NULL, held INTEGER NOT NULL DEFAULT 0,
            since INTEGER, code TEXT, problem TEXT) WITHOUT ROWID;
        -- Which version lies at which path, and how the disk looked then. `rival` is empty for a document's own file. Times of files in
        -- nanoseconds, `missing` in milliseconds.
        CREATE TABLE ferry_mirror_entry(
            mirror BLOB NOT NULL, document BLOB NOT NULL, rival BLOB NOT NULL, path TEXT NOT NULL, kind INTEGER NOT NULL,
            version BLOB NOT NULL, content BLOB NOT NULL, device INTEGER, inode INTEGER, born INTEGER, size INTEGER,
            modified INTEGER, changed INTEGER, executable INTEGER, missing INTEGER,
            PRIMARY KEY(mirror, document, rival)) WITHOUT ROWID;
        -- What the last pass of each mirror left: how many documents are not written, because their bytes are not here (`absent`) or
        -- something stands in their place (`blocked`), how many have rivals, the first of the blocked ones as JSON, and the first names that are not UTF-8.
        CREATE TABLE \(standings)
        """

    private static let standings =
        "ferry_mirror_standing(mirror BLOB PRIMARY KEY NOT NULL, absent INTEGER NOT NULL, rivals INTEGER NOT NULL, "
        + "blocked INTEGER NOT NULL, named TEXT NOT NULL, unreadable TEXT NOT NULL) WITHOUT ROWID;"

    package static let content = "ferry_content"
    package static let pack = "ferry_pack"
    package static let document = "ferry_document"
    package static let version = "ferry_version"
    package static let attachment = "ferry_attachment"
    package static let setting = "ferry_document_setting"

    /// How rows of the travelling tables are identified.
    package static let identities: [String: TableIdentity] = [
        content: .key(["id"]), pack: .key(["id"]), document: .key(["id"]), version: .key(["id"]),
        attachment: .key(["target"]), setting: .key(["name"]),
    ]

    /// The columns of each travelling table.
    private static let columns: [String: Set<String>] = [
        content: ["id", "size", "list", "epoch"], pack: ["id", "device", "bytes", "list", "epoch"],
        document: ["id", "folder", "name", "kind", "named"],
        version: ["id", "document", "content", "supersedes", "superseded", "made", "device", "modified", "mode"],
        attachment: ["target"], setting: ["name", "value"],
    ]

    /// The names of all tables.
    static let names = OwnNames.tables(in: createTravelling + "\n" + createLocal + "\n" + createMirrors)

    /// Whether a table is one of the travelling tables: by name and by columns. Another table by the name is the app's.
    package static func isTravelling(_ name: String, columns present: some Sequence<String>) -> Bool {
        guard let columns = columns[name] else { return false }
        return columns.isSubset(of: present.map(foldedName))
    }

    /// True if a travelling name is one of these tables'.
    package static func contains(_ name: String) -> Bool { columns[name] != nil }

    /// The tables whose conflicts say nothing to a person: only names and places of documents are told.
    package static let silent = [content, pack, version, attachment, setting]

    /// True if a store has these tables.
    package static func areMade(_ meta: MetaTable) throws -> Bool { try meta.integer(.documents) != nil }

    /// Makes the tables. The caller makes their triggers.
    /// - Throws: `unsupportedTable` where the app has a table, a view or an index by one of the names.
    package static func make(_ meta: MetaTable) throws {
        if let taken = try nameInTheWay(meta.connection) {
            throw FerryError(
                .unsupportedTable,
                "The database has “\(taken)” of its own, and Ferry keeps documents under that name. Rename it first.")
        }
        try meta.connection.executeScript(createTravelling + "\n" + createLocal)
        try meta.set(.documents, 1)
    }

    /// True if a store has the tables of mirrors.
    package static func areMirrorsMade(_ connection: SQLConnection) throws -> Bool {
        try areMade(MetaTable(connection: connection))
            && connection.count("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'ferry_mirror'")
                != 0
    }

    /// The contents in files of mirrors, as the mirrors last saw the files. Somebody may have changed a file since.
    package static func mirroredContents(_ connection: SQLConnection) throws -> Set<ContentID> {
        guard try areMirrorsMade(connection) else { return [] }
        var found: Set<ContentID> = []
        try connection.forEachRow(
            "SELECT DISTINCT content FROM ferry_mirror_entry WHERE kind = 0 AND missing IS NULL"
        ) { if let id: ContentID = $0.id(0) { found.insert(id) } }
        return found
    }

    /// The paths of the mirrors' files with a content.
    package static func mirrorFiles(of content: ContentID, _ connection: SQLConnection) throws -> [String] {
        guard try areMirrorsMade(connection) else { return [] }
        return try connection.rows(
            """
            SELECT m.directory || '/' || e.path FROM ferry_mirror_entry AS e JOIN ferry_mirror AS m ON m.id = e.mirror
            WHERE e.content = ? AND e.kind = 0 AND e.missing IS NULL ORDER BY 1
            """, .blob(content.bytes[...])
        ).map { $0[0].text }
    }

    /// True if a store has the table of what mirrors left.
    package static func areMirrorStandingsMade(_ connection: SQLConnection) throws -> Bool {
        try connection.count(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'ferry_mirror_standing'") != 0
    }

    /// Makes the tables of mirrors, in a store that has those of documents. A store whose tables were made earlier may lack one.
    package static func makeMirrors(_ connection: SQLConnection) throws {
        if try areMirrorsMade(connection) {
            try connection.executeScript("CREATE TABLE IF NOT EXISTS \(standings)")
        } else {
            try connection.executeScript(createMirrors)
        }
    }

    /// A name of these tables that the app uses; `nil` without any.
    package static func nameInTheWay(_ connection: SQLConnection) throws -> String? {
        try connection.rows("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view', 'index')").map {
            $0[0].text
        }
        .first { names.contains(foldedName($0)) }
    }
}
