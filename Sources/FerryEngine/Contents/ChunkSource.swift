import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// Reads chunks of contents from packs beside the database, or from packs of the container. Each chunk is proved.
struct ChunkSource {
    private let store: Store
    private let shelf: ContentShelf
    private let keys: ContentKeys
    private let container: () throws -> Container

    init(_ replica: Replica, _ container: Container) throws { try self.init(replica) { container } }

    /// - Parameter container: called for a chunk that is not beside the database.
    init(_ replica: Replica, opening container: @escaping () throws -> Container) throws {
        store = replica.store
        shelf = replica.shelf
        keys = try replica.contentKeys()
        self.container = container
    }

    /// The key of contents under an epoch.
    func key(_ epoch: EpochID?) throws -> ContentKey { try keys.key(epoch) }

    /// Reads a chunk.
    /// - Parameter epoch: the epoch whose key names the chunk.
    /// - Throws: `contentLost` where no pack has the chunk, `fileNotThereYet` where the pack is not there; a damaged pack's error without a
    ///   sound pack.
    func chunk(_ id: ChunkID, _ epoch: EpochID?) throws -> [UInt8] {
        var failure: FerryError?
        for place in try store.readContents({ _, index in try index.places(of: id) }) {
            do {
                return try chunk(id, place, epoch)
            } catch let error as FerryError where error.concernsOneFile {
                // A pack on its way says more than a damaged pack.
                if failure == nil || error.code == .fileNotThereYet { failure = error }
            }
        }
        throw failure
            ?? FerryError(
                .contentLost,
                "No pack in the container has these bytes, and this device has not either. Another device may have them."
            )
    }

    /// Whether a chunk with the given ID can be read at a place.
    func canRead(_ id: ChunkID, _ place: ChunkIndex.Place, _ epoch: EpochID?) throws -> Bool {
        do {
            _ = try chunk(id, place, epoch)
            return true
        } catch let error as FerryError where error.concernsOneFile {
            return false
        }
    }

    /// Reads a chunk of a pack, named under any epoch.
    /// - Parameter epochs: the epochs that name contents here.
    /// - Throws: as `chunk`. Where the key of an epoch has not arrived, nobody can tell a damaged chunk: `fileNotThereYet`.
    func chunk(_ entry: PackDirectory.Entry, in pack: PackRow, among epochs: Set<EpochID>) throws -> [UInt8] {
        let place = ChunkIndex.Place(pack: pack.id, device: pack.device, place: entry.place)
        var (known, absence): ([ContentKey], FerryError?) = ([], nil)
        for epoch in [nil] + epochs.sorted().map(Optional.some) {
            do {
                known.append(try keys.key(epoch))
            } catch let error as FerryError where error.code == .fileNotThereYet {
                absence = error
            }
        }
        do {
            return try chunk(entry.id, place, keys.surroundings(known, isSealed: pack.epoch != nil))
        } catch let error as FerryError where error.code == .damagedFile {
            throw absence ?? error
        }
    }

    /// Holds the bytes around a pack's chunks against the pack's name. No chunk is read.
    /// - Throws: `damagedFile`, `formatTooNew`, `foreignFile`, `notSealed`; `fileNotThereYet`.
    func checkFrame(of pack: PackRow) throws {
        let isSealed = pack.epoch != nil
        try reading(pack.id, pack.device) { source in
            let id: PackID
            do {
                id = try PackReader(
                    source, byteCount: pack.byteCount, of: pack.device, in: keys.surroundings([], isSealed: isSealed)
                ).id
            } catch let error as FerryError where isSealed && [.foreignFile, .fileNotThereYet].contains(error.code) {
                // The keys of a device removed long ago, or an epoch's, are not here. The checksum needs no key.
                id = try PackReader.verifiedID(
                    source, byteCount: pack.byteCount, of: pack.device, in: keys.container, isSealed: true)
            }
            guard id == pack.id else { throw ByteReader.malformed("it is another pack than its name says") }
        }
    }

    private func chunk(_ id: ChunkID, _ place: ChunkIndex.Place, _ epoch: EpochID?) throws -> [UInt8] {
        let isSealed = try store.readContents { rows, _ in try rows.isSealed(place.pack) }
        return try chunk(id, place, keys.surroundings(epoch, isSealed: isSealed))
    }

    private func chunk(
        _ id: ChunkID, _ place: ChunkIndex.Place, _ surroundings: PackReader.Surroundings
    ) throws -> [UInt8] {
        try reading(place.pack, place.device) { source in
            try PackReader.chunk(id, at: place.place, of: place.device, in: surroundings, source)
        }
    }

    /// Calls a closure with the bytes of a pack, beside the database or in the container. Failures tell file and device.
    private func reading<Result>(
        _ pack: PackID, _ device: DeviceID, _ body: (@escaping PackReader.Source) throws -> Result
    ) throws -> Result {
        if let pending = try shelf.openPending(pack) { return try body { try pending.read($0) } }
        let container = try container()
        do {
            return try body { range in
                guard let bytes = try container.readPack(pack, of: device, range: range) else {
                    throw FerryError(.fileNotThereYet, "The pack that has it is not there yet.")
                }
                return bytes
            }
        } catch var error as FerryError {
            if error.path == nil { error.path = container.packPath(pack, of: device) }
            if error.device == nil { error.device = device }
            throw error
        }
    }
}
