import FerryCore
import FerrySeal

/// Where a chunk's bytes are in a pack.
package struct ChunkPlace: Hashable, Sendable {
    /// How a chunk is stored.
    package enum Form: UInt8, Sendable {
        case plain = 0
        case zlib = 1
    }

    /// Of the first stored byte, from the pack's beginning.
    package var offset: Int
    package var form: Form
    /// The bytes in the pack.
    package var stored: Int
    /// The bytes of the chunk.
    package var count: Int

    package init(offset: Int, form: Form, stored: Int, count: Int) {
        self.offset = offset
        self.form = form
        self.stored = stored
        self.count = count
    }

    package var range: Range<Int> { offset..<offset + stored }
}

/// The chunks of a pack, in the order of their bytes, without a gap (Docs/Format.md, "Packs").
package struct PackDirectory: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        package var id: ChunkID
        package var place: ChunkPlace

        package init(id: ChunkID, place: ChunkPlace) {
            self.id = id
            self.place = place
        }
    }

    /// At least one, at most `ContentLimits.packChunks`, and no ID twice.
    package private(set) var entries: [Entry] = []
    /// Where the chunks begin.
    private let start: Int
    private var known: Set<ChunkID> = []

    /// A directory without chunks.
    /// - Parameter start: where the chunks begin.
    init(start: Int) { self.start = start }

    /// Where the chunks end.
    package var end: Int { entries.last?.place.range.upperBound ?? start }

    /// Whether a chunk is in the pack.
    package func contains(_ id: ChunkID) -> Bool { known.contains(id) }

    /// Adds a chunk at the end.
    /// - Parameter isSealed: the stored bytes are a sealed part, longer than the chunk.
    /// - Throws: `limitExceeded`; `invalidArgument` for a chunk already in the directory.
    mutating func append(
        _ id: ChunkID, _ form: ChunkPlace.Form, stored: Int, count: Int
    ) throws(FerryError) {
        guard entries.count < ContentLimits.packChunks, (1...ContentLimits.chunkBytes).contains(count),
            (1...ContentLimits.packBytes).contains(stored), end + stored <= ContentLimits.packBytes
        else { throw FerryError(.limitExceeded, "A pack has no room for a chunk.") }
        guard known.insert(id).inserted else { throw FerryError(.invalidArgument, "A chunk is in the pack already.") }
        entries.append(Entry(id: id, place: ChunkPlace(offset: end, form: form, stored: stored, count: count)))
    }

    // MARK: Coding

    /// The bytes of the directory, as in a pack and in a pack's row.
    package var encoded: [UInt8] {
        var writer = ByteWriter(reservingCapacity: 10 + entries.count * 24)
        writer.writeVarint(UInt64(entries.count))
        for entry in entries {
            writer.write(entry.id)
            writer.write(entry.place.form.rawValue)
            writer.writeVarint(UInt64(entry.place.stored))
            writer.writeVarint(UInt64(entry.place.count))
        }
        return writer.bytes
    }

    /// The longest directory of a pack, in bytes.
    package static let maximumBytes = 3 + ContentLimits.packChunks * 25

    /// Reads a directory.
    /// - Parameters:
    ///   - start: where the chunks begin.
    ///   - isSealed: the stored bytes of each chunk are a sealed part.
    /// - Throws: `damagedFile`.
    package init(decoding bytes: ArraySlice<UInt8>, start: Int, isSealed: Bool = false) throws(FerryError) {
        self.init(start: start)
        guard bytes.count <= Self.maximumBytes else { throw ByteReader.malformed("a pack's directory is too long") }
        var reader = ByteReader(bytes)
        let count = try reader.readCount(minimumBytes: 19)
        guard (1...ContentLimits.packChunks).contains(count) else {
            throw ByteReader.malformed("a pack has an impossible number of chunks")
        }
        entries.reserveCapacity(count)
        for _ in 0..<count {
            let id: ChunkID = try reader.readID()
            guard let form = ChunkPlace.Form(rawValue: try reader.readByte()) else {
                throw ByteReader.malformed("a chunk is stored in an unknown form")
            }
            let (stored, bytes) = (try reader.readVarint(), try reader.readVarint())
            guard stored <= UInt64(ContentLimits.packBytes), bytes <= UInt64(ContentLimits.chunkBytes),
                Self.arePossible(form, stored: Int(stored), count: Int(bytes), isSealed)
            else { throw ByteReader.malformed("a chunk has impossible lengths") }
            do throws(FerryError) {
                try append(id, form, stored: Int(stored), count: Int(bytes))
            } catch {
                throw ByteReader.malformed("a pack is too long, or has a chunk twice")
            }
        }
        guard reader.isAtEnd else { throw ByteReader.malformed("a pack's directory goes on after its end") }
    }

    /// Reads a directory from a pack's row.
    /// - Throws: `damagedFile`.
    package init(inRow bytes: ArraySlice<UInt8>, isSealed: Bool) throws(FerryError) {
        try self.init(
            decoding: bytes, start: isSealed ? SealedPack.headerLength : PackFrame.headerLength, isSealed: isSealed)
    }

    private static func arePossible(_ form: ChunkPlace.Form, stored: Int, count: Int, _ isSealed: Bool) -> Bool {
        if isSealed {
            // A compressed chunk is never longer than the chunk.
            let longest = SealedPack.length(ofStored: count)
            return form == .plain ? stored == longest : stored <= longest
        }
        return form == .plain ? stored == count : stored < count && count <= stored * ContentLimits.chunkRatio
    }
}
