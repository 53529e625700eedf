import FerryCore

/// The event of a pending change (the column `event` of `ferry_pending`).
package enum PendingEvent: Int {
    /// A row was inserted.
    case insert = 1
    /// Columns of a row changed; `mask` names the columns.
    case update = 2
    /// A row was deleted; the before-image table holds the row's values under the same sequence.
    case delete = 3
    /// A row holds a UNIQUE value a statement is about to claim. OR REPLACE deletes such a row without a DELETE
    /// trigger. The before-image table holds the row's values. The flush checks whether the row is still present.
    ///
    /// With `NondeterministicDefaults.mask`, any statement since may have displaced the row.
    case examine = 4
    /// A column under SET NULL or SET DEFAULT changed from `value`, perhaps by the foreign key's action.
    case reference = 5
    /// A mapped key changed from `value`.
    case rekey = 6
    /// Recorded by no trigger: columns of a row may have been written while the triggers were missing (`UnseenWrites`).
    /// `mask` names the columns.
    case review = 7
}

/// The column `mask` of `ferry_pending`: which columns of a row changed.
@usableFromInline package enum ColumnMask {
    /// Columns per mask. The mask's low 32 bits are columns; the bits above give the group of 32.
    @inlinable package static var groupSize: Int { 32 }

    /// The mask for a single changed column.
    package static func mask(of column: Int) -> Int64 {
        Int64(column / groupSize) << Int64(groupSize) | 1 << Int64(column % groupSize)
    }

    /// The masks for changed columns, one for each group of columns.
    package static func masks(of columns: some Sequence<Int>) -> [Int64] {
        var masks: [Int: Int64] = [:]
        for column in columns { masks[column / groupSize, default: 0] |= mask(of: column) }
        return masks.sorted { $0.key < $1.key }.map(\.value)
    }

    /// True if a mask names only columns below a count.
    package static func isValid(_ mask: Int64, below count: Int) -> Bool {
        let columns = UInt32(truncatingIfNeeded: mask)
        let group = mask >> groupSize
        if columns == 0 { return true }
        guard group >= 0, group < Int64(count) else { return false }
        return Int(group) * groupSize + (groupSize - 1 - columns.leadingZeroBitCount) < count
    }

    /// The changed columns named by a mask.
    @inlinable package static func columns(of mask: Int64) -> some Sequence<Int> {
        let first = Int(mask >> groupSize) * groupSize
        return (0..<groupSize).lazy.filter { mask >> Int64($0) & 1 != 0 }.map { first + $0 }
    }
}
