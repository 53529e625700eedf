import FerryCore
import FerryMerge

/// Objects that the row of another one showed and that were given a row of their own: one was inserted by their key.
///
/// To the person who writes there was no row by that key. So the new one begins anew, and nothing happened to the row that
/// showed the object: the others that it shows are given what it had from the one that left, and who meant that one refers to
/// them, as operations of their own.
struct DepartedMembers {
    private struct Member {
        /// As it was before this flush.
        var former: ObjectState
        var representative: ObjectID
    }

    let access: StoreAccess
    let table: TrackedTable
    private let members: [Member]

    /// - Parameter tracks: what happened to the table's objects.
    init(_ access: StoreAccess, _ table: TrackedTable, among tracks: [ObjectID: CaptureHistory.Track]) throws {
        self.access = access
        self.table = table
        guard try access.joined.areAny(in: table.id) else {
            members = []
            return
        }
        members = try tracks.values.sorted { $0.object < $1.object }.compactMap { track in
            // Statements reach it by nothing but an insertion.
            guard !track.isFresh, track.insertedAt != nil || track.doneCount > 0,
                let representative = try access.joined.representative(of: track.object, table.id)
            else { return nil }
            let state = try access.objects(of: table.id).load(track.object)
            return state.shown == .joined ? Member(former: state, representative: representative) : nil
        }
    }

    var objects: Set<ObjectID> { Set(members.map(\.former.object)) }

    /// Leaves the rows that showed them what they are, once all that was captured is written.
    /// - Returns: what the rules have to look at.
    func leave(_ writers: inout [Int: CapturedWriter], _ clock: inout HybridClock) throws -> [TouchedObject] {
        guard var writer = writers[table.id] else { return [] }
        var touched: [TouchedObject] = []
        for representative in Set(members.map(\.representative)).sorted() {
            let shown = try Travelling(access).row(showing: RowToken(table: table.id, id: representative))
            // It may have gone as well.
            if shown.isEmpty { continue }
            let former = members.filter { $0.representative == representative }.map(\.former)
            touched += try takeOver(shown, from: former, representative, &writer, &clock)
            for state in former {
                let successor = LinkSuccessor(object: representative, values: shown)
                writer.noteGivenUp(state.object, state.kept.fields, succeededBy: successor)
            }
        }
        writers[table.id] = writer
        return touched
    }

    /// Gives the objects that a row goes on showing what it shows.
    private func takeOver(
        _ shown: FieldValues, from former: [ObjectState], _ representative: ObjectID, _ writer: inout CapturedWriter,
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
        // It shows fewer objects than before, whatever else.
        touched.append(
            TouchedObject(
                table: table.id, object: representative, columns: [], isDeleted: false, needsRules: true))
        return touched
    }

    /// Whether a row does not tell what its objects have: in a column that is not here, or where a foreign key's action
    /// may have cleared it.
    private func isUnshown(_ column: TrackedColumn, in shown: FieldValues) -> Bool {
        guard let value = shown[column.id] else { return true }
        return value == .null && table.clearableColumns.contains(column.id)
    }

    /// What was written last to a column of any of the objects that a row showed.
    private func newest(_ column: TrackedColumn, of objects: [(state: ObjectState, own: FieldValues)]) -> FieldValue? {
        let written = objects.compactMap { object in
            object.state.registers.stamp(of: column.id).map { (stamp: $0, own: object.own) }
        }
        return written.max { $0.stamp < $1.stamp }?.own[column.id]
    }
}
