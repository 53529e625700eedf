import FerryCore
import FerryMerge
import FerrySchema

/// Operations made by no statement: a flush adds them to captured operations, so remote devices come to the rows shown
/// here.
extension LocalChangeWriter {
    /// Inserts an object to be shown by a different object's row, with the row's values.
    mutating func insert(
        _ values: ColumnValues, _ object: ObjectID, _ clock: inout HybridClock
    ) throws -> TouchedObject {
        let operation = CapturedOperation(kind: .insert, time: clock.tick(), values: values, beforeImage: nil)
        references.note([operation], values)
        return try writeHidden(object, [operation], shown: values, &clock)
    }

    /// The last successor of an object replaced because a new object has the key its row showed.
    func successor(of object: ObjectID) -> RekeyedLink? {
        var last = successors[object]
        while let next = last.flatMap({ successors[$0.object] }) { last = next }
        return last
    }

    /// Deletes an object whose successor gets the key its row shows.
    mutating func delete(
        _ object: ObjectID, succeededBy successor: RekeyedLink, _ clock: inout HybridClock
    ) throws -> TouchedObject {
        let shown = try ReferenceTranslator(access).row(showing: RowToken(table: table.id, id: object))
        let own = ownValues(try objects.load(object), shown: shown)
        recordReleased(object, own, succeededBy: successor)
        successors[object] = successor
        let operation = CapturedOperation(kind: .delete, time: clock.tick(), values: [:], beforeImage: nil)
        return try writeHidden(object, [operation], shown: shown, &clock)
    }

    /// Gives an object values its row already shows, instead of the object's own values.
    mutating func takeOver(
        _ values: ColumnValues, _ object: ObjectID, _ clock: inout HybridClock
    ) throws -> TouchedObject {
        let shown = try ReferenceTranslator(access).row(showing: RowToken(table: table.id, id: object))
        let own = ownValues(try objects.load(object), shown: shown)
        recordReleased(object, own, for: own.overlaid(with: values), [])
        let operation = CapturedOperation(kind: .update, time: clock.tick(), values: values, beforeImage: nil)
        return try writeHidden(object, [operation], shown: shown, &clock)
    }

    /// Records an object's successor, for objects referring to the former.
    /// - Parameter own: all values of the object.
    mutating func recordReleased(_ object: ObjectID, _ own: ColumnValues, succeededBy successor: RekeyedLink) {
        if table.incoming.isEmpty { return }
        let columns = successor.values.keys.filter { own[$0] != successor.values[$0] }
        givenUp.append(ReleasedValues(object: object, former: own, columns: columns, successor: successor))
    }

    /// Publishes an object again whole, as inserted now, for devices that may have forgotten the object.
    mutating func publishAgain(_ object: ObjectID, _ clock: inout HybridClock) throws -> TouchedObject {
        let state = try objects.load(object)
        let shown = try ReferenceTranslator(access).row(showing: RowToken(table: table.id, id: object))
        var operation = CapturedOperation(kind: .update, time: clock.tick(), values: [:], beforeImage: nil)
        // For a retained object every write publishes all values.
        if !state.isHeldBack {
            operation.kind = .insert
            operation.values = ownValues(state, shown: shown)
        }
        return try writeHidden(object, [operation], shown: shown, &clock)
    }
}
