import FerryCore
import FerrySchema

/// Names objects and values by local keys on this device, including deleted and hidden objects.
struct LocalNames {
    let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// The key of the row showing an object: the object's own row, or the unified row. Without a row, the former or
    /// intended key; empty if unknown.
    func key(of object: ObjectID, _ table: TrackedTable) throws -> [FieldValue] {
        let state = try access.objects(of: table.id).load(object)
        if !state.shown.hasRow, let shown = try access.unified.representative(of: object, table.id) {
            return try ownKey(of: access.objects(of: table.id).load(shown), table)
        }
        return try ownKey(of: state, table)
    }

    /// The key of an object's own row; without a row, the former or intended key; empty if unknown.
    func ownKey(of state: ObjectState, _ table: TrackedTable) throws -> [FieldValue] {
        if !state.key.isEmpty { return state.key }
        if table.isMapped { return state.kept.key.map { [$0] } ?? [] }
        let parts = try table.keyColumnIDs.compactMap { column in
            try state.kept.fields[column].map { try value($0, table.columns[column]) }
        }
        return parts.count == table.keyColumnIDs.count ? parts : []
    }

    /// A value with references as keys of this device, if a key is known.
    func value(_ value: FieldValue, _ column: TrackedColumn) throws -> FieldValue {
        guard case .reference(let object) = value, let parent = column.reference else { return value }
        return try key(of: object, access.registry[parent]).first ?? value
    }

    /// Values as this device shows them.
    /// - Parameter rows: values by the exact keys of the columns' names as they travel, any number of rows of one table.
    func localValues(table name: String, _ rows: [[String: FieldValue]]) throws -> [[String: FieldValue]] {
        let table = try access.registry.table(named: name) ?? access.registry.travellingTable(name)
        return try rows.map { row in
            var shown: [String: FieldValue] = [:]
            for (name, value) in row {
                shown[name] =
                    try table.columnID(travelling: name).map { try self.value(value, table.columns[$0]) } ?? value
            }
            return shown
        }
    }
}

extension StoreAccess {
    /// The devices' names for people.
    func deviceNames() throws -> [DeviceID: String] {
        let named = try DeviceTable(connection).entries().filter { !$0.name.isEmpty }
        return Dictionary(named.map { ($0.id, $0.name) }) { first, _ in first }
    }
}

extension Registry {
    /// The table with a name given by a person.
    /// - Throws: `invalidArgument`, with the names of travelling tables.
    func travellingTable(_ name: String) throws -> TrackedTable {
        if let table = table(called: name) { return table }
        let names = tables.values.map(\.localName).filter { !isFerryName($0) }.sorted()
        let near = NearName.question(name, among: names)
        throw FerryError(
            .invalidArgument,
            "No table “\(name)” travels." + (near.isEmpty ? " These do: \(names.joined(separator: ", "))." : near))
    }
}
