import FerryContainer
import FerryCore
import FerryTestSupport
import XCTest

final class HeadTests: XCTestCase {
    private let container = ContainerID(high: 0x0011_2233_4455_6677, low: 0x8899_aabb_ccdd_eeff)

    private func makeFullHead() -> Head {
        var head = makeHead(container, sequence: 300)
        head.deviceName = "Zoës Telefon"
        head.lastSegmentFirst = 298
        head.lastSegmentChecksum = Checksum(high: 7, low: 9)
        head.acknowledgements = [
            deviceB: LogPosition(sequence: 17, time: HybridTime(milliseconds: 5, counter: 3)),
            DeviceID(high: 1, low: 1): LogPosition(sequence: SegmentName.maximumSequence, time: .latest),
        ]
        head.digests = [7: 0, .max: .max, 0x0102_0304: 0x1112_1314_1516_1718]
        head.logStart = 290
        head.retired = [deviceB: 1_000, DeviceID(high: 1, low: 1): -1]
        head.predecessor = .init(
            device: DeviceID(high: 2, low: 2), sequence: 300,
            end: LogEnd(sequence: 305, checksum: Checksum(high: 11, low: 13)))
        head.missing = [ObjectID(high: 0, low: 5), ObjectID(high: .max, low: 0)]
        return head
    }

    /// A head of a sealed container that says everything.
    private func makeSealedHead() -> Head {
        var head = makeFullHead()
        head.sealed = Head.SealedPart(
            lastSegmentHash: 0x0102_0304_0506_0708, chainEnds: [deviceB: 0x1112_1314_1516_1718], oldestEpoch: 300,
            knowledge: MembershipKnowledge(
                records: 65_536, recordsDigest: Array(0..<32), rosterDigest: Array(64..<96)))
        return head
    }

    private func decode(_ bytes: [UInt8]) throws -> Head {
        let isSealed = bytes.count > 4 && bytes[4] == 5
        return try Head(decoding: bytes, container: container, device: deviceA, isSealed: isSealed)
    }

    /// Makes the checksum right again after a change of the content.
    private func withNewChecksum(_ bytes: [UInt8]) -> [UInt8] {
        let content = Array(bytes.dropLast(16))
        return content + ContentHash.checksum(content).bytes
    }

    func testAHeadIsReadBackAsItWasWritten() throws {
        for head in [makeHead(container), makeFullHead(), makeSealedHead()] {
            XCTAssertEqual(try decode(try head.encoded()), head)
        }
    }

    func testTheBytesAreThoseOfTheDocument() throws {
        var head = makeHead(container, sequence: 300)
        head.deviceName = "Hi"
        head.lastSegmentFirst = 5
        head.lastSegmentChecksum = Checksum(high: 0x0102_0304_0506_0708, low: 0x090a_0b0c_0d0e_0f10)
        head.acknowledgements = [deviceB: LogPosition(sequence: 2, time: HybridTime(rawValue: 0x0102))]
        head.writtenMilliseconds = 0x0a0b
        head.softwareVersion = "1"
        head.digests = [0x0403_0201: 0x0807_0605_0403_0201]
        head.logStart = 300
        head.retired = [deviceB: 0x0809]
        head.predecessor = .init(device: DeviceID(high: 12, low: 3), sequence: 4)
        let bytes = try head.encoded()
        XCTAssertEqual(
            hexString(bytes.dropLast(16)),
            "46525948" + "03" + "00112233445566778899aabbccddeeff" + "000000000000000a0000000000000001" + "024869"
                + "ac02" + "0000140500000000" + "05" + "0102030405060708090a0b0c0d0e0f10" + "01"
                + "000000000000000b0000000000000002" + "02" + "0201000000000000" + "0b0a000000000000" + "0131"
                + "01" + "01020304" + "0102030405060708" + "ac02" + "01" + "000000000000000b0000000000000002"
                + "0908000000000000" + "01" + "000000000000000c0000000000000003" + "04")
        XCTAssertEqual(Array(bytes.suffix(16)), ContentHash.checksum(Array(bytes.dropLast(16))).bytes)
        // Where the predecessor's log ends is told by another version, and only there.
        head.predecessor?.end = LogEnd(sequence: 300, checksum: Checksum(high: 0x0102_0304_0506_0708, low: 9))
        XCTAssertEqual(
            hexString(try head.encoded().dropLast(16)),
            "4652594804" + hexString(bytes[5..<(bytes.count - 34)]) + "02"
                + hexString(bytes[(bytes.count - 33)..<(bytes.count - 16)]) + "ac02"
                + "01020304050607080000000000000009" + "00")
    }

