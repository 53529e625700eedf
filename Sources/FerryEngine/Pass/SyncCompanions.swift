import FerryContainer
import FerryCore

/// Work of a layer above that goes along with the syncs of a database: the retention of documents.
package protocol SyncCompanion: Sendable {
    /// Tells companions apart: another one by the same name takes the place.
    var name: String { get }

    /// Called once a day, before contents and packs that nobody needs are looked for. Changes are packed afterwards.
    func prepareCollection(_ replica: Replica) throws
}

/// The companions of all syncs of this process. A program that uses documents says so once, at its start.
package enum SyncCompanions {
    private static let known = Locked<[String: any SyncCompanion]>([:])

    package static func register(_ companion: any SyncCompanion) { known.withLock { $0[companion.name] = companion } }

    /// The companions of a sync, by name.
    /// - Parameter environment: has those that take the place of others.
    static func all(_ environment: ReplicaEnvironment) -> [any SyncCompanion] {
        var found = known.withLock { $0 }
        for companion in environment.companions { found[companion.name] = companion }
        return found.values.sorted { $0.name < $1.name }
    }
}
