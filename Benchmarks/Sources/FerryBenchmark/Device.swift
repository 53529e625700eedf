import FerryCore
import FerryEngine
import FerryLog
import FerryStore
import Foundation

/// A folder for one round: databases and, where one is tracked, the container. Whoever makes it removes it.
struct Place {
    let folder: String

    init(below parent: String) throws {
        folder = parent + "/ferry-benchmark-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    /// Removes the folder, with all that is in it.
    func remove() { try? FileManager.default.removeItem(atPath: folder) }  // a temporary folder

    var container: String { folder + "/container" }
    func database(_ name: String) -> String { folder + "/\(name).sqlite" }
}

/// A tracked database as its app sees it, and its replica.
struct Device {
    let app: Database
    let replica: Replica

    /// Makes a database with a schema, and a container for it.
    static func first(_ workload: some Workload, in place: Place) throws -> Device {
        let path = place.database("first")
        let app = try Database(path: path)
        try app.execute(workload.schema)
        let store = try Store(path: path)
        return Device(
            app: app,
            replica: try Replica.create(store, containerPath: place.container, sealing: .open, name: "first").replica)
    }

    /// Joins another device with an empty database.
    static func joining(_ place: Place, name: String = "second") throws -> Device {
        let path = place.database(name)
        let joined = try Replica.join(databasePath: path, containerPath: place.container, name: name)
        guard let replica = joined.replica else { throw BenchmarkError("a join made no replica") }
        return Device(app: try Database(path: path), replica: replica)
    }

    /// Opens a database that has joined.
    static func existing(_ path: String) throws -> Device {
        Device(app: try Database(path: path), replica: try Replica(path: path))
    }

    /// Packs and encodes what is pending, without publishing it.
    /// - Returns: the bytes of the segments. What compaction makes of them later is another matter.
    @discardableResult
    func pack() throws -> Int {
        let container = replica.identity.container
        var bytes = 0
        _ = try replica.store.pass(replaying: []) { changeset, previous, _ in
            let segment = try SegmentEncoder.encode([changeset], container: container, previous: previous)
            bytes += segment.bytes.count
            return OutboxEntry(
                first: segment.firstSequence, last: segment.lastSequence, changes: changeset.operationCount,
                checksum: segment.checksum, bytes: segment.bytes)
        }
        return bytes
    }

    @discardableResult
    func sync(isThorough: Bool = true) throws -> SyncReport { try replica.sync(isThorough: isThorough) }

    /// Makes sure that two databases have the same rows.
    static func compare(_ left: Device, _ right: Device, _ workload: some Workload) throws {
        try left.app.compare(right.app, workload)
    }
}

extension Database {
    /// Makes sure that another database has the same rows.
    func compare(_ other: Database, _ workload: some Workload) throws {
        let (own, others) = try (integer(workload.fingerprint), other.integer(workload.fingerprint))
        if own != others { throw BenchmarkError("the databases differ after \(workload.name): \(own) and \(others)") }
    }
}
