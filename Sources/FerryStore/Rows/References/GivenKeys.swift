import FerryCore
import FerryMerge

/// References to rows whose authors gave them an integer of 0 or below, in columns that no foreign key checks.
///
/// Such an integer may stand for "none" elsewhere, and travels as a value there (`KeyReservations`). SQLite cannot tell the two apart
/// on a device where the row has that integer. So the reference claims, under UNIQUE indexes and in keys, what the value claims. That
/// follows from the state alone: every device decides alike, whatever integer the row has there.
struct GivenKeys {
    private let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// Whether a key is one that travels as a value where no row has it.
    static func isPlain(_ key: FieldValue?) -> Bool {
        if case .integer(let integer)? = key { integer <= 0 } else { false }
    }

    /// Values as they claim: the integer in place of each such reference.
    func claimed(_ values: FieldValues, _ table: TrackedTable) throws -> FieldValues {
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

    /// Whether values claim something else than they say.
    func areAny(in values: FieldValues, _ table: TrackedTable) throws -> Bool {
        try !table.plainClaimColumns.isEmpty && claimed(values, table) != values
    }

    /// The claim of a key with such a reference, or such an integer, in it; `nil` for any other key.
    func keyClaim(_ values: FieldValues, _ table: TrackedTable) throws -> RuleClaim? {
        let columns = table.plainClaimColumns.filter(table.keyColumnIDs.contains)
        if table.isMapped || columns.isEmpty { return nil }
        let claimed = try claimed(values, table)
        guard columns.contains(where: { Self.isPlain(table.columns[$0].key(claimed[$0] ?? .null)) }) else { return nil }
        return RuleClaim(token: RowToken(table: table.id, id: table.derivedID(of: claimed)), index: nil)
    }

    /// The ID by which a row with such an integer in its key would be taken for another one, as a row of this device's has that
    /// integer; `nil` where none has.
    func mistakenID(_ values: FieldValues, _ table: TrackedTable) throws -> ObjectID? {
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
