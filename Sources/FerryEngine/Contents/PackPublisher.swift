import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// Moves packs from beside the database into the container, before the segments with the packs' names.
///
/// Every step can be repeated: a pack in the container stays.
struct PackPublisher {
    let container: Container
    let store: Store
    let device: DeviceID
    let shelf: ContentShelf

    /// Publishes every pack with a row.
    /// - Returns: how many packs, and their bytes.
    func publish() throws -> (packs: Int, bytes: Int) {
        let pending = try shelf.pendingPacks()
        if pending.isEmpty { return (0, 0) }
        guard try store.hasDocumentTables() else { return (0, 0) }
        let rows = try store.readContents { rows, _ in
            try pending.compactMap { try rows.soundPack($0) }.filter { $0.device == device }
        }
        for row in rows {
            try publish(row.id)
            try shelf.removePending(row.id)
        }
        return (rows.count, rows.reduce(0) { $0 + $1.byteCount })
    }

    private func publish(_ id: PackID) throws {
        let path = shelf.path(ofPending: id)
        do {
            try container.publishPack(id, of: device, movingIn: path, of: shelf.fileSystem)
        } catch let error as FerryError where error.code == .damagedFile {
            // A pack's name is the checksum of the pack's bytes. So a file with the name and different bytes is damaged.
            try container.removePack(id, of: device)
            try container.publishPack(id, of: device, movingIn: path, of: shelf.fileSystem)
        }
    }
}

extension Replica {
    /// The packs with a row that wait beside the database to be published.
    func pendingPacks() throws -> [PackRow] {
        let pending = try shelf.pendingPacks()
        if pending.isEmpty { return [] }
        return try store.readContents { rows, _ in try pending.compactMap { try rows.soundPack($0) } }
    }
}
