import FerryCore
import FerryStore

/// A table that other devices have by another primary key. What either side writes to it waits on the other one; all other tables
/// go on. Its JSON keys are fixed: scripts rely on them.
public struct TableApart: Codable, Equatable, Sendable {
    public var table: String
    /// How its rows are told here, and there: `integer key`, `key (a, b)` or `declared (a, b)`.
    public var here: String
    public var there: String
    /// The names of the devices that have it so, or their IDs where they have not told names.
    public var devices: [String]

    /// What is the matter, in a sentence.
    public var problem: String {
        let names = ([devices.dropLast().joined(separator: ", ")] + devices.suffix(1)).filter { !$0.isEmpty }
            .joined(separator: " and ")
        return
            "\(names) \(devices.count == 1 ? "has" : "have") the table \(table) by another primary key: \(there) there, "
            + "\(here) here. What is written to it waits on the other side; everything else goes on."
    }

    /// What to do.
    public static let advice =
        "Run the same version of the app on all devices, and sync: then all rows of the table come together."
}

extension Replica {
    /// The tables that devices which still take part have by another primary key.
    func tablesApart(_ reading: StoreReading) -> [TableApart] {
        let ended = endedDevices(reading)
        var found: [TableApart] = []
        for other in reading.otherGenerations where !ended.contains(other.device) {
            let name = reading.names[other.device] ?? other.device.description
            let (here, there) = (other.identity.text, other.otherIdentity.text)
            if let place = found.firstIndex(where: { $0.table == other.table && $0.there == there }) {
                found[place].devices.append(name)
            } else {
                found.append(TableApart(table: other.table, here: here, there: there, devices: [name]))
            }
        }
        return found
    }
}
