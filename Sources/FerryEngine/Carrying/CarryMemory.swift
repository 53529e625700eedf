import FerryContainer
import FerryCore
import Foundation

/// The memory of a `Carrier` between runs, in a small file beside the marker of the target place (Docs/Format.md, "A
/// container that is carried"). What is remembered of a place holds for runs in either direction. The memory is a hint: without it everything is carried all the same, and less is
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
        /// True if the source place, or the target place, ever had files of the device.
        var wasAtSource: Bool?
        var wasAtTarget: Bool?
    }

    var format = Self.currentFormat
    var container: String
    /// Counts the changes of the memory, so that of two memories the later is known.
    var change: Int?
    /// By the devices' IDs in hexadecimal digits.
    var devices: [String: Device] = [:]
    /// The checksum of the marker, as once equal in both places.
    var marker: String?
    /// The times at which files were first found superfluous, by their names, in the source place and in the target
    /// place. In milliseconds since the Unix epoch.
    var superfluousFrom: [String: Int64] = [:]
    var superfluousTo: [String: Int64] = [:]

    init(container: ContainerID) { self.container = container.hex }

    /// The file's name in a place: each further place has a separate file.
    static func fileName(with other: String) -> String {
        "carried-" + ContentHash.checksum(Array(other.utf8)).hex.prefix(16) + ".json"
    }

    /// The memory of the last run between two places, whichever was the source then: each run leaves its memory in its target place.
    /// - Parameters:
    ///   - there: the memory in the target place.
    ///   - here: the memory in the source place, from runs in the other direction.
    static func last(there: CarryMemory, here: CarryMemory) -> CarryMemory {
        (here.change ?? 0) > (there.change ?? 0) ? here.turned : there
    }

    /// The memory for a run in the other direction.
    private var turned: CarryMemory {
        var turned = self
        (turned.superfluousFrom, turned.superfluousTo) = (superfluousTo, superfluousFrom)
        turned.devices = devices.mapValues { device in
            var device = device
            device.isAtSource = device.isAtSource.map { !$0 }
            (device.wasAtSource, device.wasAtTarget) = (device.wasAtTarget, device.wasAtSource)
            return device
        }
        return turned
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

    /// Whether the places ever had files of a device.
    func presence(of device: DeviceID) -> BothSides<Bool> {
        let known = devices[device.hex]
        return BothSides(from: known?.wasAtSource ?? false, to: known?.wasAtTarget ?? false)
    }

    func head(of device: DeviceID) -> Checksum? { devices[device.hex]?.head.flatMap { Checksum($0) } }
    func claim(of device: DeviceID) -> Checksum? { devices[device.hex]?.claim.flatMap { Checksum($0) } }
}
