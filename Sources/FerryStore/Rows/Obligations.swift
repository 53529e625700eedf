import FerryCore

/// The obligations of a transaction before its commit. States, rows and the key-value store report here during writes,
/// and `StoreSession.commit` settles the obligations. A single object serves all accesses of a transaction
/// (`StoreAccess.renewed`).
///
/// Invariants:
/// - Nothing is unsettled between two transactions.
/// - Rolling back a savepoint removes everything gathered in the savepoint (`StoreAccess.savepoint`).
final class Obligations {
    /// The changes of the tables' digests (`ferry_digest`).
    let digests = StateDigests()
    /// The changes to report to watchers of the key-value store (`ferry_kv_change`).
    let keyValueChanges = KeyValueChangeLog()
    /// Parent keys removed from rows of local tables (`LocalTableUpkeep`).
    let departures = RemovedParentKeys()
    /// The new rows that show a default of their own here (`VaryingDefaults`).
    let varyingDefaults = VaryingDefaults()
    /// The written rows, if the app's hook needs them.
    @exclusivity(unchecked) var changedRows: RowChangeLog?
    /// The copies of the app's triggers now in use.
    @exclusivity(unchecked) var triggerCopies: TriggerCopies?

    /// The unsettled obligations, by name.
    var unsettled: [String] {
        var names: [String] = []
        if !digests.changes.isEmpty { names.append("digests") }
        if !keyValueChanges.isEmpty { names.append("keyValueChanges") }
        if !departures.isEmpty { names.append("departures") }
        if !varyingDefaults.rows.isEmpty { names.append("varyingDefaults") }
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

    func recordDefaults(_ table: Int, _ key: [FieldValue], in columns: [Int]) {
        varyingDefaults.rows.append(.init(table: table, key: key, columns: columns))
    }
}
