import FerryCore
import FerryMerge
import FerrySchema

extension CaptureHistory {
    /// The events of an object in a flush.
    ///
    /// A flush has up to a hundred thousand tracks. So rare parts are stored apart (`Rest`). The values of a deleted
    /// row stay in the trigger's before-image (`NotedDeletion`).
    ///
    /// Invariants:
    /// - `deletion`, if present, comes before all of `done`.
    /// - `insertedAt` is nil, and `changed` empty, right after a deletion is added to `done`.
    final class Track {
        let object: ObjectID
        /// True if minted in this flush, so the store has no state.
        let isFresh: Bool
        @exclusivity(unchecked) var isDeleted = false
        /// True if rows refer to the key after the object's own row is gone: the key stays reserved.
        @exclusivity(unchecked) var keepsKey = false
        @exclusivity(unchecked) var key: [FieldValue]
        /// The deletion of the row from before this flush, if it was the first event: complete, and before all of
        /// `done`.
        @exclusivity(unchecked) var deletion: NotedDeletion?
        /// Complete operations: operations before a deletion, and deletions.
        @exclusivity(unchecked) var done: [CapturedOperation] = []
        @exclusivity(unchecked) var insertedAt: HybridTime?
        /// The time of the last change of each column.
        @exclusivity(unchecked) var changed = ColumnTimes()
        /// The time of the change before the last change.
        @exclusivity(unchecked) var changedBefore = ColumnTimes()
        @exclusivity(unchecked) var lastTime = HybridTime.zero
        @exclusivity(unchecked) private var rest: Rest?

        /// Parts only few objects have.
        private final class Rest {
            @exclusivity(unchecked) var formerKeys: [FieldValue] = []
            @exclusivity(unchecked) var references: [ReferenceNote] = []
            @exclusivity(unchecked) var reviewed: (columns: Set<Int>, time: HybridTime) = ([], .zero)
            @exclusivity(unchecked) var detached: ColumnValues = [:]
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

        /// Earlier keys of the object in this flush.
        var formerKeys: [FieldValue] {
            get { rest?.formerKeys ?? [] }
            set { if rest != nil || !newValue.isEmpty { changeRest { $0.formerKeys = newValue } } }
        }

        var references: [ReferenceNote] {
            get { rest?.references ?? [] }
            set { if rest != nil || !newValue.isEmpty { changeRest { $0.references = newValue } } }
        }

        /// Columns possibly written while triggers were missing, and the time of that finding.
        var reviewed: (columns: Set<Int>, time: HybridTime) {
            get { rest?.reviewed ?? ([], .zero) }
            set { if rest != nil || !newValue.columns.isEmpty { changeRest { $0.reviewed = newValue } } }
        }

        /// Columns whose row refers by a key the target no longer has, with the target.
        var detached: ColumnValues {
            get { rest?.detached ?? [:] }
            set { if rest != nil || !newValue.isEmpty { changeRest { $0.detached = newValue } } }
        }

        /// Number of complete operations.
        var doneCount: Int { done.count + (deletion == nil ? 0 : 1) }

        /// True if the key may differ from the state's key; a plain update leaves the key unchanged.
        var mayHaveMoved: Bool { isDeleted || insertedAt != nil || !formerKeys.isEmpty }

        /// True if the flush only deleted this object's row, under the key the row had when the flush began.
        var isOnlyDeleted: Bool { isDeleted && doneCount == 1 && !isFresh && formerKeys.isEmpty }

        /// True if the object has the row with a key, as of the pending change being read.
        func holds(_ key: [FieldValue]) -> Bool { !isDeleted && self.key == key }

        /// Forgets the writes since the last complete operation.
        func forgetWrites() {
            insertedAt = nil
            changed = ColumnTimes()
            reviewed.columns = []
        }

        /// True if nothing was recorded so far that must be written.
        var isUntouched: Bool {
            doneCount == 0 && insertedAt == nil && changed.isEmpty && reviewed.columns.isEmpty
        }
    }

    /// A deletion with a former row read only at the writing: the values travel as kept by the trigger.
    struct NotedDeletion {
        var time: HybridTime
        /// The sequence of the before-image.
        var sequence: Int64
    }

    /// The complete operations of an object.
    func completeOperations(of track: Track, _ table: TrackedTable) throws -> [CapturedOperation] {
        guard let deletion = track.deletion else { return track.done }
        let row = try access.reader(of: table.id).readOld(deletion.sequence) ?? [:]
        return [CapturedOperation(kind: .delete, time: deletion.time, values: [:], beforeImage: row)] + track.done
    }
}
