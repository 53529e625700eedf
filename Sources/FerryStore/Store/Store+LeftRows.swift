import FerryCore
import FerrySchema

extension Store {
    /// Finds the objects whose rows went with their table: no insertion and no deletion is known here.
    /// - Parameter table: only of this table; `nil` for all tables.
    /// - Returns: the objects by the table's local name, parents first; tables that this database lacks are left out.
    /// - Throws: `invalidArgument` for a table that does not travel.
    package func leftObjects(table: String? = nil) throws -> [(table: String, objects: [ObjectID])] {
        try readAccess { access in
            let tables = try table.map { [try access.registry.travellingTable($0)] } ?? access.registry.parentsFirst
            return try tables.filter(\.isLocal).compactMap { table in
                var objects: [ObjectID] = []
                try access.connection.forEachRow(
                    "SELECT object FROM \(table.objectTable) WHERE \(ObjectState.isLeftCondition) ORDER BY object"
                ) {
                    if let id: ObjectID = $0.id(0) { objects.append(id) }
                }
                return objects.isEmpty ? nil : (table.localName, objects)
            }
        }
    }
}
