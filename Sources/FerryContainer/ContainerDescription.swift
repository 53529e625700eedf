import FerryCore
import Foundation

/// The content of `container.json`: the container's identity. Written once, when the container is created. The file is
/// also the marker by which a folder is known to be a container, and to be mounted (Docs/Format.md, "container.json").
package struct ContainerDescription: Hashable, Sendable {
    /// The name of the file in the container's folder.
    package static let fileName = "container.json"
    /// The name of the same content in a place to which a container is being carried, until `fileName` comes last of all (`Carrier`).
    package static let carriedFileName = "carrying.json"
    /// The format that this Ferry writes, and the latest that this Ferry reads.
    package static let currentFormat = 1
    /// A longer file is damaged, in bytes.
    package static let maximumBytes = 64 * 1024
    /// The longest name of a container, in bytes of UTF-8.
    package static let maximumNameBytes = 256

    /// How a container's content is protected.
    package enum Sealing: Hashable, Sendable {
        /// Checksums only: whoever has the folder can read and change all of it.
        case none
        /// Sealed by the suite `ferry-1`, for the members of the membership that begins with the record of this hash.
        case sealed(genesis: RecordHash)
    }

    /// How the file names the two.
    private static let open = "none"
    private static let sealed = "ferry-1"

    /// From 1 to `currentFormat`.
    package let format: Int
    /// Minted when the container was created.
    package let id: ContainerID
    /// The container's name for people.
    package let name: String
    /// The protection of the content.
    package let sealing: Sealing
    /// The time of creation, in milliseconds since the Unix epoch.
    package let createdMilliseconds: Int64

    /// Describes a new container.
    /// - Throws: `invalidArgument` for an empty name, or a name longer than `maximumNameBytes`.
    package init(
        id: ContainerID, name: String, createdMilliseconds: Int64, sealing: Sealing = .none
    ) throws(FerryError) {
        guard !name.isEmpty, name.utf8.count <= Self.maximumNameBytes else {
            throw FerryError(
                .invalidArgument, "A container's name has 1 to \(Self.maximumNameBytes) bytes; choose another.")
        }
        format = Self.currentFormat
        self.id = id
        self.name = name
        self.sealing = sealing
        self.createdMilliseconds = createdMilliseconds
    }

    /// Reads the file's content.
    /// - Throws: `containerTooNew` for an unknown format or sealing, `damagedFile` for anything else that is no such
    ///   file. The caller adds the path.
    package init(decoding bytes: [UInt8]) throws(FerryError) {
        guard bytes.count <= Self.maximumBytes else { throw ByteReader.malformed("it is too long") }
        // Of a newer format's content only this number is known.
        guard let version = try? JSONDecoder().decode(Version.self, from: Data(bytes)), version.format >= 1 else {
            throw ByteReader.malformed("it is not a container's description")
        }
        guard version.format <= Self.currentFormat else {
            throw FerryError(
                .containerTooNew,
                "The container has format \(version.format), this Ferry knows up to \(Self.currentFormat). Update Ferry."
            )
        }
        guard let record = try? JSONDecoder().decode(Record.self, from: Data(bytes)),
            let id = ContainerID(record.id), !record.name.isEmpty, record.name.utf8.count <= Self.maximumNameBytes
        else { throw ByteReader.malformed("it is not a container's description") }
        switch record.sealing {
        case Self.open: sealing = .none
        case Self.sealed:
            guard let genesis = record.genesis.flatMap({ RecordHash(hex: $0) }), genesis != .none else {
                throw ByteReader.malformed("it does not name the first record")
            }
            sealing = .sealed(genesis: genesis)
        default:
            throw FerryError(
                .containerTooNew, "The container is sealed in a way that this Ferry does not know. Update Ferry.")
        }
        format = version.format
        self.id = id
        name = record.name
        createdMilliseconds = record.created
    }

    /// The file's content: JSON with its keys in ascending order.
    package func encoded() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        var record = Record(
            created: createdMilliseconds, format: format, id: id.description, name: name, sealing: Self.open)
        if case .sealed(let genesis) = sealing { (record.sealing, record.genesis) = (Self.sealed, genesis.hex) }
        return try Array(encoder.encode(record)) + [UInt8(ascii: "\n")]
    }

    private struct Version: Decodable {
        var format: Int
    }

    private struct Record: Codable {
        var created: Int64
        var format: Int
        var genesis: String?
        var id: String
        var name: String
        var sealing: String
    }

    /// The error for a place without the file.
    static func missing(in root: String, isEmpty: Bool, isFolder: Bool = true) -> FerryError {
        let what = isEmpty ? "is empty" : "holds no \(fileName)"
        guard isFolder else {
            return FerryError(
                .containerEmpty, "\(root) \(what), so there is no container. Nothing was changed.", path: root)
        }
        return FerryError(
            .containerEmpty,
            "The folder \(root) \(what). Is the disk mounted, and has the folder been synced? Nothing was changed.",
            path: root)
    }
}
