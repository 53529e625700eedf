import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// Storing contents: from files to packs beside the database.
extension Replica {
    /// Stores files as contents: in chunks, durably, beside the database. No lock is held, and the container may be away.
    /// - Parameters:
    ///   - paths: regular files. Small ones share packs.
    ///   - progress: called with the bytes taken so far, chunk by chunk; a throw ends the call, and nothing is stored.
    /// - Returns: the contents in the order of the paths.
    /// - Throws: `nothingFound` without a file, `busy` where somebody writes to a file: try again later. `limitExceeded`, `inputOutput`;
    ///   `fileNotThereYet` where a key has not arrived.
    package func storeContents(_ paths: [String], progress: ((Int) throws -> Void)? = nil) throws -> [StoredContent] {
        try storing { try Array(zip(paths, take(paths, $0, progress))) }
    }

    /// Stores the contents that a closure takes with a writer.
    /// - Parameter take: returns contents with the paths of their files.
    func storing(
        _ take: (ContentWriter) throws -> [(path: String, content: ContentWriter.Stored)]
    ) throws -> [StoredContent] {
        try store.makeDocumentTables()
        try store.updateChunkIndex()
        let keys = try contentKeys()
        let naming = try keys.namingEpoch(store.readContents { rows, _ in try rows.epochs() })
        let sealing = try keys.sealingEpoch()
        let heldBack = try store.heldBackContents()
        let isThere = try packsAtHand()
        let writer = ContentWriter(
            shelf, try keys.key(naming), makeWriter: try keys.packMaker(sealing),
            isKept: { [store] chunk in
                let (isListed, places) = try store.readContents { _, index in
                    (try index.isKept(chunk, heldBack: heldBack), try index.places(of: chunk))
                }
                return try isListed && places.contains(where: isThere)
            })
        let stored: [(path: String, content: ContentWriter.Stored)]
        let finished: [PendingPack.Finished]
        do {
            stored = try take(writer)
            finished = try writer.finish()
        } catch {
            writer.giveUp()
            throw error
        }
        let packs = finished.map { pack in
            PackRow(
                id: pack.id, device: keys.device, byteCount: pack.byteCount, directory: pack.directory, epoch: sealing)
        }
        var copies = try StoredCopies(self)
        try copies.keep(stored, keys.key(naming))
        return stored.map(\.content).map { content in
            StoredContent(
                row: ContentRow(
                    id: content.id, byteCount: content.byteCount, list: .file(content.body), epoch: naming),
                packs: packs, place: ContentPlace(shelf: shelf))
        }
    }

    /// Whether a pack is in the row's place. While the container is away, rows have to do: nobody knows better.
    private func packsAtHand() throws -> (ChunkIndex.Place) throws -> Bool {
        do {
            return packs(in: try openContainer(), countingPending: true)
        } catch let error as FerryError where Self.isOfTheContainer(error.code) {
            return { _ in true }
        }
    }

    private func take(
        _ paths: [String], _ writer: ContentWriter, _ progress: ((Int) throws -> Void)?
    ) throws -> [ContentWriter.Stored] {
        var stored: [ContentWriter.Stored] = []
        var taken = 0
        for path in paths {
            try progress?(taken)
            let file = try openForStoring(path)
            do {
                stored.append(try writer.add(file) { try progress?(taken + $0) })
            } catch var error as FerryError where error.path == nil {
                error.path = path
                throw error
            }
            taken += stored.last?.byteCount ?? 0
            try progress?(taken)
        }
        return stored
    }

    /// Packs deleted and held-back contents again, for a new reference: each with all chunks not kept by a living content.
    /// - Throws: `contentNotHere`, `contentLost`, `fileNotThereYet` where bytes are not to be had; nothing is stored then.
    package func storeAgain(_ contents: [ContentID]) throws -> [StoredContent] {
        try store.updateChunkIndex()
        let (keys, container) = (try contentKeys(), try openContainer())
        let source = try ChunkSource(self, container)
        let heldBack = try store.heldBackContents()
        var maker = try PackMaker(self, keys)
        let rows = try store.readContents { rows, _ in try contents.compactMap { try rows.content($0) } }
        for row in rows {
            for chunk in row.list.chunks
            where try !store.readContents({ _, index in try index.isKept(chunk.id, heldBack: heldBack) }) {
                try maker.add(self.chunk(chunk.id, of: row, source, keys), as: chunk.id)
            }
        }
        let packs = try maker.finish()
        return rows.map { StoredContent(row: $0, packs: packs, place: ContentPlace(shelf: shelf)) }
    }

    /// The content without bytes, as in versions of folders.
    package func emptyContent() throws -> StoredContent {
        let keys = try contentKeys()
        let naming = try keys.namingEpoch(store.contentEpochs())
        let list = ContentList.file(.bytes([]))
        let id = try keys.key(naming).contentID(of: list)
        return StoredContent(
            row: ContentRow(id: id, byteCount: 0, list: list, epoch: naming), packs: [],
            place: ContentPlace(shelf: shelf))
    }

    func openForStoring(_ path: String) throws -> any ReadableFile {
        if let file = try environment.fileSystem.openFile(at: path) { return file }
        throw FerryError(.nothingFound, "There is no file at \(path). Check the path.", path: path)
    }
}
