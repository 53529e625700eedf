import FerryCore
import FerrySchema

/// The store's memory of devices.
extension Store {
    /// Saves when devices were last seen and retired. Registers unknown devices; leaves names and positions of known
    /// devices unchanged.
    package func recordLastSeen(_ records: [DeviceRecord]) throws {
        if !records.isEmpty { try note { try DeviceTable($0).enter(records) } }
    }

    /// Renames this device. Remote devices learn the name from the next head.
    package func rename(_ name: String) throws { try note { try DeviceTable($0).rename(name) } }

    /// Records the name a device gives itself.
    package func recordName(_ name: String, of device: DeviceID) throws {
        try note { try DeviceTable($0).setName(name, of: device) }
    }

    /// Moves the beginning of the log forward. Write a head with the new beginning before removing anything.
    package func beginLog(at sequence: UInt64) throws {
        try note(durably: true) { connection in
            let meta = MetaTable(connection: connection)
            if try UInt64(clamping: meta.integer(.logStart) ?? 0) < sequence {
                try meta.set(.logStart, Int64(sequence))
            }
        }
    }

    /// Saves compaction's notes: the plan under way, and its findings.
    package func setCompactionNotes(_ text: String) throws {
        try note { try MetaTable(connection: $0).set(.compaction, text) }
    }

    /// Saves the reasons for devices' logs to wait. A known reason keeps its start; resolved reasons are forgotten.
    /// Writes only changes.
    /// - Parameter known: the saved reasons (`StoreSummary.waiting`).
    /// - Returns: the start of each reason, in milliseconds.
    package func recordStalls(
        _ problems: [DeviceID: FerryError], known: [DeviceID: StallReason]
    ) throws -> [DeviceID: Int64] {
        let reasons = StallReason.reasons(problems, known: known, now: clock.milliseconds())
        if reasons != known { try note { try DeviceTable($0).setWaiting(reasons, known: known) } }
        return reasons.mapValues(\.sinceMilliseconds)
    }

    /// Saves the last sync's failure or success. Writes only changes.
    package func recordFailure(_ error: FerryError?) throws {
        let known = try reading().failure
        if let known, let error, known.isSame(as: error) { return }
        if known == nil && error == nil { return }
        try note { connection in
            try StallReason.record(
                error, known: known, MetaTable(connection: connection), now: clock.milliseconds())
        }
    }
}
