import FerryCore
import GRDB

/// Changes of the schema that Ferry's triggers stand in the way of.
///
/// SQLite refuses `ALTER TABLE … DROP COLUMN` where a trigger names the column, and Ferry's name every column of a table
/// that travels (https://www.sqlite.org/lang_altertable.html#alter_table_drop_column). All other changes need none of
/// this.
extension Store {
    /// Runs one ALTER TABLE statement with Ferry's triggers out of the way, which are made anew for the new schema in the
    /// same transaction.
    /// - Throws: `invalidArgument` for any other statement: what it wrote would not be noted. `database` where SQLite
    ///   refuses it. Nothing is changed then.
    public func alter(_ sql: String) throws {
        try write { connection in
            try SchemaAlteration(connection, clock: clock, random: random).run(sql)
        }
    }

    /// The same inside of a transaction of the app's own: a migration. In a database that belongs to no container the
    /// statement is simply run.
    public static func alter(_ sql: String, in database: Database) throws {
        guard let handle = database.sqliteConnection else {
            throw FerryError(.database, "The database is closed.")
        }
        let connection = SQLConnection(handle)
        defer { connection.finalizeStatements() }
        try SchemaAlteration(connection, clock: SystemClock(), random: SystemRandom()).run(sql)
    }
}

private struct SchemaAlteration {
    let connection: SQLConnection
    let tracking: Tracking

    init(_ connection: SQLConnection, clock: any WallClock, random: any RandomSource) {
        self.connection = connection
        tracking = Tracking(connection, clock: clock, random: random)
    }

    func run(_ sql: String) throws {
        let words = sql.split(whereSeparator: \.isWhitespace).prefix(2).map { foldedName(String($0)) }
        guard words == ["alter", "table"], !sql.dropLast(while: { $0 == ";" || $0.isWhitespace }).contains(";") else {
            throw FerryError(
                .invalidArgument, "Only one ALTER TABLE statement can be run with Ferry's triggers out of the way.")
        }
        guard try Store.identity(connection) != nil else { return try connection.executeScript(sql) }
        try connection.savepoint {
            // What changed before is taken in with the triggers that noted it.
            _ = try tracking.currentRegistry()
            let tables = try tracking.dropCaptureTriggers()
            try connection.executeScript(sql)
            try tracking.update(rowsAreOld: false, triggered: tables)
        }
    }
}

extension String {
    fileprivate func dropLast(while condition: (Character) -> Bool) -> Substring {
        var rest = self[...]
        while let last = rest.last, condition(last) { rest.removeLast() }
        return rest
    }
}
