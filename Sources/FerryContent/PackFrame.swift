import FerryCore
import FerrySeal

/// The bytes around the chunks of a pack in an open container: a header, and at the end the directory's place and the
/// checksum.
enum PackFrame {
    static let magic = Array("FRYP".utf8)
    static let currentVersion: UInt8 = 1
    static let headerLength = 40
    /// The bytes behind the directory.
    static let endLength = 24

    static func header(_ container: ContainerID, _ device: DeviceID) -> [UInt8] {
        magic + [currentVersion, 0, 0, 0] + container.bytes + device.bytes
    }

    static func end(_ header: [UInt8], _ directory: PackDirectory) -> (bytes: [UInt8], id: PackID) {
        var writer = ByteWriter()
        writer.write(contentsOf: directory.encoded)
        writer.write64(UInt64(directory.end))
        let id = ContentHash.checksum(header + writer.bytes)
        writer.write(id)
        return (writer.bytes, id)
    }

    /// Holds a header against the place where the pack lies.
    /// - Parameter isSealed: whether the container is sealed.
    /// - Throws: `damagedFile`, `formatTooNew`, `foreignFile`, `notSealed`.
    static func check(
        _ header: [UInt8], of device: DeviceID, in container: ContainerID, isSealed: Bool
    ) throws(FerryError) {
        var reader = ByteReader(header)
        let found = Array(try reader.read(4))
        if isSealed, found == magic {
            throw FerryError(
                .notSealed, "The pack is not sealed, and the container is. Nothing of it is used.", device: device)
        }
        guard found == (isSealed ? Envelope.magic : magic) else { throw ByteReader.malformed("it is not a pack") }
        let (version, known) = (try reader.readByte(), isSealed ? Envelope.currentVersion : currentVersion)
        guard version <= known else {
            throw FerryError(
                .formatTooNew, "The pack has version \(version), this Ferry reads up to \(known). Update Ferry.",
                device: device)
        }
        let rest: [UInt8] = isSealed ? [SealedPack.kind, 0, 0] : [0, 0, 0]
        guard version >= 1, try reader.read(3).elementsEqual(rest) else {
            throw ByteReader.malformed("it is not a pack")
        }
        let (toldContainer, toldDevice): (ContainerID, DeviceID) = (try reader.readID(), try reader.readID())
        guard toldContainer == container else {
            throw FerryError(.foreignFile, "The pack belongs to another container. Move it away.", device: device)
        }
        guard toldDevice == device else {
            throw FerryError(
                .foreignFile, "The pack belongs to the device \(toldDevice). Move it away.", device: device)
        }
    }
}
