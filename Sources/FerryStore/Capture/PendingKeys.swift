import FerryCore
import FerrySQL
import FerrySchema

/// The present keys of a table's rows according to pending changes, as far as triggers saw them.
struct PendingKeys {
    private enum Holder {
        /// The row with this key at the last flush.
        case row(formerKey: [FieldValue])
        /// A row made since.
        case newRow
        case nobody
    }

    /// Holders of the keys mentioned by pending changes.
    private var holders: [[FieldValue]: Holder] = [:]
    /// Former keys of rows with a recorded deletion.
    private var deleted: Set<[FieldValue]> = []
    /// Keys of rows that statements were about to displace.
    private var examined: Set<[FieldValue]> = []
    /// The written columns by the row's key at the time.
    private var written: [[FieldValue]: Set<Int>] = [:]
    /// Present keys of rows with a changed key, by their former keys.
    private var moved: [[FieldValue]: [FieldValue]] = [:]

    init(_ table: TrackedTable, _ connection: SQLConnection) throws {
        typealias Column = PendingTable.Column
        try PendingTable(connection).forEach(
            width: table.keyColumns.count, where: "\"table\" = \(table.id)"
        ) { row in
            guard let event = PendingEvent(rawValue: row.int(Column.event)) else { return }
            let key = table.keyColumns.indices.map { row.value(Column.key + Int32($0)) }
            take(event, key, former: [row.value(Column.value)])
            switch event {
            case .examine: examined.insert(key)
            // Another row has the key since.
            case .insert, .rekey: examined.remove(key)
            case .update, .delete, .reference, .review: break
            }
            if event == .update {
                written[key, default: []].formUnion(ColumnMask.columns(of: row.integer(Column.mask)))
            }
        }
        for (key, holder) in holders { if case .row(let former) = holder { moved[former] = key } }
    }

    private mutating func take(_ event: PendingEvent, _ key: [FieldValue], former: [FieldValue]) {
        let holder = holders[key] ?? .row(formerKey: key)
        switch event {
        case .insert: if case .nobody = holder { holders[key] = .newRow } else { holders[key] = holder }
        case .update, .examine, .reference: holders[key] = holder
        // Recorded by no trigger.
        case .review: break
        case .delete:
            if case .row(let formerKey) = holder { deleted.insert(formerKey) }
            holders[key] = .nobody
        case .rekey:
            holders[key] = holders[former] ?? .row(formerKey: former)
            holders[former] = .nobody
        }
    }

    /// The present key of the row with this key at the last flush; `nil` if its deletion is recorded.
    func presentKey(of former: [FieldValue]) -> [FieldValue]? {
        deleted.contains(former) ? nil : moved[former] ?? former
    }

    /// The keys without a row now, according to pending changes, ascending.
    var vacantKeys: [[FieldValue]] {
        holders.filter { if case .nobody = $0.value { true } else { false } }.keys
            .sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// The keys with a row now, according to pending changes, ascending.
    var presentKeys: [[FieldValue]] {
        holders.filter { if case .nobody = $0.value { false } else { true } }.keys
            .sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// True if a statement was about to displace the row with a key, so the row's values are known (`PendingEvent.examine`).
    func isExamined(_ key: [FieldValue]) -> Bool { examined.contains(key) }

    /// The columns that triggers saw written under a key.
    func writtenColumns(of key: [FieldValue]) -> Set<Int> { written[key] ?? [] }

    /// True if pending changes mention a key.
    func mention(_ key: [FieldValue]) -> Bool { holders[key] != nil }

    /// True if a row under a key unknown to the state was recorded, or belongs to an object with a different former
    /// key.
    func isNoted(_ key: [FieldValue]) -> Bool {
        switch holders[key] {
        case .newRow: true
        case .row(let former): former != key
        case .nobody, nil: false
        }
    }
}
