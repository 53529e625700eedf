import FerryCore
import FerryMerge

/// The objects of each table, by its name in lower case.
public typealias ObjectSets = [String: Set<ObjectID>]

/// Takes rows that only the joining database has out of it and out of what it is about to publish: a container takes
/// nothing of its own from a database that joins with `--rows theirs`.
///
/// What is published of such a row is its deletion, so that every device has the same state of it. Its values stay in
/// this device's state and are listed as a conflict, from which they can be brought back.
struct OneSidedRows {
    let access: StoreAccess
    /// The objects that the container knows.
    let known: ObjectSets
    private(set) var touched: [TouchedObject] = []

    init(_ access: StoreAccess, known: ObjectSets) {
        self.access = access
        self.known = known
    }

    /// - Parameter changes: what a flush captured of one table, before it is published.
    /// - Returns: the same with a deletion in place of all that it says of rows which the container does not know.
    mutating func remove(
        from changes: TableChanges, _ clock: inout HybridClock
    ) throws -> TableChanges {
        guard let table = access.registry.table(named: changes.name) else { return changes }
        let kept = known[foldedName(changes.name)] ?? []
        var builder = TableChangesBuilder(table)
        var removed: Set<ObjectID> = []
        let columns = changes.columns.map { table.columnID($0) }
        for operation in changes.operations {
            if !kept.contains(operation.object) {
                guard removed.insert(operation.object).inserted else { continue }
                let time = clock.tick()
                try remove(operation.object, of: table, Stamp(time: time, device: access.device))
                builder.append(operation.object, .delete, time)
                continue
            }
            var values: FieldValues = [:]
            for (place, value) in zip(changes.shapes[operation.shape], changes.values(of: operation)) {
                if let column = columns[place] { values[column] = value }
            }
            builder.append(operation.object, operation.kind, operation.time, key: operation.key, values: values)
        }
        return removed.isEmpty ? changes : builder.changes
    }

    private mutating func remove(_ object: ObjectID, of table: TrackedTable, _ deletion: Stamp) throws {
        let objects = access.objects(of: table.id)
        var state = try objects.load(object)
        guard let lost = state.registers.newestWrite else { return }
        let key = state.key
        if state.shown.hasRow {
            let row = try access.reader(of: table.id).read(key) ?? [:]
            state.kept.fields = try Travelling(access).values(row, table).overlaid(with: state.kept.fields)
            if table.isMapped { state.kept.key = key.first }
            if let refusal = try access.writer(of: table.id).delete(key: key, of: object) {
                throw FerryError(
                    .database,
                    "A row of \(table.name) cannot be removed: \(refusal.message). Join with `--rows merge` instead.")
            }
        }
        state.registers = ObjectRegisters(deleted: deletion)
        state.shown = .none
        if try !table.isMapped || !KeyReservations(access).isInUse(key.first ?? .null, of: table) { state.key = [] }
        objects.renewCheck(of: &state)
        try objects.save(state)
        try ConflictLog(access).record(
            .deleted, table: table.id, object: object, column: nil, lost: (nil, lost), kept: (nil, deletion))
        touched.append(
            TouchedObject(
                table: table.id, object: object, columns: table.columns.map(\.id), isDeleted: true, needsRules: true,
                key: key))
    }
}

extension Store {
    /// Packs the rows that a database had before it joined, but takes out what the container does not know
    /// (`OneSidedRows`).
    /// - Parameter known: the objects that the container knows; `nil`: everything is packed and nothing taken out.
    /// - Returns: what was packed, and how many rows were taken out.
    public func packOldRows(
        known: ObjectSets?, seal: SegmentSealer
    ) throws -> (outcome: PassOutcome, removed: Int) {
        try access { access in
            var outcome = PassOutcome()
            var clock = try access.hybridClock()
            var tables: Set<Int> = []
            let conflicts = access.recordedConflicts
            var access = access
            try pack(&access, &clock, &outcome, seal, &tables) { access, changes, clock in
                guard let known else { return (changes, []) }
                var rows = OneSidedRows(access, known: known)
                let rest = try changes.map { try rows.remove(from: $0, &clock) }
                return (rest, rows.touched)
            }
            try access.save(clock)
            let removed = access.recordedConflicts - conflicts
            return ((outcome, removed), tables.map { access.registry[$0] }.filter(\.isLocal).map(\.name))
        }
    }
}
