import Crypto
import FerryCore
import Foundation

/// The secret shared by all members and nobody else: files are sealed under an epoch (Docs/Format.md, "Keys and
/// hashes").
package struct EpochSecret: Sendable {
    /// The container of the secret.
    package let container: ContainerID
    /// Follows from the secret.
    package let id: EpochID
    let secret: SymmetricKey
    let seedKey: SymmetricKey
    let nameKey: SymmetricKey
    private let ringKey: SymmetricKey

    init(_ secret: SymmetricKey, container: ContainerID) {
        self.container = container
        self.secret = secret
        let name = SealSuite.derive(from: secret, container, "epoch", count: 16)
        id = name.withUnsafeBytes { EpochID(bytes: $0) } ?? EpochID(high: 0, low: 0)  // 16 bytes always make an ID
        seedKey = SealSuite.derive(from: secret, container, "seed")
        nameKey = SealSuite.derive(from: secret, container, "name")
        ringKey = SealSuite.derive(from: secret, container, "ring", id.bytes)
    }

    /// Makes a new epoch of random bytes.
    package init(mintedFor container: ContainerID, random: any RandomSource) {
        self.init(SecretBytes.draw(32, from: random), container: container)
    }

    // MARK: Names

    /// Gives the name of a sealed file in place of the plain checksum. The name tells the content to nobody but
    /// members.
    package func name(_ checksum: Checksum, _ kind: FileKind, of device: DeviceID) -> Checksum {
        let message = [kind.rawValue] + device.bytes + checksum.bytes
        let code = HMAC<SHA256>.authenticationCode(for: message, using: nameKey)
        return Checksum(bytes: Array(code.prefix(16))) ?? Checksum(high: 0, low: 0)  // 16 bytes always make a checksum
    }

    // MARK: The ring

    /// The most earlier epochs in a ring.
    package static let maximumRingCount = 4096
    private static let ringNonceLength = 12
    private static let ringTagLength = 16

    /// Seals earlier epochs, so a holder of this epoch can open them too.
    /// - Parameter random: draws the nonce, 12 bytes.
    /// - Throws: `limitExceeded` for more than `maximumRingCount`.
    package func sealRing(_ earlier: [EpochSecret], random: any RandomSource) throws -> [UInt8] {
        guard earlier.count <= Self.maximumRingCount else {
            throw FerryError(.limitExceeded, "More than \(Self.maximumRingCount) epochs are needed at once.")
        }
        let ordered = earlier.sorted { $0.id < $1.id }
        var writer = ByteWriter(reservingCapacity: 10 + ordered.count * 48)
        writer.writeVarint(UInt64(ordered.count))
        for epoch in ordered {
            writer.write(epoch.id)
            epoch.secret.withUnsafeBytes { writer.write(contentsOf: $0) }
        }
        var plain = writer.bytes
        writer = ByteWriter()
        defer { SecretBytes.overwrite(&plain) }
        let nonce = SecretBytes.draw(Self.ringNonceLength, from: random).withUnsafeBytes { Array($0) }
        let box = try AES.GCM.seal(plain, using: ringKey, nonce: AES.GCM.Nonce(data: nonce))
        return nonce + Array(box.ciphertext) + Array(box.tag)
    }

    /// Opens the ring of this epoch.
    /// - Throws: `damagedFile` for bytes that are no ring of this epoch, and for a secret under a wrong ID.
    package func openRing(_ ring: [UInt8]) throws(FerryError) -> [EpochSecret] {
        guard ring.count >= Self.ringNonceLength + Self.ringTagLength else {
            throw ByteReader.malformed("a ring is too short")
        }
        var opened: Data
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: ring.prefix(Self.ringNonceLength)),
                ciphertext: ring.dropFirst(Self.ringNonceLength).dropLast(Self.ringTagLength),
                tag: ring.suffix(Self.ringTagLength))
            opened = try AES.GCM.open(box, using: ringKey)
        } catch {
            throw ByteReader.malformed("a ring cannot be opened with the key of its epoch")
        }
        var plain = Array(opened)
        defer {
            SecretBytes.overwrite(&opened)
            SecretBytes.overwrite(&plain)
        }
        return try readRing(plain)
    }

    /// A separate function: no slice of the plain bytes outlives the function, so the bytes can be overwritten.
    private func readRing(_ plain: [UInt8]) throws(FerryError) -> [EpochSecret] {
        var epochs: [EpochSecret] = []
        var reader = ByteReader(plain)
        let count = try reader.readCount(minimumBytes: 48)
        guard count <= Self.maximumRingCount else { throw ByteReader.malformed("a ring has too many epochs") }
        for _ in 0..<count {
            let id: EpochID = try reader.readID()
            let epoch = EpochSecret(SymmetricKey(data: try reader.read(32)), container: container)
            guard epoch.id == id else { throw ByteReader.malformed("a ring has a secret under another's name") }
            if let last = epochs.last, last.id >= id {
                throw ByteReader.malformed("the epochs of a ring are not in order")
            }
            epochs.append(epoch)
        }
        guard reader.isAtEnd else { throw ByteReader.malformed("a ring goes on after its end") }
        return epochs
    }
}

extension EpochSecret: Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package static func == (left: EpochSecret, right: EpochSecret) -> Bool {
        left.container == right.container && left.secret == right.secret
    }

    package var description: String { "epoch \(id)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}