    func testHeadsOfFormerVersionsAreReadWithoutWhatTheyLack() throws {
        var head = makeFullHead()
        // Version 3 ends before what is missing, and is written where nothing is, and no predecessor's end is told.
        head.missing = []
        head.predecessor?.end = nil
        XCTAssertEqual(try head.encoded()[4], 3)
        XCTAssertEqual(try decode(try head.encoded()), head)
        (head.logStart, head.retired, head.predecessor) = (0, [:], nil)
        // Version 2 ends before the log's start, which is 0, as are the retired devices and the predecessor.
        var bytes = Array(try head.encoded().dropLast(16 + 3))
        bytes[4] = 2
        XCTAssertEqual(try decode(bytes + ContentHash.checksum(bytes).bytes), head)
        head.digests = [:]
        // Version 1 ends before the count of digests.
        bytes = Array(try head.encoded().dropLast(16 + 3 + 1))
        bytes[4] = 1
        XCTAssertEqual(try decode(bytes + ContentHash.checksum(bytes).bytes), head)
    }

    func testDigestsOutOfOrderOrTooManyAreDamaged() throws {
        var head = makeHead(container)
        head.digests = [1: 5, 2: 6]
        var bytes = Array(try head.encoded().dropLast(16))
        bytes[bytes.count - 3 - 12] = 1
        assertThrows(.damagedFile) { try decode(withNewChecksum(bytes + Array(repeating: 0, count: 16))) }
        for number in 0...UInt32(Head.maximumDigests) { head.digests[number] = 0 }
        assertThrows(.invalidArgument) { try head.encoded() }
    }

    func testMissingObjectsOutOfOrderOrTwiceAreDamaged() throws {
        var head = makeHead(container)
        head.missing = [ObjectID(high: 1, low: 1), ObjectID(high: 1, low: 2)]
        let bytes = Array(try head.encoded().dropLast(16))
        XCTAssertEqual(bytes[4], 4)
        XCTAssertEqual(bytes[bytes.count - 33], 2)
        for last in [0, 1] as [UInt8] {
            assertThrows(.damagedFile) {
                try decode(withNewChecksum(bytes.dropLast() + [last] + Array(repeating: 0, count: 16)))
            }
        }
        head.missing.reverse()
        assertThrows(.invalidArgument) { try head.encoded() }
    }

    func testWhatHeadsOfSealedContainersSayBesideStandsAtTheEnd() throws {
        let (open, sealed) = (try makeFullHead().encoded(), try makeSealedHead().encoded())
        XCTAssertEqual(sealed[4], 5)
        XCTAssertEqual(sealed[5..<open.count - 16], open[5..<open.count - 16])
        XCTAssertEqual(
            hexString(sealed[(open.count - 16)..<(sealed.count - 16)]),
            "0102030405060708" + "0000000000000000" + "1112131415161718" + "ac02" + "808004"
                + hexString(0..<32) + hexString(64..<96))
        XCTAssertEqual(makeSealedHead().lastSegment?.hash, 0x0102_0304_0506_0708)
        var head = makeSealedHead()
        head.sealed?.lastSegmentHash = 0
        XCTAssertNil(head.lastSegment)
    }

    func testAHeadOfASealedContainerIsNoneOfAnOpenOneAndTheReverse() throws {
        for (head, isSealed) in [(makeFullHead(), true), (makeSealedHead(), false)] {
            assertThrows(.damagedFile, isSealed ? "for an open container" : "for a sealed container") {
                try Head(decoding: try head.encoded(), container: container, device: deviceA, isSealed: isSealed)
            }
        }
    }

