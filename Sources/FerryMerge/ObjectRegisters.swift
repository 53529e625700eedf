import FerryCore

/// The state of an object without its values: the stamps of its registers.
///
/// Merging takes the maximum of each register, which is commutative, associative and idempotent. Any order, repetition
/// or batching of the same writes gives the same registers. Values follow their stamps. Equal stamps with different
/// values (two copies of a device) are decided by the value, so the order of delivery never decides.
@usableFromInline package struct ObjectRegisters: Equatable, Sendable {
    /// The newest insertion; `nil` while only updates or deletions have been seen.
    @usableFromInline package var inserted: Stamp?
    /// The newest deletion.
    @usableFromInline package var deleted: Stamp?
    /// Further deletions that may still matter, ascending: the last deletion that an insertion followed, and all
    /// deletions without an insertion since. Mostly none.
    @usableFromInline package internal(set) var earlierDeletions: [Stamp] = []
    /// For each column, by its number in the store's registry, the stamp of its value; `nil` without a value. Columns
    /// past the end have none.
    @usableFromInline package var fields: [Stamp?]
    /// True if only an insertion brings the object back after a deletion: the table's policy `deleteWins`, which is no
    /// part of the state.
    @usableFromInline package var deletionWins = false

    @inlinable package init(
        inserted: Stamp? = nil, deleted: Stamp? = nil, earlierDeletions: [Stamp] = [], fields: [Stamp?] = []
    ) {
        self.inserted = inserted
        self.deleted = deleted
        self.earlierDeletions = earlierDeletions
        self.fields = fields
    }

    /// The last deletion that an insertion followed. That insertion began the object anew. Everything written before
    /// the deletion is void, also in columns that the insertion does not mention. So no matter who still remembers the
    /// former values.
    @inlinable package var floor: Stamp? {
        guard let inserted, let deleted else { return nil }
        return deleted < inserted ? deleted : earlierDeletions.last { $0 < inserted }
    }

    /// True if the object was deleted and no known write is later, also if a table asks for less.
    @inlinable package var isTombstone: Bool {
        guard let deleted else { return false }
        return newestWrite.map { $0 < deleted } ?? true
    }

    /// The newest insertion or field stamp.
    @inlinable package var newestWrite: Stamp? {
        var newest = inserted
        for case let stamp? in fields where newest.map({ $0 < stamp }) ?? true { newest = stamp }
        return newest
    }

    /// An object is alive when something was written later than its deletion. An object whose insertion has not arrived
    /// yet is not: most of its fields are unknown.
    @inlinable package var isAlive: Bool {
        guard let inserted, let newest = deletionWins ? inserted : newestWrite else { return false }
        guard let deleted else { return true }
        return deleted < newest
    }

    /// The latest of all registers.
    @inlinable package var newest: Stamp? {
        guard let written = newestWrite else { return deleted }
        return max(written, deleted ?? written)
    }

    @inlinable
    package func stamp(of column: Int) -> Stamp? { column < fields.count ? fields[column] : nil }

    /// Merges an insertion's stamp, without the fields of the insertion.
    @inlinable package mutating func mergeInsertion(_ stamp: Stamp) {
        inserted = inserted.map { max($0, stamp) } ?? stamp
        forgetEarlierDeletions()
    }

    @inlinable package mutating func mergeDeletion(_ stamp: Stamp) {
        guard let known = deleted, known != stamp else {
            deleted = stamp
            return
        }
        let earlier = min(known, stamp)
        deleted = max(known, stamp)
        let place = earlierDeletions.lastIndex { $0 <= earlier }
        if place.map({ earlierDeletions[$0] == earlier }) ?? false { return }
        earlierDeletions.insert(earlier, at: place.map { $0 + 1 } ?? 0)
        forgetEarlierDeletions()
    }

    /// Of the deletions that an insertion followed only the last matters.
    @usableFromInline mutating func forgetEarlierDeletions() {
        guard !earlierDeletions.isEmpty, let floor else { return }
        earlierDeletions.removeAll { $0 < floor }
    }

    /// Merges a write to a field whose value is decided elsewhere.
    @inlinable package mutating func mergeWrite(_ column: Int, _ stamp: Stamp) {
        while fields.count <= column { fields.append(nil) }
        fields[column] = fields[column].map { max($0, stamp) } ?? stamp
    }

    /// Merges a write to a field.
    /// - Parameters:
    ///   - value: the written value.
    ///   - present: the field's present value; needed only for equal stamps.
    /// - Returns: true if the written value is the field's value from now on.
    @inlinable
    package mutating func mergeField(
        _ column: Int, _ stamp: Stamp, value: FieldValue, present: FieldValue? = nil
    ) -> Bool {
        while fields.count <= column { fields.append(nil) }
        if let known = fields[column] {
            if stamp < known { return false }
            if stamp == known, let present, !(present < value) { return false }
        }
        fields[column] = stamp
        return true
    }
}

// MARK: Repeated deletions

extension ObjectRegisters {
    /// The time of a deletion that is repeated with its object.
    package static func time(ofRepeatedDeletion time: HybridTime) -> HybridTime { time.next.next }

    /// The time of a deletion that is repeated alone.
    package static func time(ofDeletionRepeatedAlone time: HybridTime) -> HybridTime { time.next }

    /// True if `later` is the time of a repetition of a deletion.
    package static func isRepetition(_ later: HybridTime, of time: HybridTime) -> Bool {
        later == Self.time(ofRepeatedDeletion: time) || later == Self.time(ofDeletionRepeatedAlone: time)
    }

    /// True if some device has repeated the object since its deletion. Every other device replays the repetition before
    /// it would forget the deletion, and then never forgets the object; or afterwards, and then has the object again.
    package var isRepeated: Bool {
        guard let deleted else { return false }
        return earlierDeletions.contains { deleted.time == Self.time(ofRepeatedDeletion: $0.time) }
    }

    /// The deletion that somebody made, if a known deletion is a repetition; otherwise the deletion itself.
    package func original(of deletion: Stamp?) -> Stamp? {
        guard let deletion else { return nil }
        return earlierDeletions.first { Self.isRepetition(deletion.time, of: $0.time) } ?? deletion
    }
}
