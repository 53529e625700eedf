import FerryCore
import FerrySeal

/// The bytes of records (Docs/Format.md, "Records").
enum MemberRecordCodec {
    static let magic = Array("FRYR".utf8)
    static let currentVersion: UInt8 = 1
    private static let wrapLength = 16 + KeyWrap.encapsulatedLength + KeyWrap.ciphertextLength

    /// The kinds of acts as they are written.
    private enum Kind: UInt8 {
        case found = 1
        case admit, remove, leave, accept, epoch, grant
    }

    // MARK: Encoding

    /// Encodes all but the signature. For a founding, this also makes the recovery key's signature over the preceding
    /// bytes.
    static func encode(_ content: MemberRecord.Content, recovery: DeviceKeys?) throws -> [UInt8] {
        var writer = ByteWriter(reservingCapacity: 512)
        writer.write(contentsOf: magic)
        writer.write(contentsOf: [currentVersion, 0, 0, 0])
        writer.write(content.container)
        writer.write(content.author)
        writer.write64(content.milliseconds)
        writer.write(contentsOf: content.genesis.bytes)
        let follows = content.follows.sorted()
        writer.writeVarint(UInt64(follows.count))
        for hash in follows { writer.write(contentsOf: hash.bytes) }
        writer.writeVarint(UInt64(content.acts.count))
        for act in content.acts { try write(act, to: &writer, recovery) }
        return writer.bytes
    }

    private static func write(_ act: MemberAct, to writer: inout ByteWriter, _ recovery: DeviceKeys?) throws {
        switch act {
        case .found(let founding):
            var rest = ByteWriter()
            rest.write(contentsOf: founding.founder.signing)
            rest.write(contentsOf: founding.founder.box)
            rest.writeVarint(UInt64(founding.formerLogs.count))
            for log in founding.formerLogs {
                rest.write(log.device)
                write(log.end, to: &rest)
            }
            writer.write(Kind.found.rawValue)
            writer.writeVarint(UInt64(64 + SealSuite.signatureLength + rest.count))
            writer.write(contentsOf: founding.recovery?.signing ?? [UInt8](repeating: 0, count: 32))
            writer.write(contentsOf: founding.recovery?.box ?? [UInt8](repeating: 0, count: 32))
            let signature = try recovery?.sign("found", digest: SealSuite.digest(writer.bytes))
            writer.write(contentsOf: signature ?? founding.recoverySignature)
            writer.write(contentsOf: rest.bytes)
        case .admit(let admission):
            write(.admit, to: &writer) {
                $0.write(admission.way.rawValue)
                $0.write(admission.device)
                for part in [admission.keys.signing, admission.keys.box, admission.claim, admission.answer] {
                    $0.write(contentsOf: part)
                }
            }
        case .remove(let device): write(.remove, to: &writer) { $0.write(device) }
        case .leave(let end): write(.leave, to: &writer) { write(end, to: &$0) }
        case .accept(let device, let end):
            write(.accept, to: &writer) {
                $0.write(device)
                write(end, to: &$0)
            }
        case .epoch(let making):
            write(.epoch, to: &writer) {
                $0.writeVarint(UInt64(making.number))
                $0.write(making.epoch)
                write(making.wraps, to: &$0)
                $0.write(contentsOf: making.ring)
            }
        case .grant(let epoch, let wraps):
            write(.grant, to: &writer) {
                $0.write(epoch)
                write(wraps, to: &$0)
            }
        case .unknown(let kind, let content):
            writer.write(kind)
            writer.writeCounted(content)
        }
    }

    private static func write(_ kind: Kind, to writer: inout ByteWriter, _ content: (inout ByteWriter) -> Void) {
        var body = ByteWriter()
        content(&body)
        writer.write(kind.rawValue)
        writer.writeCounted(body.bytes)
    }

    private static func write(_ end: LogEnding, to writer: inout ByteWriter) {
        writer.writeVarint(end.sequence)
        writer.write64(end.time.rawValue)
        writer.write(end.checksum)
    }

    private static func write(_ wraps: [KeyWrap], to writer: inout ByteWriter) {
        writer.writeVarint(UInt64(wraps.count))
        for wrap in wraps {
            writer.write(wrap.receiver)
            writer.write(contentsOf: wrap.encapsulated)
            writer.write(contentsOf: wrap.ciphertext)
        }
    }

    // MARK: Decoding

    /// Reads an act. The caller checks the rules between acts.
    static func readAct(_ reader: inout ByteReader, of record: [UInt8], _ container: ContainerID) throws(FerryError)
        -> MemberAct
    {
        let number = try reader.readByte()
        let content = try reader.readCounted()
        guard let kind = Kind(rawValue: number) else { return .unknown(number, Array(content)) }
        do {
            return try readAct(kind, content, of: record, container)
        } catch {
            // The act is there whole: the missing bytes will not come.
            throw ByteReader.isCutOff(error) ? ByteReader.malformed("an act ends too early") : error
        }
    }

