import FerryContainer
import FerryCore
import XCTest

/// A container as it uses a seal, whatever the seal is.
final class SealedContainerTests: XCTestCase {
    private let files = MemoryFileSystem()
    private let id = ContainerID(high: 0x5ea1, low: 1)
    private let stranger = DeviceID(high: 0x0c, low: 3)
    private let epochs = TestSeal.epochs

    override func setUpWithError() throws {
        try files.createDirectory(at: "/shared")
        try files.synchronizeDirectory(at: "/")
    }

    private func details(_ sealing: ContainerDescription.Sealing) throws -> ContainerDescription {
        try ContainerDescription(id: id, name: "Music", createdMilliseconds: 5, sealing: sealing)
    }

    private func bare() throws -> Container {
        if try files.item(at: "/shared/c") == .missing {
            _ = try Container.create(
                at: "/shared/c", describedBy: details(.sealed(genesis: TestSeal.genesis)), fileSystem: files)
        }
        return try Container.open(at: "/shared/c", fileSystem: files)
    }

    private func container(_ seal: TestSeal? = nil) throws -> Container {
        try bare().sealed(by: seal ?? TestSeal(members: [deviceA, deviceB]))
    }

    private func publish(
        _ text: String, _ container: Container, of device: DeviceID = deviceA, under epoch: EpochID? = nil
    ) throws -> (bytes: [UInt8], name: SegmentName) {
        let (bytes, plain) = try makeSegment(text, 1, 3)
        let checksum = try XCTUnwrap(Checksum(bytes: bytes.suffix(16)))
        let epoch = try epoch ?? container.sealingEpoch()
        let name = try container.segmentName(1...3, checksum, of: device, under: epoch)
        XCTAssertNotEqual(name, plain)
        try container.publish(bytes, name: name, of: device, under: epoch)
        return (bytes, name)
    }

    private func path(_ name: SegmentName, _ device: DeviceID = deviceA) -> String {
        "devices/\(device.hex)/segments/\(name.fileName)"
    }

    private func sealedHead(_ device: DeviceID = deviceA, sequence: UInt64 = 0) -> Head {
        var head = makeHead(id, device, sequence: sequence)
        head.sealed = Head.SealedPart(
            lastSegmentHash: 0, chainEnds: [:], oldestEpoch: 1,
            knowledge: TestSeal(members: []).knowledge)
        return head
    }

    // MARK: The marker

    func testAMarkerIsHeldAgainstTheDatabasesPin() throws {
        let other = RecordHash(bytes: [UInt8](repeating: 8, count: 32))
        let sealing: [(marker: ContainerDescription.Sealing, pin: RecordHash?, code: FerryError.Code?)] = [
            (.none, nil, nil), (.sealed(genesis: TestSeal.genesis), TestSeal.genesis, nil),
            (.sealed(genesis: TestSeal.genesis), nil, .keyMissing), (.none, TestSeal.genesis, .notSealed),
            (.sealed(genesis: TestSeal.genesis), other, .containerMismatch),
        ]
        for (number, (marker, pin, code)) in sealing.enumerated() {
            let path = "/shared/\(number)"
            let made = try Container.create(at: path, describedBy: details(marker), fileSystem: files)
            let expected = ContainerPin(id: id, genesis: pin)
            if let code {
                assertThrows(code, "Music") { try Container.open(at: path, expecting: expected, fileSystem: files) }
            } else {
                XCTAssertEqual(try Container.open(at: path, expecting: expected, fileSystem: files).pin, made.pin)
            }
            assertThrows(.containerMismatch) {
                try Container.open(
                    at: path, expecting: ContainerPin(id: ContainerID(high: 9, low: 9), genesis: pin), fileSystem: files
                )
            }
        }
    }

