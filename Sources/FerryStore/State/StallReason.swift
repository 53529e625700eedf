import FerryCore
import FerrySchema

/// The reason and start of a blockage: a device's log cannot be replayed, or this device's changes cannot be published.
package struct StallReason: Codable, Equatable, Sendable {
    /// A `FerryError.Code`.
    package var code: String
    package var message: String
    /// Milliseconds since the Unix epoch, by this device's clock.
    package var sinceMilliseconds: Int64

    init(_ error: FerryError, since: Int64) {
        code = error.code.rawValue
        message = error.message
        sinceMilliseconds = since
    }

    /// The reason and start of sync failures; `nil` if the last sync succeeded.
    static func failure(_ meta: MetaTable) throws -> StallReason? {
        guard try meta.string(.failure)?.isEmpty == false else { return nil }
        return try meta.json(.failure)
    }

    /// True if the reason equals an error in code and message.
    package func isSame(as error: FerryError) -> Bool { code == error.code.rawValue && message == error.message }

    /// The present reasons for logs to wait. A known reason keeps its start.
    static func reasons(
        _ problems: [DeviceID: FerryError], known: [DeviceID: StallReason], now: Int64
    ) -> [DeviceID: StallReason] {
        let present = problems.map { device, error -> (DeviceID, StallReason) in
            if let reason = known[device], reason.isSame(as: error) { return (device, reason) }
            return (device, StallReason(error, since: now))
        }
        return Dictionary(uniqueKeysWithValues: present)
    }
}
