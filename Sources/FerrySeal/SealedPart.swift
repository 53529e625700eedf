import Crypto
import FerryCore
import Foundation

/// A separately readable part of a sealed file: a chunk of a pack, or a pack's directory (Docs/Format.md, "Sealed
/// packs").
///
/// As in an envelope, the key follows from a keyed hash of the part's meaning and content. So the same part sealed
/// twice has the same bytes, and the same key never seals two contents. A part bears no signature: the ID proves a
/// chunk, and the signature behind a directory proves the directory.
package enum SealedPart {
    private static let label = "part"
    private static let seedLength = SealSuite.hashLength
    private static let epochLength = 16
    /// The bytes of a part beyond the padded content.
    package static let overhead = epochLength + seedLength + Envelope.tagLength

    /// The length of a part, from the length of the content.
    /// - Parameter count: from 0 to `FileKind.segment.maximumContentBytes`.
    package static func length(ofContent count: Int) -> Int {
        overhead + Padme.padded(Envelope.contentOffset + count)
    }

    /// Seals a part.
    /// - Parameter meaning: names the part for the seal, at most 255 bytes; the opener has to know the meaning.
    /// - Throws: `limitExceeded` for longer content than a segment's.
    package static func seal(
        _ content: [UInt8], _ meaning: [UInt8], under epoch: EpochSecret
    ) throws -> [UInt8] {
        guard content.count <= FileKind.segment.maximumContentBytes, meaning.count <= UInt8.max else {
            throw FerryError(.limitExceeded, "A part of a sealed file is too long.")
        }
        let length = Padme.padded(Envelope.contentOffset + content.count)
        var stream = ByteWriter(reservingCapacity: length)
        stream.write64(UInt64(content.count))
        stream.write(contentsOf: content)
        stream.write(contentsOf: repeatElement(0, count: length - stream.count))
        let seed = self.seed(meaning, stream.bytes, epoch)
        let box = try AES.GCM.seal(stream.bytes, using: key(meaning, seed, epoch), nonce: nonce())
        var part: [UInt8] = []
        part.reserveCapacity(overhead + length)
        part += epoch.id.bytes
        part += seed
        Envelope.append(box.ciphertext, to: &part)
        Envelope.append(box.tag, to: &part)
        return part
    }

    /// The epoch of a sealed part, before any verification; `nil` for a part below the least length.
    package static func epoch(of part: some Collection<UInt8>) -> EpochID? {
        part.count > overhead ? EpochID(bytes: part.prefix(epochLength)) : nil
    }

    /// Opens a part. The caller proves the content.
    /// - Parameter epoch: gives the secret of a known epoch.
    /// - Throws: `fileNotThereYet` for an unknown epoch, `damagedFile`. The caller adds the path.
    package static func open(
        _ part: ArraySlice<UInt8>, _ meaning: [UInt8], epoch: (EpochID) -> EpochSecret?
    ) throws(FerryError) -> [UInt8] {
        guard let id = self.epoch(of: part) else { throw ByteReader.malformed("a sealed part is too short") }
        guard let secret = epoch(id), secret.id == id else {
            throw FerryError(.fileNotThereYet, "The file is sealed with a key that has not arrived. Wait for it.")
        }
        let seed = Array(part.dropFirst(epochLength).prefix(seedLength))
        let rest = part.dropFirst(epochLength + seedLength)
        let stream: [UInt8]
        do {
            let box = try AES.GCM.SealedBox(
                nonce: nonce(), ciphertext: rest.dropLast(Envelope.tagLength), tag: rest.suffix(Envelope.tagLength))
            stream = Array(try AES.GCM.open(box, using: key(meaning, seed, secret)))
        } catch {
            throw ByteReader.malformed("a sealed part is wrong")
        }
        var reader = ByteReader(stream)
        let count = try reader.read64()
        guard count <= UInt64(reader.remaining) else { throw ByteReader.malformed("a sealed part is too long") }
        let content = try reader.read(Int(count))
        guard stream.count == Padme.padded(Envelope.contentOffset + Int(count)),
            stream[content.endIndex...].allSatisfy({ $0 == 0 })
        else { throw ByteReader.malformed("a sealed part is not filled up with zeros") }
        return Array(content)
    }

    private static func seed(_ meaning: [UInt8], _ stream: [UInt8], _ epoch: EpochSecret) -> [UInt8] {
        var code = HMAC<SHA256>(key: epoch.seedKey)
        code.update(data: SealSuite.context(label) + [UInt8(meaning.count)] + meaning)
        code.update(data: stream)
        return Array(code.finalize())
    }

    private static func key(_ meaning: [UInt8], _ seed: [UInt8], _ epoch: EpochSecret) -> SymmetricKey {
        SealSuite.derive(from: epoch.secret, epoch.container, label, meaning + seed)
    }

    /// A key seals a single part, so the nonce equals the nonce of a file's only piece.
    private static func nonce() throws -> AES.GCM.Nonce { try Envelope.nonce(0, isLast: true) }
}
