import FerryCore
import FerryMerge
import FerrySchema

/// Handles rows under a key different from their object's own key, when the object gets a new row under its own key.
///
/// The key of a link refers by value to a row showing a different value, and so does the link (Docs/Rules.md, "Unified
/// rows"). Suppose a further object gets the target's value, and a link to the further object is inserted under the
/// same key. Then the inserted link is the object. The former row belongs to the object of the shown key, as in
/// `LinkRekeying`.
extension CaptureHistory {
    /// A row left by an object to a successor.
    struct LeftRow {
        var table: Int
        var object: ObjectID
        /// All of the object's own values before.
        var former: ColumnValues
        var successor: ObjectID
    }

    /// Leaves an object's row under a different key to the object of that key.
    /// - Parameter note: the pending insertion under the object's own key.
    mutating func leaveRow(of object: ObjectID, to note: Note) throws {
        let table = note.table
        guard table.hasReferencesInKey, try access.unified.areAny(in: table.id) else { return }
        if tracks[table.id]?[object]?.isDeleted ?? false { return }
        let states = access.objects(of: table.id)
        let state = try states.load(object)
        guard state.shown == .anomalousRow else { return }
        let translator = ReferenceTranslator(access)
        let key = tracks[table.id]?[object]?.key ?? state.key
        let heir = try table.derivedID(translator.key(key, table))
        if heir == object { return }
        // Later pending changes may delete the row.
        let row = try translator.values(access.reader(of: table.id).read(key) ?? [:], table)
        let former = row.overlaid(with: state.kept.fields)
        leftRows.append(LeftRow(table: table.id, object: object, former: former, successor: heir))
        let track = try self.track(object, table, key: key, isFresh: false)
        finish(track, at: time(for: track, note.time, togglesLife: true), beforeImage: former)
        // No different row shows that key now.
        try access.unified.forget(RowToken(table: table.id, id: heir))
        let known = try states.load(heir)
        let successor = try self.track(heir, table, key: key, isFresh: false)
        let time = time(for: successor, track.lastTime, togglesLife: true)
        if known.registers.isAlive || known.isHeldBack {
            for column in table.localColumns where !table.keyColumnIDs.contains(column.id) {
                successor.changed[column.id] = time
            }
        } else {
            successor.insertedAt = time
        }
        // A value cleared by a foreign key's action still exists, as a shadow value.
        successor.detached = state.kept.fields.filter { column, _ in
            !table.columns[column].isLocal
                || row[column] == .null && table.clearableColumns.contains(column)
                    && !table.keyColumnIDs.contains(column)
        }
    }

    /// Records the successors of left rows, for objects referring to them.
    func recordLeftRows(_ flush: FlushWriter) throws {
        for left in leftRows {
            let values = try ReferenceTranslator(access).row(showing: RowToken(table: left.table, id: left.successor))
            let table = registry[left.table]
            if values.isEmpty || !flush.hasWritten(to: table) { continue }
            try flush.write(to: table) { writer, _ in
                writer.recordReleased(
                    left.object, left.former, succeededBy: RekeyedLink(object: left.successor, values: values))
            }
        }
    }
}
