import FerryContainer
import FerryCore
import FerryStore

extension Store {
    func tombstoneCount() throws -> Int { 0 }
    func collectTombstones(stable: VersionVector) throws -> Int { 0 }
}
struct NoSnapshots: CompactionSnapshots {
    func best() throws -> KnownSnapshot? { nil }
    func write() throws -> KnownSnapshot { throw FerryError(.internalInconsistency, "no snapshots yet") }
    func own() throws -> [KnownSnapshot] { [] }
    func remove(_ names: [String]) throws {}
}
extension Replica { func snapshots(_ container: Container) -> any CompactionSnapshots { NoSnapshots() } }