    func testAMarkerThatIsReplacedIsNoticedAtTheNextLook() throws {
        let container = try container()
        _ = try container.replaceMarker(details(.none))
        assertThrows(.notSealed, "Somebody replaced") { try container.checkReachable() }
        assertThrows(.invalidArgument) {
            try container.replaceMarker(
                ContainerDescription(id: ContainerID(high: 0, low: 1), name: "x", createdMilliseconds: 0))
        }
        let open = try Container.open(at: "/shared/c", fileSystem: files)
        XCTAssertFalse(open.isSealed)
        _ = try open.replaceMarker(details(.sealed(genesis: TestSeal.genesis)))
        assertThrows(.keyMissing) { try open.checkReachable() }
        try container.checkReachable()
    }

    func testASealBelongsToItsMembership() throws {
        let open = try Container.create(at: "/shared/open", name: "Open", fileSystem: files)
        assertThrows(.internalInconsistency) { try open.sealed(by: TestSeal(members: [])) }
        let anew = try bare().replaceMarker(details(.sealed(genesis: RecordHash(bytes: Array(0..<32))!)))
        assertThrows(.internalInconsistency) { try anew.sealed(by: TestSeal(members: [])) }
    }

    // MARK: Without a seal

    func testWithoutASealOnlyRecordsAndClaimsAreReadAndWritten() throws {
        let container = try bare()
        let (bytes, name) = try makeSegment("x", 1, 1)
        let checksum = try XCTUnwrap(Checksum(bytes: bytes.suffix(16)))
        let snapshot = SnapshotName(time: .zero, checksum: checksum)
        let refused: [() throws -> Any] = [
            { try container.devices() }, { try container.segments(of: deviceA) },
            { try container.segmentRanges(of: deviceA) }, { try container.readSegment(name, of: deviceA) as Any },
            { try container.publish(bytes, name: name, of: deviceA) },
            { try container.readHead(of: deviceA) as Any }, { try container.writeHead(self.sealedHead()) },
            { try container.snapshots(of: deviceA) }, { try container.chunks(of: deviceA) },
            { try container.readSnapshot(snapshot, of: deviceA) as Any },
            { try container.readChunk(checksum, of: deviceA) as Any },
            { try container.publishSnapshot(bytes, name: snapshot, of: deviceA) },
            { try container.publishChunk(bytes, checksum: checksum, of: deviceA) },
            { try container.sealingEpoch() as Any },
        ]
        for (number, body) in refused.enumerated() {
            XCTAssertThrowsError(try body(), "\(number)") {
                XCTAssertEqual(($0 as? FerryError)?.code, .keyMissing, "\(number): \($0)")
            }
        }
        XCTAssertEqual(try container.directories(), [])
        try container.publishRecord([1], name: RecordName(TestSeal.genesis), of: deviceA)
        try container.publishClaim([2], of: deviceB)
        XCTAssertEqual(try container.directories(), [deviceA, deviceB])
    }

    // MARK: Files

    func testNothingPlainLiesInTheFolderAndAllComesBack() throws {
        let container = try container()
        let (segment, name) = try publish("secret", container)
        XCTAssertEqual(try container.readSegment(name, of: deviceA), segment)
        XCTAssertEqual(try container.segments(of: deviceA), [name])
        try container.writeHead(sealedHead(), under: container.sealingEpoch())
        XCTAssertEqual(try container.readHead(of: deviceA), sealedHead())
        let checksum = try XCTUnwrap(Checksum(bytes: segment.suffix(16)))
        let epoch = try container.sealingEpoch()
        try container.publishChunk(segment, checksum: checksum, of: deviceA, under: epoch)
        let snapshot = try container.snapshotName(.zero, checksum, of: deviceA, under: epoch)
        try container.publishSnapshot(segment, name: snapshot, of: deviceA, under: epoch)
        let read = try container.readSnapshot(snapshot, of: deviceA)
        XCTAssertEqual(read?.bytes, segment)
        XCTAssertEqual(read?.epoch, epoch)
        XCTAssertEqual(try container.readChunk(checksum, of: deviceA, under: epoch), segment)
        XCTAssertEqual(
            try container.chunks(of: deviceA), [try container.chunkName(checksum, of: deviceA, under: epoch)])
        let directory = "devices/\(deviceA.hex)/"
        for path in ["head"] + (try container.backend.list(directory + "segments", after: nil).map { "segments/" + $0 })
            + (try container.backend.list(directory + "snapshots", after: nil).map { "snapshots/" + $0 })
        {
            let bytes = try XCTUnwrap(try container.backend.read(directory + path, maximumBytes: 10_000))
            XCTAssertTrue(bytes.starts(with: Array("SEAL".utf8)), path)
            XCTAssertFalse(path.contains(checksum.hex.prefix(16)), path)
        }
    }

