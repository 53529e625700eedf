import FerryCore
import FerryMerge
import FerrySchema

/// Applies policies set since the last pass, here or elsewhere. Gives columns the registers they need, and shows the
/// state's values under the new policies.
///
/// Earlier operations are not lost on a later policy: registers keep everything needed.
struct PolicyMigration {
    /// Number of objects projected at a time.
    private static let batchSize = 20_000

    private let former: StoreAccess
    private let present: [String: String]
    private let wanted: [String: String]

    /// - Returns: `nil` if state and rows conform to all policies.
    init?(_ access: StoreAccess) throws {
        let list = PolicyList(access.connection)
        present = try list.applied()
        wanted = try list.target(access.hooks)
        if [String: String].areEqualBytes(wanted, present) { return nil }
        former = access
    }

    /// Applies the change. Returns the session under the new policies, and the tables with possibly changed rows.
    func run() throws -> (access: StoreAccess, tables: Set<Int>) {
        try PolicyList(former.connection).apply(wanted)
        let plain = PlainReferenceList.targets(in: wanted).subtracting(PlainReferenceList.targets(in: present))
        let concerned = try PlainReferenceChange(former).concerned(by: plain)
        let access = try former.renewed()
        var changed = Set(concerned.map(\.table))
        for (number, table) in access.registry.tables.sorted(by: { $0.key < $1.key }) {
            var difference = Difference(from: former.registry.tables[number], to: table)
            for column in table.columns where !difference.columns.contains(column.id) {
                // The policy may be unchanged, and its hook newly registered.
                let target = exactKey(PolicyTarget.column(table: table.name, column: column.baseName).text)
                if !String?.areEqualBytes(wanted[target], present[target]) { difference.columns.append(column.id) }
            }
            if difference.isEmpty { continue }
            changed.insert(number)
            try apply(difference, table, access)
        }
        try settle(concerned, access)
        return (access, changed)
    }

    private struct Difference {
        var columns: [Int] = []
        var life = false
        var indexes = false

        var isEmpty: Bool { columns.isEmpty && !life && !indexes }

        init(from former: TrackedTable?, to table: TrackedTable) {
            columns = table.columns.map(\.id).filter { column in
                let before = former.flatMap { $0.columns.count > column ? $0.columns[column].policy : nil }
                return table.columns[column].policy != before ?? .lastWriterWins
            }
            life = table.deletionWins != former?.deletionWins ?? false
            let hiding = Set(table.uniqueIndexes.filter(\.hidesLosers).map { foldedName($0.name) })
            indexes = hiding != Set((former?.uniqueIndexes ?? []).filter(\.hidesLosers).map { foldedName($0.name) })
        }
    }

    private func apply(_ difference: Difference, _ table: TrackedTable, _ access: StoreAccess) throws {
        var seeds: [RowToken] = []
        var last: FieldValue = .blob([])
        while true {
            let rows = try access.connection.rows(
                "SELECT object FROM \(table.objectTable) WHERE object > ? ORDER BY object LIMIT \(Self.batchSize)", last
            )
            guard let end = rows.last?[0] else { break }
            last = end
            for row in rows {
                guard case .blob(let bytes) = row[0], let object = ObjectID(bytes: bytes) else { continue }
                if try apply(difference, to: object, table, access) {
                    seeds.append(RowToken(table: table.id, id: object))
                }
            }
            if table.isLocal { try settle(seeds, access) }
            seeds = []
        }
    }

    private func settle(_ seeds: [RowToken], _ access: StoreAccess) throws {
        if seeds.isEmpty { return }
        try AppTriggerSandbox(access).run { _ = try RowProjector(access).settle(seeds: seeds) }
    }

    /// - Returns: true if the rules must check the object.
    private func apply(
        _ difference: Difference, to object: ObjectID, _ table: TrackedTable, _ access: StoreAccess
    ) throws -> Bool {
        var state = try access.objects(of: table.id).load(object)
        var isSeed = difference.life && state.registers.deleted != nil
        if difference.indexes, state.shown.isAnomalous { isSeed = true }
        var row: ColumnValues = [:]
        if table.isLocal, state.shown.hasRow {
            row = try ReferenceTranslator(access).values(access.reader(of: table.id).read(state.key) ?? [:], table)
        }
        // Living objects count in the digest, and being alive depends on the table's policy.
        var isChanged = isSeed && difference.life
        for column in difference.columns {
            guard let stamp = state.registers.stamp(of: column),
                let present = state.kept.fields[column] ?? row[column]
            else { continue }
            let policy = table.columns[column].policy
            let register =
                state.policies[column] ?? ColumnRegister(plain: StampedValue(stamp, present))
            state.keep(register, column, policy, newest: stamp)
            isChanged = true
            // Of the objects in a unified row, another one may give the column's value now.
            isSeed = isSeed || state.shown.isAnomalous
            guard let shown = register.shown(under: policy, access.hooks.function(for: policy)), shown != present
            else { continue }
            state.kept.fields[column] = shown
            isSeed = isSeed || state.shown != .none
        }
        if !isChanged { return isSeed }
        access.objects(of: table.id).renewCheck(of: &state, row: row)
        try access.objects(of: table.id).save(state)
        return isSeed
    }
}
