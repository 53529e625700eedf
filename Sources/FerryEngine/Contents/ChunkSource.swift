import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// Reads chunks of contents, wherever they are: in packs beside the database, or in packs of the container. Each is proved.
struct ChunkSource {
    private let store: Store
    private let shelf: ContentShelf
    private let keys: ContentKeys
    private let container: Container

    init(_ replica: Replica, _ container: Container) throws {
        store = replica.store
        shelf = replica.shelf
        keys = try replica.contentKeys()
        self.container = container
    }

    /// The key of contents under an epoch.
    func key(_ epoch: EpochID?) throws -> ContentKey { try keys.key(epoch) }

    /// Reads a chunk.
    /// - Parameter epoch: the epoch whose key names the chunk.
    /// - Throws: `contentLost` where no pack has the chunk, `fileNotThereYet` where the pack is not there; the error of a damaged
    ///   pack if no other one has the chunk.
    func chunk(_ id: ChunkID, _ epoch: EpochID?) throws -> [UInt8] {
        var failure: FerryError?
        for place in try store.readContents({ _, index in try index.places(of: id) }) {
            do {
                return try chunk(id, place, epoch)
            } catch let error as FerryError where error.concernsOneFile {
                // A pack that is on its way says more than a damaged one.
                if failure == nil || error.code == .fileNotThereYet { failure = error }
            }
        }
        throw failure
            ?? FerryError(
                .contentLost,
                "No pack in the container has these bytes, and this device has not either. Another device may have them."
            )
    }

    /// Whether a chunk can be read at a place, as its ID says.
    func canRead(_ id: ChunkID, _ place: ChunkIndex.Place, _ epoch: EpochID?) throws -> Bool {
        do {
            _ = try chunk(id, place, epoch)
            return true
        } catch let error as FerryError where error.concernsOneFile {
            return false
        }
    }

    /// Reads a chunk of a pack, whichever epoch names the chunk.
    /// - Parameter epochs: those that name contents here.
    /// - Throws: as `chunk`.
    func chunk(_ entry: PackDirectory.Entry, in pack: PackRow, among epochs: Set<EpochID>) throws -> [UInt8] {
        let place = ChunkIndex.Place(pack: pack.id, device: pack.device, place: entry.place)
        var failure: FerryError?
        for epoch in [nil] + epochs.sorted().map(Optional.some) {
            do {
                return try chunk(entry.id, place, epoch)
            } catch let error as FerryError where error.code == .damagedFile || error.code == .fileNotThereYet {
                failure = error
            }
        }
        throw failure ?? FerryError(.contentLost, "A pack has a chunk that nothing names.")
    }

    private func chunk(_ id: ChunkID, _ place: ChunkIndex.Place, _ epoch: EpochID?) throws -> [UInt8] {
        let isSealed = try store.readContents { rows, _ in try rows.pack(place.pack)?.epoch != nil }
        let surroundings = try keys.surroundings(epoch, isSealed: isSealed)
        if let pending = try shelf.openPending(place.pack) {
            return try PackReader.chunk(id, at: place.place, of: place.device, in: surroundings) { range in
                try pending.read(range)
            }
        }
        let (container, path) = (container, container.packPath(place.pack, of: place.device))
        do {
            return try PackReader.chunk(id, at: place.place, of: place.device, in: surroundings) { range in
                guard let bytes = try container.readPack(place.pack, of: place.device, range: range) else {
                    throw FerryError(.fileNotThereYet, "The pack that has it is not there yet.")
                }
                return bytes
            }
        } catch var error as FerryError {
            if error.path == nil { error.path = path }
            if error.device == nil { error.device = place.device }
            throw error
        }
    }
}
