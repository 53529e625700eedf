import FerryCore
import FerryMerge

extension CaptureHistory {
    /// What happened to one object. A flush has up to a hundred thousand of them, so what few have lies apart (`Rest`), and the
    /// values of a deleted row stay where the trigger put them (`NotedDeletion`).
    final class Track {
        let object: ObjectID
        /// Minted in this flush, so that the store has no state for it.
        let isFresh: Bool
        @exclusivity(unchecked) var isDeleted = false
        /// Whether rows refer to its key though its own row is gone: it stays reserved.
        @exclusivity(unchecked) var keepsKey = false
        @exclusivity(unchecked) var key: [FieldValue]
        /// The deletion of the row that it had before this flush, where nothing happened to it before that: complete, and
        /// before all of `done`.
        @exclusivity(unchecked) var deletion: NotedDeletion?
        /// Operations that are complete: those before a deletion, and deletions.
        @exclusivity(unchecked) var done: [CapturedOperation] = []
        @exclusivity(unchecked) var insertedAt: HybridTime?
        /// The time of the last change of each column.
        @exclusivity(unchecked) var changed = ColumnTimes()
        /// The time of the change before the last one.
        @exclusivity(unchecked) var changedBefore = ColumnTimes()
        @exclusivity(unchecked) var lastTime = HybridTime.zero
        @exclusivity(unchecked) private var rest: Rest?

        /// What few objects have.
        private final class Rest {
            @exclusivity(unchecked) var formerKeys: [FieldValue] = []
            @exclusivity(unchecked) var references: [ReferenceNote] = []
            @exclusivity(unchecked) var reviewed: (columns: Set<Int>, time: HybridTime) = ([], .zero)
            @exclusivity(unchecked) var detached: FieldValues = [:]
        }

        init(_ object: ObjectID, isFresh: Bool, key: [FieldValue]) {
            self.object = object
            self.isFresh = isFresh
            self.key = key
        }

        private func changeRest(_ body: (Rest) -> Void) {
            let rest = rest ?? Rest()
            body(rest)
            self.rest = rest
        }

        /// Keys that it had in this flush before the present one.
        var formerKeys: [FieldValue] {
            get { rest?.formerKeys ?? [] }
            set { if rest != nil || !newValue.isEmpty { changeRest { $0.formerKeys = newValue } } }
        }

        var references: [ReferenceNote] {
            get { rest?.references ?? [] }
            set { if rest != nil || !newValue.isEmpty { changeRest { $0.references = newValue } } }
        }

        /// Columns that may have been written while no trigger stood there, and when that was found.
        var reviewed: (columns: Set<Int>, time: HybridTime) {
            get { rest?.reviewed ?? ([], .zero) }
            set { if rest != nil || !newValue.columns.isEmpty { changeRest { $0.reviewed = newValue } } }
        }

        /// Columns whose row refers by a key that the object referred to has no more, and that object.
        var detached: FieldValues {
            get { rest?.detached ?? [:] }
            set { if rest != nil || !newValue.isEmpty { changeRest { $0.detached = newValue } } }
        }

        /// How many operations are complete.
        var doneCount: Int { done.count + (deletion == nil ? 0 : 1) }

        /// Whether its key may be another than the state has; a plain update leaves it alone.
        var mayHaveMoved: Bool { isDeleted || insertedAt != nil || !formerKeys.isEmpty }

        /// Whether nothing happened to it but that the row which it had before this flush was deleted under its key of then.
        var isOnlyDeleted: Bool { isDeleted && doneCount == 1 && !isFresh && formerKeys.isEmpty }

        /// Whether nothing was noted of it yet that has to be said.
        var isUntouched: Bool {
            doneCount == 0 && insertedAt == nil && changed.isEmpty && reviewed.columns.isEmpty
        }
    }

    /// A deletion whose former row is read when it is written: it travels as the trigger kept it.
    struct NotedDeletion {
        var time: HybridTime
        /// Of the note with which the row is kept.
        var sequence: Int64
    }

    /// The operations of an object that are complete.
    func completeOperations(of track: Track, _ table: TrackedTable) throws -> [CapturedOperation] {
        guard let deletion = track.deletion else { return track.done }
        let row = try access.reader(of: table.id).readOld(deletion.sequence) ?? [:]
        return [CapturedOperation(kind: .delete, time: deletion.time, values: [:], oldRow: row)] + track.done
    }
}
