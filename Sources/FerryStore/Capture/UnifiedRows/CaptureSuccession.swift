import FerryCore
import FerryMerge

/// Rows that stand under another key than that of their object, which is given another row under its own.
///
/// The key of a link refers by value to a row that shows another value, and the link with it (Docs/Rules.md, "Unified rows").
/// Where that value is given to somebody else, and a link to them is inserted by the same key, the object is that link; the
/// row that was its own is of the object that is known by the key it shows, as in `LinkSuccession`.
extension CaptureHistory {
    /// What an object left to another one.
    struct LeftRow {
        var table: Int
        var object: ObjectID
        /// All of its own values before.
        var former: FieldValues
        var successor: ObjectID
    }

    /// Leaves the row that an object has under another key than its own to the object of that key.
    /// - Parameter note: of an insertion under the object's own key.
    mutating func leaveRow(of object: ObjectID, to note: Note, _ clock: inout HybridClock) throws {
        let table = note.table
        guard table.hasReferencesInKey, try access.joined.areAny(in: table.id) else { return }
        if tracks[table.id]?[object]?.isDeleted ?? false { return }
        let states = access.objects(of: table.id)
        let state = try states.load(object)
        guard state.shown == .exceptionalRow else { return }
        let travelling = Travelling(access)
        let key = tracks[table.id]?[object]?.key ?? state.key
        let heir = try table.derivedID(travelling.key(key, table))
        if heir == object { return }
        // Later notes may tell that it is gone.
        let row = try travelling.values(access.reader(of: table.id).read(key) ?? [:], table)
        let former = row.overlaid(with: state.kept.fields)
        leftRows.append(LeftRow(table: table.id, object: object, former: former, successor: heir))
        let track = try self.track(object, table, key: key, isFresh: false)
        finish(track, at: time(for: track, note.time, togglesLife: true, &clock), oldRow: former)
        // Nobody else's row shows that key now.
        try access.joined.forget(RowToken(table: table.id, id: heir))
        let known = try states.load(heir)
        let successor = try self.track(heir, table, key: key, isFresh: false)
        let time = time(for: successor, track.lastTime, togglesLife: true, &clock)
        if known.registers.isAlive || HeldBackRows.isHeldBack(known) {
            for column in table.localColumns where !table.keyColumnIDs.contains(column.id) {
                successor.changed[column.id] = time
            }
        } else {
            successor.insertedAt = time
        }
        // What a foreign key's action cleared is there still, beside the row.
        successor.detached = state.kept.fields.filter { column, _ in
            !table.columns[column].isLocal
                || row[column] == .null && table.clearableColumns.contains(column)
                    && !table.keyColumnIDs.contains(column)
        }
    }

    /// Tells who refers to rows that were left to other objects.
    func noteLeftRows(_ writers: inout [Int: CapturedWriter]) throws {
        for left in leftRows {
            let values = try Travelling(access).row(showing: RowToken(table: left.table, id: left.successor))
            if values.isEmpty { continue }
            writers[left.table]?.noteGivenUp(
                left.object, left.former, succeededBy: LinkSuccessor(object: left.successor, values: values))
        }
    }
}