    func testAFileCountsOnlyUnderItsNameInItsPlace() throws {
        let container = try container()
        let (_, first) = try publish("first", container)
        let (_, second) = try publish("second", container)
        let bytes = try XCTUnwrap(try container.backend.read(path(first), maximumBytes: 1000))
        try container.backend.replace(path(second), bytes)
        assertThrows(.damagedFile, "another file than its name says") {
            try container.readSegment(second, of: deviceA)
        }
        try container.backend.replace(path(first, deviceB), bytes)
        assertThrows(.foreignFile) { try container.readSegment(first, of: deviceB) }
        // A syncer's copy has the name in it.
        let copy = try XCTUnwrap(
            SegmentFile(fileName: first.fileName.replacingOccurrences(of: ".segment", with: " (1).segment")))
        try container.backend.replace("devices/\(deviceA.hex)/segments/" + copy.fileName, bytes)
        XCTAssertNotNil(try container.readSegment(copy, of: deviceA))
        // Under its name with other numbers, the file says itself which changesets it has.
        try container.backend.replace(path(first), makeSegment("first", 1, 3).bytes)
        assertThrows(.notSealed) { try container.readSegment(first, of: deviceA) }
        for length in [0, 3, 40, bytes.count - 1] {
            try container.backend.replace(path(first), Array(bytes.prefix(length)))
            XCTAssertThrowsError(try container.readSegment(first, of: deviceA), "\(length)") {
                XCTAssertNotNil(($0 as? FerryError)?.path, "\(length)")
                XCTAssertEqual(($0 as? FerryError)?.device, deviceA)
            }
        }
        // Too short for a checksum.
        let epoch = try XCTUnwrap(container.sealingEpoch())
        let short = try TestSeal(members: []).seal([1, 2], .segment, of: deviceA, under: epoch)
        try container.backend.replace(path(first), short)
        assertThrows(.damagedFile) { try container.readSegment(first, of: deviceA) }
    }

    func testAFileThatDiffersInTheSignatureAloneIsTheSameFile() throws {
        let container = try container()
        let (bytes, name) = try publish("once", container)
        let before = try XCTUnwrap(try container.backend.read(path(name), maximumBytes: 1000))
        let steps = files.stepCount(of: .rename)
        try container.publish(bytes, name: name, of: deviceA, under: container.sealingEpoch())
        XCTAssertEqual(try container.backend.read(path(name), maximumBytes: 1000), before)
        XCTAssertEqual(files.stepCount(of: .rename), steps)
        // A signature that does not hold, or other content, is damage, and is mended.
        for change in [before.count - 1, 45] {
            var damaged = before
            damaged[change] ^= 0x40
            try container.backend.replace(path(name), damaged)
            try container.publish(bytes, name: name, of: deviceA, under: container.sealingEpoch())
            XCTAssertEqual(try container.readSegment(name, of: deviceA), bytes)
        }
    }

