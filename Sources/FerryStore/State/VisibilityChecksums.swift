import FerryCore
import FerrySchema

/// The checksum of how an object is shown: covers everything the rows show beyond the object's own registers
/// (Docs/Format.md, "Digests of rows"). 0 for an object shown as written, and for a deleted object.
///
/// The checksum depends on names, object IDs and portable values. Local keys and reasons do not count. So the checksum
/// is equal on all devices showing the object in the same way.
struct VisibilityChecksums {
    private let hidden: UInt64
    private let joined: UInt64
    private let heldBack: UInt64
    /// Hash prefixes by column; `nil` for columns missing in this database.
    private let columns: [UInt64?]

    init(_ table: TrackedTable) {
        var hash = WordHash()
        hash.absorb(foldedText(table.name))
        hidden = hash.adding(4)
        joined = hash.adding(5)
        heldBack = hash.adding(6)
        columns = table.columns.map { column in
            guard table.isLocal, column.isLocal else { return nil }
            var field = hash
            field.absorb(7)
            field.absorb(foldedText(column.baseName))
            return field.value
        }
    }

    /// The checksum of a living object without a row, for any reason.
    func ofHidden(_ object: ObjectID) -> UInt64 { Self.hash(hidden, object).value }

    /// The checksum of an object shown by a representative's row.
    func ofJoined(_ object: ObjectID, to representative: ObjectID) -> UInt64 {
        var hash = Self.hash(joined, object)
        hash.absorb(representative.high)
        hash.absorb(representative.low)
        return hash.value
    }

    /// The checksum of an object with a row.
    /// - Parameters:
    ///   - isDeleted: true if the object is deleted and retained.
    ///   - shown: the row's values differing from the object's own values. Such values come from unified objects or cleared
    ///     references; for a deleted object all values count. References are to the representatives of their targets.
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
