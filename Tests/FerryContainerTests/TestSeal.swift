import FerryContainer
import FerryCore
import Synchronization

/// A seal without cryptography: a file is `SEAL`, kind, device, epoch, content and a signature, 64 equal bytes that are not zero.
/// Each signature differs from the one before, as on systems with random signatures.
final class TestSeal: FileSealing {
    static let genesis: RecordHash = RecordHash(bytes: [UInt8](repeating: 7, count: 32))!
    static let epochs = [EpochID(high: 1, low: 1), EpochID(high: 2, low: 2)]
    private static let headerLength = 4 + 1 + 16 + 16

    let genesis: RecordHash = TestSeal.genesis
    let knowledge = MembershipKnowledge(
        records: 1, recordsDigest: [UInt8](repeating: 1, count: 32), rosterDigest: [UInt8](repeating: 2, count: 32))
    let members: [DeviceID]
    /// The last one is current.
    let knownEpochs: [EpochID]
    private let signatures = Mutex<UInt8>(0)
    private let opened = Mutex(0)
    /// How many files were opened.
    var openCount: Int { opened.withLock { $0 } }

    init(members: [DeviceID], epochs: [EpochID] = TestSeal.epochs) {
        self.members = members
        knownEpochs = epochs
    }

    func readable(_ listed: [DeviceID]) -> [DeviceID] { listed.filter(members.contains) }

    func sealingEpoch() throws -> EpochID {
        guard let last = knownEpochs.last else { throw FerryError(.fileNotThereYet, "no epoch") }
        return last
    }

    func number(of epoch: EpochID) -> UInt32 { knownEpochs.contains(epoch) ? UInt32(epoch.low) : 0 }

    func seal(_ content: [UInt8], _ kind: FileKind, of device: DeviceID, under epoch: EpochID) throws -> [UInt8] {
        let signature = signatures.withLock { count in
            count = count % 250 + 1
            return count
        }
        return Array("SEAL".utf8) + [kind.rawValue] + device.bytes + epoch.bytes + content
            + [UInt8](repeating: signature, count: 64)
    }

    func open(_ file: [UInt8], _ kind: FileKind, of device: DeviceID) throws -> OpenedFile {
        opened.withLock { $0 += 1 }
        guard file.starts(with: Array("SEAL".utf8)) else { throw FerryError(.notSealed, "plain") }
        guard file.count >= Self.headerLength + 64 else { throw FerryError(.fileNotThereYet, "cut off") }
        guard file[4] == kind.rawValue, file[5..<21].elementsEqual(device.bytes), members.contains(device) else {
            throw FerryError(.foreignFile, "elsewhere")
        }
        let signature = file.suffix(64)
        guard file.last != 0, signature.allSatisfy({ $0 == file.last }) else {
            throw FerryError(.damagedFile, "wrong signature")
        }
        guard let epoch = EpochID(bytes: file[21..<37]), knownEpochs.contains(epoch) else {
            throw FerryError(.fileNotThereYet, "unknown epoch")
        }
        return OpenedFile(content: Array(file[Self.headerLength..<file.count - 64]), epoch: epoch)
    }

    func name(
        _ checksum: Checksum, _ kind: FileKind, of device: DeviceID, under epoch: EpochID
    ) throws -> Checksum {
        let high = checksum.bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let mixed = high ^ epoch.high << 8 ^ UInt64(kind.rawValue) << 40 ^ device.high
        return Checksum(high: mixed, low: ~mixed)
    }
}
