import FerryCore

/// What a transaction owes before it is committed. States, rows and the key-value store report here while they are written, and
/// `StoreSession.commit` settles it. One object serves all accesses of a transaction (`StoreAccess.renewed`).
///
/// Invariants:
/// - Nothing is unsettled between two transactions.
/// - A savepoint that is rolled back takes back what was gathered in it (`StoreAccess.savepoint`).
final class Obligations {
    /// By how much the tables' digests change (`ferry_digest`).
    let digests = StateDigests()
    /// What the watchers of the key-value store are to be told (`ferry_kv_change`).
    let keyValueChanges = KeyValueChanges()
    /// What was taken away from rows that stay on this device (`StayingRows`).
    let departures = Departures()
    /// The rows that were written, where the app's hook is to be told of them.
    @exclusivity(unchecked) var changedRows: ChangedRows?
    /// The copies of the app's triggers now in use.
    @exclusivity(unchecked) var triggerCopies: TriggerCopies?

    /// What nobody has settled yet, by name.
    var unsettled: [String] {
        var names: [String] = []
        if !digests.changes.isEmpty { names.append("digests") }
        if !keyValueChanges.isEmpty { names.append("keyValueChanges") }
        if !departures.isEmpty { names.append("departures") }
        if changedRows != nil { names.append("changedRows") }
        if triggerCopies != nil { names.append("triggerCopies") }
        return names
    }
}

extension Obligations: RowWriteObserver {
    var triggers: (any RowTriggers)? { triggerCopies }

    func recordFormer(
        _ object: ObjectID, _ key: [FieldValue], of table: Int, offering values: () throws -> [FieldValue]?
    ) throws {
        guard !departures.isKnown(object, of: table), let values = try values() else { return }
        departures.note(.init(object: object, key: key, values: values), of: table)
    }

    func recordChange(of kind: KeyValueKind, _ name: FieldValue?) { keyValueChanges.note(kind, name) }

    var recordsRows: Bool { changedRows != nil }

    func recordRow(_ table: Int, _ key: [FieldValue], isRemoved: Bool) {
        changedRows?.note(table, key, isRemoved: isRemoved)
    }
}