    func testEveryTruncationIsDamaged() throws {
        for head in [makeFullHead(), makeSealedHead()] { try assertTruncationsAreDamaged(head) }
    }

    private func assertTruncationsAreDamaged(_ head: Head) throws {
        let bytes = try head.encoded()
        for length in 0..<bytes.count {
            assertThrows(.damagedFile) { try decode(Array(bytes.prefix(length))) }
            // Also where somebody has computed the checksum of the rest.
            if length >= 5 + 16 {
                assertThrows(.damagedFile) { try decode(withNewChecksum(Array(bytes.prefix(length)))) }
            }
        }
        assertThrows(.damagedFile) { try decode(bytes + [0]) }
        assertThrows(.damagedFile) { try decode(withNewChecksum(bytes + [0])) }
        assertThrows(.damagedFile) { try decode(Array(repeating: 0, count: Head.maximumBytes + 1)) }
    }

    func testEveryChangeOfOneByteIsNoticed() throws {
        for bytes in [try makeFullHead().encoded(), try makeSealedHead().encoded()] {
            for index in bytes.indices {
                for change in [0x01, 0x80, 0xff] as [UInt8] {
                    var changed = bytes
                    changed[index] ^= change
                    XCTAssertThrowsError(try decode(changed), "byte \(index)") { XCTAssertTrue($0 is FerryError) }
                }
            }
        }
    }

    func testForgedContentIsRefusedOrReadWithoutHarm() throws {
        for head in [makeFullHead(), makeSealedHead()] { try forge(head) }
    }

    private func forge(_ head: Head) throws {
        let bytes = try head.encoded()
        var random = Chance(seed: 11)
        for round in 0..<20_000 {
            var forged = bytes
            for _ in 0...Int.random(in: 0...2, using: &random) {
                forged[Int.random(in: 5..<bytes.count - 16, using: &random)] = .random(in: 0...255, using: &random)
            }
            do {
                let head = try decode(withNewChecksum(forged))
                XCTAssertEqual(try decode(try head.encoded()), head, "seed 11, round \(round)")
            } catch {
                XCTAssertTrue(error is FerryError, "seed 11, round \(round)")
            }
        }
    }

    func testANewerVersionAsksForAnUpdate() throws {
        var bytes = try makeFullHead().encoded()
        bytes[4] = Head.currentVersion + 1
        assertThrows(.formatTooNew, "Update Ferry") { try decode(bytes) }
        bytes[4] = 0
        assertThrows(.damagedFile) { try decode(withNewChecksum(bytes)) }
    }

    func testAHeadOfAnotherContainerOrDeviceIsForeign() throws {
        let bytes = try makeFullHead().encoded()
        assertThrows(.foreignFile, "another container") {
            try Head(decoding: bytes, container: ContainerID(high: 0, low: 0), device: deviceA)
        }
        assertThrows(.foreignFile, deviceA.description) {
            try Head(decoding: bytes, container: container, device: deviceB)
        }
    }

    func testAcknowledgementsOutOfOrderOrTwiceAreDamaged() throws {
        var head = makeHead(container)
        let devices = [DeviceID(high: 0x5151_5151, low: 1), DeviceID(high: 0x5151_5151, low: 2)]
        for device in devices { head.acknowledgements[device] = LogPosition.none }
        let bytes = try head.encoded()
        let second = try XCTUnwrap(bytes.indices.first { bytes[$0...].starts(with: devices[1].bytes) })
        for last in [0, 1] as [UInt8] {
            var forged = bytes
            forged[second + 15] = last
            assertThrows(.damagedFile) { try decode(withNewChecksum(forged)) }
        }
    }

