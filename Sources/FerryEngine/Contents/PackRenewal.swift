import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// Makes packs anew from the chunks of others: packs of a former ID of this device, packs that are sealed under an epoch which is over
/// or not at all, and packs that went from the container while this device has their bytes.
///
/// The order is that of everything else: bytes beside the database first, then rows, then the container. The files of packs without a
/// row go last (`PackUpkeep`).
struct PackRenewal {
    private let replica: Replica
    private let keys: ContentKeys

    init(_ replica: Replica) throws {
        self.replica = replica
        keys = try replica.contentKeys()
    }

    /// Packs that are not in the container yet, and would not do there: of a former device ID, or not sealed under the present
    /// epoch.
    func outdatedPending() throws -> [PackRow] {
        let pending = try replica.pendingPacks()
        if pending.isEmpty { return [] }
        let epoch = try keys.sealingEpoch()
        let own = replica.identity.device
        let former = Set(try replica.store.reading().formerDevices.map(\.device))
        return pending.filter { former.contains($0.device) || $0.device == own && $0.epoch != epoch }
    }

    /// Packs of this device, or of a former ID of it, that are plain while the container is sealed.
    func plainPacks() throws -> [PackRow] {
        guard replica.identity.genesis != nil else { return [] }
        let own = [replica.identity.device] + (try replica.store.reading().formerDevices.map(\.device))
        return try replica.store.readContents { rows, _ in
            try own.flatMap { try rows.packs(of: $0).sorted() }.compactMap { try rows.soundPack($0) }
                .filter { $0.epoch == nil }
        }
    }

    /// Puts the chunks of packs into new ones, and these in the place of the former in one transaction. A pack of which a chunk cannot
    /// be read stays as it is.
    /// - Parameter needs: whether a chunk goes along.
    func renew(
        _ packs: [PackRow], _ container: Container, needs: (ChunkID) throws -> Bool = { _ in true }
    ) throws {
        if packs.isEmpty { return }
        let source = try ChunkSource(replica, container)
        let epochs = try replica.store.readContents { rows, _ in try rows.epochs() }
        var maker = try PackMaker(replica, keys)
        var renewed: [PackRow] = []
        for pack in packs {
            do {
                for entry in pack.directory.entries where try needs(entry.id) {
                    try maker.add(source.chunk(entry, in: pack, among: epochs), as: entry.id)
                }
                renewed.append(pack)
            } catch let error as FerryError where error.concernsOneFile {
                continue  // another device may have the bytes; the row stays, so that somebody looks for them
            }
        }
        try finish(&maker, removing: renewed.map(\.id))
        for pack in renewed where try replica.shelf.openPending(pack.id) != nil {
            try replica.shelf.removePending(pack.id)
        }
    }

    /// Packs chunks of whole contents again that no pack has any more.
    /// - Parameter isThere: whether the file of a pack is in the container, or waits beside the database.
    /// - Returns: how many contents were mended.
    func repair(_ contents: [ContentRow], isThere: (ChunkIndex.Place) throws -> Bool) throws -> Int {
        var maker = try PackMaker(replica, keys)
        var count = 0
        for content in contents {
            guard let file = try replica.shelf.openWhole(content.id, byteCount: content.byteCount) else { continue }
            let key = try keys.key(content.epoch)
            var (offset, isMended) = (0, false)
            for chunk in content.list.chunks {
                defer { offset += chunk.count }
                let places = try replica.store.readContents { _, index in try index.places(of: chunk.id) }
                if try places.contains(where: isThere) { continue }
                let bytes = try file.read(offset..<offset + chunk.count)
                // What lies beside the database may be damaged, too.
                guard key.chunkID(of: bytes) == chunk.id else { continue }
                try maker.add(bytes, as: chunk.id)
                isMended = true
            }
            if isMended { count += 1 }
        }
        try finish(&maker, removing: [])
        return count
    }

    private func finish(_ maker: inout PackMaker, removing packs: [PackID]) throws {
        let made = try maker.finish()
        if made.isEmpty && packs.isEmpty { return }
        try replica.store.write { connection in
            let rows = ContentRows(connection)
            for pack in made { try rows.insert(pack) }
            for pack in packs { try rows.remove(pack) }
        }
        try replica.store.updateChunkIndex()
    }
}

/// Puts chunks into packs beside the database, one after another.
struct PackMaker {
    private let shelf: ContentShelf
    private let makeWriter: () -> PackWriter
    private let epoch: EpochID?
    private let device: DeviceID
    private var open: PendingPack?
    private var finished: [PackRow] = []
    private var packed: Set<ChunkID> = []

    init(_ replica: Replica, _ keys: ContentKeys) throws {
        shelf = replica.shelf
        epoch = try keys.sealingEpoch()
        device = keys.device
        makeWriter = try keys.packMaker(epoch)
    }

    /// Takes a chunk. A chunk that was taken already is left out.
    mutating func add(_ bytes: [UInt8], as id: ChunkID) throws {
        guard packed.insert(id).inserted else { return }
        let chunk = try PreparedChunk(bytes, id: id)
        if let full = open, !full.hasRoom(for: chunk) { try close(full) }
        let pack = try open ?? shelf.beginPack(makeWriter())
        open = pack
        try pack.append(chunk)
    }

    private mutating func close(_ pack: PendingPack) throws {
        let made = try pack.finish()
        finished.append(
            PackRow(id: made.id, device: device, byteCount: made.byteCount, directory: made.directory, epoch: epoch))
        open = nil
    }

    /// Completes the last pack.
    /// - Returns: all packs, for their rows.
    mutating func finish() throws -> [PackRow] {
        if let pack = open { try close(pack) }
        return finished
    }
}
