import FerryContainer
import FerryCore
import FerrySeal
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryMembers

/// A sealed container that never changes, with the key files of two of its devices, held against what this code writes, what this
/// code reads, and what `Tests/Golden/unseal.py` reads, which was written after Docs/Format.md and Docs/Sealing.md alone.
final class GoldenSealedContainerTests: XCTestCase {
    private let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden")

    private func files(below folder: URL) throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
            var isDirectory: ObjCBool = false
            let url = folder.appendingPathComponent(path)
            guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory), !isDirectory.boolValue
            else { continue }
            files[path] = [UInt8](try Data(contentsOf: url))
        }
        return files
    }

    func testTheGoldenContainerIsWhatThisCodeWrites() throws {
        #if os(Linux)
        let written = try SealedExample().files
        let known = try files(below: golden)
        XCTAssertEqual(Set(written.keys), Set(known.keys))
        for (path, bytes) in written { XCTAssertEqual(bytes, known[path], path) }
        #else
        throw XCTSkip("signatures differ each time on this system")
        #endif
    }

    func testAnIndependentReaderFindsWhatThisCodeFinds() throws {
        let container = golden.appendingPathComponent("container").path
        for key in ["founder.key", "phone.key", "removed.key"] {
            let keyFile = golden.appendingPathComponent("keys/" + key).path
            guard let told = try IndependentReader.lines(ofSealed: [container, keyFile]) else {
                throw XCTSkip("there is no python3 with the package cryptography")
            }
            let found = try SealedReading(files: files(below: golden), key: "keys/" + key).lines
            XCTAssertGreaterThan(found.count, 20)
            XCTAssertEqual(told, found, key)
        }
    }

    func testTheIndependentReaderRefusesAChangedContainer() throws {
        for (path, place) in [("container/devices", 100), ("keys/founder.key", 50)] {
            let folder = try ScratchFolder()
            var files = try files(below: golden)
            guard let victim = files.keys.sorted().first(where: { $0.hasPrefix(path) && !$0.hasSuffix("head") }) else {
                return XCTFail("no file at \(path)")
            }
            files[victim]?[place] ^= 1
            for (path, bytes) in files {
                let url = URL(fileURLWithPath: folder.path(path))
                try FileManager.default.createDirectory(
                    at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(bytes).write(to: url)
            }
            do {
                let arguments = [folder.path("container"), folder.path("keys/founder.key")]
                guard let told = try IndependentReader.lines(ofSealed: arguments) else {
                    throw XCTSkip("there is no python3 with the package cryptography")
                }
                let found = try SealedReading(files: self.files(below: golden), key: "keys/founder.key").lines
                XCTAssertNotEqual(told, found, "\(victim) was changed, and nothing was said")
            } catch is IndependentReader.Refusal {}
        }
    }
}

/// The files of the golden container, made by a fixed source of random numbers.
struct SealedExample {
    private(set) var files: [String: [UInt8]] = [:]

