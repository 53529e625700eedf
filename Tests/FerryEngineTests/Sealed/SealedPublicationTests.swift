import FerryContainer
import FerryCore
import FerryMembers
import FerrySchema
import FerrySeal
import FerryStore
import FerryTestSupport
import Foundation
import GRDB
import XCTest

@testable import FerryEngine

/// Publishing, reading, snapshots and compaction of two members in a sealed container. The records are made by hand; what a pass does
/// with records is told elsewhere.
final class SealedPublicationTests: XCTestCase {
    private let files = MemoryFileSystem()
    private let clock = MemoryHome.Clock()
    private let id = ContainerID(high: 0x5ea1, low: 0x8000_0000_0000_0001)
    private let random = SeededRandom(seed: 21)
    private var keys: [DeviceKeys] = []
    private var graph: MemberGraph!
    private var records: [MemberRecord] = []
    private var secrets: [EpochSecret] = []
    private var stores: [Store] = []
    private let keyStore = MemoryKeyStore()

    override func setUpWithError() throws {
        keys = try (0..<2).map { _ in try DeviceKeys(mintedFor: id, random: random) }
        let first = try MemberRecord.first(by: keys[0], recovery: nil, further: [try newEpoch()], milliseconds: 1)
        graph = MemberGraph(genesis: first.hash, container: id)
        try take(first)
        try say(.admit(Admission(.words, keys[1].publicKeys, in: id, claim: [UInt8](repeating: 1, count: 32))))
        try files.createDirectory(at: "/shared")
        _ = try Container.create(
            at: "/shared/c",
            describedBy: ContainerDescription(
                id: id, name: "c", createdMilliseconds: 1, sealing: .sealed(genesis: first.hash)), fileSystem: files)
        for keys in keys { try keyStore.save(KeyFile(keys: keys, genesis: first.hash.bytes)) }
        stores = try keys.map { keys in
            let store = Store(owning: try DatabaseQueue())
            try store.write { try $0.execute("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)") }
            let identity = StoreIdentity(
                device: keys.device, deviceName: "device", container: id, containerName: "c",
                containerPath: "/shared/c")
            _ = try store.beginTracking(
                identity, TableSelection(), sealed: SealedBeginning(genesis: first.hash, records: []))
            return store
        }
    }

    // MARK: Members

    private func take(_ record: MemberRecord) throws {
        XCTAssertEqual(try graph.insert(record), .counts)
        records.append(record)
    }

    private func say(_ act: MemberAct) throws {
        try take(
            MemberRecord(
                by: keys[0], milliseconds: 2, genesis: records[0].hash, follows: graph.heads.sorted(), acts: [act]))
    }

    private func newEpoch() throws -> MemberAct {
        let secret = EpochSecret(mintedFor: id, random: random)
        let wraps = try keys.map { try KeyWrap(secret, for: $0.device, $0.publicKeys, random: random) }
        defer { secrets.append(secret) }
        return .epoch(
            EpochMaking(
                number: UInt32(secrets.count + 1), epoch: secret.id, wraps: wraps.sorted { $0.receiver < $1.receiver },
                ring: try secret.sealRing(secrets, random: random)))
    }

    private func container(_ index: Int) throws -> Container {
        var keyring = EpochKeyring()
        for record in records { keyring.take(record, with: keys[index], as: keys[index].device) }
        let seal = MembershipSealing(keys: keys[index], graph: graph, roster: Roster(graph), keyring: keyring)
        return try Container.open(at: "/shared/c", fileSystem: files).sealed(by: seal)
    }

    // MARK: Devices

    private func identity(_ index: Int) throws -> StoreIdentity { try XCTUnwrap(try stores[index].identity()) }

    private func replica(_ index: Int) throws -> Replica {
        try Replica(
            stores[index],
            environment: ReplicaEnvironment(clock: clock, random: random, fileSystem: files, keys: keyStore))
    }

    private func pack(_ index: Int, _ name: String) throws {
        try stores[index].write { try $0.execute("INSERT INTO item(name) VALUES ('\(name)')") }
        let replica = try replica(index)
        _ = try stores[index].pass(replaying: [], encode: replica.segmentEncoding(for: identity(index)))
    }

    private func publisher(_ index: Int) throws -> Publisher { try replica(index).publisher(container(index)) }

    private func publish(_ index: Int) throws {
        var report = SyncReport()
        try publisher(index).publish(&report, nil, total: nil)
    }

    /// Reads and replays what others published.
    private func receive(_ index: Int) throws {
        let reading = try stores[index].reading()
        let batch = try LogReader(container: container(index), device: keys[index].device)
            .read(after: reading.vector, known: reading.checksums, isThorough: true)
        XCTAssertEqual(batch.problems.map { "\($0.key): \($0.value)" }, [])
        let replica = try replica(index)
        _ = try stores[index].pass(
            replaying: batch.changesets, checksums: batch.checksums,
            encode: replica.segmentEncoding(for: identity(index)))
    }

    private func names(_ index: Int) throws -> [String] {
        try stores[index].read { try $0.rows("SELECT name FROM item ORDER BY 1").map { $0[0].text } }
    }

