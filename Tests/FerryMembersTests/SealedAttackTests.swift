import FerryContainer
import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryMembers
@testable import FerrySeal

/// What whoever holds the folder can put in the place of a file, and the error that each attempt meets. Nothing of such a file is ever
/// handed out.
final class SealedAttackTests: XCTestCase {
    private var folder: SealedFolder!
    private var reader: MembershipSealing!

    override func setUpWithError() throws {
        folder = try SealedFolder()
        reader = folder.seal(0)
    }

    /// A sealed file of the second device.
    private struct Sealed {
        let kind: FileKind
        let bytes: [UInt8]
        let content: [UInt8]
        /// What the name has in place of the checksum.
        let hash: Checksum
    }

    private func make(
        _ kind: FileKind, _ text: String, by device: Int = 1, under epoch: Int = 0, content other: [UInt8]? = nil
    ) throws -> Sealed {
        let (bytes, checksum) = try folder.content(kind, text, of: device)
        let (secret, keys) = (folder.epochs[epoch], folder.devices[device])
        return Sealed(
            kind: kind, bytes: try Envelope.seal(other ?? bytes, kind, under: secret, by: keys), content: bytes,
            hash: secret.name(checksum, kind, of: keys.device))
    }

    /// Puts bytes in a file's place and reads that. `nil`: the content came back.
    private func outcome(
        _ bytes: [UInt8], at place: Sealed, of device: Int = 1, with seal: MembershipSealing? = nil
    ) throws -> FerryError.Code? {
        let path = try folder.path(place.kind, place.hash, of: device)
        try folder.container(reader).backend.replace(path, bytes)
        do {
            let read = try folder.read(place.kind, place.hash, of: device, with: seal ?? reader)
            XCTAssertEqual(read, place.content, "\(place.kind): other content was handed out")
            return nil
        } catch let error as FerryError {
            XCTAssertEqual(error.path, SealedFolder.path + "/" + path, "\(place.kind)")
            return error.code
        }
    }

    private let kinds = FileKind.allCases

    func testAFileInItsPlaceIsRead() throws {
        for kind in kinds {
            for text in SealedFolder.texts {
                let file = try make(kind, text)
                XCTAssertNil(try outcome(file.bytes, at: file), "\(kind)")
            }
        }
    }

    func testAFileOfAnotherKindIsForeign() throws {
        for (kind, other) in kinds.flatMap({ kind in kinds.filter { $0 != kind }.map { (kind, $0) } }) {
            XCTAssertEqual(
                try outcome(make(other, "second").bytes, at: make(kind, "first")), .foreignFile, "\(other) for \(kind)")
        }
    }

    func testAnotherFileOfTheSameKindIsRefusedByItsName() throws {
        for kind in kinds where kind != .head {
            XCTAssertEqual(try outcome(make(kind, "second").bytes, at: make(kind, "first")), .damagedFile, "\(kind)")
        }
        // A head has no name: an older one is a hint like any other, and is told by its numbers.
        let (old, new) = (try make(.head, "old"), try make(.head, "newer"))
        XCTAssertNil(try outcome(new.bytes, at: new))
        XCTAssertNil(try outcome(old.bytes, at: old))
    }

    func testABeginningIsNotThereYetAndMoreIsDamaged() throws {
        for kind in kinds {
            let file = try make(kind, "first")
            for length in 0..<file.bytes.count {
                XCTAssertEqual(
                    try outcome(Array(file.bytes.prefix(length)), at: file), .fileNotThereYet, "\(kind) \(length)")
            }
            XCTAssertEqual(try outcome(file.bytes + [0], at: file), .damagedFile, "\(kind)")
        }
    }

