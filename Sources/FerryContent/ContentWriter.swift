import FerryContainer
import FerryCore

/// Cuts contents into chunks and puts these into packs beside the database: the first step of storing a content. Nothing refers to
/// the packs before the caller writes rows for them.
///
/// The length of a content decides its place. Short contents stand in their row. Long contents have their own packs, so
/// fetching or evicting such a content moves nothing else. Contents in between share packs. The memory holds a few
/// chunks, and the bytes of the longest content for a shared pack.
///
/// Invariant: a failed content leaves no chunk in a shared pack.
package final class ContentWriter {
    /// Longer or equally long contents have packs of their own, in bytes.
    package static let ownPackBytes = 8 << 20

    /// A content in packs, or in its list.
    package struct Stored: Hashable, Sendable {
        package let id: ContentID
        package let byteCount: Int
        package let body: ContentList.Body
    }

    private let shelf: ContentShelf
    private let key: ContentKey
    private let chunker: Chunker
    private let makeWriter: () -> PackWriter
    /// Whether a chunk needs no packing: a content without a known deletion lists the chunk.
    private let isKept: (ChunkID) throws -> Bool
    private var shared: PendingPack?
    private var finished: [PendingPack.Finished] = []
    /// True after a pack with earlier contents could not be written: give up the writer with all its contents.
    package private(set) var isOver = false
    /// The chunks in finished packs and in the shared pack.
    private var packed: Set<ChunkID> = []

    package init(
        _ shelf: ContentShelf, _ key: ContentKey, makeWriter: @escaping () -> PackWriter,
        isKept: @escaping (ChunkID) throws -> Bool
    ) {
        self.shelf = shelf
        self.key = key
        chunker = Chunker(key)
        self.makeWriter = makeWriter
        self.isKept = isKept
    }

    /// Takes a file from beginning to end.
    /// - Parameter progress: called with the bytes taken so far, chunk by chunk; a throw ends the call.
    /// - Throws: `busy` if somebody wrote to the file meanwhile: take the file again later. `limitExceeded` above the
    ///   longest content. `inputOutput`: give up the writer with all its contents.
    package func add(_ file: any ReadableFile, progress: (Int) throws -> Void = { _ in }) throws -> Stored {
        let version = try file.version()
        let byteCount = try file.byteCount()
        let isUnchanged = { () throws -> Bool in try file.version() == version }
        if byteCount <= ContentList.inlineBytes {
            let bytes = try file.read(0..<ContentList.inlineBytes + 1)
            guard bytes.count == byteCount, try isUnchanged() else { throw Self.changed }
            return try stored(.bytes(bytes))
        }
        return try byteCount < Self.ownPackBytes
            ? addShared(file, byteCount, isUnchanged, progress) : addOwn(file, isUnchanged, progress)
    }

    /// Completes the shared pack.
    /// - Throws: `inputOutput`: give up the writer with all its contents.
    /// - Returns: all packs since the last call, for their rows.
    package func finish() throws -> [PendingPack.Finished] {
        guard !isOver else { throw FerryError(.inputOutput, "A pack could not be written. Store its contents again.") }
        isOver = true
        if let pack = shared {
            shared = nil
            if !pack.isEmpty { finished.append(try pack.finish()) }
        }
        isOver = false
        defer { finished = [] }
        return finished
    }

    /// Gives up all contents: their packs go, where they were not here before. The writer is of no use any more.
    package func giveUp() {
        (isOver, shared) = (true, nil)
        remove(finished)
        finished = []
    }

    private func remove(_ packs: [PendingPack.Finished]) {
        // A pack that cannot be removed now has no row, and the removal of packs without rows removes it later.
        for pack in packs where pack.isNew { try? shelf.removePending(pack.id) }
    }

    private static var changed: FerryError {
        FerryError(.busy, "The file changed while it was read. Try again once nobody writes to the file.")
    }

    private func stored(_ body: ContentList.Body) throws -> Stored {
        let list = ContentList.file(body)
        return Stored(id: try key.contentID(of: list), byteCount: try list.byteCount(), body: body)
    }

    private func needsPacking(_ id: ChunkID) throws -> Bool { try !packed.contains(id) && !isKept(id) }

    // MARK: Packs

    private func addShared(
        _ file: any ReadableFile, _ byteCount: Int, _ isUnchanged: () throws -> Bool, _ progress: (Int) throws -> Void
    ) throws -> Stored {
        var stream = ChunkStream(file, chunker, expectedBytes: byteCount, maximumBytes: 2 * Self.ownPackBytes)
        var (list, new): ([ContentList.Chunk], [PreparedChunk]) = ([], [])
        var taken = 0
        while let bytes = try stream.next() {
            taken += bytes.count
            try progress(taken)
            let id = key.chunkID(of: bytes)
            list.append(ContentList.Chunk(id: id, count: bytes.count))
            if try needsPacking(id), !new.contains(where: { $0.id == id }) {
                new.append(try PreparedChunk(bytes, id: id))
            }
        }
        guard try isUnchanged(), !list.isEmpty else { throw Self.changed }
        isOver = true
        for chunk in new {
            if let pack = shared, !pack.hasRoom(for: chunk) {
                shared = nil
                finished.append(try pack.finish())
            }
            let pack = try shared ?? shelf.beginPack(makeWriter())
            shared = pack
            try pack.append(chunk)
            packed.insert(chunk.id)
        }
        isOver = false
        return try stored(.chunks(list))
    }

    /// The own packs of a failed content are removed again: no row names them.
    private func addOwn(
        _ file: any ReadableFile, _ isUnchanged: () throws -> Bool, _ progress: (Int) throws -> Void
    ) throws -> Stored {
        var stream = ChunkStream(file, chunker)
        var (list, own, new): ([ContentList.Chunk], [PendingPack.Finished], Set<ChunkID>) = ([], [], [])
        var pack: PendingPack?
        var taken = 0
        do {
            while let bytes = try stream.next() {
                taken += bytes.count
                try progress(taken)
                let id = key.chunkID(of: bytes)
                list.append(ContentList.Chunk(id: id, count: bytes.count))
                guard !new.contains(id), try needsPacking(id) else { continue }
                let chunk = try PreparedChunk(bytes, id: id)
                if let full = pack, !full.hasRoom(for: chunk) {
                    pack = nil
                    own.append(try full.finish())
                }
                let open = try pack ?? shelf.beginPack(makeWriter())
                pack = open
                try open.append(chunk)
                new.insert(id)
            }
            guard try isUnchanged(), !list.isEmpty else { throw Self.changed }
            if let pack { own.append(try pack.finish()) }
        } catch {
            remove(own)
            throw error
        }
        finished += own
        packed.formUnion(new)
        return try stored(.chunks(list))
    }
}
