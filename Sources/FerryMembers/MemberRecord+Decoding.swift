import FerryCore
import FerrySeal

extension MemberRecord {
    private static let headerLength = 80

    /// Reads the content of a record's file and makes every check possible without further records. The signature is
    /// checked once the author's keys are known.
    /// - Throws: `formatTooNew` for a later version, `foreignFile` for a record of a different container,
    ///   `fileNotThereYet` for a beginning of a record, `damagedFile`. The caller adds the path.
    package init(decoding bytes: [UInt8], container expected: ContainerID) throws(FerryError) {
        guard bytes.count <= Self.maximumBytes else { throw ByteReader.malformed("it is too long") }
        do {
            try self.init(reading: bytes, expected)
        } catch {
            // A syncer is still writing the file, or the file was cut off. Both look alike.
            guard ByteReader.isCutOff(error) else { throw error }
            throw FerryError(.fileNotThereYet, "The record is not there whole yet. Wait for it.")
        }
    }

    private init(reading bytes: [UInt8], _ expected: ContainerID) throws(FerryError) {
        var reader = ByteReader(bytes)
        guard try reader.read(4).elementsEqual(MemberRecordCodec.magic) else {
            throw ByteReader.malformed("it is not a record")
        }
        let version = try reader.readByte()
        guard version <= MemberRecordCodec.currentVersion else {
            throw FerryError(
                .formatTooNew,
                "The record has version \(version), this Ferry knows up to \(MemberRecordCodec.currentVersion). Update Ferry."
            )
        }
        guard version == MemberRecordCodec.currentVersion else { throw ByteReader.malformed("it is not a record") }
        guard try reader.read(3).allSatisfy({ $0 == 0 }) else {
            throw ByteReader.malformed("its header is not zero where it must be")
        }
        let container: ContainerID = try reader.readID()
        guard container == expected else {
            throw FerryError(.foreignFile, "The record belongs to another container. Move it away.")
        }
        let author: DeviceID = try reader.readID()
        let milliseconds = try reader.read64()
        let genesis = try Self.readHash(&reader)
        let followed = try reader.readCount(minimumBytes: SealSuite.hashLength)
        guard followed <= Self.maximumFollowed else { throw ByteReader.malformed("it follows too many records") }
        var follows: [RecordHash] = []
        follows.reserveCapacity(followed)
        for _ in 0..<followed {
            let hash = try Self.readHash(&reader)
            if let last = follows.last, last >= hash {
                throw ByteReader.malformed("the records that it follows are not in order")
            }
            follows.append(hash)
        }
        let count = try reader.readCount(minimumBytes: 2)
        guard count >= 1, count <= Self.maximumActs else { throw ByteReader.malformed("it has no acts, or too many") }
        var acts: [MemberAct] = []
        for _ in 0..<count { acts.append(try MemberRecordCodec.readAct(&reader, of: bytes, container)) }
        _ = try reader.read(SealSuite.signatureLength)
        guard reader.isAtEnd else { throw ByteReader.malformed("it goes on after its end") }
        self.init(
            container: container, author: author, milliseconds: milliseconds, genesis: genesis, follows: follows,
            acts: acts, bytes: bytes)
        try checkTogether()
    }

    private static func readHash(_ reader: inout ByteReader) throws(FerryError) -> RecordHash {
        RecordHash(bytes: try reader.read(SealSuite.hashLength)) ?? .none  // 32 bytes always make a hash
    }

    /// Checks the rules between acts, author and place.
    private func checkTogether() throws(FerryError) {
        guard isFirst == follows.isEmpty else { throw ByteReader.malformed("only the first record follows none") }
        var devices: [Set<DeviceID>] = [[], [], []]
        var (epochs, leaves) = (0, 0)
        for (place, act) in acts.enumerated() {
            switch act {
            case .found(let founding):
                guard place == 0, isFirst, founding.founder.device(in: container) == author else {
                    throw ByteReader.malformed(
                        "a membership is founded by the first act of the first record, and by its author")
                }
            case .admit(let admission):
                guard isRecovery == (admission.way == .recovery), devices[0].insert(admission.device).inserted,
                    admission.device != author
                else { throw ByteReader.malformed("a device was let in by one way and another") }
            case .remove(let device):
                guard devices[1].insert(device).inserted else {
                    throw ByteReader.malformed("it removes a device twice")
                }
            case .accept(let device, _):
                guard devices[2].insert(device).inserted else { throw ByteReader.malformed("it accepts a log twice") }
            case .leave:
                leaves += 1
                guard leaves == 1, !isRecovery else { throw ByteReader.malformed("it leaves twice") }
            case .epoch:
                epochs += 1
                guard epochs == 1 else { throw ByteReader.malformed("it makes two epochs") }
            case .grant, .unknown: break
            }
        }
        if isFirst {
            guard case .found = acts[0] else { throw ByteReader.malformed("the first record founds nothing") }
        }
    }
}
