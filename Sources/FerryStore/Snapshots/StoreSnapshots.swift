import FerryCore
import Foundation
import GRDB

extension Store {
    /// Reads the whole state for a snapshot, in a single consistent transaction.
    ///
    /// For a database in a file, a separate connection reads: in WAL mode nobody waits. In any other journal mode
    /// writers wait until the end.
    /// - Parameter body: receives each chunk, in order, and returns its entry for the manifest.
    /// - Throws: `busy` if anything is not packed or not published yet: make a pass, publish, and try again.
    public func readSnapshot(
        _ body: (SnapshotChunk) throws -> SnapshotManifest.Chunk
    ) throws -> SnapshotManifest {
        try readAside(after: refuseUnlessPublished) { connection in
            guard let identity = try Self.identity(connection) else { throw Self.notTracked }
            let registry = try Registry(connection, SchemaReader(connection: connection).read())
            let access = try StoreAccess(
                connection, registry: registry, clock: clock, random: random, hooks: hooks)
            return try SnapshotSource(access).read(container: identity.container, body)
        }
    }

    /// A written row not packed yet is newer than its state.
    private func refuseUnlessPublished(_ connection: SQLConnection) throws {
        guard try Self.identity(connection) != nil else { throw Self.notTracked }
        if try needsPass(connection) {
            throw FerryError(.busy, "Changes wait to be packed. A snapshot can be made after the next sync.")
        }
        if try Outbox(connection).count() > 0 {
            throw FerryError(.busy, "Changes wait to be published. A snapshot can be made after the next sync.")
        }
        if try SnapshotProgress.read(StoreMeta(connection: connection)) != nil {
            throw FerryError(.busy, "A snapshot is being read in. Another can be made after that.")
        }
    }
}
