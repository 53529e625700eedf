import FerryCore
import FerryMerge
import FerrySchema

/// The object that replaces a link whose key changed, with its column values.
struct RekeyedLink {
    var object: ObjectID
    var values: ColumnValues
}

/// Rekeys links: objects with a key referring by value, whose target gave up that value for the shown value. The object
/// is deleted, and an object with the shown key gets the row's values. For the writing person the row stays unchanged.
/// Otherwise the key would mean any object given the value.
///
/// An update of the key does the same, and so does ON UPDATE CASCADE.
struct LinkRekeying {
    let access: StoreAccess
    let table: TrackedTable

    init(_ access: StoreAccess, _ table: TrackedTable) {
        self.access = access
        self.table = table
    }

    /// - Parameter shown: the shown values of the reference.
    /// - Returns: the objects for the rules.
    func succeed(
        _ object: ObjectID, _ shown: ColumnValues, _ writer: inout LocalChangeWriter, _ clock: inout HybridClock
    ) throws -> [TouchedObject] {
        let objects = access.objects(of: table.id)
        // A further reference of the key may have changed before.
        guard var former = try writer.successor(of: object) ?? whole(objects.load(object)) else { return [] }
        let object = former.object
        former.values = former.values.overlaid(with: shown)
        let successor = RekeyedLink(object: table.derivedID(of: former.values), values: former.values)
        if successor.object == object { return [] }
        let present = try objects.load(successor.object)
        var touched = [try writer.delete(object, succeededBy: successor, &clock)]
        if present.registers.isAlive || present.isHeldBack {
            let others = successor.values.filter { !table.keyColumnIDs.contains($0.key) }
            touched.append(try writer.takeOver(others, successor.object, &clock))
        } else {
            touched.append(try writer.insert(successor.values, successor.object, &clock))
        }
        return touched
    }

    /// All values of an object: its row's values, and values shown by no row. `nil` if the object does not exist.
    private func whole(_ state: ObjectState) throws -> RekeyedLink? {
        guard state.registers.isAlive || state.isHeldBack else { return nil }
        let row = try ReferenceTranslator(access).row(showing: RowToken(table: table.id, id: state.object))
        let unshown = state.kept.fields.filter { column, _ in
            if row.isEmpty || !table.columns[column].isLocal { return true }
            // The row of a different object shows that object's key.
            if table.keyGroupColumns.contains(column) { return state.shown == .joined }
            // A value cleared by a foreign key's action still exists, as a shadow value.
            return row[column] == .null && table.clearableColumns.contains(column)
        }
        return RekeyedLink(object: state.object, values: row.overlaid(with: unshown))
    }
}
