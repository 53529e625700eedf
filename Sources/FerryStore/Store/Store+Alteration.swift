import FerryCore
import FerrySQL
import GRDB

/// Schema changes obstructed by Ferry's triggers.
///
/// SQLite refuses `ALTER TABLE … DROP COLUMN` if a trigger names the column, and Ferry's triggers name every column of
/// a travelling table (https://www.sqlite.org/lang_altertable.html#alter_table_drop_column). Any further schema change
/// works without this.
extension Store {
    /// Runs a single ALTER TABLE statement without Ferry's triggers, and makes the triggers anew for the new schema in
    /// the same transaction.
    /// - Throws: `invalidArgument` for any different statement: its writes would not be recorded. `database` if SQLite
    ///   refuses the statement. Nothing is changed then.
    public func alter(_ sql: String) throws {
        try write { connection in
            try SchemaAlteration(connection, clock: clock, random: random).run(sql)
        }
    }

    /// Does the same inside a transaction of the app: a migration. In a database without a container, simply runs the
    /// statement.
    public static func alter(_ sql: String, in database: Database) throws {
        guard let handle = database.sqliteConnection else {
            throw FerryError(.database, "The database is closed.")
        }
        let connection = SQLConnection(handle)
        defer { connection.finalizeStatements() }
        try SchemaAlteration(connection, clock: SystemClock(), random: SystemRandom()).run(sql)
    }
}
