import Crypto
import FerryCore
import Foundation

/// The bytes of a key file (Docs/Format.md, "Key files").
extension KeyFile {
    private static let magic = Array("FRYK".utf8)
    private static let currentVersion: UInt8 = 1
    private static let checksumLength = 16
    /// Claim key, answer key, end and claim.
    private static let invitationLength = 32 + 32 + 8 + 32
    /// A longer file is damaged.
    package static let maximumBytes = 144 + 3 + maximumInvitations * invitationLength + checksumLength

    /// Hands the file's bytes to `body` and overwrites the bytes at the end. `body` must keep no copy of the array.
    /// - Throws: `limitExceeded` for more than `maximumInvitations`; errors of `body`.
    package func withEncoded<Result>(_ body: ([UInt8]) throws -> Result) throws -> Result {
        guard invitations.count <= Self.maximumInvitations else {
            throw FerryError(
                .limitExceeded, "More than \(Self.maximumInvitations) invitations are open. Let some end first.",
                device: device)
        }
        // The whole capacity is reserved before, so no shorter buffer stays behind.
        var writer = ByteWriter(reservingCapacity: Self.maximumBytes)
        writer.write(contentsOf: Self.magic)
        writer.write(contentsOf: [Self.currentVersion, 0, 0, 0])
        writer.write(container)
        writer.write(device)
        Self.write(keys.signing.rawRepresentation, to: &writer)
        Self.write(keys.box.rawRepresentation, to: &writer)
        writer.write(contentsOf: genesis)
        writer.write32(highestEpoch)
        writer.writeVarint(UInt64(invitations.count))
        for invitation in invitations {
            invitation.claimKey.key.withUnsafeBytes { writer.write(contentsOf: $0) }
            invitation.answerKey.key.withUnsafeBytes { writer.write(contentsOf: $0) }
            writer.write64(invitation.endMilliseconds)
            writer.write(contentsOf: invitation.claim ?? [UInt8](repeating: 0, count: Self.hashLength))
        }
        let checksum = ContentHash.checksum(writer.bytes)
        writer.write(checksum)
        var bytes = writer.bytes
        writer = ByteWriter()
        defer { SecretBytes.overwrite(&bytes) }
        return try body(bytes)
    }

    /// Reads a key file and overwrites the bytes. Pass the only array with these bytes.
    /// - Throws: `formatTooNew` for a later version, `damagedFile` for bytes that are no key file, and for an ID that
    ///   differs from the keys' ID. The caller adds the path.
    package init(decoding bytes: inout [UInt8]) throws(FerryError) {
        defer { SecretBytes.overwrite(&bytes) }
        try self.init(reading: bytes)
    }

    /// A separate function: no slice of the bytes outlives the function, so the bytes can be overwritten.
    private init(reading bytes: [UInt8]) throws(FerryError) {
        guard bytes.count <= Self.maximumBytes else { throw ByteReader.malformed("it is too long") }
        var reader = ByteReader(bytes)
        guard try reader.read(Self.magic.count).elementsEqual(Self.magic) else {
            throw ByteReader.malformed("it is not a key file")
        }
        let version = try reader.readByte()
        guard version <= Self.currentVersion else {
            throw FerryError(
                .formatTooNew,
                "The key file has version \(version), this Ferry knows up to \(Self.currentVersion). Update Ferry.")
        }
        guard version == Self.currentVersion, bytes.count >= Self.checksumLength,
            ContentHash.verifiedTrailer(of: bytes) != nil
        else { throw ByteReader.malformed("its checksum is wrong") }
        guard try reader.read(3).allSatisfy({ $0 == 0 }) else {
            throw ByteReader.malformed("its header is not zero where it must be")
        }
        reader = ByteReader(bytes[8..<bytes.count - Self.checksumLength])
        let container: ContainerID = try reader.readID()
        let device: DeviceID = try reader.readID()
        let (signing, box) = (SymmetricKey(data: try reader.read(32)), SymmetricKey(data: try reader.read(32)))
        let keys: DeviceKeys
        do {
            keys = try DeviceKeys(signingSeed: signing, boxSeed: box, container: container)
        } catch {
            throw ByteReader.malformed("its keys are none")
        }
        guard keys.device == device else { throw ByteReader.malformed("its keys are another device's") }
        let genesis = Array(try reader.read(Self.hashLength))
        let highestEpoch = try reader.read32()
        let count = try reader.readCount(minimumBytes: Self.invitationLength)
        guard count <= Self.maximumInvitations else { throw ByteReader.malformed("it has too many invitations") }
        var invitations: [Invitation] = []
        for _ in 0..<count {
            let (claimKey, answerKey) = (
                SymmetricKey(data: try reader.read(32)), SymmetricKey(data: try reader.read(32))
            )
            let end = try reader.read64()
            let claim = Array(try reader.read(Self.hashLength))
            invitations.append(
                Invitation(
                    claimKey: SecretKey(claimKey), answerKey: SecretKey(answerKey), endMilliseconds: end,
                    claim: claim.allSatisfy { $0 == 0 } ? nil : claim))
        }
        guard reader.isAtEnd else { throw ByteReader.malformed("it goes on after its end") }
        try self.init(keys: keys, genesis: genesis, highestEpoch: highestEpoch, invitations: invitations)
    }

    private static func write(_ seed: Data, to writer: inout ByteWriter) {
        var seed = seed
        writer.write(contentsOf: seed)
        SecretBytes.overwrite(&seed)
    }
}
