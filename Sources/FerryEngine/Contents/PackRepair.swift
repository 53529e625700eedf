import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// Packs bytes again where packs of the container do not give the bytes any more, and takes this device's faulty packs out of use.
///
/// The order is the order of `PackRenewal`: bytes first, then rows, then the container.
struct PackRepair {
    private let renewal: PackRenewal
    private let container: Container
    private let faults: PackFaults
    private var replica: Replica { renewal.replica }
    private var store: Store { replica.store }

    /// - Parameter faults: of all packs.
    init(_ replica: Replica, _ container: Container, _ faults: PackFaults) throws {
        renewal = try PackRenewal(replica)
        self.container = container
        self.faults = faults
    }

    /// Packs chunks of contents at hand again where no pack gives the chunks: of contents whole beside the database, or in mirrors.
    /// - Returns: how many contents were mended.
    func packContentsAtHand() throws -> Int {
        let known = try store.mirroredContents().union(replica.shelf.wholeContents().map(\.id)).sorted()
        let contents = try store.readContents { rows, _ in try known.compactMap { try rows.soundContent($0) } }
        var maker = try PackMaker(replica, renewal.keys)
        var count = 0
        for content in contents {
            let atHand = ContentAtHand(replica, content, try renewal.keys.key(content.epoch))
            var (offset, isMended) = (0, false)
            for chunk in content.list.chunks {
                defer { offset += chunk.count }
                let places = try store.readContents { _, index in try index.places(of: chunk.id) }
                if places.contains(where: { faults.give(chunk.id, in: $0.pack) }) { continue }
                guard let bytes = try atHand.chunk(chunk, at: offset) else { continue }
                try maker.add(bytes, as: chunk.id)
                isMended = true
            }
            if isMended { count += 1 }
        }
        try renewal.finish(&maker, removing: [])
        return count
    }

    /// Removes the rows of this device's faulty packs, where the remaining packs have all needed chunks. Chunks that a faulty pack still
    /// gives go into new packs.
    /// - Returns: the packs without a row now.
    func replaceOwnPacks() throws -> [PackID] {
        let own = try store.readContents { rows, _ in try rows.packs(of: replica.identity.device) }
        let faulty = faults.all.filter { own.contains($0.key) }.sorted { $0.key < $1.key }
        if faulty.isEmpty { return [] }
        let source = try ChunkSource(replica, container)
        let epochs = try store.readContents { rows, _ in try rows.epochs() }
        let remembered = try store.rememberedChunks()
        var maker = try PackMaker(replica, renewal.keys)
        var replaced: [PackID] = []
        for (id, fault) in faulty {
            if case .unreadable = fault { continue }
            guard let pack = try store.readContents({ rows, _ in try rows.soundPack(id) }),
                let chunks = try chunksToMove(from: pack, remembered)
            else { continue }
            do {
                for entry in chunks { try maker.add(source.chunk(entry, in: pack, among: epochs), as: entry.id) }
                replaced.append(id)
            } catch let error as FerryError where error.concernsOneFile {
                continue  // the row stays, so that somebody looks for the bytes
            }
        }
        let gone = try renewal.finish(&maker, removing: replaced)
        for id in gone { try replica.shelf.removePending(id) }
        return gone
    }

    /// Takes damaged files of this device's packs out of the container where the same packs wait beside the database again. A storage
    /// would take the name and the length for the pack, and get nothing.
    func clearPlaces() throws {
        for (id, fault) in faults.all.sorted(by: { $0.key < $1.key }) {
            guard case .damaged = fault, try replica.shelf.openPending(id) != nil else { continue }
            try container.removePack(id, of: replica.identity.device)
        }
    }

    /// The chunks that somebody needs, that a faulty pack gives, and that no other one has. `nil` where a living content needs a
    /// chunk that no pack gives.
    private func chunksToMove(
        from pack: PackRow, _ remembered: Set<ChunkID>
    ) throws -> [PackDirectory.Entry]? {
        var found: [PackDirectory.Entry] = []
        for entry in pack.directory.entries {
            let isListed = try store.readContents { _, index in try index.isListed(entry.id) }
            guard isListed || remembered.contains(entry.id),
                try !faults.give(entry.id, besides: pack.id, store)
            else { continue }
            if faults.give(entry.id, in: pack.id) {
                found.append(entry)
            } else if isListed {
                return nil
            }
        }
        return found
    }
}

extension Replica {
    /// Mends packs with this device's bytes. Contents at hand are packed again where no pack gives their chunks any more. This device's
    /// faulty packs are replaced.
    /// - Parameter faults: the known faults; `nil`: names and lengths are looked at.
    /// - Returns: how many contents were mended; and this device's packs that lost their rows.
    @discardableResult
    func repairContents(
        _ container: Container, _ faults: PackFaults? = nil
    ) throws -> (contents: Int, replaced: [PackID]) {
        guard try store.hasDocumentTables() else { return (0, []) }
        try store.updateChunkIndex()
        let examination = try PackExamination(self, container, isDeep: false)
        let repair = try PackRepair(self, container, faults ?? PackFaults(of: examination.packs(), examination))
        let (contents, replaced) = (try repair.packContentsAtHand(), try repair.replaceOwnPacks())
        try repair.clearPlaces()
        return (contents, replaced)
    }

    /// Removes the files of replaced packs, once the replacement is published. Damage around the chunks would stay otherwise.
    func removeReplacedPacks(_ packs: [PackID], _ container: Container) throws {
        guard !packs.isEmpty, try !store.needsPass(), try store.outboxSizes().isEmpty else { return }
        for id in packs where try !store.readContents({ rows, _ in try rows.hasPack(id) }) {
            try container.removePack(id, of: identity.device)
        }
    }
}
