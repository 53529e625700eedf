import FerryCore
import FerryMerge

/// Who is there in place of an object that is known by a key which its row does not show, and what it has in its columns.
struct LinkSuccessor {
    var object: ObjectID
    var values: FieldValues
}

/// Gives objects of a table whose key refers by value, and whose target gave up that value for the one that it shows, the key
/// that their rows show: the object goes, and one that is known by the shown key has what the row shows. To the person who
/// writes the row stays what it is. Without that its key would mean whoever is given the value.
///
/// It is what an update of the key does, and ON UPDATE CASCADE.
struct LinkSuccession {
    let access: StoreAccess
    let table: TrackedTable

    init(_ access: StoreAccess, _ table: TrackedTable) {
        self.access = access
        self.table = table
    }

    /// - Parameter shown: what the reference shows.
    /// - Returns: the objects for the rules.
    func succeed(
        _ object: ObjectID, _ shown: FieldValues, _ writer: inout CapturedWriter, _ clock: inout HybridClock
    ) throws -> [TouchedObject] {
        let objects = access.objects(of: table.id)
        // Another reference of its key may have changed before.
        guard var former = try writer.successor(of: object) ?? whole(objects.load(object)) else { return [] }
        let object = former.object
        former.values = former.values.overlaid(with: shown)
        let successor = LinkSuccessor(object: table.derivedID(of: former.values), values: former.values)
        if successor.object == object { return [] }
        let present = try objects.load(successor.object)
        var touched = [try writer.delete(object, succeededBy: successor, &clock)]
        if present.registers.isAlive || HeldBackRows.isHeldBack(present) {
            let others = successor.values.filter { !table.keyColumnIDs.contains($0.key) }
            touched.append(try writer.takeOver(others, successor.object, &clock))
        } else {
            touched.append(try writer.insert(successor.values, successor.object, &clock))
        }
        return touched
    }

    /// All values of an object: what its row shows, where it has one, and what no row shows. `nil` where it is not there.
    private func whole(_ state: ObjectState) throws -> LinkSuccessor? {
        guard state.registers.isAlive || HeldBackRows.isHeldBack(state) else { return nil }
        let row = try Travelling(access).row(showing: RowToken(table: table.id, id: state.object))
        let unshown = state.kept.fields.filter { column, _ in
            if row.isEmpty || !table.columns[column].isLocal { return true }
            // Another object's row has that one's key.
            if table.keyGroupColumns.contains(column) { return state.shown == .joined }
            // What a foreign key's action cleared is there still, beside the row.
            return row[column] == .null && table.clearableColumns.contains(column)
        }
        return LinkSuccessor(object: state.object, values: row.overlaid(with: unshown))
    }
}
