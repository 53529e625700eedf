import FerryCore
import FerryMerge
import FerrySchema

/// Saves merged states of objects with rows this process cannot write (`WaitingTables`). The rows stay unchanged, and
/// the objects are listed until an equipped process lets the rows follow.
struct WaitingObjects {
    private let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// Saves and lists an object's state; the row stays unchanged for now.
    func save(_ state: inout ObjectState, _ table: TrackedTable) throws {
        let objects = access.objects(of: table.id)
        let token = RowToken(table: table.id, id: state.object)
        let isAlive = state.registers.isAlive
        var row: ColumnValues = [:]
        switch state.shown {
        case .row, .anomalousRow:
            row = try ReferenceTranslator(access).values(access.reader(of: table.id).read(state.key) ?? [:], table)
            state.shown = .anomalousRow
        case .joined: break
        case .none, .hidden: state.shown = isAlive ? .hidden : .none
        }
        objects.renewCheck(of: &state, row: row)
        try objects.save(state)
        if state.shown == .none {
            try access.anomalies.remove(token)
            return try TombstoneParentKeys(access).note(state, table)
        }
        var check = objects.shownChecks.ofHidden(state.object)
        if state.shown == .anomalousRow {
            let shown = row.filter { column, value in
                !isAlive || state.kept.fields[column].map { $0 != value } ?? false
            }
            check = objects.shownChecks.ofRow(
                state.object, isDeleted: !isAlive, shown: shown.map { (column: $0.key, value: $0.value) })
        }
        try access.anomalies.recordWaiting(
            token, isHidden: state.shown == .hidden, causes: access.waiting.causes(table.id, access.registry),
            check: check)
    }

    /// Lists seeds instead of giving them to the rules.
    func postpone(_ seeds: some Sequence<RowToken>) throws {
        for seed in seeds {
            guard let table = access.registry.tables[seed.table], table.isLocal else { continue }
            var state = try access.objects(of: seed.table).load(seed.id)
            if state.isStored { try save(&state, table) }
        }
    }

    /// All objects in these tables not shown as written: waiting objects, and objects that may depend on them.
    func anomalies(in tables: Set<Int>) throws -> [RowToken] {
        try tables.sorted().flatMap { try access.anomalies.objects(in: $0) }
    }
}
