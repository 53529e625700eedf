import FerryCore

/// The check of how an object is shown: a number that tells what the rows show of it that its own registers do not say
/// (Docs/Format.md, "Digests of rows"). 0 for an object that is shown as written, and for one that is gone.
///
/// It depends on names, object IDs and values as they travel: not on local keys, nor on why a device shows what it shows. So it
/// is the same on all devices that show the same of the object.
struct ShownChecks {
    private let hidden: UInt64
    private let joined: UInt64
    private let heldBack: UInt64
    /// By column; `nil` for columns that this database does not have.
    private let columns: [UInt64?]

    init(_ table: TrackedTable) {
        var hash = WordHash()
        hash.absorb(foldedName(table.name))
        hidden = hash.adding(4)
        joined = hash.adding(5)
        heldBack = hash.adding(6)
        columns = table.columns.map { column in
            guard table.isLocal, column.isLocal else { return nil }
            var field = hash
            field.absorb(7)
            field.absorb(foldedName(column.name))
            return field.value
        }
    }

    /// Of an object that is alive and has no row, for whatever reason.
    func ofHidden(_ object: ObjectID) -> UInt64 { Self.hash(hidden, object).value }

    /// Of an object that the row of another one shows.
    func ofJoined(_ object: ObjectID, to representative: ObjectID) -> UInt64 {
        var hash = Self.hash(joined, object)
        hash.absorb(representative.high)
        hash.absorb(representative.low)
        return hash.value
    }

    /// Of an object with a row.
    /// - Parameters:
    ///   - isDeleted: whether its deletion is held back.
    ///   - shown: what the row shows that are not the object's own values: of columns that come from objects joined with it, of
    ///     references that are cleared, and of a deleted object all. References are to the objects that represent what is
    ///     referred to.
    func ofRow(
        _ object: ObjectID, isDeleted: Bool, shown: some Sequence<(column: Int, value: FieldValue)>
    ) -> UInt64 {
        var sum = isDeleted ? Self.hash(heldBack, object).value : 0
        for (column, value) in shown {
            guard column < columns.count, let kind = columns[column] else { continue }
            var hash = Self.hash(kind, object)
            hash.absorb(value)
            sum &+= hash.value
        }
        return sum
    }

    private static func hash(_ kind: UInt64, _ object: ObjectID) -> WordHash {
        var hash = WordHash()
        hash.absorb(kind)
        hash.absorb(object.high)
        hash.absorb(object.low)
        return hash
    }
}