    func testASegmentMayLieThereUnderTheNamesOfSeveralEpochs() throws {
        let container = try container()
        let (bytes, old) = try publish("twice", container, under: epochs[0])
        let (_, new) = try publish("twice", container, under: epochs[1])
        XCTAssertNotEqual(old, new)
        XCTAssertEqual(try container.readSegment(old, of: deviceA), bytes)
        XCTAssertEqual(try container.readSegment(new, of: deviceA), bytes)
        let checksum = try XCTUnwrap(Checksum(bytes: bytes.suffix(16)))
        XCTAssertEqual(Set(try container.segmentNames(1...3, checksum, of: deviceA)), [old, new])
        XCTAssertEqual(container.number(of: epochs[1]), 2)
        XCTAssertEqual(container.number(of: nil), 0)
    }

    func testAllChunksOfAManifestAreSealedUnderItsEpoch() throws {
        let container = try container()
        let (bytes, _) = try makeSegment("chunk", 1, 1)
        let checksum = try XCTUnwrap(Checksum(bytes: bytes.suffix(16)))
        try container.publishChunk(bytes, checksum: checksum, of: deviceA, under: epochs[0])
        XCTAssertNil(try container.readChunk(checksum, of: deviceA, under: epochs[1]))
        // The file of one epoch under the name of another is none.
        let directory = "devices/\(deviceA.hex)/snapshots/"
        let file = try XCTUnwrap(
            try container.backend.read(
                directory + container.chunkName(checksum, of: deviceA, under: epochs[0]).fileName, maximumBytes: 1000))
        let other = try container.chunkName(checksum, of: deviceA, under: epochs[1])
        try container.backend.replace(directory + other.fileName, file)
        assertThrows(.damagedFile) { try container.readChunk(checksum, of: deviceA, under: epochs[1]) }
        for epoch in [nil, epochs[0]] {
            let target = try epoch == nil ? container : Container.create(at: "/shared/o", name: "o", fileSystem: files)
            assertThrows(.invalidArgument) {
                try target.publishChunk(bytes, checksum: checksum, of: deviceA, under: epoch)
            }
        }
    }

    func testHeadsOfOpenAndSealedContainersAreNotMixed() throws {
        let container = try container()
        assertThrows(.invalidArgument) { try container.writeHead(makeHead(id), under: container.sealingEpoch()) }
        let open = try Container.create(at: "/shared/o", name: "o", fileSystem: files)
        var head = sealedHead()
        head.container = open.id
        assertThrows(.invalidArgument) { try open.writeHead(head) }
        try container.backend.replace("devices/\(deviceA.hex)/head", makeHead(id).encoded())
        assertThrows(.notSealed) { try container.readHead(of: deviceA) }
    }

    func testOnlyDevicesWhoseFilesCountAreListed() throws {
        let clock = FixedClock()
        let container = try container()
        for device in [deviceA, deviceB, stranger] {
            try container.backend.replace("devices/\(device.hex)/claim", [1])
        }
        XCTAssertEqual(try container.devices(), [deviceA, deviceB])
        XCTAssertEqual(try container.directories(), [deviceA, deviceB, stranger])
        // A head that was read while its device was a member is not used once it is none.
        let heads = HeadCache(clock: clock)
        let cached = try Container.open(at: "/shared/c", fileSystem: files, heads: heads)
        try container.writeHead(sealedHead(deviceB), under: container.sealingEpoch())
        XCTAssertNotNil(try cached.sealed(by: TestSeal(members: [deviceB])).readHead(of: deviceB))
        assertThrows(.foreignFile) { try cached.sealed(by: TestSeal(members: [deviceA])).readHead(of: deviceB) }
    }

