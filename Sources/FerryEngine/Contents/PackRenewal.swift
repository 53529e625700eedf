import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// Makes packs anew from the chunks of old packs: packs of a former ID of this device, packs sealed under a former epoch, unsealed packs.
/// `PackRepair` does the same for missing and damaged packs.
///
/// The order is the usual order: bytes beside the database first, then rows, then the container. The files of packs without a row go last
/// (`PackUpkeep`).
struct PackRenewal {
    let replica: Replica
    let keys: ContentKeys

    init(_ replica: Replica) throws {
        self.replica = replica
        keys = try replica.contentKeys()
    }

    /// Packs not in the container yet, and unfit for the container: of a former device ID, or not sealed under the present epoch.
    func outdatedPending() throws -> [PackRow] {
        let pending = try replica.pendingPacks()
        if pending.isEmpty { return [] }
        let epoch = try keys.sealingEpoch()
        let own = replica.identity.device
        let former = Set(try replica.store.reading().formerDevices.map(\.device))
        return pending.filter { former.contains($0.device) || $0.device == own && $0.epoch != epoch }
    }

    /// Plain packs of this device, or of the device's former IDs, in a sealed container.
    func plainPacks() throws -> [PackRow] {
        guard replica.identity.genesis != nil else { return [] }
        let own = [replica.identity.device] + (try replica.store.reading().formerDevices.map(\.device))
        return try replica.store.readContents { rows, _ in
            try own.flatMap { try rows.packs(of: $0).sorted() }.compactMap { try rows.soundPack($0) }
                .filter { $0.epoch == nil }
        }
    }

    /// Puts the chunks of packs into new packs, and replaces the old packs in one transaction. A pack with an unreadable chunk stays.
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

    /// Completes new packs, and writes the new rows in the place of old rows. A pack made again with the same bytes stays.
    /// - Returns: the old packs that went.
    @discardableResult
    func finish(_ maker: inout PackMaker, removing packs: [PackID]) throws -> [PackID] {
        let made = try maker.finish()
        // Equal chunks in the same order are the same pack, in a sealed container under the same epoch.
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

/// Puts chunks into packs beside the database, pack after pack.
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

    /// Takes a chunk. A chunk taken before is left out.
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

    /// The packs completed so far, for a caller that takes them away.
    mutating func takeFinished() -> [PackRow] {
        defer { finished = [] }
        return finished
    }

    /// Completes the last pack.
    /// - Returns: all packs, for their rows.
    mutating func finish() throws -> [PackRow] {
        if let pack = open { try close(pack) }
        return finished
    }
}
