import FerryContainer
import FerryContent
import FerryCore
import FerryMembers
import FerrySeal

/// A file from the time before the container was sealed. Such files stay where they are: their devices send the content again once they
/// enrol, and `ferry seal --clean` removes the files.
struct FileOfOpenTime: Error {}

/// Verifies that bytes are the file of their name, without any key of a sealed container. The proof is the checksum in
/// an open container, and the signature of the directory's device in a sealed container.
struct CarriedFile {
    let container: ContainerDescription
    /// The public keys of devices, from records and claims. A device's ID follows from the keys, so any source of the
    /// keys will do.
    let keys: @Sendable (DeviceID) throws -> DevicePublicKeys?

    private var isSealed: Bool { container.sealing != .none }

    /// - Throws: `damagedFile`, `foreignFile`, `notSealed`, `fileNotThereYet`, `formatTooNew`: the file stays where it is.
    func check(_ bytes: [UInt8], _ file: DeviceFile, of device: DeviceID) throws {
        switch file {
        case .record(let name):
            let record = try MemberRecord(decoding: bytes, container: container.id)
            guard name.matches(record.hash) else { throw Self.misnamed }
            if let keys = try keys(record.author), !record.isSigned(by: keys) {
                throw ByteReader.malformed("its signature is wrong")
            }
        case .claim:
            let claim = try Claim(decoding: bytes, container: container.id)
            guard claim.device == device else {
                throw FerryError(.foreignFile, "The claim is of another device. Move it away.", device: device)
            }
        case .pack(let name):
            let id = try PackReader.verifiedID(
                { Array(bytes[$0.clamped(to: 0..<bytes.count)]) }, byteCount: bytes.count, of: device,
                in: container.id, isSealed: isSealed)
            guard id == name.id else { throw Self.misnamed }
        case .part, .segment, .chunk, .manifest, .head:
            guard let kind = file.kind else { return }
            if isSealed {
                try checkSealed(bytes, kind, file, of: device)
            } else {
                try checkOpen(bytes, file, of: device)
            }
        }
    }

    private func checkSealed(
        _ bytes: [UInt8], _ kind: FileKind, _ file: DeviceFile, of device: DeviceID
    ) throws {
        guard let known = try keys(device) else {
            if isOfOpenTime(bytes, file, of: device) { throw FileOfOpenTime() }
            throw FerryError(
                .fileNotThereYet, "No record says the keys of the device \(device) yet. Its files cannot be checked.",
                device: device)
        }
        let reader = EnvelopeReader(container: container.id, keys: { _ in known }, epoch: { _ in nil })
        try reader.checkSignature(bytes, kind, of: device)
    }

    /// True for a whole plain file. Its device has no keys: the container was sealed after the file was written.
    private func isOfOpenTime(_ bytes: [UInt8], _ file: DeviceFile, of device: DeviceID) -> Bool {
        do {
            try checkOpen(bytes, file, of: device)
            return true
        } catch {
            return false
        }
    }

    private func checkOpen(_ bytes: [UInt8], _ file: DeviceFile, of device: DeviceID) throws {
        guard let checksum = ContentHash.verifiedTrailer(of: bytes) else {
            throw ByteReader.malformed("its checksum is wrong")
        }
        let isNamed =
            switch file {
            case .segment(let name): name.matches(checksum)
            case .manifest(let name): name.matches(checksum)
            case .chunk(let name): name.hash == checksum
            case .part(let name): name.hash == checksum
            case .head, .record, .claim, .pack: true
            }
        guard isNamed else { throw Self.misnamed }
        if case .head = file { _ = try head(bytes, of: device) }
    }

    /// Facts for deciding which of two heads is newer.
    /// - Throws: as `check`, for the head of an open container.
    func facts(_ bytes: [UInt8], of device: DeviceID) throws -> HeadFacts {
        var facts = HeadFacts(checksum: ContentHash.checksum(bytes))
        if isSealed { return facts }
        guard let head = try head(bytes, of: device) else { return facts }
        facts.position = head.position
        facts.writtenMilliseconds = head.writtenMilliseconds
        facts.logStart = head.logStart
        return facts
    }

    /// - Returns: `nil` for a head of a newer Ferry: only the checksum is known.
    private func head(_ bytes: [UInt8], of device: DeviceID) throws -> Head? {
        do {
            return try Head(decoding: bytes, container: container.id, device: device)
        } catch let error where error.code == .formatTooNew {
            return nil
        }
    }

    private static var misnamed: FerryError { ByteReader.malformed("it is not the content that its name says") }
}