    func testEveryChangedByteIsNoticed() throws {
        let expected: Set<FerryError.Code> = [.damagedFile, .foreignFile, .formatTooNew, .fileNotThereYet]
        for kind in kinds {
            let file = try make(kind, "first")
            for index in file.bytes.indices {
                var changed = file.bytes
                changed[index] ^= 0x41
                let code = try XCTUnwrap(try outcome(changed, at: file), "\(kind) \(index)")
                XCTAssertTrue(expected.contains(code), "\(kind) \(index) \(code)")
                // Not there yet is what claims to be longer, and nothing else.
                if code == .fileNotThereYet { XCTAssertTrue((120..<128).contains(index), "\(kind) \(index)") }
            }
        }
    }

    func testPiecesInAnotherOrderAreRefusedBeforeAndBehindTheSignature() throws {
        let length = Envelope.pieceLength + Envelope.tagLength
        for kind in kinds where kind != .head {
            let file = try make(kind, SealedFolder.texts[2])
            var bytes = Array(file.bytes.dropLast(64))
            let (first, second) = (128..<128 + length, 128 + length..<128 + 2 * length)
            let swapped = Array(bytes[second]) + Array(bytes[first])
            bytes.replaceSubrange(first.lowerBound..<second.upperBound, with: swapped)
            XCTAssertEqual(try outcome(bytes + file.bytes.suffix(64), at: file), .damagedFile, "\(kind)")
            // Even where the author itself signs that.
            let signature = try folder.devices[1].sign("file", digest: SealSuite.digest(bytes))
            XCTAssertEqual(try outcome(bytes + signature, at: file), .damagedFile, "\(kind)")
        }
    }

    func testAFileOfAnotherContainerIsForeign() throws {
        let other = ContainerID(high: 9, low: 9)
        let keys = try DeviceKeys(mintedFor: other, random: SeededRandom(seed: 3))
        let epoch = EpochSecret(mintedFor: other, random: SeededRandom(seed: 4))
        for kind in kinds {
            let file = try make(kind, "first")
            let foreign = try Envelope.seal(file.content, kind, under: epoch, by: keys)
            XCTAssertEqual(try outcome(foreign, at: file), .foreignFile, "\(kind)")
        }
    }

    func testAFileOfAnotherMemberIsForeignInThisOnesPlace() throws {
        for kind in kinds {
            XCTAssertEqual(
                try outcome(make(kind, "first", by: 0).bytes, at: make(kind, "first")), .foreignFile, "\(kind)")
        }
    }

    func testAFileUnderAnotherEpochIsRefusedByItsNameOrWaitsForTheKey() throws {
        try folder.say(0, .epoch(try folder.making(1, for: [0, 1])))
        reader = folder.seal(0)
        for kind in kinds {
            let (old, new) = (try make(kind, "first"), try make(kind, "first", under: 1))
            XCTAssertNil(try outcome(old.bytes, at: old))
            XCTAssertNil(try outcome(new.bytes, at: new))
            if kind != .head { XCTAssertEqual(try outcome(old.bytes, at: new), .damagedFile, "\(kind)") }
            let unknown = try make(kind, "first", under: 2)
            XCTAssertEqual(try outcome(unknown.bytes, at: old), .fileNotThereYet, "\(kind)")
        }
        XCTAssertEqual(reader.unknownEpochs, [folder.epochs[2].id])
    }

    func testAPlainFileIsNotSealed() throws {
        for kind in kinds {
            let file = try make(kind, "first")
            let magic =
                switch kind {
                case .segment: "FRYS"
                case .head: "FRYH"
                case .manifest: "FRYM"
                case .chunk: "FRYC"
                case .part: "FRYV"
                }
            for bytes in [file.content, Array(magic.utf8) + file.content] where bytes.starts(with: Array(magic.utf8)) {
                XCTAssertEqual(try outcome(bytes, at: file), .notSealed, "\(kind)")
            }
            XCTAssertEqual(try outcome(Array("anything".utf8), at: file), .damagedFile, "\(kind)")
        }
    }

