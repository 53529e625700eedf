import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// Removal and return of contents and packs (Docs/Architecture/content-collection.md). Each call writes rows alone; the caller packs and
/// publishes the rows. Files go later (`removeUnnamedPacks`).
extension Replica {
    /// Inserts deleted contents with references again, with their chunks in this device's own packs. A content with a chunk that is not to
    /// be had now stays deleted until a later pass.
    func insertContentsAgain(_ container: Container) throws {
        let contents = try store.contentsToPackAgain()
        if contents.isEmpty { return }
        let keys = try contentKeys()
        let source = try ChunkSource(self, container)
        var maker = try PackMaker(self, keys)
        for (row, chunks) in contents {
            do {
                // Chunks packed for a content before a failure count the next time: own packs have the chunks.
                for id in chunks.sorted() { try maker.add(chunk(id, of: row, source, keys), as: id) }
            } catch let error as FerryError where error.concernsOneFile {
                continue
            }
        }
        let packs = try maker.finish()
        if !packs.isEmpty {
            try store.write { connection in for pack in packs { try ContentRows(connection).insert(pack) } }
        }
        _ = try store.insertContentsAgain(encode: segmentEncoding(for: identity))
    }

    /// A chunk from beside the database, or from a pack.
    func chunk(_ id: ChunkID, of row: ContentRow, _ source: ChunkSource, _ keys: ContentKeys) throws -> [UInt8] {
        if let file = try shelf.openWhole(row.id, byteCount: row.byteCount) {
            var offset = 0
            for chunk in row.list.chunks {
                if chunk.id == id {
                    let bytes = try file.read(offset..<offset + chunk.count)
                    if try keys.key(row.epoch).chunkID(of: bytes) == id { return bytes }
                }
                offset += chunk.count
            }
        }
        return try source.chunk(id, row.epoch)
    }

    /// Whether a look for unneeded contents and packs is due.
    func isCollectionDue() throws -> Bool {
        guard try store.hasDocumentTables() else { return false }
        guard let last = try store.lastCollection() else { return true }
        // A clock set back makes a look due.
        let age = environment.clock.milliseconds().subtractingReportingOverflow(last)
        return age.overflow || !(0..<retention.collectionMilliseconds).contains(age.partialValue)
    }

    /// Deletes contents unused for long, and packs without a chunk for a known content. Packs the needed chunks of half-empty packs anew.
    ///
    /// The first look, and a look after a long time, only note the time: a clock wrong for an hour ends nobody's thirty days.
    func collectContents(_ container: Container) throws {
        let now = environment.clock.milliseconds()
        let age = try store.lastCollection().map { now.subtractingReportingOverflow($0) }
        guard let age, !age.overflow, (0...Self.clockJumpMilliseconds).contains(age.partialValue) else {
            return try store.noteCollection(atMilliseconds: now)
        }
        for companion in SyncCompanions.all(environment) { try companion.prepareCollection(self) }
        _ = try store.deleteUnusedContents(
            nowMilliseconds: now, unusedMilliseconds: retention.unusedContentMilliseconds)
        _ = try store.deleteUnusedPacks()
        try renewSparsePacks(container)
        try store.noteCollection(atMilliseconds: now)
    }

    /// So long after the last look the clock may have jumped, in milliseconds.
    private static let clockJumpMilliseconds: Int64 = 40 * 86_400_000

    /// Packs needed chunks anew, from packs of which known contents need less than a half.
    private func renewSparsePacks(_ container: Container) throws {
        let remembered = try store.rememberedChunks()
        let needs = { [store] (chunk: ChunkID) in
            try remembered.contains(chunk) || store.readContents { _, index in try index.isListed(chunk) }
        }
        var sparse: [PackRow] = []
        for id in try store.readContents({ rows, _ in try rows.packs(of: identity.device) }).sorted() {
            guard let pack = try store.readContents({ rows, _ in try rows.soundPack(id) }),
                pack.byteCount >= retention.sparsePackBytes
            else { continue }
            let used = try pack.directory.entries.reduce(0) { try needs($1.id) ? $0 + $1.place.stored : $0 }
            // A pack without use goes as a whole, by another rule.
            if used > 0, used < pack.byteCount / 2 { sparse.append(pack) }
        }
        try PackRenewal(self).renew(sparse, container, needs: needs)
    }
}
