import FerryCore
import FerrySchema

/// Translates between rows and object IDs. An ID means the same row on every device, even after a key change.
struct ObjectLookup {
    private let access: StoreAccess
    private let table: TrackedTable

    /// - Throws: `invalidArgument` where the table does not travel, naming those that do.
    init(_ access: StoreAccess, _ table: String) throws {
        self.access = access
        self.table = try access.registry.travellingTable(table)
    }

    func objects(of keys: [[FieldValue]]) throws -> [ObjectID?] {
        let translator = ReferenceTranslator(access)
        return try keys.map { key in
            if key.count != table.keyColumns.count || key.contains(.null) { return nil }
            guard let object = try translator.object(table, key) else { return nil }
            if table.isMapped { return object }
            return try access.reader(of: table.id).read(key) == nil ? nil : object
        }
    }

    func key(of object: ObjectID) throws -> [FieldValue]? {
        let shown = try access.unified.representative(of: object, table.id) ?? object
        let state = try access.objects(of: table.id).load(shown)
        return state.shown.hasRow && !state.key.isEmpty ? state.key : nil
    }
}
