import FerryCore

/// The triggers for rows that OR REPLACE displaces by a default which nobody can know before: it is another each time it is
/// computed, or a generated column is computed of it.
///
/// Afterwards the row is gone, and its values with it. So before the first statement that gives NULL to such a column all
/// rows of the table are noted as perhaps displaced, once for all such statements until they are packed: then it is seen which
/// rows are gone. A row that is made later is known to nobody else; of one that changes later the others hear that it is
/// gone, and what it was when it was noted.
struct UnforeseenDefaults {
    /// The mask of notes that stand for any statement that follows, too.
    static let mask: Int64 = 1
    /// The sequence in the table of old rows that says that all rows are noted; no note has it. It goes with the first of
    /// them, and then all are noted again.
    static let mark: Int64 = 0

    static let updateTrigger = "unforeseen_update"

    let table: TrackedTable

    /// Columns for which OR REPLACE may compute a value that a row already has.
    var columns: [TrackedColumn] {
        table.localColumns.filter { column in
            guard !column.mayBeNull, let text = column.defaultSQL else { return false }
            let isSteady = DefaultText.isSteady(text)
            let isUnique = column.affinity != .real && DefaultText.isUnique(text)
            return table.uniqueIndexes.contains { index in
                let texts = IndexTexts(index, table)
                if texts.generated.contains(where: { IndexText.mentions($0, column.name) }) { return true }
                if isSteady { return false }
                return texts.own.contains { IndexText.mentions($0, column.name) }
                    || !isUnique && index.terms.contains { $0.column == column.id }
            }
        }
    }

    /// What a statement gives NULL to, by which rows may be displaced that no other trigger notes.
    /// - Parameter isUpdate: an integer key that is no rowid may have a default as well; after an insertion its value is known.
    func names(isUpdate: Bool) -> [String] {
        let isKey = isUpdate && table.isMapped && table.isWithoutRowID && table.keyHasDefault
        return columns.map(\.name) + (isKey ? table.keyColumns : [])
    }

    /// Whether a statement gives NULL to one of columns, as a trigger before it sees that.
    static func isGiven(_ names: [String]) -> String {
        "(" + names.map { "NEW.\(quoted($0)) IS NULL" }.joined(separator: " OR ") + ")"
    }

    /// Whether the table has triggers for them.
    var areAny: Bool { !names(isUpdate: true).isEmpty }
}