    private static func readAct(
        _ kind: Kind, _ content: ArraySlice<UInt8>, of record: [UInt8], _ container: ContainerID
    ) throws(FerryError) -> MemberAct {
        var body = ByteReader(content)
        let act: MemberAct =
            switch kind {
            case .found: .found(try readFounding(&body, of: record))
            case .admit: .admit(try readAdmission(&body, container))
            case .remove: .remove(try readDevice(&body))
            case .leave: .leave(try readEnd(&body))
            case .accept: .accept(try readDevice(&body), try readEnd(&body))
            case .epoch: .epoch(try readEpoch(&body))
            case .grant: .grant(try body.readID(), try readWraps(&body))
            }
        guard body.isAtEnd else { throw ByteReader.malformed("an act goes on after its end") }
        return act
    }

    private static func readFounding(_ body: inout ByteReader, of record: [UInt8]) throws(FerryError) -> Founding {
        let (signing, box) = (Array(try body.read(32)), Array(try body.read(32)))
        let hasRecovery = (signing + box).contains { $0 != 0 }
        let recovery = hasRecovery ? try DevicePublicKeys(signing: signing, box: box) : nil
        let signature = try body.read(SealSuite.signatureLength)
        if let recovery {
            guard
                recovery.isSignature(signature, of: "found", digest: SealSuite.digest(record[..<signature.startIndex]))
            else { throw ByteReader.malformed("the recovery key did not sign it") }
        } else {
            guard signature.allSatisfy({ $0 == 0 }) else { throw ByteReader.malformed("nobody's signature is in it") }
        }
        let founder = try DevicePublicKeys(signing: Array(try body.read(32)), box: Array(try body.read(32)))
        let count = try body.readCount(minimumBytes: 16 + 1 + 8 + 16)
        var logs: [Founding.FormerLog] = []
        for _ in 0..<count {
            let log = Founding.FormerLog(device: try readDevice(&body), end: try readEnd(&body))
            if let last = logs.last, last.device >= log.device {
                throw ByteReader.malformed("its devices are not in order")
            }
            logs.append(log)
        }
        return Founding(
            recovery: recovery, recoverySignature: Array(signature), founder: founder, formerLogs: logs)
    }

    private static func readAdmission(_ body: inout ByteReader, _ container: ContainerID) throws(FerryError)
        -> Admission
    {
        guard let way = Admission.Way(rawValue: try body.readByte()) else {
            throw ByteReader.malformed("a device was let in by an unknown way")
        }
        let device = try readDevice(&body)
        let keys = try DevicePublicKeys(signing: Array(try body.read(32)), box: Array(try body.read(32)))
        let (claim, answer) = (Array(try body.read(32)), Array(try body.read(32)))
        guard keys.device(in: container) == device else {
            throw ByteReader.malformed("a device's ID is not that of its keys")
        }
        let (hasClaim, hasAnswer) = (claim.contains { $0 != 0 }, answer.contains { $0 != 0 })
        guard hasClaim == (way == .code || way == .words), hasAnswer == (way == .code) else {
            throw ByteReader.malformed("a device was let in by one way and another")
        }
        return Admission(way, keys, in: container, claim: claim, answer: answer)
    }

    private static func readDevice(_ body: inout ByteReader) throws(FerryError) -> DeviceID {
        let device: DeviceID = try body.readID()
        guard device != MemberRecord.recoveryAuthor else {
            throw ByteReader.malformed("it names a device without an ID")
        }
        return device
    }

    private static func readEnd(_ body: inout ByteReader) throws(FerryError) -> LogEnding {
        let end = LogEnding(
            sequence: try body.readVarint(), time: HybridTime(rawValue: try body.read64()), checksum: try body.readID())
        guard end.sequence < 1 << 48 else { throw ByteReader.malformed("a sequence number is too large") }
        guard end.time <= .latest else { throw ByteReader.malformed("a time is too late") }
        return end
    }

    private static func readEpoch(_ body: inout ByteReader) throws(FerryError) -> EpochMaking {
        let number = try body.readVarint()
        guard number >= 1, number <= UInt64(UInt32.max) else {
            throw ByteReader.malformed("an epoch's number is out of range")
        }
        let epoch: EpochID = try body.readID()
        let wraps = try readWraps(&body)
        // The nonce, the tag, and a count between them.
        guard body.remaining > 12 + 16 else { throw ByteReader.malformed("an epoch has no ring") }
        return EpochMaking(
            number: UInt32(number), epoch: epoch, wraps: wraps, ring: Array(try body.read(body.remaining)))
    }

    private static func readWraps(_ body: inout ByteReader) throws(FerryError) -> [KeyWrap] {
        let count = try body.readCount(minimumBytes: wrapLength)
        var wraps: [KeyWrap] = []
        for _ in 0..<count {
            let wrap = try KeyWrap(
                receiver: try body.readID(), encapsulated: Array(try body.read(KeyWrap.encapsulatedLength)),
                ciphertext: Array(try body.read(KeyWrap.ciphertextLength)))
            if let last = wraps.last, last.receiver >= wrap.receiver {
                throw ByteReader.malformed("its wraps are not in order")
            }
            wraps.append(wrap)
        }
        return wraps
    }
}
