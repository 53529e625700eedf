import FerryCore
import FerryMerge
import FerrySchema

/// The consequences of schema changes (`SchemaNews`), and tables that this process cannot write to
/// (Docs/Architecture/replay.md, "Tables that wait for the app").
extension StoreSession {
    /// Records unseen writes, then renews the object checksums used to find them. The news are of this transaction alone.
    func takeUp(_ news: SchemaNews) throws {
        if news.unseen.isEmpty, news.reshaped.isEmpty { return }
        for unseen in news.unseen {
            guard let table = access.registry.tables[unseen.table], table.isLocal else { continue }
            _ = try UnseenWrites(access, table, unseen).note()
        }
        for number in news.reshaped {
            guard let table = access.registry.tables[number] else { continue }
            try ChecksumRenewal(access, table).renewAll()
        }
        try SchemaNews(adopted: news.adopted, unproven: news.unproven, moved: news.moved).save(access.meta)
    }

    /// Shows remote values of tables and columns that are new in this database. Projects anomalous objects again, once
    /// nothing is pending.
    func showKeptValues() throws {
        let news = try SchemaNews.load(access.meta)
        let adopted = news.adopted
        let unproven = Set(news.unproven).union(adopted)
        if unproven.isEmpty { return }
        try SchemaNews().save(access.meta)
        for moved in news.moved ?? [] {
            guard access.registry.tables[moved.table]?.isLocal ?? false else { continue }
            let repeated = try MovedValues(access, moved).repeated()
            if !repeated.operations.isEmpty { try stage([repeated]) }
        }
        // The rules of a child decide about its parents as well, and a former foreign key names its parent no more.
        var seeds: [RowToken] = []
        for table in access.registry.tables.keys.sorted() { seeds += try access.anomalies.objects(in: table) }
        for table in adopted {
            guard let table = access.registry.tables[table], table.isLocal else { continue }
            let repeated = try UnshownMeanings(access, table).repeated()
            if !repeated.operations.isEmpty { try stage([repeated]) }
            try access.connection.forEachRow("SELECT object FROM \(table.objectTable) WHERE kept IS NOT NULL") { row in
                if let id: ObjectID = row.id(0) { seeds.append(RowToken(table: table.id, id: id)) }
            }
        }
        try settle(seeds)
    }

    /// Records the tables this process cannot write to.
    /// - Parameter hasFailed: true if a pass failed with the present knowledge. If nothing new is found, pending
    ///   changes wait too.
    /// - Returns: true if more waits than before.
    func recordWaitingTables(hasFailed: Bool = false) throws -> Bool {
        let former = try WaitingMark.load(access.meta)
        var waiting = try WaitingTables.find(among: access.registry.tables.keys, access.registry, access.connection)
        // The mark identifies rows waiting since an earlier pass and writable now.
        waiting.holdsNotes = former?.holdsNotes ?? false
        if waiting.isEmpty { return false }
        var mark = WaitingMark(waiting)
        for (number, reason) in former?.tables ?? [:] where mark.tables[number] == nil {
            mark.tables[number] = reason
        }
        if hasFailed, mark.numbers == former?.numbers { mark.holdsNotes = true }
        if mark == former { return false }
        try mark.save(access.meta)
        return true
    }

    /// Lets waiting rows follow their states, as far as this process has everything their tables use.
    func letRowsFollow() throws {
        guard let mark = try WaitingMark.load(access.meta), mark.numbers != access.waiting.reasons.keys.sorted() else {
            return
        }
        let registry = access.registry
        let concerned = WaitingTables(mark.numbers).connected(registry)
        try settle(WaitingObjects(access).anomalies(in: concerned))
        if access.waiting.isEmpty {
            try access.meta.remove(.waitingTables)
        } else {
            try WaitingMark(access.waiting).save(access.meta)
        }
    }
}
