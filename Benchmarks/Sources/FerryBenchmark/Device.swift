import FerryCore
import FerryEngine
import FerryLog
import FerryStore
import Foundation

/// A folder for one round: databases and, where one is tracked, the container.
final class Place {
    let folder: String

    init(below parent: String) throws {
        folder = parent + "/ferry-benchmark-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }  // a temporary folder

    var container: String { folder + "/container" }
    func database(_ name: String) -> String { folder + "/\(name).sqlite" }

    /// The bytes of all segments.
    func segmentBytes() -> Int {
        let files = FileManager.default.enumerator(atPath: container)
        var sum = 0
        while let path = files?.nextObject() as? String {
            if !path.hasSuffix(".segment") { continue }
            // One that vanished meanwhile counts as empty.
            let attributes = try? FileManager.default.attributesOfItem(atPath: container + "/" + path)
            sum += (attributes?[.size] as? NSNumber)?.intValue ?? 0
        }
        return sum
    }
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
            app: app, replica: try Replica.create(store, containerPath: place.container, name: "first").replica)
    }

    /// Joins another device with an empty database.
    static func joining(_ place: Place, name: String = "second") throws -> Device {
        let path = place.database(name)
        let joined = try Replica.join(databasePath: path, containerPath: place.container, name: name)
        guard let replica = joined.replica else { throw BenchmarkError("a join made no replica") }
        return Device(app: try Database(path: path), replica: replica)
    }

    /// Packs and encodes what is pending, without publishing it.
    func pack() throws {
        let container = replica.identity.container
        _ = try replica.store.pass(replaying: []) { changeset, previous in
            let segment = try SegmentEncoder.encode([changeset], container: container, previous: previous)
            return OutboxEntry(
                first: segment.firstSequence, last: segment.lastSequence, changes: changeset.operationCount,
                checksum: segment.checksum, bytes: segment.bytes)
        }
    }

    func sync() throws { _ = try replica.sync() }

    static func compare(_ left: Device, _ right: Device, _ workload: some Workload) throws {
        let (a, b) = try (left.app.integer(workload.fingerprint), right.app.integer(workload.fingerprint))
        if a != b { throw BenchmarkError("the devices differ after \(workload.name): \(a) and \(b)") }
    }
}
