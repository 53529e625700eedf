import FerryContainer
import FerryCore
import FerryEngine
import FerryLog

/// Devices without databases: what others see of them is what such devices publish, and their requests are not counted.
///
/// Each change of theirs is an insertion of a row, as a whole device packed one. Segment, head and `latest` go the way of whole devices.
/// Each head acknowledges everything that there was when the head was written.
final class DistantAuthors {
    private struct Author {
        var device: DeviceID
        var sequence: UInt64 = 0
        var time = HybridTime.zero
        var first: UInt64 = 0
        var checksum = Checksum(high: 0, low: 0)
        var chainEnd: Checksum?
        /// The moment that the author's last head acknowledges.
        var told = 0
    }

    private let container: Container
    private let backend: RemoteBackend
    private let clock: any WallClock
    private let random: any RandomSource
    private let schema: SchemaRecord?
    private let changes: TableChanges
    private var authors: [Author]
    /// How far all logs go, and the number of changes of that.
    private var positions: [DeviceID: LogPosition] = [:]
    private var moment = 0

    /// - Parameter example: changesets of a whole device; the last one inserts a row.
    init(
        _ count: Int, _ storage: MemoryStorage, like example: [Changeset], clock: any WallClock,
        random: any RandomSource
    ) throws {
        backend = RemoteBackend(storage, clock: clock, random: random)
        container = try Container.open(backend)
        (self.clock, self.random) = (clock, random)
        schema = example.lazy.compactMap(\.schema).first
        guard let changes = example.last?.tables.first, changes.operations.count == 1 else {
            throw FerryError(.internalInconsistency, "The example inserts no row.")
        }
        self.changes = changes
        authors = (0..<count).map { _ in Author(device: random.makeID()) }
        for index in authors.indices { try publish(index) }
    }

    var count: Int { authors.count }
    var devices: [DeviceID] { authors.map(\.device) }

    /// Records how far a whole device's log goes.
    func note(_ position: LogPosition, of device: DeviceID) {
        if positions.updateValue(position, forKey: device) != position { moment += 1 }
    }

    /// Publishes a change of an author.
    func publish(_ index: Int) throws {
        var author = authors[index]
        author.time = HybridTime(milliseconds: max(clock.milliseconds(), author.time.milliseconds + 1))
        author.sequence += 1
        var changes = changes
        let object: ObjectID = random.makeID()
        changes.operations[0].object = object
        changes.operations[0].time = author.time
        let context = VersionVector(positions.filter { $0.key != author.device })
        let changeset = Changeset(
            device: author.device, sequence: author.sequence, time: author.time, context: context,
            schema: author.sequence == 1 ? schema : nil, tables: [changes])
        let segment = try SegmentEncoder.encode([changeset], container: container.id, previous: author.chainEnd)
        let name = try SegmentName(first: author.sequence, last: author.sequence, checksum: segment.checksum)
        try container.publish(segment.bytes, name: name, of: author.device)
        (author.first, author.checksum, author.chainEnd) = (author.sequence, segment.checksum, segment.chainEnd)
        authors[index] = author
        note(LogPosition(sequence: author.sequence, time: author.time), of: author.device)
        try writeHead(index)
        try container.announce(author.device)
    }

    /// Writes an author's head with all acknowledgements, as a whole device does after a listing. Without news nothing is written.
    func refreshHead(_ index: Int) throws {
        if authors[index].told < moment { try writeHead(index) }
    }

    private func writeHead(_ index: Int) throws {
        let author = authors[index]
        authors[index].told = moment
        try container.writeHead(
            Head(
                container: container.id, device: author.device, deviceName: "device \(index)",
                position: LogPosition(sequence: author.sequence, time: author.time), lastSegmentFirst: author.first,
                lastSegmentChecksum: author.checksum, acknowledgements: positions.filter { $0.key != author.device },
                writtenMilliseconds: clock.milliseconds(), softwareVersion: FerryVersion.current, digests: [:]))
    }
}
