import FerryContainer
import FerryCore
import FerrySeal
import FerryTestSupport
import XCTest

@testable import FerryMembers

/// A sealed container in memory, its records, and the seals of its devices. The founder and the second device are members and have the
/// first epoch.
final class SealedFolder {
    let files = MemoryFileSystem()
    let devices = TestKeys.devices
    let random: SeededRandom
    private(set) var graph: MemberGraph
    private(set) var records: [MemberRecord] = []
    let epochs: [EpochSecret]
    static let path = "/shared/c"

    init(seed: UInt64 = 8) throws {
        let random = SeededRandom(seed: seed)
        let epochs = (0..<3).map { _ in EpochSecret(mintedFor: TestKeys.container, random: random) }
        (self.random, self.epochs) = (random, epochs)
        let first = try MemberRecord.first(
            by: devices[0], recovery: TestKeys.recovery,
            further: [.epoch(try Self.making(epochs, 0, for: [devices[0], devices[1]], random))],
            milliseconds: 1)
        graph = MemberGraph(genesis: first.hash, container: TestKeys.container)
        try take(first)
        try say(0, TestKeys.admit(.code, devices[1]))
        try files.createDirectory(at: "/shared")
        let details = try ContainerDescription(
            id: TestKeys.container, name: "Music", createdMilliseconds: 1, sealing: .sealed(genesis: first.hash))
        _ = try Container.create(at: Self.path, describedBy: details, fileSystem: files)
    }

    // MARK: Records

    func take(_ record: MemberRecord) throws {
        XCTAssertEqual(try graph.insert(record), .counts)
        records.append(record)
    }

    func say(_ author: Int, _ acts: MemberAct...) throws {
        try take(
            MemberRecord(
                by: devices[author], milliseconds: 2, genesis: records[0].hash, follows: graph.heads.sorted(),
                acts: acts
            ))
    }

    func making(_ epoch: Int, for receivers: [Int]) throws -> EpochMaking {
        try Self.making(epochs, epoch, for: receivers.map { devices[$0] }, random)
    }

    private static func making(
        _ epochs: [EpochSecret], _ epoch: Int, for receivers: [DeviceKeys], _ random: SeededRandom
    ) throws -> EpochMaking {
        let wraps = try receivers.map { try KeyWrap(epochs[epoch], for: $0.device, $0.publicKeys, random: random) }
        return EpochMaking(
            number: UInt32(epoch + 1), epoch: epochs[epoch].id, wraps: wraps.sorted { $0.receiver < $1.receiver },
            ring: try epochs[epoch].sealRing(Array(epochs[..<epoch]), random: random))
    }

    // MARK: Seals

    func seal(_ device: Int, highestEpoch: UInt32 = 0) -> MembershipSealing {
        var keyring = EpochKeyring()
        for record in records { keyring.take(record, with: devices[device], as: devices[device].device) }
        return MembershipSealing(
            keys: devices[device], graph: graph, roster: Roster(graph), keyring: keyring, highestEpoch: highestEpoch)
    }

    var pin: ContainerPin { ContainerPin(id: TestKeys.container, genesis: graph.genesis) }

    func container(_ seal: MembershipSealing) throws -> Container {
        try Container.open(at: Self.path, expecting: pin, fileSystem: files).sealed(by: seal)
    }

    // MARK: Files

    /// A plain file, as far as a container cares.
    static func plain(_ text: String) -> (bytes: [UInt8], checksum: Checksum) {
        let checksum = ContentHash.checksum(Array(text.utf8))
        return (Array(text.utf8) + checksum.bytes, checksum)
    }

    /// Publishes a segment with one changeset under the current epoch.
    func publish(_ text: String, by device: Int) throws -> SegmentName {
        let container = try container(seal(device))
        let (bytes, checksum) = Self.plain(text)
        let epoch = try container.sealingEpoch()
        let name = try container.segmentName(1...1, checksum, of: devices[device].device, under: epoch)
        try container.publish(bytes, name: name, of: devices[device].device, under: epoch)
        return name
    }

    func head(of device: Int, sequence: UInt64) throws -> Head {
        var head = Head(
            container: TestKeys.container, device: devices[device].device, deviceName: "Device",
            position: LogPosition(sequence: sequence, time: HybridTime(rawValue: sequence)),
            writtenMilliseconds: 1, softwareVersion: "1")
        head.sealed = Head.SealedPart(
            lastSegmentHash: 0, chainEnds: [:], oldestEpoch: 1, knowledge: seal(device).knowledge)
        return head
    }

    /// Where a file of a kind lies, with what its name has in place of the checksum.
    func path(_ kind: FileKind, _ hash: Checksum, of device: Int) throws -> String {
        let name =
            switch kind {
            case .head: "head"
            case .segment: "segments/" + (try SegmentName(first: 1, last: 1, checksum: hash)).fileName
            case .manifest: "snapshots/" + SnapshotName(time: .zero, checksum: hash).fileName
            case .chunk: "snapshots/" + ChunkName(checksum: hash).fileName
            case .part: "values/" + PartName(checksum: hash).fileName
            }
        return "devices/\(devices[device].device.hex)/" + name
    }

    /// A plain file of a kind with some text in it.
    func content(_ kind: FileKind, _ text: String, of device: Int) throws -> (bytes: [UInt8], checksum: Checksum) {
        guard kind == .head else { return Self.plain("\(kind) " + text) }
        var head = try head(of: device, sequence: UInt64(text.utf8.count))
        head.deviceName = String(text.prefix(100))
        let bytes = try head.encoded()
        return (bytes, Checksum(bytes: bytes.suffix(16)) ?? Checksum(high: 0, low: 0))
    }

    /// Reads the file of a kind that lies under a name.
    func read(_ kind: FileKind, _ hash: Checksum, of device: Int, with seal: MembershipSealing) throws -> [UInt8]? {
        let (container, author) = (try container(seal), devices[device].device)
        switch kind {
        case .head: return try container.readHead(of: author)?.encoded()
        case .segment:
            return try container.readSegment(SegmentName(first: 1, last: 1, checksum: hash), of: author)
        case .manifest:
            return try container.readSnapshot(SnapshotName(time: .zero, checksum: hash), of: author)?.bytes
        case .chunk, .part:
            // The reader knows a chunk and a part by the plain checksum and the epoch: found here by trying all names.
            for epoch in epochs {
                for text in Self.texts {
                    let checksum = try content(kind, text, of: device).checksum
                    if epoch.name(checksum, kind, of: author) == hash {
                        return kind == .chunk
                            ? try container.readChunk(checksum, of: author, under: epoch.id)
                            : try container.readPart(checksum, of: author, under: epoch.id)
                    }
                }
            }
            return nil
        }
    }

    /// The texts that `read` looks for.
    static let texts = ["first", "second", String(repeating: "long ", count: 40_000)]
}
