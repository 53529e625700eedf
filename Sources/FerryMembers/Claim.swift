import FerryCore
import FerrySeal

/// A newcomer's request for admission, in the newcomer's own directory (Docs/Format.md, "Claims").
package struct Claim: Hashable, Sendable {
    /// The bytes of every claim.
    package static let length = 240
    private static let magic = Array("FRYJ".utf8)
    private static let currentVersion: UInt8 = 1
    private static let proofOffset = 144
    private static let signatureOffset = 176
    /// The number of hashed bytes shown as words: 12 bytes make six words.
    private static let wordBytes = 12

    /// `code` or `words`; a claim has no further way.
    package let way: Admission.Way
    package let container: ContainerID
    package let device: DeviceID
    package let keys: DevicePublicKeys
    /// The hash of the first record, as the newcomer sees the record.
    package let genesis: RecordHash
    /// The time of making by the newcomer's wall clock, in milliseconds since the Unix epoch.
    package let milliseconds: UInt64
    /// The whole file.
    package let bytes: [UInt8]

    /// SHA-256 of all but the signature.
    package let hash: [UInt8]

    /// Makes the claim of a newcomer.
    /// - Parameter code: the code of the invitation; `nil` for a claim by words.
    package init(by keys: DeviceKeys, code: SecretCode?, genesis: RecordHash, milliseconds: UInt64) throws {
        var writer = ByteWriter(reservingCapacity: Self.length)
        writer.write(contentsOf: Self.magic)
        writer.write(contentsOf: [Self.currentVersion, (code == nil ? Admission.Way.words : .code).rawValue, 0, 0])
        writer.write(keys.container)
        writer.write(keys.device)
        writer.write(contentsOf: keys.publicKeys.signing)
        writer.write(contentsOf: keys.publicKeys.box)
        writer.write(contentsOf: genesis.bytes)
        writer.write64(milliseconds)
        let proof = code.map { SealSuite.authenticator($0.claimKey(in: keys.container), writer.bytes) }
        writer.write(contentsOf: proof ?? [UInt8](repeating: 0, count: SealSuite.hashLength))
        writer.write(contentsOf: try keys.sign("claim", digest: SealSuite.digest(writer.bytes)))
        try self.init(decoding: writer.bytes, container: keys.container)
    }

    /// Reads a claim and checks the signature with the keys in the claim.
    /// - Throws: `formatTooNew`, `foreignFile` for a claim of a different container, `fileNotThereYet` for a beginning
    ///   of a claim, `damagedFile`. The caller adds the path.
    package init(decoding bytes: [UInt8], container expected: ContainerID) throws(FerryError) {
        var reader = ByteReader(bytes)
        guard bytes.prefix(4).elementsEqual(Self.magic.prefix(bytes.count)) else {
            throw ByteReader.malformed("it is not a claim")
        }
        if bytes.count > 4, bytes[4] > Self.currentVersion {
            throw FerryError(
                .formatTooNew,
                "The claim has version \(bytes[4]), this Ferry knows up to \(Self.currentVersion). Update Ferry.")
        }
        guard bytes.count >= Self.length else {
            throw FerryError(.fileNotThereYet, "The claim is not there whole yet. Wait for it.")
        }
        guard bytes.count == Self.length else { throw ByteReader.malformed("it goes on after its end") }
        _ = try reader.skip(4)
        guard try reader.readByte() == Self.currentVersion, let way = Admission.Way(rawValue: try reader.readByte()),
            way == .code || way == .words, try reader.read(2).allSatisfy({ $0 == 0 })
        else { throw ByteReader.malformed("it is not a claim") }
        container = try reader.readID()
        guard container == expected else {
            throw FerryError(.foreignFile, "The claim belongs to another container. Move it away.")
        }
        self.way = way
        device = try reader.readID()
        keys = try DevicePublicKeys(signing: Array(try reader.read(32)), box: Array(try reader.read(32)))
        genesis = RecordHash(bytes: try reader.read(SealSuite.hashLength)) ?? .none  // 32 bytes always make a hash
        milliseconds = try reader.read64()
        self.bytes = bytes
        hash = SealSuite.digest(bytes[..<Self.signatureOffset])
        guard keys.device(in: container) == device else { throw ByteReader.malformed("its ID is not that of its keys") }
        guard (way == .code) == bytes[Self.proofOffset..<Self.signatureOffset].contains(where: { $0 != 0 }) else {
            throw ByteReader.malformed("it has a proof and needs none, or the reverse")
        }
        guard keys.isSignature(bytes[Self.signatureOffset...], of: "claim", digest: hash) else {
            throw ByteReader.malformed("its signature is wrong")
        }
    }

    // MARK: By code

    /// Whether the claim's author has the code of an invitation.
    package func isProved(by invitation: KeyFile.Invitation) -> Bool {
        way == .code
            && SealSuite.isAuthenticator(
                bytes[Self.proofOffset..<Self.signatureOffset], of: bytes[..<Self.proofOffset],
                under: invitation.claimKey)
    }

    /// The inviting device's proof to the newcomer: the inviting device made the code and has seen this claim.
    package func answer(by invitation: KeyFile.Invitation, of inviting: DeviceID, _ keys: DevicePublicKeys) -> [UInt8] {
        SealSuite.authenticator(invitation.answerKey, Self.answered(genesis, hash, inviting, keys))
    }

    /// Whether the admitting device of this claim had made the code. The newcomer believes nothing else.
    package func isAnswer(
        _ answer: [UInt8], by inviting: DeviceID, _ keys: DevicePublicKeys, under invitation: KeyFile.Invitation
    ) -> Bool {
        SealSuite.isAuthenticator(
            answer, of: Self.answered(genesis, hash, inviting, keys), under: invitation.answerKey)
    }

    /// Whether a device answered a different claim by the same code. The code then lets in nobody else.
    package func isBeaten(
        by admission: Admission, of inviting: DeviceID, _ keys: DevicePublicKeys, under invitation: KeyFile.Invitation
    ) -> Bool {
        admission.claim != hash && invitation.isAnswered(by: admission, of: inviting, keys, genesis: genesis)
    }

    fileprivate static func answered(
        _ genesis: RecordHash, _ claim: [UInt8], _ inviting: DeviceID, _ keys: DevicePublicKeys
    ) -> [UInt8] {
        genesis.bytes + claim + inviting.bytes + keys.signing
    }

    // MARK: By words

    /// Six words for a person to carry from the newcomer's screen. The words bind the newcomer to the container and the
    /// reverse.
    package var words: String {
        let content = Array(bytes[..<Self.proofOffset])
        return Proquints.encode(Array(SealSuite.hash("words", genesis.bytes, content).prefix(Self.wordBytes)))
    }
}

extension KeyFile.Invitation {
    /// Whether an admission answers a claim by the code of this invitation.
    package func isAnswered(
        by admission: Admission, of inviting: DeviceID, _ keys: DevicePublicKeys, genesis: RecordHash
    ) -> Bool {
        admission.way == .code
            && SealSuite.isAuthenticator(
                admission.answer, of: Claim.answered(genesis, admission.claim, inviting, keys), under: answerKey)
    }

    /// Whether the invitation may let a claim in now.
    /// - Parameter milliseconds: the wall clock of the device that made the invitation.
    package func admits(_ claim: Claim, genesis: RecordHash, milliseconds: UInt64) -> Bool {
        guard self.claim == nil || self.claim == claim.hash else { return false }
        // A claim bound to the invitation in time is let in, however long the admission took.
        guard self.claim != nil || milliseconds < endMilliseconds else { return false }
        return claim.genesis == genesis && claim.isProved(by: self)
    }
}
