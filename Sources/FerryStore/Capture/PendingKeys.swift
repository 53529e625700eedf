import FerryCore

/// What notes that no flush has packed say of a table's keys: whose row has which key now, as far as triggers saw it.
struct PendingKeys {
    private enum Holder {
        /// The row that had this key when notes were last packed.
        case row(formerKey: [FieldValue])
        /// A row that was made since.
        case newRow
        case nobody
    }

    /// By the keys that notes mention.
    private var holders: [[FieldValue]: Holder] = [:]
    /// Former keys of rows whose deletion is noted.
    private var deleted: Set<[FieldValue]> = []
    /// Present keys of rows whose key changed, by their former ones.
    private var moved: [[FieldValue]: [FieldValue]] = [:]

    init(_ table: TrackedTable, _ connection: SQLConnection) throws {
        let slots = table.keyColumns.indices.map { "k\($0)" }.joined(separator: ", ")
        try connection.forEachRow(
            "SELECT event, value, \(slots) FROM ferry_pending WHERE \"table\" = \(table.id) ORDER BY sequence"
        ) { row in
            guard let event = PendingEvent(rawValue: row.int(0)) else { return }
            let key = table.keyColumns.indices.map { row.value(2 + Int32($0)) }
            take(event, key, former: [row.value(1)])
        }
        for (key, holder) in holders { if case .row(let former) = holder { moved[former] = key } }
    }

    private mutating func take(_ event: PendingEvent, _ key: [FieldValue], former: [FieldValue]) {
        let holder = holders[key] ?? .row(formerKey: key)
        switch event {
        case .insert: if case .nobody = holder { holders[key] = .newRow } else { holders[key] = holder }
        case .update, .examine, .reference: holders[key] = holder
        // No trigger noted that.
        case .review: break
        case .delete:
            if case .row(let formerKey) = holder { deleted.insert(formerKey) }
            holders[key] = .nobody
        case .rekey:
            holders[key] = holders[former] ?? .row(formerKey: former)
            holders[former] = .nobody
        }
    }

    /// The key that a row has now which had this one when notes were last packed; `nil` where its deletion is noted.
    func presentKey(of former: [FieldValue]) -> [FieldValue]? {
        deleted.contains(former) ? nil : moved[former] ?? former
    }

    /// The keys that no row has any more, as far as notes tell, in ascending order.
    var vacantKeys: [[FieldValue]] {
        holders.filter { if case .nobody = $0.value { true } else { false } }.keys
            .sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Whether notes speak of a key.
    func mention(_ key: [FieldValue]) -> Bool { holders[key] != nil }

    /// Whether a row by a key that the state does not know was noted, or belongs to an object that had another key.
    func isNoted(_ key: [FieldValue]) -> Bool {
        switch holders[key] {
        case .newRow: true
        case .row(let former): former != key
        case .nobody, nil: false
        }
    }
}
