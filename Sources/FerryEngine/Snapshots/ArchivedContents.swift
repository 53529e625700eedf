import FerryContainer
import FerryContent
import FerryCore
import FerryMembers
import FerryStore

/// The contents of the packs in an archive. Each chunk is verified by the ID, as in a container.
struct ArchivedContents {
    private let archive: SnapshotArchive
    private let seal: MembershipSealing?
    /// Where each chunk is.
    private let places: [ChunkID: (pack: ArchiveFile.Pack, place: ChunkPlace)]

    /// Reads the directories of all packs. A damaged or foreign pack is passed over: a different pack may have the same
    /// chunks.
    /// - Throws: `damagedFile` where the packs themselves make no sense; `inputOutput`.
    init(_ archive: SnapshotArchive) throws {
        self.archive = archive
        seal = archive.seal as? MembershipSealing
        var places: [ChunkID: (pack: ArchiveFile.Pack, place: ChunkPlace)] = [:]
        for pack in try archive.file.packs() {
            do {
                let reader = try PackReader(
                    Self.source(pack, archive.file), byteCount: pack.byteCount, of: pack.device,
                    in: Self.surroundings(nil, archive, seal))
                for entry in reader.directory.entries where places[entry.id] == nil {
                    places[entry.id] = (pack, entry.place)
                }
            } catch let error as FerryError where error.concernsOneFile {
                continue
            }
        }
        self.places = places
    }

    private static func source(_ pack: ArchiveFile.Pack, _ file: ArchiveFile) -> PackReader.Source {
        { range in
            guard range.lowerBound >= 0, range.upperBound <= pack.byteCount else {
                throw ByteReader.malformed("a pack ends too early")
            }
            return try file.read(from: pack.offset + UInt64(range.lowerBound), count: range.count)
        }
    }

    private static func surroundings(
        _ epoch: EpochID?, _ archive: SnapshotArchive, _ seal: MembershipSealing?
    ) throws -> PackReader.Surroundings {
        PackReader.Surroundings(
            container: archive.container, key: try key(epoch, archive.container, seal), seal: seal?.chunkReader)
    }

    private static func key(
        _ epoch: EpochID?, _ container: ContainerID, _ seal: MembershipSealing?
    ) throws -> ContentKey {
        guard let epoch else { return ContentKey(openContainer: container) }
        guard let secret = seal?.contentSecret(of: epoch) else {
            throw FerryError(.keyMissing, "The content is named by a key that is not here.")
        }
        return ContentKey(secret)
    }

    var isEmpty: Bool { places.isEmpty }

    /// The key for naming contents under an epoch.
    func key(_ epoch: EpochID?) throws -> ContentKey { try Self.key(epoch, archive.container, seal) }

    /// Whether all chunks of a content are here.
    func has(_ row: ContentRow) -> Bool { row.list.chunks.allSatisfy { places[$0.id] != nil } }

    /// Reads a chunk and verifies the ID.
    /// - Throws: `contentLost` without a pack for the chunk; as `PackReader.chunk`.
    func chunk(_ id: ChunkID, _ epoch: EpochID?) throws -> [UInt8] {
        guard let (pack, place) = places[id] else {
            throw FerryError(.contentLost, "The file does not have all bytes of the content.")
        }
        return try PackReader.chunk(
            id, at: place, of: pack.device, in: Self.surroundings(epoch, archive, seal),
            Self.source(pack, archive.file))
    }
}
