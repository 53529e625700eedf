import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Makes foreign keys plain references during a pass.
struct PlainReferenceChange {
    private let former: StoreAccess

    init(_ access: StoreAccess) { former = access }

    /// Makes broken keys plain references before the breaking changes are packed.
    /// - Returns: the new session, and the objects the rules must check after everything is packed.
    func enter(_ keys: [DeclaredKey]) throws -> (access: StoreAccess, seeds: [RowToken]) {
        let targets = Set(keys.map { exactKey($0.target) })
        let seeds = try concerned(by: targets)
        try keepCleared(targets)
        try PlainReferenceList(former.connection).enter(keys)
        return (try former.renewed(), seeds)
    }

    /// Makes foreign keys plain references before replaying the changesets with these targets. Their author had done so
    /// before packing their content, including values without a target.
    /// - Returns: the objects the rules must check after everything is replayed.
    static func takeUp(_ targets: Set<String>, _ access: inout StoreAccess) throws -> [RowToken] {
        let list = PolicyList(access.connection)
        var applied = try list.applied()
        let news = targets.subtracting(PlainReferenceList.targets(in: applied))
        if news.isEmpty { return [] }
        let seeds = try PlainReferenceChange(access).concerned(by: news)
        for target in news { applied[target] = DeclaredKey.brokenWord }
        try list.apply(applied)
        access = try access.renewed()
        return seeds
    }

    /// The objects not shown as written, possibly because of these foreign keys.
    func concerned(by targets: Set<String>) throws -> [RowToken] {
        var tables: Set<Int> = []
        for (table, key) in keys(targets) { tables.formUnion([table.id, key.parent]) }
        let exceptional = try tables.sorted().flatMap { try former.anomalies.objects(in: $0) }
        return try exceptional
            + keys(targets).flatMap { table, key in
                try rowsShowingOthers(table, key) + rowsReferringToGivenKeys(table, key)
            }
    }

    /// The objects whose rows will claim an integer given by the author of their target (`GivenKeys`).
    private func rowsReferringToGivenKeys(_ table: TrackedTable, _ key: TrackedForeignKey) throws -> [RowToken] {
        try key.columns.filter(table.mayClaim).flatMap { number -> [RowToken] in
            let column = table.columns[number]
            guard let parent = column.reference.map({ former.registry[$0] }), parent.isIntegerKey else { return [] }
            let states = former.objects(of: parent.id)
            let targets = try objects(
                "SELECT object FROM \(parent.objectTable) WHERE k0 <= 0 OR kept IS NOT NULL ORDER BY object"
            ).map(states.load).filter { GivenKeys.isPlain($0.givenKey) }
            return try targets.compactMap(\.key.first).flatMap { local in
                try former.connection.rows(
                    "SELECT \(table.keyList) FROM \(table.quotedName) WHERE \(quoted(column.name)) = ?",
                    column.kept(local)
                ).compactMap {
                    try ReferenceTranslator(former).object(table, $0).map { RowToken(table: table.id, id: $0) }
                }
            }
        }
    }

    /// The objects whose rows show a reference by value as the value of the row that stands for the target.
    private func rowsShowingOthers(_ table: TrackedTable, _ key: TrackedForeignKey) throws -> [RowToken] {
        if case .mapped = key.target { return [] }
        let states = former.objects(of: table.id)
        return try objects("SELECT object FROM \(table.objectTable) WHERE kept IS NOT NULL ORDER BY object").filter {
            let state = try states.load($0)
            return state.shown.hasRow && state.kept.fields.hasAny(of: key.columns)
        }.map { RowToken(table: table.id, id: $0) }
    }

    private func objects(_ sql: String) throws -> [ObjectID] {
        try former.connection.rows(sql).compactMap { row in
            if case .blob(let bytes) = row[0] { ObjectID(bytes: bytes) } else { nil }
        }
    }

    private func keys(_ targets: Set<String>) -> [(table: TrackedTable, key: TrackedForeignKey)] {
        former.registry.tables.values.sorted { $0.id < $1.id }.flatMap { table in
            table.foreignKeys.filter { $0.declared.map { targets.contains(exactKey($0.target)) } ?? false }.map {
                (table, $0)
            }
        }
    }

    /// Records cleared references as written. So far SET NULL and SET DEFAULT derived them from the foreign key, and
    /// rows go on showing them.
    private func keepCleared(_ targets: Set<String>) throws {
        for (table, key) in keys(targets) where key.action == .setNull || key.action == .setDefault {
            for object in try former.anomalies.objects(in: table.id, of: [.clearedReference]).map(\.id) {
                let state = try former.objects(of: table.id).load(object)
                guard state.shown.hasRow, state.kept.fields.hasAny(of: key.columns), !state.key.isEmpty else {
                    continue
                }
                for column in key.columns where state.kept.fields.has(column) {
                    try PendingTable(former.connection).note(
                        .update, in: table.id, state.key, mask: ColumnMask.mask(of: column))
                }
            }
        }
    }
}
