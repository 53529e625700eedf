import FerryContainer
import FerryCore

/// Work of a layer above during the syncs of a database: the retention of documents.
package protocol SyncCompanion: Sendable {
    /// Distinguishes companions: a companion replaces an earlier companion of the same name.
    var name: String { get }

    /// Called once a day, before the search for unused contents and packs. Changes are packed afterwards.
    func prepareCollection(_ replica: Replica) throws
}

/// The companions of all syncs of this process. A program with documents registers a companion once, at the start.
package enum SyncCompanions {
    private static let known = Locked<[String: any SyncCompanion]>([:])

    package static func register(_ companion: any SyncCompanion) { known.withLock { $0[companion.name] = companion } }

    /// The companions of a sync, by name.
    /// - Parameter environment: its companions replace registered companions of the same name.
    static func all(_ environment: ReplicaEnvironment) -> [any SyncCompanion] {
        var found = known.withLock { $0 }
        for companion in environment.companions { found[companion.name] = companion }
        return found.values.sorted { $0.name < $1.name }
    }
}
