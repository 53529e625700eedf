import FerryContainer
import FerryCore
import FerryLog
import FerryStore
import FerryTestSupport

@testable import FerryEngine

/// A device that only exists in the container: it writes files with valid checksums, and says in them whatever a test likes.
final class ForgedDevice {
    let id: DeviceID
    let name: String
    private let container: Container
    private var chain: Checksum?
    private var first: UInt64 = 0
    private(set) var position = LogPosition.none

    init(_ path: String, name: String = "evil", id: DeviceID = DeviceID(high: 0xe, low: 0xe)) throws {
        container = try Container.open(at: path, fileSystem: PosixFileSystem())
        self.id = id
        self.name = name
    }

    var containerID: ContainerID { container.id }

    static var now: HybridTime { HybridTime(milliseconds: SystemClock().milliseconds()) }

    /// Publishes one changeset, and a head that tells of it.
    @discardableResult
    func publish(
        _ tables: [TableChanges], at time: HybridTime? = nil, context: VersionVector = VersionVector(),
        schema: SchemaRecord? = nil
    ) throws -> SegmentName {
        let time = max(time ?? Self.now, position.time)
        let changeset = Changeset(
            device: id, sequence: position.sequence + 1, time: time, context: context, schema: schema, tables: tables)
        let segment = try SegmentEncoder.encode([changeset], container: container.id, previous: chain)
        let name = try SegmentName(
            first: segment.firstSequence, last: segment.lastSequence, checksum: segment.checksum)
        try container.publish(segment.bytes, name: name, of: id)
        chain = segment.checksum
        first = name.first
        position = LogPosition(sequence: changeset.sequence, time: time)
        try writeHead()
        return name
    }

    /// Writes a head, with whatever `change` makes of it.
    func writeHead(_ change: (inout Head) -> Void = { _ in }) throws {
        var head = Head(
            container: container.id, device: id, deviceName: name, position: position,
            lastSegmentFirst: first, lastSegmentChecksum: chain ?? Checksum(high: 0, low: 0),
            writtenMilliseconds: SystemClock().milliseconds(), softwareVersion: "1")
        change(&head)
        try container.writeHead(head)
    }

    /// Publishes a snapshot of one chunk for each table.
    func publishSnapshot(
        _ chunks: [SnapshotChunk], positions: [DeviceID: SnapshotManifest.Position], schema: StampedSchema? = nil,
        contexts: [SnapshotManifest.Context] = []
    ) throws {
        var manifest = SnapshotManifest(
            container: container.id, positions: positions, contexts: contexts, schema: schema)
        for chunk in chunks.sorted(by: { $0.table < $1.table }) {
            let (bytes, checksum) = try SnapshotChunkEncoder.encode(chunk, container: container.id)
            try container.publishChunk(bytes, checksum: checksum, of: id)
            manifest.tables.append(
                .init(
                    name: chunk.table, identity: chunk.identity,
                    chunks: [.init(checksum: checksum, bytes: bytes.count, objects: chunk.objects.count)]))
        }
        let (bytes, checksum) = try SnapshotManifestEncoder.encode(manifest)
        try container.publishSnapshot(bytes, name: SnapshotName(time: manifest.time, checksum: checksum), of: id)
    }

    // MARK: What it says

    /// One insertion.
    static func row(
        _ table: String, _ identity: TableIdentity = .surrogate, key: FieldValue? = .integer(77),
        object: ObjectID = ObjectID(high: 0xf00, low: 1), fields: KeyValuePairs<String, FieldValue>,
        time: HybridTime? = nil, kind: ObjectOperation.Kind = .insert
    ) -> TableChanges {
        TableChanges(
            name: table, identity: identity, columns: fields.map(\.key), shapes: [Array(fields.indices)],
            operations: [
                ObjectOperation(
                    object: object, kind: kind, time: time ?? now, key: key, shape: 0, firstValue: 0)
            ], values: fields.map(\.value))
    }
}
