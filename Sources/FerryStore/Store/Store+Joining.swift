import FerryCore
import FerrySQL
import FerrySchema

/// A join's treatment of pre-existing rows.
extension Store {
    /// Makes rows under integer keys the container's objects, before anything is packed.
    /// - Parameter holders: for each table, by name in lower case, the object of each key.
    /// - Returns: the number of adopted rows of each table.
    package func adopt(_ holders: [String: [FieldValue: ObjectID]]) throws -> [String: Int] {
        try transaction { try PreexistingKeys($0.access).adopt(holders) }
    }

    /// The rows that this database's integer keys mean. Pending changes count, and stay pending.
    package func rememberedKeys(in container: ContainerID, encode: SegmentEncoding) throws -> RememberedKeys {
        func remembered() throws -> RememberedKeys {
            try readAccess { try ShownKeys(access: $0).remembered(in: container) }
        }
        if try !needsPass() { return try remembered() }
        return try atomically {
            try tentatively {
                _ = try pass(replaying: [], encode: encode)
                return try remembered()
            }
        }
    }

    /// Whether this is the database that left its container and remembered its keys, and no other one in its place.
    package func isOrigin(of remembered: RememberedKeys) throws -> Bool {
        try readAccess { try ShownKeys(access: $0).showRows(of: remembered) }
    }

    /// The keys of rows in tables with integer keys, by the tables' names in lower case.
    package func integerKeys() throws -> [String: Set<FieldValue>] { try readAccess { try PreexistingKeys($0).all() } }

    /// True if any table about to travel has rows, before tracking. The key-value store of a former container counts.
    package func hasRows(_ selection: TableSelection) throws -> Bool {
        try read { connection in
            if try KeyValueRemains(connection).count() > 0 { return true }
            let schema = try SchemaReader(connection: connection).read(
                selection.renamed, columns: selection.renamedColumns)
            return try TrackingPlan(schema, selection).tracked.contains { record in
                guard !isFerryName(record.name), let table = schema.table(record.name) else { return false }
                return try connection.count("SELECT EXISTS(SELECT 1 FROM \(table.quotedName))") != 0
            }
        }
    }

    /// The columns with integer keys that the container's devices have in other columns, by table, before tracking.
    package func movedKeys(since recorded: RecordedKeys, _ names: TableNames) throws -> [String: String] {
        try read { connection in
            var moved: [String: String] = [:]
            for table in try SchemaReader(connection: connection).read(names).tables {
                if let key = recorded.movedKey(of: table) { moved[exactKey(table.name)] = key }
            }
            return moved
        }
    }

    /// Compares pre-existing rows with the container's rows, after both were merged.
    /// - Parameters:
    ///   - here: the pre-existing objects of the database.
    ///   - there: the container's living objects.
    package func compareRows(here: ObjectSets, there: ObjectSets) throws -> [RowComparisonCount] {
        try readAccess { try PreexistingRowComparison($0, here: here, there: there).counts() }
    }

    /// Sets the time of pre-existing rows, before they are packed.
    package func setOldTime(_ time: HybridTime) throws { try transaction { try $0.access.setOldTime(time) } }

    /// The objects present on both sides: by identity, or unified with a row of the container.
    /// - Parameters:
    ///   - here: the pre-existing objects of the database.
    ///   - there: the container's living objects.
    package func matchedRows(here: ObjectSets, there: ObjectSets) throws -> ObjectSets {
        try readAccess { try PreexistingRowComparison($0, here: here, there: there).matched() }
    }

    /// The objects a deletion of the container removed.
    package func deletedRows(among here: ObjectSets) throws -> ObjectSets {
        try readAccess { try PreexistingRowSelection($0).deleted(among: here) }
    }

    /// A search for the values of pre-existing rows that the container has or had.
    package func formerValues() throws -> FormerValues { try readAccess { FormerValues($0.registry) } }

    /// Forgets the conflicts of values that the container has or had.
    /// - Returns: the values to leave out of what is published.
    package func giveUp(_ values: FormerValues) throws -> FormerValues {
        var values = values
        try transaction { try values.settle($0.access) }
        return values
    }

    /// Writes pre-existing rows again, as of now, and stages the changes.
    /// - Parameters:
    ///   - changes: the packed changes of these rows.
    ///   - revived: objects inserted again, because a deletion removed them.
    ///   - renewed: objects with all fields written again. Overwritten values become conflicts.
    /// - Returns: the number of written rows.
    package func rewritePreexistingRows(
        _ changes: [TableChanges], revived: ObjectSets, renewed: ObjectSets, encode: SegmentEncoding
    ) throws -> Int {
        try passing(encode) { try $0.rewritePreexistingRows(changes, revived: revived, renewed: renewed) }
    }

    /// Returns the packed changes of pre-existing rows without the parts repeated by `rewritePreexistingRows`: nobody
    /// else may merge both.
    package func withoutWhatIsWrittenAgain(
        _ changes: TableChanges, revived: ObjectSets, renewed: ObjectSets
    ) throws -> TableChanges {
        try readAccess { try PreexistingRowSelection($0).rest(of: changes, revived: revived, renewed: renewed) }
    }

    /// Deletes rows only this database has, here and for remote devices, and keeps them as conflicts. Nobody else knows
    /// them: their packed changes are out of the outbox (`rewriteOutbox`).
    /// - Returns: the number of deleted rows.
    package func removePreexistingRows(_ gone: ObjectSets, encode: SegmentEncoding) throws -> Int {
        try passing(encode) { try $0.removePreexistingRows(gone) }
    }

    /// Replaces the segments waiting to be published.
    /// - Parameter make: makes the new entry, of the same changesets.
    package func rewriteOutbox(_ make: OutboxRewriting) throws {
        try transaction { try $0.rewriteOutbox(make) }
    }

    /// The number of fields differing between pre-existing rows and the container's rows.
    package func differingFieldCount() throws -> Int {
        try read { try ConflictTable.differingFieldCount($0) }
    }
}
