import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// References in unchecked columns to rows with an author's key of 0 or below.
///
/// Elsewhere such an integer may mean "none" and travels as a value (`KeyReservations`). On a device with the integer
/// as the row's key, SQLite cannot distinguish the two. So under UNIQUE indexes and in keys, the reference claims the
/// same as the integer. Claims follow from the state alone: every device decides alike, whatever the key of its row.
struct GivenKeys {
    private let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// True if a key travels as a value wherever no row has the key.
    static func isPlain(_ key: FieldValue?) -> Bool {
        if case .integer(let integer)? = key { integer <= 0 } else { false }
    }

    /// The values for computing claims: each such reference is replaced by the integer.
    func claimed(_ values: ColumnValues, _ table: TrackedTable) throws -> ColumnValues {
        var claimed = values
        for number in table.plainClaimColumns {
            let column = table.columns[number]
            guard case .reference(let target)? = values[number], let parent = column.reference,
                let key = try access.objects(of: parent).load(target).givenKey, Self.isPlain(key)
            else { continue }
            claimed[number] = column.kept(key)
        }
        return claimed
    }

    /// True if the claims of these values differ from the values.
    func areAny(in values: ColumnValues, _ table: TrackedTable) throws -> Bool {
        try !table.plainClaimColumns.isEmpty && claimed(values, table) != values
    }

    /// The claim of a key containing such a reference or integer; `nil` for any other key.
    func keyClaim(_ values: ColumnValues, _ table: TrackedTable) throws -> RuleClaim? {
        let columns = table.plainClaimColumns.filter(table.keyColumnIDs.contains)
        if table.isMapped || columns.isEmpty { return nil }
        let claimed = try claimed(values, table)
        guard columns.contains(where: { Self.isPlain(table.columns[$0].key(claimed[$0] ?? .null)) }) else { return nil }
        return RuleClaim(token: RowToken(table: table.id, id: table.derivedID(of: claimed)), index: nil)
    }

    /// The ID a row with such an integer in its key would be mistaken for. `nil` if no row of this device has the
    /// integer.
    func mistakenID(_ values: ColumnValues, _ table: TrackedTable) throws -> ObjectID? {
        let columns = table.plainClaimColumns.filter(table.keyColumnIDs.contains)
        if table.isMapped || columns.isEmpty { return nil }
        let misleading = try KeyReservations(access).misleading(values, table)
        var taken = values
        for number in columns {
            guard let value = misleading[number], let parent = table.columns[number].reference,
                let object = try access.objects(of: parent).object(forKey: table.columns[number].key(value))
            else { continue }
            taken[number] = .reference(object)
        }
        return taken == values ? nil : table.derivedID(of: taken)
    }
}
