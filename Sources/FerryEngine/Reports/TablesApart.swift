import FerryCore
import FerryStore

/// A table that other devices have by a different primary key. Changes of either side wait on the other side; all other
/// tables continue. The JSON keys are fixed: scripts rely on them.
public struct TableApart: Codable, Equatable, Sendable {
    public var table: String
    /// How rows are identified here and there: `integer key`, `key (a, b)` or `declared (a, b)`.
    public var here: String
    public var there: String
    /// The names of the devices with the key `there`, or their IDs if the names are unknown.
    public var devices: [String]

    /// The problem, in a sentence.
    public var problem: String {
        "\(listed(devices)) \(devices.count == 1 ? "has" : "have") the table \(table) by another primary key: \(there) there, "
            + "\(here) here. What is written to it waits on the other side; everything else goes on."
    }

    /// The remedy.
    package static let advice =
        "Run the same version of the app on all devices, and sync: then all rows of the table come together."
}

extension Replica {
    /// The tables that remaining devices have by a different primary key.
    func tablesApart(_ reading: StoreSummary) throws -> [TableApart] {
        let ended = try endedDevices(reading)
        var found: [TableApart] = []
        for other in reading.otherGenerations where !ended.contains(other.device) {
            let name = reading.names[other.device] ?? other.device.description
            let (here, there) = (other.identity.text, other.otherIdentity.text)
            if let place = found.firstIndex(where: { equalNames($0.table, other.table) && equalBytes($0.there, there) })
            {
                found[place].devices.append(name)
            } else {
                found.append(TableApart(table: other.table, here: here, there: there, devices: [name]))
            }
        }
        return found
    }
}
