import FerryContent
import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Contents that are deleted, while a reference leads to them that no foreign key checks (Docs/Architecture/content-collection.md,
/// rules 3 and 4).
struct ContentRevival {
    private let access: StoreAccess
    private let standings: ContentStandings

    /// - Returns: `nil` where no content is deleted.
    init?(_ access: StoreAccess) throws {
        guard let standings = try ContentStandings(access), try standings.hasDeleted() else { return nil }
        self.access = access
        self.standings = standings
    }

    /// The contents to which changed references lead, or all references where the look is wide.
    func references(_ news: ContentNews) throws -> Set<ContentID> {
        if !news.isWide { return news.candidates }
        let heldBack = try ContentRows(access.connection).heldBack()
        return try ContentReferences(access).unchecked(among: heldBack.union(standings.deleted()))
    }

    /// What is inserted again: the rows alone, and those whose chunks have to be packed first.
    func insertedAgain(_ news: ContentNews) throws -> ContentCollection.InsertedAgain {
        var again = try ContentCollection.insertedAgain(
            references: references(news),
            before: { content in
                if let known = news.before[content] { return known }
                return try standings.standing(of: content)
            }, standing: standings.standing)
        if again.rowsWithChunks.isEmpty { return again }
        let index = ChunkIndex(access.connection)
        try index.update()
        for content in again.rowsWithChunks {
            guard let row = try standings.row(of: content), try chunksToPack(row, index).isEmpty else { continue }
            again.rowsWithChunks.remove(content)
            again.rows.insert(content)
        }
        return again
    }

    /// The rows that `insertedAgain` leaves for others: each with the chunks that have to be packed.
    func unpacked(_ news: ContentNews) throws -> [(row: ContentRow, chunks: Set<ChunkID>)] {
        let index = ChunkIndex(access.connection)
        return try insertedAgain(news).rowsWithChunks.sorted().compactMap { content in
            guard let row = try standings.row(of: content) else { return nil }
            return (row, try chunksToPack(row, index))
        }
    }

    /// The chunks of a content that neither a living content keeps nor a pack of this device's own has.
    func chunksToPack(_ row: ContentRow, _ index: ChunkIndex) throws -> Set<ChunkID> {
        var own: Set<ChunkID> = []
        for chunk in row.list.chunks {
            if try index.places(of: chunk.id).contains(where: { $0.device == access.device }) { own.insert(chunk.id) }
        }
        return try ContentCollection.chunksToPack(row.list.chunks.map(\.id), packed: own) { chunk in
            try index.contents(listing: chunk).filter { $0 != row.id }.compactMap(standings.standing)
        }
    }

    func token(_ content: ContentID) -> RowToken { standings.token(content) }
}

extension StoreSession {
    /// Inserts contents again that the transaction's changes lead to, or that its deletions took. The device acknowledges a deletion after
    /// this alone.
    func insertContentsAgain() throws {
        let news = contentNews
        contentNews = ContentNews()
        if news.isEmpty { return }
        guard let revival = try ContentRevival(access) else { return }
        let again = try revival.insertedAgain(news)
        if !again.rowsWithChunks.isEmpty { outcome.lacksContents = true }
        if again.rows.isEmpty { return }
        var changes: [TableChanges] = []
        try AppTriggerSandbox(access).run {
            let written = try Republication(access).publishAgain(
                Set(again.rows.map(revival.token)), &clock, &changes)
            touched.formUnion(written.map(\.table))
            try RowProjector(access).settle(written)
        }
        try stage(changes)
        contentNews = ContentNews()
    }
}
