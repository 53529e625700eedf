import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// Makes packs anew from the chunks of others: packs of a former ID of this device, packs that are sealed under an epoch which is over
/// or not at all. `PackRepair` does the same for packs that are gone or damaged.
///
/// The order is that of everything else: bytes beside the database first, then rows, then the container. The files of packs without a
/// row go last (`PackUpkeep`).
struct PackRenewal {
    let replica: Replica
    let keys: ContentKeys

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
        for pack in try finish(&maker, removing: renewed.map(\.id)) { try replica.shelf.removePending(pack) }
    }

    /// Completes packs that were made, and writes their rows in the place of others. A pack that was made again as it was stays.
    /// - Returns: the others that went.
    @discardableResult
    func finish(_ maker: inout PackMaker, removing packs: [PackID]) throws -> [PackID] {
        let made = try maker.finish()
        // Equal chunks in one order are one pack, in a sealed container under one epoch.
        let gone = packs.filter { pack in !made.contains { $0.id == pack } }
        if made.isEmpty && gone.isEmpty { return [] }
        try replica.store.write { connection in
            let rows = ContentRows(connection)
            for pack in made { try rows.insert(pack) }
            for pack in gone { try rows.remove(pack) }
        }
        try replica.store.updateChunkIndex()
        return gone
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
