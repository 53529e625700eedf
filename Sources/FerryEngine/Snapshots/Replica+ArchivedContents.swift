import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// The bytes of documents and attachments in archives.
extension Replica {
    /// The packs with every content that somebody may want to open.
    /// - Throws: `contentNotHere` where bytes are not to be had now.
    func packsForArchive(_ container: Container) throws -> (packs: [PackRow], contents: Int, bytes: Int) {
        try store.updateChunkIndex()
        var (choice, faults) = try chooseSoundPacks(container)
        // What lies beside the database can be packed again.
        if !choice.lacking.isEmpty, try repairContents(container, faults).contents > 0 {
            _ = try publisher(container).packs.publish()
            (choice, faults) = try chooseSoundPacks(container)
        }
        guard choice.lacking.isEmpty else {
            throw FerryError(
                .contentNotHere,
                "The bytes of \(choice.lacking.count) documents or attachments are not to be had now, so they would lack in the file. "
                    + "`ferry documents list --state waiting` names documents. Export again once they are there, or leave all bytes "
                    + "of documents out.")
        }
        return (choice.packs, choice.contents, choice.bytes)
    }

    private struct PackChoice {
        var packs: [PackRow] = []
        var contents = 0
        var bytes = 0
        var lacking: [ContentID] = []
    }

    /// Reads every byte of the packs that are chosen: a file with damaged ones would be no backup.
    /// - Returns: also what is wrong with packs, as far as they were looked at.
    private func chooseSoundPacks(_ container: Container) throws -> (PackChoice, PackFaults) {
        let (light, deep) = (
            try PackExamination(self, container, isDeep: false), try PackExamination(self, container, isDeep: true)
        )
        var faults = try PackFaults(of: light.packs(), light)
        var read: Set<PackID> = []
        while true {
            let choice = try choosePacks(faults)
            let new = choice.packs.filter { read.insert($0.id).inserted }
            if new.isEmpty { return (choice, faults) }
            try faults.examine(new.map { ($0.id, $0.device, $0.byteCount) }, deep)
        }
    }

    private func choosePacks(_ faults: PackFaults) throws -> PackChoice {
        var choice = PackChoice()
        var chosen: Set<ChunkID> = []
        for item in try store.wantedContents(maximumBytes: nil, includingWhole: true) where !item.isInRow {
            guard let row = try store.readContents({ rows, _ in try rows.soundContent(item.content) }) else { continue }
            var isWhole = true
            for chunk in row.list.chunks where !chosen.contains(chunk.id) {
                let places = try store.readContents { _, index in try index.places(of: chunk.id) }
                guard let place = places.first(where: { faults.give(chunk.id, in: $0.pack) }),
                    let pack = try store.readContents({ rows, _ in try rows.soundPack(place.pack) })
                else {
                    isWhole = false
                    break
                }
                choice.packs.append(pack)
                chosen.formUnion(pack.directory.entries.map(\.id))
            }
            if isWhole {
                choice.contents += 1
                choice.bytes += row.byteCount
            } else {
                choice.lacking.append(item.content)
            }
        }
        return choice
    }

    /// A whole pack, from beside the database or from the container.
    func bytes(of pack: PackRow, _ container: Container) throws -> [UInt8] {
        if let pending = try shelf.openPending(pack.id) { return try pending.read(0..<pack.byteCount) }
        guard let bytes = try container.readPack(pack.id, of: pack.device, range: 0..<pack.byteCount),
            bytes.count == pack.byteCount
        else {
            throw FerryError(
                .fileNotThereYet, "A pack of documents is not there any more. Export again later.",
                path: container.packPath(pack.id, of: pack.device), device: pack.device)
        }
        return bytes
    }

    /// Puts the contents of an archive beside the database.
    /// - Parameter isNeeded: chooses among the contents that somebody may want to open.
    /// - Returns: how many contents, and their bytes.
    func take(
        _ contents: ArchivedContents, where isNeeded: (ContentRow) throws -> Bool
    ) throws -> (contents: Int, bytes: Int) {
        guard try store.hasDocumentTables() else { return (0, 0) }
        try store.updateChunkIndex()
        let fetcher = ContentFetcher(self, contents, leaveFreeBytes: 0)
        var taken = (contents: 0, bytes: 0)
        for item in try store.wantedContents(maximumBytes: nil, includingWhole: true) {
            guard let row = try store.readContents({ rows, _ in try rows.soundContent(item.content) }),
                try shelf.path(ofWhole: row.id, byteCount: row.byteCount) == nil, contents.has(row), try isNeeded(row)
            else { continue }
            switch try fetcher.fetch(row.id) {
            case .whole:
                if !item.isInRow { taken = (taken.contents + 1, taken.bytes + row.byteCount) }
                try store.noteContentStates { states in
                    try states.setWhole(true, row.id)
                    try states.setUsed(environment.clock.milliseconds(), row.id)
                }
            case .missing(let error):
                // A full disk ends the import. A content incomplete in the file may be available elsewhere.
                if error.code == .limitExceeded || error.code == .inputOutput { throw error }
            }
        }
        return taken
    }

    /// Takes contents missing in the container out of an archive, and packs them again.
    /// - Returns: how many contents, and their bytes.
    func takeLackingContents(_ archive: SnapshotArchive) throws -> (contents: Int, bytes: Int) {
        let contents = try ArchivedContents(archive)
        guard try !contents.isEmpty && store.hasDocumentTables() else { return (0, 0) }
        let container: Container
        do {
            container = try openContainer()
        } catch let error as FerryError where Self.isOfTheContainer(error.code) {
            // The container's contents are unknown. All taken contents can be opened, and are evicted like any content
            // if room is wanted.
            return try take(contents) { _ in true }
        }
        let isThere = packs(in: container, countingPending: true)
        let taken = try take(contents) { row in
            try row.list.chunks.contains { chunk in
                try !store.readContents({ _, index in try index.places(of: chunk.id) }).contains(where: isThere)
            }
        }
        if taken.contents > 0, try repairContents(container).contents > 0 {
            _ = try publisher(container).packs.publish()
        }
        return taken
    }
}
