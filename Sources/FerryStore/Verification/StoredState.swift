import FerryCore
import FerryMerge
import FerryReferenceModel
import FerrySQL
import FerrySchema

/// All objects of a store with their rows, read at once for verification.
///
/// An object's own values are its shadow values and, for a shown object, the remaining values of its row.
struct StoredState {
    struct Object {
        var plain: ModelObject
        /// The object checksum in the state.
        var check: UInt64 = 0
        /// The state's mark.
        var shown: Visibility
        /// The key of the row; empty without a row.
        var key: [FieldValue]
        /// The row's portable values, by the table's local columns; `nil` if no row has the key.
        var row: [FieldValue]?
        /// Plain values by column the row may show instead of a reference: nothing distinguishes them.
        var plainValues: ColumnValues = [:]
    }

    struct Table {
        var table: TrackedTable
        var objects: [Object] = []
        /// The keys of rows without an object.
        var unknownRows: [[FieldValue]] = []
        var rowCount = 0
        /// The keys by which rows refer to objects without a row.
        var referredKeys: [ObjectID: FieldValue] = [:]
    }

    private(set) var tables: [Table]

    /// The given objects of the given tables alone, for a part of the state.
    init(_ tables: [Table]) { self.tables = tables }

    /// Reads the tables of this database.
    /// - Parameters:
    ///   - schema: the schema for verification, with the columns holding references.
    ///   - equality: decides the keys meant by references.
    init(_ access: StoreAccess, _ schema: ModelSchema, _ equality: ModelEquality) throws {
        tables = try StoredTable.all(access, schema, equality).map { stored in
            var table = Table(table: stored.table)
            var rows: Set<[FieldValue]> = []
            table.rowCount = try stored.rowCount()
            try stored.forEachEntry { entry in
                if let key = entry.referredKey { table.referredKeys[entry.id] = key }
                guard entry.isKnown else { return }
                var object = try stored.object(entry)
                // A second object with the key has no row.
                if object.row != nil, !rows.insert(object.key).inserted {
                    (object.row, object.plainValues) = (nil, [:])
                }
                table.objects.append(object)
            }
            if table.rowCount != rows.count {
                try stored.forEachKey { if !rows.contains($0), !$0.contains(.null) { table.unknownRows.append($0) } }
                table.unknownRows.sort { $0.lexicographicallyPrecedes($1) }
            }
            return table
        }
    }
}
