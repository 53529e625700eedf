import FerryContainer
import FerryCore
import Foundation

/// The memory of a `Carrier` between runs, in a small file beside the marker of the target place (Docs/Format.md, "A
/// container that is carried"). The memory is a hint: without it everything is carried all the same, and less is
/// removed.
struct CarryMemory: Codable, Equatable {
    private static let currentFormat = 1
    /// A longer file says nothing, in bytes.
    static let maximumBytes = 8 << 20

    /// The facts about a device.
    struct Device: Codable, Equatable {
        /// The checksums of the head and of the claim when they were last alike, in hexadecimal digits.
        var head: String?
        var claim: String?
        /// True if the author writes to the source place; `nil` if unknown.
        var isAtSource: Bool?
    }

    var format = Self.currentFormat
    var container: String
    /// By the devices' IDs in hexadecimal digits.
    var devices: [String: Device] = [:]
    /// The checksum of the marker, as once equal in both places.
    var marker: String?
    /// The times at which files were first found superfluous, by their names, in the source place and in the target
    /// place. In milliseconds since the Unix epoch.
    var superfluousFrom: [String: Int64] = [:]
    var superfluousTo: [String: Int64] = [:]

    init(container: ContainerID) { self.container = container.hex }

    /// The file's name in the target place: each source place has a separate file.
    static func fileName(from place: String) -> String {
        "carried-" + ContentHash.checksum(Array(place.utf8)).hex.prefix(16) + ".json"
    }

    /// Reads the file. Nothing is remembered after damage, for a different container, and for a later Ferry.
    init(decoding bytes: [UInt8]?, container: ContainerID) {
        self.init(container: container)
        guard let bytes, bytes.count <= Self.maximumBytes,
            let known = try? JSONDecoder().decode(CarryMemory.self, from: Data(bytes)),  // damaged: as without the file
            known.format == Self.currentFormat, known.container == container.hex
        else { return }
        self = known
    }

    func encoded() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try Array(encoder.encode(self))
    }

    /// When files of a place were first seen to be superfluous.
    subscript(superfluous side: CarrySide) -> [String: Int64] {
        get { side == .from ? superfluousFrom : superfluousTo }
        set { if side == .from { superfluousFrom = newValue } else { superfluousTo = newValue } }
    }

    /// The author's last known place.
    func home(of device: DeviceID) -> CarrySide? {
        devices[device.hex]?.isAtSource.map { $0 ? .from : .to }
    }

    func head(of device: DeviceID) -> Checksum? { devices[device.hex]?.head.flatMap { Checksum($0) } }
    func claim(of device: DeviceID) -> Checksum? { devices[device.hex]?.claim.flatMap { Checksum($0) } }
}