    func testWhatOthersSignInAMembersNameIsDamaged() throws {
        // The removed device knows the first epoch, and has every byte that the member ever wrote.
        for kind in kinds {
            let file = try make(kind, "first")
            let bytes = Array(file.bytes.dropLast(64))
            for forger in [0, 2] {
                let signature = try folder.devices[forger].sign("file", digest: SealSuite.digest(bytes))
                XCTAssertEqual(try outcome(bytes + signature, at: file), .damagedFile, "\(kind)")
            }
            // A signature that the member made for another purpose is none.
            let other = try folder.devices[1].sign("record", digest: SealSuite.digest(bytes))
            XCTAssertEqual(try outcome(bytes + other, at: file), .damagedFile, "\(kind)")
        }
    }

    func testWhatARemovedDeviceWritesIsForeign() throws {
        let before = try kinds.map { try make($0, "first") }
        try folder.say(0, .remove(folder.devices[1].device), .epoch(try folder.making(1, for: [0])))
        reader = folder.seal(0)
        for file in before { XCTAssertEqual(try outcome(file.bytes, at: file), .foreignFile, "\(file.kind)") }
        for kind in kinds {
            let new = try make(kind, "second")
            XCTAssertEqual(try outcome(new.bytes, at: new), .foreignFile, "\(kind)")
        }
        XCTAssertEqual(try folder.container(reader).devices(), [])
    }

    func testContentThatIsNoFileOfTheKindIsRefusedThoughAMemberSealedIt() throws {
        for kind in kinds {
            let file = try make(kind, "first", content: [1, 2, 3])
            XCTAssertEqual(try outcome(file.bytes, at: file), .damagedFile, "\(kind)")
        }
        // A head for an open container, sealed.
        var head = try folder.head(of: 1, sequence: 3)
        head.sealed = nil
        let sealed = try make(.head, "first", content: head.encoded())
        XCTAssertEqual(try outcome(sealed.bytes, at: sealed), .damagedFile)
    }

    func testTheMarkerOfAnOpenContainerOrOfAnotherMembershipIsRefused() throws {
        let container = try folder.container(reader)
        let other = try MemberRecord.first(by: folder.devices[3], recovery: nil, milliseconds: 9)
        for (sealing, code) in [
            (.none, .notSealed), (.sealed(genesis: other.hash), .containerMismatch),
        ] as [(ContainerDescription.Sealing, FerryError.Code)] {
            _ = try container.replaceMarker(
                ContainerDescription(id: container.id, name: "Music", createdMilliseconds: 1, sealing: sealing))
            XCTAssertThrowsError(try folder.container(reader)) {
                XCTAssertEqual(($0 as? FerryError)?.code, code)
            }
            XCTAssertThrowsError(try container.checkReachable()) {
                XCTAssertEqual(($0 as? FerryError)?.code, code)
            }
        }
        XCTAssertEqual(folder.seal(0).roster.members.count, 2)
    }

    func testRecordsAndClaimsAreNothingElse() throws {
        let claim = try Claim(
            by: folder.devices[4], code: nil, genesis: folder.records[0].hash, milliseconds: 3)
        let record = folder.records[1]
        XCTAssertThrowsError(try MemberRecord(decoding: claim.bytes, container: TestKeys.container)) {
            XCTAssertEqual(($0 as? FerryError)?.code, .damagedFile)
        }
        XCTAssertThrowsError(try Claim(decoding: record.bytes, container: TestKeys.container)) {
            XCTAssertEqual(($0 as? FerryError)?.code, .damagedFile)
        }
        for kind in kinds {
            let file = try make(kind, "first")
            for bytes in [record.bytes, claim.bytes] {
                XCTAssertEqual(try outcome(bytes, at: file), .damagedFile, "\(kind)")
            }
            XCTAssertThrowsError(try MemberRecord(decoding: file.bytes, container: TestKeys.container))
            XCTAssertThrowsError(try Claim(decoding: file.bytes, container: TestKeys.container))
        }
    }
}