    private func segments(_ index: Int) throws -> [SegmentName] {
        try container(index).segments(of: keys[index].device)
    }

    private func snapshots(_ index: Int) throws -> ContainerSnapshots {
        try ContainerSnapshots(
            container: container(index), store: stores[index], identity: identity(index), clock: clock)
    }

    /// Carries out steps of compaction.
    private func perform(_ steps: [CompactionStep]) throws {
        let reading = try stores[0].reading()
        let look = try ContainerView(container(0), except: keys[0].device)
        let replica = try replica(0)
        try stores[0].setCompactionNotes(
            String(
                decoding: JSONEncoder().encode(CompactionMemory(plan: CompactionPlan(steps: steps))), as: UTF8.self))
        let compactor = Compactor(
            container: try container(0), store: stores[0], publisher: try publisher(0),
            retention: RetentionSettings(), clock: clock, activity: try replica.presentActivity(look, reading).activity,
            snapshots: try snapshots(0), countTombstones: { 0 }, collectTombstones: { _ in 0 })
        let report = try compactor.run()
        XCTAssertEqual(report.skipped, [])
    }

    /// All files in the folder, by their paths.
    private func folder(_ path: String = "/shared/c") throws -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        for name in try files.entryNames(ofDirectoryAt: path, maximumCount: 1000) ?? [] {
            let child = path + "/" + name
            if try files.item(at: child) == .directory {
                found.merge(try folder(child)) { first, _ in first }
            } else {
                found[child] = try files.readFile(at: child, maximumBytes: 1 << 24)
            }
        }
        return found
    }

    // MARK: Tests

    func testWhatOneMemberPublishesTheOtherReadsAndNobodyElseCan() throws {
        for number in 0..<3 {
            try pack(0, "Marker-\(number)")
            try publish(0)
        }
        try receive(1)
        XCTAssertEqual(try names(1), ["Marker-0", "Marker-1", "Marker-2"])
        _ = try SnapshotWriter(container: container(0), store: stores[0], identity: identity(0)).write()
        for (path, bytes) in try folder() {
            XCTAssertNil(bytes.firstRange(of: Array("Marker".utf8)), path)
            XCTAssertNil(bytes.firstRange(of: Array("item".utf8)), path)
            for segment in try stores[0].ownSegments() {
                XCTAssertFalse(path.contains(segment.checksum.hex.prefix(16)), path)
            }
        }
        // The head names the last segment as its file is named, and says what is known of the membership.
        let head = try XCTUnwrap(try container(1).readHead(of: keys[0].device))
        XCTAssertEqual(head.lastSegment, try segments(0).last)
        XCTAssertEqual(head.sealed?.oldestEpoch, 1)
        XCTAssertEqual(head.sealed?.knowledge, try container(1).seal?.knowledge)
    }

    func testAHeadIsWrittenAnewWhenRecordsCame() throws {
        try pack(0, "x")
        try publish(0)
        try publisher(0).refreshHead(stores[0].reading())
        let renames = files.stepCount(of: .rename)
        try publisher(0).refreshHead(stores[0].reading())
        XCTAssertEqual(files.stepCount(of: .rename), renames)
        try say(try newEpoch())
        try publisher(0).refreshHead(stores[0].reading())
        XCTAssertEqual(files.stepCount(of: .rename), renames + 1)
        let head = try XCTUnwrap(try container(1).readHead(of: keys[0].device))
        XCTAssertEqual(head.sealed?.knowledge.records, 3)
        XCTAssertEqual(head.sealed?.oldestEpoch, 1)
        XCTAssertEqual(head.lastSegment, try segments(0).last)
    }

    func testAHeadTellsTheEndsOfTheChainsThatWereReplayed() throws {
        try pack(0, "x")
        try publish(0)
        try receive(1)
        try publisher(1).refreshHead(stores[1].reading())
        let head = try XCTUnwrap(try container(0).readHead(of: keys[1].device))
        let end = try XCTUnwrap(try stores[0].ownSegments().last?.checksum)
        XCTAssertEqual(head.sealed?.chainEnds[keys[0].device], UInt64(end.hex.prefix(16), radix: 16))
    }

    func testASegmentThatWasPublishedBeforeACrashAndUnderALaterEpochGoesUnderBothNames() throws {
        try pack(0, "first")
        // The process ends after the segment is in the folder, and before the store knows.
        let entry = try XCTUnwrap(try stores[0].outboxEntry())
        let before = try container(0)
        let epoch = try before.sealingEpoch()
        let old = try before.segmentName(1...1, entry.checksum, of: keys[0].device, under: epoch)
        try before.publish(entry.bytes, name: old, of: keys[0].device, under: epoch)
        try say(try newEpoch())
        try publish(0)
        XCTAssertEqual(try segments(0).count, 2)
        XCTAssertTrue(try segments(0).contains(old))
        // Nobody takes the two for a fork.
        XCTAssertFalse(try OwnLog(stores[0], container(0), identity(0), isComplete: true).isForeign)
        try receive(1)
        XCTAssertEqual(try names(1), ["first"])
        try pack(0, "second")
        try publish(0)
        let gone = try XCTUnwrap(try stores[0].ownSegments().first)
        try perform([.removeSegments([gone.fileName])])
        XCTAssertEqual(try segments(0).map(\.first), [2])
        XCTAssertEqual(try stores[0].ownSegments().map(\.first), [2])
    }

    func testSmallSegmentsAreRolledUpUnderTheCurrentEpoch() throws {
        for number in 0..<3 {
            try pack(0, "row \(number)")
            try publish(0)
        }
        try say(try newEpoch())
        try perform([.rollUp(first: 1, last: 3)])
        let rolled = try XCTUnwrap(try stores[0].ownSegments().first { $0.changesets == 3 })
        XCTAssertEqual(rolled.sealedName?.number, 2)
        XCTAssertTrue(try segments(0).contains(try XCTUnwrap(rolled.name)))
        let parts = try stores[0].ownSegments().filter { $0.changesets == 1 }
        try perform([.removeSegments(parts.map(\.fileName))])
        XCTAssertEqual(try segments(0), [try XCTUnwrap(rolled.name)])
        XCTAssertEqual(try stores[0].reading().oldestSegmentEpoch, 2)
        try receive(1)
        XCTAssertEqual(try names(1), ["row 0", "row 1", "row 2"])
    }

    func testTheFirstSnapshotAfterANewEpochIsWrittenWholeAndTheFormerGoesWithItsChunks() throws {
        try pack(0, "kept in a snapshot")
        try publish(0)
        let first = try snapshots(0).write()
        let again = try SnapshotWriter(container: container(0), store: stores[0], identity: identity(0)).write()
        XCTAssertEqual(again.bytesWritten, again.bytes - again.manifest.chunkBytes, "only the manifest")
        let chunks = try container(0).chunks(of: keys[0].device)
        try say(try newEpoch())
        let second = try SnapshotWriter(container: container(0), store: stores[0], identity: identity(0)).write()
        XCTAssertEqual(second.bytesWritten, second.bytes, "all of it")
        XCTAssertNotEqual(second.name.fileName, first.name)
        XCTAssertEqual(try [first.epoch, container(0).number(of: second.epoch)], [1, 2])
        try snapshots(0).remove([first.name])
        let left = try container(0).chunks(of: keys[0].device)
        XCTAssertEqual(left.count, chunks.count)
        XCTAssertTrue(left.isDisjoint(with: chunks))
        // The other member reads the snapshot in place of the log.
        let catalog = try SnapshotCatalog(container(1))
        let entry = try XCTUnwrap(try catalog.entries().first)
        XCTAssertTrue(try catalog.isWhole(entry))
        let replica = try replica(1)
        try SnapshotImporter(
            entry, container(1), store: stores[1], encode: replica.segmentEncoding(for: identity(1))
        ).load(entry.manifest, checksum: entry.checksum, of: entry.device) { _ in }
        XCTAssertEqual(try names(1), ["kept in a snapshot"])
    }

    func testAMemberThatReplayedAnotherEndOfALogIsFound() throws {
        try pack(0, "one")
        try publish(0)
        try receive(1)
        try publisher(1).refreshHead(stores[1].reading())
        // A third device that knows what the second one knows looks at the second one's head.
        var heads = try ContainerView(container(0), except: keys[0].device).heads
        let known = try stores[1].reading()
        XCTAssertEqual(ForkedViews(heads, known, except: []).all, [])
        heads[keys[1].device]?.sealed?.chainEnds[keys[0].device] = 0x0bad
        let view = ForkedViews.View(author: keys[0].device, reader: keys[1].device, sequence: 1)
        XCTAssertEqual(ForkedViews(heads, known, except: []).all, [view])
        XCTAssertEqual(ForkedViews(heads, known, except: [keys[0].device]).all, [], "a log that heals by other ways")
        // Behind another number nothing is compared, and an unknown end says nothing.
        var others = heads
        others[keys[1].device]?.acknowledgements[keys[0].device]?.sequence = 2
        XCTAssertEqual(ForkedViews(others, known, except: []).all, [])
        heads[keys[1].device]?.sealed?.chainEnds = [:]
        XCTAssertEqual(ForkedViews(heads, known, except: []).all, [])
    }

    func testNothingIsPublishedWithoutAnEpochAndNothingCountsAsLost() throws {
        for number in 0..<2 {
            try pack(0, "row \(number)")
            try publish(0)
        }
        let before = try folder().count
        try say(.leave(LogEnding(sequence: 2, time: .zero, checksum: Checksum(high: 0, low: 0))))
        try pack(0, "waits")
        XCTAssertEqual(try publisher(0).hold?.code, .fileNotThereYet)
        try publish(0)
        XCTAssertThrowsError(try perform([.rollUp(first: 1, last: 2)])) {
            XCTAssertEqual(($0 as? FerryError)?.code, .fileNotThereYet)
        }
        XCTAssertEqual(try folder().count, before)
        XCTAssertEqual(try stores[0].outboxSizes().count, 1)
        XCTAssertNil(Compactor.notes(in: try stores[0].reading()).lost)
    }
}
