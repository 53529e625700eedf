import FerryContainer
import FerryContent
import FerryCore
import FerryStore
import Foundation

extension Replica {
    /// Brings waiting packs along where the database was renamed or moved, and the directory of contents was not. Otherwise other devices
    /// would get the names of documents, and never the bytes. Call before anything is published.
    /// - Throws: `contentNotHere` where the packs lie on another disk; the message says how to move them. Nothing is published then.
    func bringShelfAlong() throws {
        if store.path.isEmpty { return }
        try bringAlongFromBesideLink()
        let path = Self.absolutePath(store.path)
        let former = try store.notedPath()
        if former == path { return }
        if let former {
            let files = environment.fileSystem
            let old = ContentShelf(besideDatabase: former, fileSystem: files, random: environment.random)
            // A database at the former path has the packs: this database is a copy.
            if !FileManager.default.fileExists(atPath: former), try files.item(at: old.root) == .directory {
                try take(old)
            }
        }
        try store.note(path: path)
    }

    /// Takes what an earlier version of Ferry kept beside the symbolic link that leads to the database.
    private func bringAlongFromBesideLink() throws {
        guard let root = DatabaseFiles(of: store.path).pathBesideLink(.content) else { return }
        let old = ContentShelf(at: root, fileSystem: environment.fileSystem, random: environment.random)
        guard try old.isThere() else { return }
        try take(old)
        // Contents that are fetched again, where the packs alone were taken.
        if try old.isThere() { try old.removeAll() }
    }

    private func take(_ old: ContentShelf) throws {
        let waiting = try old.pendingPacks()
        do {
            if try environment.fileSystem.item(at: shelf.root) == .missing {
                return try environment.fileSystem.rename(old.root, to: shelf.root)
            }
            for pack in waiting { try shelf.adopt(pack, from: old) }
        } catch let error as FerryError {
            // Contents in the container can be fetched again.
            if waiting.isEmpty { return }
            throw FerryError(
                .contentNotHere,
                "The database was moved without \(old.root), where bytes of documents wait to be published. Move that directory to "
                    + "\(shelf.root), and sync again.", path: old.root, cause: error)
        }
    }
}
