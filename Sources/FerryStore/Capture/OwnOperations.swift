import FerryCore
import FerryMerge

/// Operations that no statement made: what a flush says beside what was captured, so that other devices come to the rows that
/// this one shows.
extension CapturedWriter {
    /// Inserts an object that the row of another one is to show, with what it shows.
    mutating func insert(
        _ values: FieldValues, _ object: ObjectID, _ clock: inout HybridClock
    ) throws -> TouchedObject {
        let operation = CapturedOperation(kind: .insert, time: clock.tick(), values: values, oldRow: nil)
        references.note([operation], values)
        return try writeHidden(object, [operation], shown: values, &clock)
    }

    /// Who is there in place of an object that has gone because another one has the key that its row showed.
    func successor(of object: ObjectID) -> LinkSuccessor? {
        var last = successors[object]
        while let next = last.flatMap({ successors[$0.object] }) { last = next }
        return last
    }

    /// Deletes an object whose key another one is to have, with what its row shows.
    mutating func delete(
        _ object: ObjectID, succeededBy successor: LinkSuccessor, _ clock: inout HybridClock
    ) throws -> TouchedObject {
        let shown = try Travelling(access).row(showing: RowToken(table: table.id, id: object))
        let own = ownValues(try objects.load(object), shown: shown)
        noteGivenUp(object, own, succeededBy: successor)
        successors[object] = successor
        let operation = CapturedOperation(kind: .delete, time: clock.tick(), values: [:], oldRow: nil)
        return try writeHidden(object, [operation], shown: shown, &clock)
    }

    /// Gives an object values that the row which shows it shows already, and that are not its own.
    mutating func takeOver(
        _ values: FieldValues, _ object: ObjectID, _ clock: inout HybridClock
    ) throws -> TouchedObject {
        let shown = try Travelling(access).row(showing: RowToken(table: table.id, id: object))
        let own = ownValues(try objects.load(object), shown: shown)
        noteGivenUp(object, own, for: own.overlaid(with: values), [])
        let operation = CapturedOperation(kind: .update, time: clock.tick(), values: values, oldRow: nil)
        return try writeHidden(object, [operation], shown: shown, &clock)
    }

    /// Notes that another object is there in place of one, for those who refer to it.
    /// - Parameter own: all of its values.
    mutating func noteGivenUp(_ object: ObjectID, _ own: FieldValues, succeededBy successor: LinkSuccessor) {
        if table.incoming.isEmpty { return }
        let columns = successor.values.keys.filter { own[$0] != successor.values[$0] }
        givenUp.append(GivenUpValues(object: object, former: own, columns: columns, successor: successor))
    }

    /// Publishes an object again, whole, as inserted now, for those who may have forgotten it.
    mutating func publishAgain(_ object: ObjectID, _ clock: inout HybridClock) throws -> TouchedObject {
        let state = try objects.load(object)
        let shown = try Travelling(access).row(showing: RowToken(table: table.id, id: object))
        var operation = CapturedOperation(kind: .update, time: clock.tick(), values: [:], oldRow: nil)
        // Of one that is held back every write says all.
        if !HeldBackRows.isHeldBack(state) {
            operation.kind = .insert
            operation.values = ownValues(state, shown: shown)
        }
        return try writeHidden(object, [operation], shown: shown, &clock)
    }
}