    init() throws {
        let container = ContainerID(high: 0x5ea1_ed00_0000_8000, low: 0x8000_0000_0000_0001)
        let random = SeededRandom(seed: 20_261_124)
        let mint = { try DeviceKeys(mintedFor: container, random: random) }
        let (founder, phone, thief, brought, gone) = (try mint(), try mint(), try mint(), try mint(), try mint())
        let recovery = try DeviceKeys(
            recovery: SecretCode(minted: .recovery, random: random), container: container)
        let (one, two) = (
            EpochSecret(mintedFor: container, random: random), EpochSecret(mintedFor: container, random: random)
        )
        func wraps(_ epoch: EpochSecret, _ keys: [DeviceKeys], withRecovery: Bool = false) throws -> [KeyWrap] {
            var wraps = try keys.map { try KeyWrap(epoch, for: $0.device, $0.publicKeys, random: random) }
            if withRecovery {
                wraps.append(try KeyWrap(epoch, for: MemberRecord.recoveryAuthor, recovery.publicKeys, random: random))
            }
            return wraps.sorted { $0.receiver < $1.receiver }
        }
        func end(_ sequence: UInt64) -> LogEnding {
            LogEnding(
                sequence: sequence, time: HybridTime(rawValue: sequence << 16),
                checksum: Checksum(high: 0, low: sequence))
        }
        let former = Founding.FormerLog(device: DeviceID(high: 1, low: 2), end: end(40))
        let first = try MemberRecord.first(
            by: founder, recovery: recovery, formerLogs: [former],
            further: [
                .epoch(
                    EpochMaking(
                        number: 1, epoch: one.id, wraps: try wraps(one, [founder], withRecovery: true),
                        ring: try one.sealRing([], random: random)))
            ], milliseconds: 1_700_000_000_000)
        func record(_ keys: DeviceKeys, _ follows: [MemberRecord], _ acts: MemberAct...) throws -> MemberRecord {
            try MemberRecord(
                by: keys, milliseconds: 1_700_000_001_000, genesis: first.hash, follows: follows.map(\.hash), acts: acts
            )
        }
        // The phone comes by code, another device by words, a third as the phone's copy; the second is removed, and brings
        // somebody in, dated back; the copy leaves.
        let code = SecretCode(minted: .invitation, random: random)
        let invitation = KeyFile.Invitation(code: code, container: container, endMilliseconds: 1_700_086_400_000)
        let claim = try Claim(by: phone, code: code, genesis: first.hash, milliseconds: 1_700_000_000_500)
        let byCode = Admission(
            .code, phone.publicKeys, in: container, claim: claim.hash,
            answer: claim.answer(by: invitation, of: founder.device, founder.publicKeys))
        let second = try record(founder, [first], .admit(byCode), .grant(one.id, try wraps(one, [phone])))
        let words = try Claim(by: thief, code: nil, genesis: first.hash, milliseconds: 1_700_000_000_600)
        let third = try record(
            phone, [second], .admit(Admission(.words, thief.publicKeys, in: container, claim: words.hash)),
            .grant(one.id, try wraps(one, [thief])))
        let copy = try record(
            phone, [third], .admit(Admission(.copy, gone.publicKeys, in: container)),
            .grant(one.id, try wraps(one, [gone])))
        let leaving = try record(gone, [copy], .leave(end(3)))
        let removal = try record(
            founder, [leaving], .remove(thief.device),
            .epoch(
                EpochMaking(
                    number: 2, epoch: two.id, wraps: try wraps(two, [founder, phone], withRecovery: true),
                    ring: try two.sealRing([one], random: random))))
        let broughtIn = Admission(.words, brought.publicKeys, in: container, claim: words.hash)
        let dated = try record(thief, [third], .admit(broughtIn))
        let accept = try record(
            phone, [removal, dated], .accept(thief.device, end(7)), .accept(former.device, end(41)))
        let late = try record(thief, [removal], .remove(phone.device))
        for (keys, record) in [
            (founder, first), (founder, second), (phone, third), (phone, copy), (gone, leaving), (founder, removal),
            (thief, dated), (phone, accept), (thief, late),
        ] {
            files["container/devices/\(keys.device.hex)/members/\(RecordName(record.hash).fileName)"] = record.bytes
        }
        let asking = try mint()
        files["container/devices/\(asking.device.hex)/claim"] =
            try Claim(by: asking, code: nil, genesis: first.hash, milliseconds: 1_700_000_002_000).bytes
        files["container/container.json"] = Array(
            """
            {
              "created" : 1700000000000,
              "format" : 1,
              "genesis" : "\(first.hash.hex)",
              "id" : "\(container)",
              "name" : "Music",
              "sealing" : "ferry-1"
            }

            """.utf8)
        try seal(one, founder, .segment, 300)
        try seal(two, founder, .head, 90)
        try seal(two, phone, .segment, 200_000)
        try seal(two, phone, .manifest, 700)
        try seal(two, phone, .chunk, 65_528 - 16)
        try seal(one, thief, .segment, 500)
        try seal(one, gone, .segment, 60)
        var open = invitation
        open.claim = claim.hash
        for (name, keys, invitations) in [("founder", founder, [open]), ("phone", phone, []), ("removed", thief, [])] {
            let file = try KeyFile(
                keys: keys, genesis: first.hash.bytes, highestEpoch: keys.device == thief.device ? 1 : 2,
                invitations: invitations)
            files["keys/\(name).key"] = try file.withEncoded { $0.map { $0 } }
        }
    }

    /// A file of so many bytes with a right checksum, sealed under its right name.
    private mutating func seal(_ epoch: EpochSecret, _ keys: DeviceKeys, _ kind: FileKind, _ count: Int) throws {
        let content = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let plain = content + ContentHash.checksum(content).bytes
        let name = epoch.name(ContentHash.checksum(content), kind, of: keys.device)
        let hash = hexString(name.bytes.prefix(8))
        let place =
            switch kind {
            case .head: "head"
            case .segment: "segments/000000000001-000000000003-\(hash).segment"
            case .manifest: "snapshots/0000000000030000-\(hash).snapshot"
            case .chunk: "snapshots/\(name.hex).chunk"
            case .part: "values/\(name.hex).part"
            }
        files["container/devices/\(keys.device.hex)/\(place)"] = try Envelope.seal(plain, kind, under: epoch, by: keys)
    }
}
