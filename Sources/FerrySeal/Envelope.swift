import Crypto
import FerryCore
import Foundation

/// A file of a sealed container: encrypted under an epoch, signed by the writing device (Docs/Format.md, "Envelopes").
///
/// Sealing the same content twice gives the same bytes, except the signature on Apple's systems. A file's key follows
/// from a keyed hash of the content, so a publication after a crash writes the same bytes again. The same key means the
/// same content.
package enum Envelope {
    /// The beginning of a sealed file, packs included.
    package static let magic = Array("FRYX".utf8)
    /// The version that is written, and the latest that is read.
    package static let currentVersion: UInt8 = 1
    static let headerLength = 128
    /// The bytes of a file beyond the file's pieces.
    package static let overhead = headerLength + SealSuite.signatureLength
    /// The plain bytes of a piece; the last piece may have fewer.
    static let pieceLength = 64 * 1024
    static let tagLength = 16
    static let nonceLength = 12
    /// Where things stand in the header.
    static let seedOffset = 56
    static let commitmentOffset = 88
    static let lengthOffset = 120
    /// The bytes of the length before the content.
    static let contentOffset = 8

    /// The magics of plain files that a sealed container seals: segment, head, manifest, chunk, part.
    static let plainMagics = ["FRYS", "FRYH", "FRYM", "FRYC", "FRYV"].map { Array($0.utf8) }

    /// Seals a whole file of an open container.
    /// - Throws: `limitExceeded` for content above the kind's limit, `invalidArgument` for keys and epoch of two containers.
    package static func seal(
        _ content: [UInt8], _ kind: FileKind, under epoch: EpochSecret, by keys: DeviceKeys
    ) throws -> [UInt8] {
        guard content.count <= kind.maximumContentBytes else {
            throw FerryError(
                .limitExceeded, "A file is longer than \(kind.maximumContentBytes) bytes.", device: keys.device)
        }
        guard epoch.container == keys.container else {
            throw FerryError(.invalidArgument, "An epoch of another container cannot seal a file.", device: keys.device)
        }
        var stream = ByteWriter(reservingCapacity: Padme.padded(contentOffset + content.count))
        stream.write64(UInt64(content.count))
        stream.write(contentsOf: content)
        let padding = Padme.padded(stream.count) - stream.count
        stream.write(contentsOf: repeatElement(0, count: padding))
        let plain = stream.bytes

        var header = ByteWriter(reservingCapacity: headerLength)
        header.write(contentsOf: magic)
        header.write(contentsOf: [currentVersion, kind.rawValue, 0, 0])
        header.write(epoch.container)
        header.write(keys.device)
        header.write(epoch.id)
        header.write(contentsOf: seed(header.bytes, plain, epoch))
        let (key, commitment) = fileKey(header.bytes, epoch)
        header.write(contentsOf: commitment)
        let pieces = (plain.count + pieceLength - 1) / pieceLength
        header.write64(UInt64(plain.count + pieces * tagLength))

        var file: [UInt8] = []
        file.reserveCapacity(headerLength + plain.count + pieces * tagLength + SealSuite.signatureLength)
        file += header.bytes
        for piece in 0..<pieces {
            let start = piece * pieceLength
            let box = try AES.GCM.seal(
                plain[start..<min(start + pieceLength, plain.count)], using: key,
                nonce: nonce(piece, isLast: piece == pieces - 1))
            append(box.ciphertext, to: &file)
            append(box.tag, to: &file)
        }
        file += try keys.sign("file", digest: SealSuite.digest(file))
        return file
    }

    /// The length of a sealed file, from the length of the content.
    /// - Parameter count: from 0 to `FileKind.maximumContentBytes`.
    package static func length(ofContent count: Int) -> Int {
        let stream = Padme.padded(contentOffset + count)
        return overhead + stream + (stream + pieceLength - 1) / pieceLength * tagLength
    }

    /// The device and epoch named by a file, before any verification; `nil` if the file is no envelope.
    package static func told(by file: [UInt8]) -> (device: DeviceID, epoch: EpochID)? {
        guard file.starts(with: magic), file.count >= overhead, let device = DeviceID(bytes: file[24..<40]),
            let epoch = EpochID(bytes: file[40..<56])
        else { return nil }
        return (device, epoch)
    }

    /// HMAC over the header up to the seed, and the stream.
    static func seed(_ header: [UInt8], _ stream: [UInt8], _ epoch: EpochSecret) -> [UInt8] {
        var code = HMAC<SHA256>(key: epoch.seedKey)
        code.update(data: header.prefix(seedOffset))
        code.update(data: stream)
        return Array(code.finalize())
    }

    /// The key of a file, and 32 bytes that commit to the key.
    static func fileKey(_ header: [UInt8], _ epoch: EpochSecret) -> (key: SymmetricKey, commitment: [UInt8]) {
        let both = SealSuite.derive(
            from: epoch.secret, epoch.container, "file", Array(header.prefix(commitmentOffset)), count: 64)
        return both.withUnsafeBytes { bytes in
            (SymmetricKey(data: UnsafeRawBufferPointer(rebasing: bytes.prefix(32))), Array(bytes.suffix(32)))
        }
    }

    /// The piece's number in 11 bytes, most significant first, and a mark on the last piece.
    static func nonce(_ piece: Int, isLast: Bool) throws -> AES.GCM.Nonce {
        var bytes = [UInt8](repeating: 0, count: nonceLength)
        for index in 0..<8 { bytes[10 - index] = UInt8(truncatingIfNeeded: piece >> (8 * index)) }
        bytes[11] = isLast ? 1 : 0
        return try AES.GCM.Nonce(data: bytes)
    }

    /// Appends a library's bytes at once; byte by byte would take longer than sealing.
    static func append(_ data: Data, to bytes: inout [UInt8]) {
        data.withUnsafeBytes { bytes.append(contentsOf: $0) }
    }
}
