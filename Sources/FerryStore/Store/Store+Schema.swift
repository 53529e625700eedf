import FerryCore
import FerrySchema

/// Questions about the schema.
extension Store {
    /// Returns columns likely to refer to rows with device-specific keys, declared by no foreign key and not in the
    /// selection. Reads at most `ReferenceHints.sampleSize` values of a column.
    package func referenceHints(_ selection: TableSelection) throws -> [UndeclaredReference] {
        try read { connection in
            let schema = try SchemaReader(connection: connection).read()
            let plan = try TrackingPlan(schema, selection)
            return try ReferenceHints(connection: connection, schema: schema, tracked: plan.tracked)
                .find(besides: selection.references)
        }
    }

    /// Returns columns of travelling tables likely to refer to rows with device-specific keys, declared by no foreign key and by nobody: a
    /// migration may have added these after `init`. Reads at most `ReferenceHints.sampleSize` values of a column.
    package func undeclaredReferences() throws -> [UndeclaredReference] {
        try readAccess { access in
            let schema = try SchemaReader(connection: access.connection).read()
            let plan = try TrackingPlan(kept: access.connection, schema)
            return try ReferenceHints(connection: access.connection, schema: schema, tracked: plan.tracked)
                .find(besides: access.references())
        }
    }

    /// Returns rows with a NULL in their key that keep rows of other devices from being shown.
    package func keylessObstacles() throws -> [KeylessObstacle] { try readAccess { try KeylessRows($0).obstacles() } }

    /// Returns UNIQUE indexes of the container's newest schema that this database lacks, with rows here against them.
    package func foreignUniqueIndexes() throws -> [ForeignUniqueIndex] {
        try readAccess { access in
            let schema = try SchemaReader(connection: access.connection).read()
            return try ForeignUniqueIndex.all(access.connection, schema, device: access.device)
        }
    }

    /// Returns tables about to travel that this process cannot write to, for lack of a collation or function of the app's.
    /// - Throws: `missingFunction` for a table whose rows cannot even be read.
    package func tablesOfTheApp(_ selection: TableSelection) throws -> [TableOfTheApp] {
        try read { connection in
            let schema = try SchemaReader(connection: connection).read()
            return try TrackingPlan(schema, selection).tracked.compactMap { record in
                guard let table = schema.table(record.name), table.kind == .table else { return nil }
                if let missing = try connection.missingPart(of: "SELECT * FROM \(table.quotedName)") {
                    throw FerryError(
                        .missingFunction,
                        "The rows of \(table.localName) cannot be read here: the key needs a collation of the app's own (\(missing)). "
                            + "Make the container from the app, or leave the table out: --except \(table.localName).",
                        path: path)
                }
                let writing = "INSERT INTO \(table.quotedName) DEFAULT VALUES"
                return try connection.missingPart(of: writing).map {
                    TableOfTheApp(table: table.localName, missing: $0)
                }
            }
        }
    }

    /// Returns advice before a Core Data store starts to travel; `nil` where the database is no Core Data store.
    package func coreDataAdvice(_ selection: TableSelection) throws -> CoreDataAdvice? {
        try read { connection in
            let schema = try SchemaReader(connection: connection).read()
            return try CoreDataStore(connection, schema)?.advice(TrackingPlan(schema, selection).tracked, connection)
        }
    }

    /// Returns the foreign keys of travelling tables counted as plain references. SQLite cannot use them, some device's
    /// data broke them, or a person named them.
    public func plainReferences() throws -> [PlainReference] {
        try readAccess { try $0.registry.plainReferences($0.connection) }
    }

    /// The tables of these names in which a migration tool notes what the tool has run (`BookkeepingTables`).
    package func notesOfMigrations(among names: [String]) throws -> [String] {
        try read { connection in
            let known = BookkeepingTables(connection)
            return try names.filter(known.contains)
        }
    }

    /// Returns the app's triggers left out of replay by this process. Tries each trigger; changes only temporary
    /// objects.
    package func leftOutTriggers() throws -> [LeftOutTrigger] { try readAccess(LeftOutTrigger.all) }
}
