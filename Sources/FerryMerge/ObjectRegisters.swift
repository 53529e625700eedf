import FerryCore

/// The state of one object without its values: the stamps of its registers.
///
/// Merging takes the maximum of each register, which is commutative, associative and idempotent: any order, repetition
/// or batching of the same writes gives the same registers. Values follow their stamps; equal stamps with different
/// values (two copies of one device) are decided by the value, so that the order of delivery never decides.
public struct ObjectRegisters: Equatable, Sendable {
    /// The newest insertion; `nil` while only updates or deletions have been seen.
    public var inserted: Stamp?
    /// The newest deletion.
    public var deleted: Stamp?
    /// Further deletions that may still matter, ascending: the last one that an insertion followed, and those that none
    /// has followed yet. Mostly none.
    public private(set) var earlierDeletions: [Stamp] = []
    /// For each column, by its number in the store's registry, the stamp of its value; `nil` where it has none.
    /// Columns past the end have none.
    public var fields: [Stamp?]
    /// Whether only an insertion brings the object back after a deletion: the table's policy `deleteWins`, which is no
    /// part of the state.
    public var deletionWins = false

    public init(
        inserted: Stamp? = nil, deleted: Stamp? = nil, earlierDeletions: [Stamp] = [], fields: [Stamp?] = []
    ) {
        self.inserted = inserted
        self.deleted = deleted
        self.earlierDeletions = earlierDeletions
        self.fields = fields
    }

    /// The last deletion that an insertion followed. That insertion began the object anew: whatever was written before
    /// the deletion is void, also what the insertion says nothing of. So it does not matter who still remembers it.
    public var floor: Stamp? {
        guard let inserted, let deleted else { return nil }
        return deleted < inserted ? deleted : earlierDeletions.last { $0 < inserted }
    }

    /// Whether it was deleted and nothing that is known was written later: also where a table asks for less.
    public var isTombstone: Bool {
        guard let deleted else { return false }
        return newestWrite.map { $0 < deleted } ?? true
    }

    /// The newest insertion or field stamp.
    public var newestWrite: Stamp? {
        var newest = inserted
        for case let stamp? in fields where newest.map({ $0 < stamp }) ?? true { newest = stamp }
        return newest
    }

    /// An object is alive when something was written to it later than its deletion. One whose insertion has not arrived
    /// yet is not: most of its fields are unknown.
    public var isAlive: Bool {
        guard let inserted, let newest = deletionWins ? inserted : newestWrite else { return false }
        guard let deleted else { return true }
        return deleted < newest
    }

    /// The latest of all registers.
    public var newest: Stamp? {
        guard let written = newestWrite else { return deleted }
        return max(written, deleted ?? written)
    }

    @inlinable
    public func stamp(of column: Int) -> Stamp? { column < fields.count ? fields[column] : nil }

    /// Takes an insertion's stamp into account, apart from the fields it carries.
    public mutating func mergeInsertion(_ stamp: Stamp) {
        inserted = inserted.map { max($0, stamp) } ?? stamp
        forgetEarlierDeletions()
    }

    public mutating func mergeDeletion(_ stamp: Stamp) {
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

    /// Of the deletions that an insertion followed only the last one matters.
    private mutating func forgetEarlierDeletions() {
        guard !earlierDeletions.isEmpty, let floor else { return }
        earlierDeletions.removeAll { $0 < floor }
    }

    /// Takes a write to one field into account whose value is decided elsewhere.
    public mutating func noteWrite(_ column: Int, _ stamp: Stamp) {
        while fields.count <= column { fields.append(nil) }
        fields[column] = fields[column].map { max($0, stamp) } ?? stamp
    }

    /// Takes a write to one field into account.
    /// - Parameters:
    ///   - value: the value written.
    ///   - present: the value that the field has now; needed only where the stamps are equal.
    /// - Returns: whether the written value is the field's value from now on.
    @inlinable
    public mutating func mergeField(
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
