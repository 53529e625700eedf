import FerryCore
import FerryMerge
import FerrySchema

/// Handles split members: objects shown by a unified row that got their own row, because a row was inserted by their
/// key.
///
/// For the writing person no row had that key. So the new row begins anew, and the unified row must stay unchanged. The
/// remaining members get the values shown from the split member, and references to the split member move to them. These
/// are own operations.
struct SplitMembers {
    private struct Member {
        /// The member's state before this flush.
        var former: ObjectState
        var representative: ObjectID
    }

    let access: StoreAccess
    let table: TrackedTable
    private let members: [Member]

    /// - Parameter tracks: the events of the table's objects.
    init(_ access: StoreAccess, _ table: TrackedTable, among tracks: [ObjectID: CaptureHistory.Track]) throws {
        self.access = access
        self.table = table
        guard try access.unified.areAny(in: table.id) else {
            members = []
            return
        }
        members = try tracks.values.sorted { $0.object < $1.object }.compactMap { track in
            // Only an insertion makes a statement reach a member.
            guard !track.isFresh, track.insertedAt != nil || track.doneCount > 0,
                let representative = try access.unified.representative(of: track.object, table.id)
            else { return nil }
            let state = try access.objects(of: table.id).load(track.object)
            return state.shown == .joined ? Member(former: state, representative: representative) : nil
        }
    }

    var objects: Set<ObjectID> { Set(members.map(\.former.object)) }

    /// Keeps the unified rows unchanged, after everything captured is written.
    /// - Returns: the objects the rules may have to check.
    func leave(_ flush: FlushWriter) throws -> [TouchedObject] {
        guard flush.hasWritten(to: table) else { return [] }
        return try flush.write(to: table) { try leave(&$0, &$1) }
    }

    private func leave(_ writer: inout LocalChangeWriter, _ clock: inout HybridClock) throws -> [TouchedObject] {
        var touched: [TouchedObject] = []
        for representative in Set(members.map(\.representative)).sorted() {
            let shown = try ReferenceTranslator(access).row(showing: RowToken(table: table.id, id: representative))
            // The row may be gone as well.
            if shown.isEmpty { continue }
            let former = members.filter { $0.representative == representative }.map(\.former)
            touched += try takeOver(shown, from: former, representative, &writer, &clock)
            for state in former {
                let successor = RekeyedLink(object: representative, values: shown)
                writer.recordReleased(state.object, state.kept.fields, succeededBy: successor)
            }
        }
        return touched
    }

    /// Gives the remaining members of a row the row's values.
    private func takeOver(
        _ shown: ColumnValues, from former: [ObjectState], _ representative: ObjectID,
        _ writer: inout LocalChangeWriter,
        _ clock: inout HybridClock
    ) throws -> [TouchedObject] {
        let states = access.objects(of: table.id)
        let remaining = try ([representative] + writer.members(of: representative)).map { object in
            let state = try states.load(object)
            let own = (object == representative ? shown : [:]).overlaid(with: state.kept.fields)
            return (state: state, own: own)
        }
        let all = remaining + former.map { ($0, $0.kept.fields) }
        var values = shown
        for column in table.columns where isUnshown(column, in: shown) {
            values[column.id] = newest(column, of: all)
        }
        let keyColumns = table.keyGroupColumns
        var touched: [TouchedObject] = []
        for (state, own) in remaining {
            let different = values.filter { own[$0.key] != $0.value && !keyColumns.contains($0.key) }
            if !different.isEmpty { touched.append(try writer.takeOver(different, state.object, &clock)) }
        }
        // The row shows fewer objects than before in any case.
        touched.append(
            TouchedObject(
                table: table.id, object: representative, columns: [], isDeleted: false, needsRules: true))
        return touched
    }

    /// True if the row does not reveal its objects' value: the column is missing here, or a foreign key's action may
    /// have cleared the value.
    private func isUnshown(_ column: TrackedColumn, in shown: ColumnValues) -> Bool {
        guard let value = shown[column.id] else { return true }
        return value == .null && table.clearableColumns.contains(column.id)
    }

    /// The last written value of a column among the row's objects.
    private func newest(_ column: TrackedColumn, of objects: [(state: ObjectState, own: ColumnValues)]) -> FieldValue? {
        let written = objects.compactMap { object in
            object.state.choice(of: column.id, in: table).map { (stamp: $0, own: object.own) }
        }
        return written.max { $0.stamp < $1.stamp }?.own[column.id]
    }
}
