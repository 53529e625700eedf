import FerryCore

/// A word by which a person means a device: its name, its ID, or the beginning of the ID.
struct DeviceWord {
    /// The least number of an ID's digits that mean a device.
    private static let leastDigits = 4

    private let word: String
    /// The word as the beginning of an ID.
    private let digits: String

    init(_ word: String) {
        self.word = word
        digits = word.lowercased().replacing("-", with: "")
    }

    /// Chooses the only device that is meant. A name counts before an ID.
    /// - Parameters:
    ///   - kind: what the devices are called in the error, `device` or `member`.
    ///   - id: a device's ID as text, with or without hyphens.
    /// - Throws: `nothingFound`; `invalidArgument` where several devices are meant.
    func choose<Device>(
        among devices: [Device], calledBy kind: String, id: (Device) -> String, name: (Device) -> String?
    ) throws -> Device {
        let named = devices.filter { name($0) == word }
        let meant = named.isEmpty && digits.count >= Self.leastDigits ? devices.filter { begins(id($0)) } : named
        guard let device = meant.first else {
            let near = NearName.question(word, among: devices.compactMap(name))
            throw FerryError(
                .nothingFound,
                "No \(kind) has the name or ID \"\(word)\"." + (near.isEmpty ? " `ferry devices` lists them." : near))
        }
        if meant.count > 1 {
            throw FerryError(
                .invalidArgument,
                "\(meant.count) devices are meant by \"\(word)\". Say which by its ID: "
                    + meant.map(id).joined(separator: ", ") + ".")
        }
        return device
    }

    private func begins(_ id: String) -> Bool { id.replacing("-", with: "").hasPrefix(digits) }
}
