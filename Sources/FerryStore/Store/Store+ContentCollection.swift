import FerryContent
import FerryCore
import FerrySQL
import FerrySchema

/// Collection of contents and packs (Docs/Architecture/content-collection.md).
extension Store {
    /// The contents that are deleted although references lead to them that no foreign key checks, each with the chunks that have to be
    /// packed before `insertContentsAgain`.
    package func contentsToPackAgain() throws -> [(row: ContentRow, chunks: Set<ChunkID>)] {
        try updateChunkIndex()
        return try readAccess { access in
            var news = ContentNews()
            news.widen()
            return try ContentRevival(access)?.unpacked(news) ?? []
        }
    }

    /// Packs local changes, and inserts contents again that references lead to: those of which every chunk is kept by a living content, or
    /// lies in a pack of this device's that has a row.
    package func insertContentsAgain(encode: SegmentEncoding) throws -> PassOutcome {
        try passing(encode) { session in
            session.contentNews.widen()
            try session.insertContentsAgain()
            return session.outcome
        }
    }

    /// Deletes the contents that nothing has used on this device for so long, and notes those that nothing uses now.
    /// - Returns: how many were deleted.
    package func deleteUnusedContents(nowMilliseconds: Int64, unusedMilliseconds: Int64) throws -> Int {
        let unused = try readAccess { access in
            try ContentStandings(access) == nil ? [] : ContentReferences(access).unused()
        }
        let look = try note { connection in
            try UnusedContents(connection).look(
                unused, nowMilliseconds: nowMilliseconds, unusedMilliseconds: unusedMilliseconds)
        }
        if look.deleted.isEmpty { return 0 }
        // An app may have referred to one of them meanwhile.
        let columns = try readAccess { try ContentUses($0).attachmentColumns() }
        return try write { connection in
            var count = 0
            for content in look.deleted.sorted() {
                let id = FieldValue.blob(content.bytes[...])
                let isUsed = try columns.contains { table, column in
                    try connection.count("SELECT EXISTS(SELECT 1 FROM \(table) WHERE \(column) = ?)", id) != 0
                }
                if try !isUsed && ContentRows(connection).delete(content) { count += 1 }
            }
            return count
        }
    }

    /// Deletes the rows of this device's packs with no chunk that a content lists, neither a living one nor one whose deletion is
    /// remembered. Their files go once that is published.
    /// - Returns: how many.
    package func deleteUnusedPacks() throws -> Int {
        try updateChunkIndex()
        let (device, candidates) = try readAccess { access -> (DeviceID, [PackID]) in
            let index = ChunkIndex(access.connection)
            let packs = try index.unlistedPacks(of: access.device)
            if packs.isEmpty { return (access.device, []) }
            var remembered: Set<ChunkID> = []
            try ContentStandings(access)?.forEachRememberedChunk { remembered.insert($0) }
            // No content with a row lists a chunk of theirs.
            let unused = try ContentCollection.unusedPacks(
                packs.map { (id: $0, chunks: try index.chunks(of: $0).map(\.id)) }, isListed: remembered.contains)
            return (access.device, unused.sorted())
        }
        if candidates.isEmpty { return 0 }
        return try write { connection in
            let index = ChunkIndex(connection)
            try index.update()
            let unlisted = Set(try index.unlistedPacks(of: device))
            let going = candidates.filter(unlisted.contains)
            for pack in going { try ContentRows(connection).remove(pack) }
            return going.count
        }
    }

    /// The chunks that remembered deleted contents list.
    package func rememberedChunks() throws -> Set<ChunkID> {
        try readAccess { access in
            var chunks: Set<ChunkID> = []
            try ContentStandings(access)?.forEachRememberedChunk { chunks.insert($0) }
            return chunks
        }
    }

    /// The epochs whose keys name remembered deleted contents: a content may come back.
    package func rememberedContentEpochs() throws -> Set<EpochID> {
        try readAccess { access in
            guard let standings = try ContentStandings(access) else { return [] }
            return Set(try standings.deleted().compactMap { try standings.row(of: $0)?.epoch })
        }
    }

    /// When contents and packs were last looked at (`deleteUnusedContents`), in milliseconds; `nil` if never.
    package func lastCollection() throws -> Int64? {
        try read { try MetaTable(connection: $0).integer(.contentCollection) }
    }

    package func noteCollection(atMilliseconds time: Int64) throws {
        try note { try MetaTable(connection: $0).set(.contentCollection, time) }
    }
}
