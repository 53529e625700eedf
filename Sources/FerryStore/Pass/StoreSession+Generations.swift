import FerryCore
import FerryMerge
import FerrySchema

/// What a pass does where tables have got another primary key (Docs/Architecture/schema-changes.md, "Generations of a table").
extension StoreSession {
    /// Changes leaving tables to their new generation, once all pending changes of the former generation are packed.
    func changeGenerations() throws {
        let former = access
        if former.registry.leaving.isEmpty { return }
        let plan = try GenerationPlan(former.connection, SchemaReader(connection: former.connection).read())
        let tracking = Tracking(former.connection, clock: former.clock, random: former.random)
        try tracking.update(rowsAreOld: false, isPacked: true)
        access = try former.renewed()
        var news = try SchemaNews.load(access.meta)
        for number in news.reshaped where !former.registry.leaving.contains(number) {
            guard let table = access.registry.tables[number] else { continue }
            try ChecksumRenewal(access, table).renewAll()
        }
        news.reshaped = []
        try news.save(access.meta)
        var seeds: [RowToken] = []
        for table in access.registry.parentsFirst {
            guard let left = former.registry.table(named: table.name), former.registry.leaving.contains(left.id),
                !access.registry.isOfAnotherGeneration(table)
            else { continue }
            var change = try GenerationChange(former, left, access, table, formerKey: left.keyColumns)
            try change.run { try stage([$0]) }
            if table.isLocal { try tracking.recordRows(table, areOld: false) }
            seeds += change.seeds
            touched.insert(table.id)
            try plan.dropIndex(of: left.id)
            try GenerationWriters(access).recordLeft(left, for: table)
        }
        // The dropped indexes change the schema version, and no table.
        try access.meta.set(.schemaVersion, SchemaReader(connection: access.connection).version())
        try pack()
        try settle(seeds)
    }

    /// Passes remote writes to a former generation over into the present generation.
    /// - Parameter changesets: the replayed changesets.
    func passOn(_ changesets: [Changeset]) throws {
        if access.registry.haveOneGenerationEach { return }
        let generations = try Generations.load(access.meta)
        if generations.left.isEmpty { return }
        var objects: [Int: Set<ObjectID>] = [:]
        for changes in changesets.flatMap(\.tables) {
            guard let table = access.registry.table(named: changes.name, changes.identity),
                generations.left.contains(table.id)
            else { continue }
            objects[table.id, default: []].formUnion(changes.operations.map(\.object))
        }
        var seeds: [RowToken] = []
        for (number, ids) in objects.sorted(by: { $0.key < $1.key }) {
            let left = access.registry[number]
            guard let table = access.registry.table(named: left.name), table.isLocal, table.id != number else {
                continue
            }
            let key: [String]
            if case .key(let columns) = left.identity {
                key = columns
            } else {
                key = generations.keys["\(number)"].map { [$0] } ?? []
            }
            var change = try GenerationChange(access, left, access, table, formerKey: key)
            try change.pass(ids.sorted()) { try stage([$0]) }
            seeds += change.seeds
            touched.insert(table.id)
        }
        try settle(seeds)
    }
}
