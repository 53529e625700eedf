import FerryCore

/// Ferry's tables in the app's database (Docs/Architecture/store-tables.md).
package enum StoreTables {
    /// The version of these tables. A store of a different version is upgraded or refused.
    package static let version: Int64 = 8
    /// The earliest version upgraded in place: missing content is computed (`upgrade`).
    package static let earliestVersion: Int64 = 6

    /// - Throws: `storeTooOld` for tables of a version too old to upgrade. (`Store.identity` refuses tables of a newer
    ///   version.)
    package static func checkVersion(_ meta: MetaTable) throws {
        let present = try meta.integer(.version) ?? 0
        if present >= earliestVersion { return }
        throw FerryError(
            .storeTooOld,
            "An earlier Ferry keeps this database in another way (its tables have version \(present)). Run "
                + "`ferry leave`, then `ferry join` with `--match keys`.")
    }

    /// True if the store keeps row digests. A store of version 6 keeps none until the first write.
    package static func tellsRows(_ meta: MetaTable) throws -> Bool { try (meta.integer(.version) ?? 0) >= 7 }

    /// Upgrades tables of an earlier version. The caller computes the additional content.
    /// - Returns: the earlier version; `nil` if the tables are up to date.
    package static func upgrade(_ meta: MetaTable) throws -> Int64? {
        let present = try meta.integer(.version) ?? 0
        if present >= version { return nil }
        if present < 7 {
            try meta.connection.executeScript(
                """
                ALTER TABLE ferry_digest ADD COLUMN shown INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE ferry_digest ADD COLUMN exceptions INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE ferry_digest ADD COLUMN shape INTEGER;
                ALTER TABLE ferry_exception ADD COLUMN "check" INTEGER NOT NULL DEFAULT 0;
                """)
        }
        // Names were unique before. ALTER TABLE RENAME would fail if a view of the app is broken.
        try meta.connection.executeScript(
            """
            CREATE TEMP TABLE ferry_aside AS SELECT number, name, identity FROM ferry_table;
            DROP TABLE main.ferry_table;
            \(createTable);
            INSERT INTO ferry_table SELECT number, name, identity FROM temp.ferry_aside;
            DROP TABLE temp.ferry_aside;
            """)
        try meta.set(.version, version)
        return present
    }

    /// The registered tables: a row for each generation of each table (`Generations`).
    private static let createTable =
        "CREATE TABLE ferry_table(number INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, identity TEXT NOT NULL)"

    /// Counts the unresolved conflicts of each table, and lists them. The resolved ones are not read.
    static let createConflictIndex = """
        CREATE INDEX IF NOT EXISTS ferry_conflict_unresolved ON ferry_conflict("table", resolved) WHERE resolved IS NULL
        """

    /// What stores of sealed containers have besides.
    package static let createSealed = """
        -- The records of the membership that count here, each after the records that it follows.
        CREATE TABLE ferry_record(hash BLOB PRIMARY KEY NOT NULL, published INTEGER NOT NULL, bytes BLOB NOT NULL);
        -- What the names of this device's segments have in place of the checksum, and the epochs under which they are sealed.
        CREATE TABLE ferry_segment_name(
            first INTEGER NOT NULL, last INTEGER NOT NULL, name INTEGER NOT NULL, epoch BLOB NOT NULL,
            number INTEGER NOT NULL, PRIMARY KEY(first, last)) WITHOUT ROWID;
        """

    package static let create = """
        CREATE TABLE ferry_meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
        -- Every device of the container, this one included: what of its log is replayed here.
        CREATE TABLE ferry_device(
            number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, name TEXT NOT NULL,
            sequence INTEGER NOT NULL, time INTEGER NOT NULL, checksum BLOB,
            written INTEGER, heard INTEGER, retired INTEGER,
            code TEXT, problem TEXT, since INTEGER);
        -- What each author had seen of other logs, for telling concurrent writes from later ones.
        CREATE TABLE ferry_context(
            author INTEGER NOT NULL, other INTEGER NOT NULL, time INTEGER NOT NULL, seen INTEGER NOT NULL,
            PRIMARY KEY(author, other, time)) WITHOUT ROWID;
        \(createTable);
        CREATE TABLE ferry_column(
            "table" INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL COLLATE NOCASE,
            PRIMARY KEY("table", number), UNIQUE("table", name)) WITHOUT ROWID;
        -- For each table the sum of its objects' checks, and what it covers, the same of how they are shown, and the schema by
        -- which they are: what other devices' states and rows are compared by.
        CREATE TABLE ferry_digest(
            "table" INTEGER PRIMARY KEY, token INTEGER, columns TEXT NOT NULL, sum INTEGER NOT NULL,
            count INTEGER NOT NULL, shown INTEGER NOT NULL DEFAULT 0, exceptions INTEGER NOT NULL DEFAULT 0,
            shape INTEGER);
        -- What the triggers noted and no flush has packed yet.
        CREATE TABLE ferry_pending(
            sequence INTEGER PRIMARY KEY, "table" INTEGER NOT NULL, event INTEGER NOT NULL, mask INTEGER, at REAL,
            value, k0);
        -- Encoded segments that are not in the container yet.
        CREATE TABLE ferry_outbox(
            first INTEGER PRIMARY KEY, last INTEGER NOT NULL, changes INTEGER NOT NULL, checksum BLOB NOT NULL,
            bytes BLOB NOT NULL);
        -- This device's segments in the container; what is replaced by a larger one is removed later.
        CREATE TABLE ferry_segment(
            first INTEGER NOT NULL, last INTEGER NOT NULL, changes INTEGER NOT NULL, bytes INTEGER NOT NULL,
            checksum BLOB NOT NULL, time INTEGER NOT NULL, published INTEGER NOT NULL, replaced INTEGER,
            PRIMARY KEY(first, last)) WITHOUT ROWID;
        -- Objects whose rows are not simply what their state says: hidden, held back, or shown with cleared references.
        CREATE TABLE ferry_exception(
            "table" INTEGER NOT NULL, object BLOB NOT NULL, kind INTEGER NOT NULL, reason TEXT NOT NULL,
            "check" INTEGER NOT NULL DEFAULT 0, PRIMARY KEY("table", object)) WITHOUT ROWID;
        -- The tokens that exceptional objects refer to or claim, so that they are found when a token's owner changes.
        CREATE TABLE ferry_exception_token(
            token_table INTEGER NOT NULL, token BLOB NOT NULL, "table" INTEGER NOT NULL, object BLOB NOT NULL,
            PRIMARY KEY(token_table, token, "table", object)) WITHOUT ROWID;
        CREATE INDEX ferry_exception_token_object ON ferry_exception_token("table", object);
        -- Objects that are shown by the row of another one, and the keys under which a row is shown that has another.
        CREATE TABLE ferry_joined(
            "table" INTEGER NOT NULL, object BLOB NOT NULL, representative BLOB NOT NULL, alias INTEGER NOT NULL,
            PRIMARY KEY("table", object)) WITHOUT ROWID;
        CREATE INDEX ferry_joined_representative ON ferry_joined("table", representative);
        CREATE TABLE ferry_conflict(
            number INTEGER PRIMARY KEY, "table" INTEGER NOT NULL, object BLOB NOT NULL, "column" INTEGER,
            kind TEXT NOT NULL, lost_value BLOB, lost_device INTEGER NOT NULL, lost_time INTEGER NOT NULL,
            kept_value BLOB, kept_device INTEGER NOT NULL, kept_time INTEGER NOT NULL, noticed INTEGER NOT NULL,
            resolved INTEGER, UNIQUE("table", object, "column", kind, lost_device, lost_time));
        \(createConflictIndex);
        -- While a snapshot is read in: objects that it does not have and perhaps should.
        CREATE TABLE ferry_absent(
            "table" INTEGER NOT NULL, object BLOB NOT NULL, PRIMARY KEY("table", object)) WITHOUT ROWID;
        -- For the app's own triggers: whether Ferry is writing what other devices did.
        CREATE TABLE ferry_replay(active INTEGER NOT NULL);
        INSERT INTO ferry_replay VALUES (0);
        -- The policies of tables, indexes and columns: an ordinary table that travels like the app's.
        CREATE TABLE ferry_policy(target TEXT PRIMARY KEY NOT NULL, policy TEXT NOT NULL) WITHOUT ROWID;
        -- Those of them that the state and the rows are in line with: stays on this device.
        CREATE TABLE ferry_policy_applied(target TEXT PRIMARY KEY NOT NULL, policy TEXT NOT NULL) WITHOUT ROWID;
        -- The key-value store: ordinary tables that travel like the app's.
        CREATE TABLE ferry_kv_value(key TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;
        CREATE TABLE ferry_kv_member(
            "set" TEXT NOT NULL, member TEXT NOT NULL, PRIMARY KEY("set", member)) WITHOUT ROWID;
        CREATE TABLE ferry_kv_counter(
            counter TEXT NOT NULL, device BLOB NOT NULL, amount INTEGER NOT NULL,
            PRIMARY KEY(counter, device)) WITHOUT ROWID;
        -- Which of their keys, sets and counters changed last, for telling those who watch: stays on this device.
        CREATE TABLE ferry_kv_change(
            kind INTEGER NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL, writer BLOB,
            PRIMARY KEY(kind, name)) WITHOUT ROWID;
        CREATE INDEX ferry_kv_change_revision ON ferry_kv_change(revision);
        """
}
