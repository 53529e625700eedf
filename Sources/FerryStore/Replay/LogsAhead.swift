import FerryCore
import FerrySchema

/// How far waiting logs were replayed ahead, without the tables for which they wait (`ferry_meta`, `ahead`).
///
/// A log waits at its first changeset of a table that this process cannot merge, and its position stays there. What
/// follows in other tables is merged all the same: merging twice changes nothing. Once the obstacle is gone, the log is
/// replayed from its position on.
struct LogsAhead: Codable, Equatable {
    private struct Mark: Codable, Equatable {
        /// The last changeset replayed ahead.
        var through: UInt64
        /// The keys of the names of the tables left out.
        var without: [String]
    }

    /// By the device's ID in hexadecimal digits.
    private var marks: [String: Mark] = [:]

    static func load(_ meta: MetaTable) throws -> LogsAhead { try meta.json(.ahead) ?? LogsAhead() }

    func save(_ meta: MetaTable) throws { try meta.set(.ahead, json: self) }

    /// True if a changeset was replayed ahead, without these tables.
    func includes(_ changeset: Changeset, without tables: Set<String>) -> Bool {
        guard let mark = marks[changeset.device.hex], mark.without.map(foldedName) == tables.sorted() else {
            return false
        }
        return changeset.sequence <= mark.through
    }

    mutating func note(_ device: DeviceID, through sequence: UInt64, without tables: Set<String>) {
        marks[device.hex] = Mark(through: sequence, without: tables.sorted())
    }

    /// Forgets logs that wait no more.
    mutating func keep(_ devices: Set<DeviceID>) {
        let names = Set(devices.map(\.hex))
        marks = marks.filter { names.contains($0.key) }
    }
}
