import Crypto
import FerryCore
import Foundation

/// Opens sealed files, in the order of Docs/Format.md: nothing is decrypted before the signature of a member holds, and nothing
/// is handed out before all of a file is found right.
package struct EnvelopeReader: Sendable {
    /// The header of a sealed file, unverified.
    package struct Header: Hashable, Sendable {
        package let kind: FileKind
        package let container: ContainerID
        package let device: DeviceID
        package let epoch: EpochID
        /// The bytes of all pieces.
        let length: Int
    }

    /// The content of an opened file.
    package struct Opened: Hashable, Sendable {
        package let content: [UInt8]
        package let epoch: EpochID
    }

    /// The container of the files.
    package let container: ContainerID
    /// The keys of a device with readable files; `nil` for the rest.
    package let keys: @Sendable (DeviceID) -> DevicePublicKeys?
    /// The secret of a known epoch; `nil` for an unknown epoch.
    package let epoch: @Sendable (EpochID) -> EpochSecret?

    package init(
        container: ContainerID, keys: @escaping @Sendable (DeviceID) -> DevicePublicKeys?,
        epoch: @escaping @Sendable (EpochID) -> EpochSecret?
    ) {
        self.container = container
        self.keys = keys
        self.epoch = epoch
    }

    /// Opens a file of a kind from a device's directory. The caller holds the content against the plain file's rules and the
    /// name against the content.
    /// - Throws: `notSealed` for a plain file, `formatTooNew`, `damagedFile` for all else. `foreignFile` for a file of
    ///   a different place, or of a device without membership. `fileNotThereYet` while bytes of the file or the epoch's
    ///   key are still to come. The caller adds the path.
    package func open(_ file: [UInt8], _ kind: FileKind, of device: DeviceID) throws(FerryError) -> Opened {
        let header = try checkSignature(file, kind, of: device)
        let end = file.count - SealSuite.signatureLength
        guard let secret = epoch(header.epoch), secret.container == container else {
            throw FerryError(
                .fileNotThereYet, "The file is sealed with a key that has not arrived. Wait for it.", device: device)
        }
        let start = Array(file[..<Envelope.headerLength])
        let (key, commitment) = Envelope.fileKey(start, secret)
        guard commitment.elementsEqual(file[Envelope.commitmentOffset..<Envelope.lengthOffset]) else {
            throw ByteReader.malformed("its key is not that of its epoch")
        }
        let stream = try decrypt(file[Envelope.headerLength..<end], key)
        return Opened(content: try content(of: stream, kind), epoch: header.epoch)
    }

    /// Makes every check of a file possible without an epoch: the place, the length, and the device's signature.
    /// - Throws: as `open(_:_:of:)`.
    @discardableResult
    package func checkSignature(
        _ file: [UInt8], _ kind: FileKind, of device: DeviceID
    ) throws(FerryError) -> Header {
        let header = try self.header(file, kind, of: device)
        guard let keys = keys(device) else {
            throw FerryError(
                .foreignFile, "The file is from the device \(device), which is no member. Move it away.", device: device
            )
        }
        let end = file.count - SealSuite.signatureLength
        let digest = SealSuite.digest(file[..<end])
        guard keys.isSignature(file[end...], of: "file", digest: digest) else {
            throw ByteReader.malformed("its signature is wrong")
        }
        return header
    }

    /// Reads the header and compares the header with the place and the length of the file.
    /// - Throws: as `open(_:_:of:)`.
    package func header(_ file: [UInt8], _ kind: FileKind, of device: DeviceID) throws(FerryError) -> Header {
        let magic = Envelope.magic
        guard file.starts(with: magic) else {
            if Envelope.plainMagics.contains(where: { file.starts(with: $0) }) {
                throw FerryError(
                    .notSealed, "The file is not sealed, and the container is. Nothing of it is used.", device: device)
            }
            if file.count < magic.count, magic.starts(with: file) { throw Self.incomplete(device) }
            throw ByteReader.malformed("it is not a sealed file")
        }
        guard file.count > magic.count else { throw Self.incomplete(device) }
        let version = file[magic.count]
        guard version <= Envelope.currentVersion else {
            throw FerryError(
                .formatTooNew,
                "The sealed file has version \(version), this Ferry knows up to \(Envelope.currentVersion). Update Ferry.",
                device: device)
        }
        guard version == Envelope.currentVersion else { throw ByteReader.malformed("it is not a sealed file") }
        guard file.count >= Envelope.overhead else { throw Self.incomplete(device) }
        var reader = ByteReader(file[(magic.count + 1)...])
        let kindByte = try reader.readByte()
        let zeros = try reader.read(2)
        let header = Header(
            kind: kind, container: try reader.readID(), device: try reader.readID(), epoch: try reader.readID(),
            length: Int(clamping: try lengthField(file)))
        guard kindByte == kind.rawValue else {
            throw FerryError(.foreignFile, "The file is of another kind than its place. Move it away.", device: device)
        }
        guard zeros.allSatisfy({ $0 == 0 }) else {
            throw ByteReader.malformed("its header is not zero where it must be")
        }
        guard header.container == container else {
            throw FerryError(.foreignFile, "The file belongs to another container. Move it away.", device: device)
        }
        guard header.device == device else {
            throw FerryError(
                .foreignFile, "The file belongs to the device \(header.device). Move it away.", device: device)
        }
        guard header.length <= kind.maximumFileBytes - Envelope.overhead else {
            throw ByteReader.malformed("it is too long")
        }
        guard file.count >= Envelope.overhead + header.length else { throw Self.incomplete(device) }
        guard file.count == Envelope.overhead + header.length else {
            throw ByteReader.malformed("it goes on after its end")
        }
        return header
    }

    private func lengthField(_ file: [UInt8]) throws(FerryError) -> UInt64 {
        var reader = ByteReader(file[Envelope.lengthOffset...])
        return try reader.read64()
    }

    private func decrypt(_ pieces: ArraySlice<UInt8>, _ key: SymmetricKey) throws(FerryError) -> [UInt8] {
        let sealedLength = Envelope.pieceLength + Envelope.tagLength
        let count = (pieces.count + sealedLength - 1) / sealedLength
        guard count > 0, pieces.count - (count - 1) * sealedLength > Envelope.tagLength else {
            throw ByteReader.malformed("its last piece is empty")
        }
        var stream: [UInt8] = []
        stream.reserveCapacity(pieces.count - count * Envelope.tagLength)
        for piece in 0..<count {
            let start = pieces.startIndex + piece * sealedLength
            let part = pieces[start..<min(start + sealedLength, pieces.endIndex)]
            do {
                let box = try AES.GCM.SealedBox(
                    nonce: Envelope.nonce(piece, isLast: piece == count - 1),
                    ciphertext: part.dropLast(Envelope.tagLength), tag: part.suffix(Envelope.tagLength))
                Envelope.append(try AES.GCM.open(box, using: key), to: &stream)
            } catch {
                throw ByteReader.malformed("a piece of it is wrong")
            }
        }
        return stream
    }

    private func content(of stream: [UInt8], _ kind: FileKind) throws(FerryError) -> [UInt8] {
        var reader = ByteReader(stream)
        let length = try reader.read64()
        guard length <= UInt64(kind.maximumContentBytes), length <= UInt64(reader.remaining) else {
            throw ByteReader.malformed("its content is too long")
        }
        let content = try reader.read(Int(length))
        guard stream.count == Padme.padded(Envelope.contentOffset + Int(length)),
            stream[content.endIndex...].allSatisfy({ $0 == 0 })
        else { throw ByteReader.malformed("it is not filled up with zeros") }
        return Array(content)
    }

    private static func incomplete(_ device: DeviceID) -> FerryError {
        FerryError(.fileNotThereYet, "The file is not there whole yet. Wait for it.", device: device)
    }
}
