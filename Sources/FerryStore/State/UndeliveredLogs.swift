import FerryCore
import FerrySchema

/// Logs known to some device beyond the container's files, each with the time of discovery, in milliseconds by this device's
/// clock (`ferry_meta`, `undelivered`). The files are late, or lost with their author.
package struct UndeliveredLogs: Equatable, Sendable {
    /// Logs in which this device is further than the files, while another device lacks the changes.
    package var kept: [DeviceID: Int64]
    /// Logs in which another device is further than this device.
    package var lacked: [DeviceID: Int64]

    package var isEmpty: Bool { kept.isEmpty && lacked.isEmpty }

    package init(kept: [DeviceID: Int64] = [:], lacked: [DeviceID: Int64] = [:]) {
        self.kept = kept
        self.lacked = lacked
    }

    /// As JSON has them.
    private struct Note: Codable {
        var kept: [String: Int64]
        var lacked: [String: Int64]
    }

    init(_ meta: MetaTable) throws {
        let note = try meta.json(.undelivered, as: Note.self)
        func logs(_ known: [String: Int64]?) -> [DeviceID: Int64] {
            let pairs = (known ?? [:]).compactMap { hex, since in DeviceID(hex).map { ($0, since) } }
            return Dictionary(uniqueKeysWithValues: pairs)
        }
        self.init(kept: logs(note?.kept), lacked: logs(note?.lacked))
    }

    func save(_ meta: MetaTable) throws {
        if isEmpty { return try meta.remove(.undelivered) }
        func hex(_ logs: [DeviceID: Int64]) -> [String: Int64] {
            Dictionary(uniqueKeysWithValues: logs.map { ($0.key.hex, $0.value) })
        }
        try meta.set(.undelivered, json: Note(kept: hex(kept), lacked: hex(lacked)))
    }
}
