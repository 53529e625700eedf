import FerryContainer
import FerryCore
import FerryTestSupport
import Foundation
import XCTest

/// Heads and descriptions that earlier versions wrote; every later version must read them. The heads were encoded by hand
/// after Docs/Format.md.
final class GoldenHeadTests: XCTestCase {
    private let container = ContainerID(high: 0x0011_2233_4455_6677, low: 0x8899_aabb_ccdd_eeff)
    private let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden")

    private func bytes(_ version: UInt8) throws -> [UInt8] {
        let file = folder.appendingPathComponent("head-v\(version).base64")
        XCTAssertTrue(
            FileManager.default.fileExists(atPath: file.path), "There is no golden head of version \(version).")
        let text = try String(contentsOf: file, encoding: .utf8)
        return Array(try XCTUnwrap(Data(base64Encoded: text, options: .ignoreUnknownCharacters)))
    }

    /// What the heads say, as far as a version can.
    private func makeHead(_ version: UInt8) -> Head {
        var head = Head(
            container: container, device: deviceA, deviceName: "Zoës Telefon",
            position: LogPosition(sequence: 300, time: HybridTime(milliseconds: 1300)), lastSegmentFirst: 298,
            lastSegmentChecksum: Checksum(high: 7, low: 9),
            acknowledgements: [
                DeviceID(high: 1, low: 1): LogPosition(sequence: SegmentName.maximumSequence, time: .latest),
                deviceB: LogPosition(sequence: 17, time: HybridTime(milliseconds: 5, counter: 3)),
            ], writtenMilliseconds: 1_700_000_000_000, softwareVersion: "1.0")
        if version >= 2 { head.digests = [7: 0, 0x0102_0304: 0x1112_1314_1516_1718, .max: .max] }
        if version >= 3 {
            head.logStart = 290
            head.retired = [DeviceID(high: 1, low: 1): -1, deviceB: 1000]
            head.predecessor = .init(device: DeviceID(high: 2, low: 2), sequence: 300)
        }
        if version >= 4 {
            head.predecessor?.end = LogEnd(sequence: 305, checksum: Checksum(high: 11, low: 13))
            head.missing = [ObjectID(high: 1, low: 2), ObjectID(high: 0x0102_0304_0506_0708, low: .max)]
        }
        if version >= 5 {
            head.sealed = Head.SealedPart(
                lastSegmentHash: 0x1122_3344_5566_7788, chainEnds: [deviceB: 0xa1a2_a3a4_a5a6_a7a8], oldestEpoch: 3,
                knowledge: MembershipKnowledge(
                    records: 300, recordsDigest: Array(0x40..<0x60), rosterDigest: Array(0x80..<0xa0)))
        }
        return head
    }

    func testHeadsOfEveryVersionAreRead() throws {
        for version in Head.earliestVersion...Head.currentVersion {
            let bytes = try bytes(version)
            XCTAssertEqual(bytes[4], version)
            let head = try Head(decoding: bytes, container: container, device: deviceA, isSealed: version == 5)
            XCTAssertEqual(head, makeHead(version), "\(version)")
        }
    }

    /// Version 3 where nothing needs the fourth.
    func testThePresentVersionsAreWrittenByteByByte() throws {
        for version in 3...Head.currentVersion {
            XCTAssertEqual(try makeHead(version).encoded(), try bytes(version), "\(version)")
        }
    }

    func testDescriptionsOfEveryFormatAreRead() throws {
        for format in 1...ContainerDescription.currentFormat {
            let file = folder.appendingPathComponent("container-v\(format).json")
            XCTAssertTrue(
                FileManager.default.fileExists(atPath: file.path), "There is no golden container.json \(format).")
            let bytes = [UInt8](try Data(contentsOf: file))
            let description = try ContainerDescription(decoding: bytes)
            XCTAssertEqual(description.format, format)
            XCTAssertEqual(description.id, ContainerID(high: 0x0123_4567_89ab_cdef, low: 0x0123_4567_89ab_cdef))
            XCTAssertEqual(description.name, "Music")
            XCTAssertEqual(description.sealing, .none)
            XCTAssertEqual(description.createdMilliseconds, 1_700_000_000_000)
            if format == ContainerDescription.currentFormat { XCTAssertEqual(try description.encoded(), bytes) }
        }
    }

    func testADescriptionOfASealedContainerIsRead() throws {
        let bytes = [UInt8](try Data(contentsOf: folder.appendingPathComponent("container-v1-sealed.json")))
        let description = try ContainerDescription(decoding: bytes)
        XCTAssertEqual(
            description.sealing, .sealed(genesis: try XCTUnwrap(RecordHash(bytes: Array(0xe0...0xff)))))
        XCTAssertEqual(try description.encoded(), bytes)
    }

    /// The reader in Python knows nothing of Ferry but Docs/Format.md.
    func testAnIndependentReaderReadsHeadsOfEveryVersion() throws {
        for version in Head.earliestVersion...Head.currentVersion {
            let bytes = try bytes(version)
            guard let read = try IndependentReader.lines(of: bytes) else {
                throw XCTSkip("there is no python3 to read the files with")
            }
            let head = try Head(decoding: bytes, container: container, device: deviceA, isSealed: version == 5)
            XCTAssertEqual(read, lines(head, version))
        }
    }

    private static func hex(_ hash: UInt64) -> String { String(Checksum(high: hash, low: 0).hex.prefix(16)) }

    /// A head in the words of the independent reader.
    private func lines(_ head: Head, _ version: UInt8) -> [String] {
        var lines = [
            "head of \(head.container.hex) \(head.device.hex) \(head.deviceName)",
            "position \(head.position.sequence) \(head.position.time.rawValue)",
            "last segment from \(head.lastSegmentFirst) \(head.lastSegmentChecksum.hex)",
        ]
        for (device, position) in head.acknowledgements.sorted(by: { $0.key < $1.key }) {
            lines.append("acknowledged \(device.hex) \(position.sequence) \(position.time.rawValue)")
        }
        lines.append("written \(head.writtenMilliseconds) by \(head.softwareVersion)")
        for (covered, digest) in head.digests.sorted(by: { $0.key < $1.key }) {
            lines.append("digest \(covered) \(digest)")
        }
        if version < 3 { return lines }
        lines.append("log from \(head.logStart)")
        for (device, written) in head.retired.sorted(by: { $0.key < $1.key }) {
            lines.append("retired \(device.hex) \(written)")
        }
        if let predecessor = head.predecessor {
            lines.append("predecessor \(predecessor.device.hex) \(predecessor.sequence)")
            if let end = predecessor.end { lines.append("predecessor's end \(end.sequence) \(end.checksum.hex)") }
        }
        for object in head.missing { lines.append("missing \(object.hex)") }
        guard let sealed = head.sealed else { return lines }
        lines.append("last segment named \(Self.hex(sealed.lastSegmentHash))")
        for device in head.acknowledgements.keys.sorted() {
            lines.append("chain end \(device.hex) \(Self.hex(sealed.chainEnds[device] ?? 0))")
        }
        lines.append("oldest epoch \(sealed.oldestEpoch)")
        lines.append("records \(sealed.knowledge.records) \(hexString(sealed.knowledge.recordsDigest))")
        lines.append("roster \(hexString(sealed.knowledge.rosterDigest))")
        return lines
    }
}