    func testAHeadThatIsReadAgainIsOpenedOnceForItsBytes() throws {
        let heads = HeadCache(clock: FixedClock())
        let container = try container()
        try container.writeHead(sealedHead(deviceB), under: container.sealingEpoch())
        let seal = TestSeal(members: [deviceA, deviceB])
        let cached = try Container.open(at: "/shared/c", fileSystem: files, heads: heads).sealed(by: seal)
        let reads = files.readCount
        for _ in 0..<3 { XCTAssertEqual(try cached.readHead(of: deviceB)?.device, deviceB) }
        XCTAssertEqual(files.readCount - reads, 3, "the file looks the same for no two seconds yet")
        XCTAssertEqual(seal.openCount, 1)
        // Another signature: other bytes, which have to be verified.
        try container.writeHead(sealedHead(deviceB), under: container.sealingEpoch())
        XCTAssertEqual(try cached.readHead(of: deviceB)?.device, deviceB)
        XCTAssertEqual(seal.openCount, 2)
        // What was written here needs no verification.
        try cached.writeHead(sealedHead(deviceA), under: container.sealingEpoch())
        XCTAssertEqual(try cached.readHead(of: deviceA)?.device, deviceA)
        XCTAssertEqual(seal.openCount, 2)
        var bytes = try XCTUnwrap(try files.readFile(at: "/shared/c/devices/\(deviceB.hex)/head", maximumBytes: 9999))
        bytes[bytes.count - 1] ^= 1
        try container.backend.replace("devices/\(deviceB.hex)/head", bytes)
        for _ in 0..<2 { assertThrows(.damagedFile) { try cached.readHead(of: deviceB) } }
    }

    // MARK: Records and claims

    func testRecordsAreListedReadMendedAndRemoved() throws {
        let container = try bare()
        let names = [3, 1].map { RecordName(RecordHash(bytes: [UInt8](repeating: $0, count: 32))!) }
        XCTAssertEqual(names[0].fileName, String(repeating: "03", count: 16) + ".record")
        for name in names { try container.publishRecord([7], name: name, of: deviceA) }
        for other in [names[0].fileName.uppercased(), "x.record", names[0].fileName + " (1)"] {
            try container.backend.replace("devices/\(deviceA.hex)/members/" + other, [1])
            XCTAssertNil(RecordName(other), other)
        }
        let version = try container.recordsVersion(of: deviceA)
        XCTAssertEqual(try container.records(of: deviceA, maximumCount: 2), names.sorted())
        assertThrows(.limitExceeded) { try container.records(of: deviceA, maximumCount: 1) }
        XCTAssertEqual(try container.records(of: deviceB, maximumCount: 2), [])
        XCTAssertNil(try container.recordsVersion(of: deviceB))
        try container.backend.replace("devices/\(deviceA.hex)/members/" + names[0].fileName, [8])
        try container.publishRecord([7], name: names[0], of: deviceA)
        XCTAssertEqual(try container.readRecord(names[0], of: deviceA), [7])
        try container.removeRecord(names[0], of: deviceA)
        XCTAssertNil(try container.readRecord(names[0], of: deviceA))
        XCTAssertNotEqual(try container.recordsVersion(of: deviceA), version)
        let long = [UInt8](repeating: 0, count: Container.maximumRecordBytes + 1)
        assertThrows(.limitExceeded) { try container.publishRecord(long, name: names[0], of: deviceA) }
        try container.backend.replace("devices/\(deviceA.hex)/members/" + names[1].fileName, long)
        assertThrows(.damagedFile) { try container.readRecord(names[1], of: deviceA) }
    }

    func testAClaimIsReplacedAndRemoved() throws {
        let container = try bare()
        XCTAssertNil(try container.readClaim(of: stranger))
        for byte in [1, 2] as [UInt8] { try container.publishClaim([byte], of: stranger) }
        XCTAssertEqual(try container.readClaim(of: stranger), [2])
        try container.publishClaim([UInt8](repeating: 0, count: 241), of: deviceB)
        assertThrows(.damagedFile) { try container.readClaim(of: deviceB) }
        for _ in 0..<2 { try container.removeClaim(of: stranger) }
        files.crash()
        XCTAssertNil(try container.readClaim(of: stranger))
    }
}
