import FerryCore
import FerrySQL
import FerrySchema

/// Runs a statement that Ferry's triggers stand in the way of.
struct SchemaAlteration {
    private let connection: SQLConnection
    private let tracking: Tracking

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
        guard try StoreIdentity.read(connection) != nil else { return try connection.executeScript(sql) }
        try connection.savepoint {
            // Earlier schema changes are processed while the recording triggers still exist.
            _ = try tracking.currentRegistry()
            let renamed = RenamedTables(connection)
            let before = try renamed.tables()
            let columns = RenamedColumns(connection, tracking.surroundings)
            let formerColumns = try columns.columns()
            let tables = try tracking.dropCaptureTriggers()
            let own = try ownTables()
            try connection.executeScript(sql)
            guard try ownTables() == own else {
                throw FerryError(
                    .invalidArgument, "The statement changes a table of Ferry's own. Such a table stays as it is.")
            }
            try tracking.update(
                rowsAreOld: false, triggered: tables, names: renamed.names(of: before),
                columns: columns.renamed(since: formerColumns, before))
        }
    }

    /// Ferry's own tables, as their texts.
    private func ownTables() throws -> [[FieldValue]] {
        let own = try OwnNames(connection)
        return try connection.rows("SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name")
            .filter { own.contains(table: $0[0].text) }
    }
}

extension String {
    fileprivate func dropLast(while condition: (Character) -> Bool) -> Substring {
        var rest = self[...]
        while let last = rest.last, condition(last) { rest.removeLast() }
        return rest
    }
}
