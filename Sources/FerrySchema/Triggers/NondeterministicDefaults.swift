import FerryCore
import FerrySQL

/// The triggers for rows displaced by OR REPLACE through an unpredictable default. Such a default is nondeterministic,
/// or a generated column is computed from the default.
///
/// After the displacement the row and its values are gone. So before the first statement giving NULL to such a column,
/// all rows of the table are recorded as displacement candidates. The record is made once until the next flush, for all
/// such statements. The flush sees which rows are gone.
///
/// A row made after the record is unknown to remote devices. For a row changed after the record, remote devices learn
/// the deletion and the values as recorded.
package struct NondeterministicDefaults {
    /// The mask of records that count for any following statement, too.
    package static let mask: Int64 = 1
    /// The sequence in the before-image table saying "all rows are recorded"; no pending change has this sequence. The
    /// mark goes with the first of the records. Then all rows are recorded again.
    package static let mark: Int64 = 0

    package static let updateTrigger = OwnNames.unforeseenUpdateTrigger

    package let table: TrackedTable

    /// Columns for which OR REPLACE may compute a value already held by a row.
    package var columns: [TrackedColumn] {
        table.localColumns.filter { column in
            guard !column.mayBeNull, let text = column.defaultSQL else { return false }
            let isSteady = DefaultText.isSteady(text)
            let isUnique = column.affinity != .real && DefaultText.isUnique(text)
            return table.uniqueIndexes.contains { index in
                let texts = IndexExpressions(index, table)
                if texts.generated.contains(where: { IndexText.mentions($0, column.name) }) { return true }
                if isSteady { return false }
                return texts.own.contains { IndexText.mentions($0, column.name) }
                    || !isUnique && index.terms.contains { $0.column == column.id }
            }
        }
    }

    /// The columns to watch for NULL: their defaults may displace rows unrecorded by any other trigger.
    /// - Parameter isUpdate: an integer key other than a rowid may have a default as well. After an insertion the key's
    ///   value is known.
    package func names(isUpdate: Bool) -> [String] {
        let isKey = isUpdate && table.isMapped && table.isWithoutRowID && table.keyHasDefault
        return columns.map(\.name) + (isKey ? table.keyColumns : [])
    }

    /// The condition for a statement giving NULL to a column, as seen by a BEFORE trigger.
    package static func isGiven(_ names: [String]) -> String {
        "(" + names.map { "NEW.\(quoted($0)) IS NULL" }.joined(separator: " OR ") + ")"
    }

    /// True if the table has triggers for unpredictable defaults.
    package var areAny: Bool { !names(isUpdate: true).isEmpty }

    package init(table: TrackedTable) {
        self.table = table
    }
}