    func testWhatIsBeyondTheLimitsIsNeitherWrittenNorRead() throws {
        let changes: [(inout Head) -> Void] = [
            { $0.deviceName = String(repeating: "n", count: 257) },
            { $0.softwareVersion = String(repeating: "1", count: 65) },
            { $0.position.sequence = SegmentName.maximumSequence + 1 },
            { $0.position.time = HybridTime.latest.next },
            { $0.acknowledgements[deviceB] = LogPosition(sequence: .max, time: .zero) },
            { $0.acknowledgements[deviceB] = LogPosition(sequence: 1, time: HybridTime(rawValue: .max)) },
            { $0.lastSegmentFirst = $0.position.sequence + 1 },
            { $0.logStart = SegmentName.maximumSequence + 1 },
            { $0.predecessor?.sequence = SegmentName.maximumSequence + 1 },
            { $0.predecessor?.end?.sequence = SegmentName.maximumSequence + 1 },
            { head in
                for number in 0...UInt64(Head.maximumRetired) { head.retired[DeviceID(high: 3, low: number)] = 0 }
            },
            { head in
                head.missing = (0...UInt64(Head.maximumMissing)).map { ObjectID(high: 3, low: $0) }
            },
            { head in
                for number in 0...UInt64(Head.maximumAcknowledgements) {
                    head.acknowledgements[DeviceID(high: 3, low: number)] = LogPosition.none
                }
            },
        ]
        for change in changes {
            var head = makeFullHead()
            change(&head)
            assertThrows(.invalidArgument) { try head.encoded() }
        }
        let sealedChanges: [(inout Head.SealedPart) -> Void] = [
            { $0.chainEnds[DeviceID(high: 77, low: 1)] = 1 }, { $0.chainEnds[deviceB] = 0 },
            { $0.knowledge.records = 65_537 }, { $0.knowledge.records = -1 },
            { $0.knowledge.recordsDigest.removeLast() }, { $0.knowledge.rosterDigest.append(0) },
        ]
        for change in sealedChanges {
            var head = makeSealedHead()
            if var sealed = head.sealed {
                change(&sealed)
                head.sealed = sealed
            }
            assertThrows(.invalidArgument) { try head.encoded() }
        }
        // A forged count, and a forged time.
        var bytes = try makeHead(container).encoded()
        let time = bytes.count - 16 - 3 - 1 - 6 - 8 - 1 - 16 - 1 - 8
        XCTAssertEqual(bytes[time..<time + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }, 1000 << 16)
        bytes[time + 7] = 0xff
        assertThrows(.damagedFile, "time is too late") { try decode(withNewChecksum(bytes)) }
    }

    func testTheLargestHeadFitsItsLimit() throws {
        var head = makeFullHead()
        head.deviceName = String(repeating: "n", count: Head.maximumNameBytes)
        head.softwareVersion = String(repeating: "1", count: Head.maximumSoftwareVersionBytes)
        for number in 0..<UInt64(Head.maximumRetired - 2) { head.retired[DeviceID(high: 9, low: number)] = .max }
        head.missing = (0..<UInt64(Head.maximumMissing)).map { ObjectID(high: .max, low: $0) }
        for number in 0..<UInt32(Head.maximumDigests - 3) { head.digests[number << 8] = .max }
        head.acknowledgements = [:]
        for number in 0..<UInt64(Head.maximumAcknowledgements) {
            head.acknowledgements[DeviceID(high: .max, low: number)] = LogPosition(
                sequence: SegmentName.maximumSequence, time: .latest)
        }
        for sealed in [nil, makeSealedHead().sealed] {
            head.sealed = sealed
            head.sealed?.chainEnds = head.acknowledgements.mapValues { _ in .max }
            let bytes = try head.encoded()
            XCTAssertLessThanOrEqual(bytes.count, Head.maximumBytes)
            XCTAssertEqual(try decode(bytes), head)
        }
    }

    func testTheLastSegmentHasANameOnceSomethingIsPublished() throws {
        XCTAssertNil(makeHead(container).lastSegment)
        XCTAssertEqual(
            makeFullHead().lastSegment?.fileName, "00000000012a-00000000012c-0000000000000007.segment")
    }
}
