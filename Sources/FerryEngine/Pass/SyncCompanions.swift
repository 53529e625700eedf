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

    /// All companions, by name.
    static var all: [any SyncCompanion] {
        known.withLock { known in known.values.sorted { $0.name < $1.name } }
    }
}
