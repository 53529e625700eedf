import FerryContainer
import FerryCore
import Foundation

/// What a `Carrier` remembers from one time to the next, in a small file beside the marker of the place that it carries to
/// (Docs/Format.md, "A container that is carried"). A hint: without it everything is carried all the same, and less is removed.
struct CarryMemory: Codable, Equatable {
    private static let currentFormat = 1
    /// A longer file says nothing, in bytes.
    static let maximumBytes = 8 << 20

    /// What is remembered of a device.
    struct Device: Codable, Equatable {
        /// The checksums of the head and of the claim when they were last alike, in hexadecimal digits.
        var head: String?
        var claim: String?
        /// True if the author writes to the place that is carried from; `nil` if unknown.
        var isAtSource: Bool?
    }

    var format = Self.currentFormat
    var container: String
    /// By the devices' IDs in hexadecimal digits.
    var devices: [String: Device] = [:]
    /// The checksum of the marker that both places had.
    var marker: String?
    /// When files were first seen to be superfluous, by their names, in milliseconds since the Unix epoch; in the place that is carried
    /// from and in the other one.
    var superfluousFrom: [String: Int64] = [:]
    var superfluousTo: [String: Int64] = [:]

    init(container: ContainerID) { self.container = container.hex }

    /// The file's name in the place that is carried to: the places that are carried from have one each.
    static func fileName(from place: String) -> String {
        "carried-" + ContentHash.checksum(Array(place.utf8)).hex.prefix(16) + ".json"
    }

    /// Reads the file; nothing is remembered where it is damaged, of another container or of a later Ferry.
    init(decoding bytes: [UInt8]?, container: ContainerID) {
        self.init(container: container)
        guard let bytes, bytes.count <= Self.maximumBytes,
            let known = try? JSONDecoder().decode(CarryMemory.self, from: Data(bytes)),  // damaged: as without it
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

    /// The author's place as it was last known.
    func home(of device: DeviceID) -> CarrySide? {
        devices[device.hex]?.isAtSource.map { $0 ? .from : .to }
    }

    func head(of device: DeviceID) -> Checksum? { devices[device.hex]?.head.flatMap { Checksum($0) } }
    func claim(of device: DeviceID) -> Checksum? { devices[device.hex]?.claim.flatMap { Checksum($0) } }
}
