import FerryCore

/// The reason and start of a blockage: a device's log cannot be replayed, or this device's changes cannot be published.
public struct WaitingReason: Codable, Equatable, Sendable {
    /// A `FerryError.Code`.
    public var code: String
    public var message: String
    /// Milliseconds since the Unix epoch, by this device's clock.
    public var sinceMilliseconds: Int64

    init(_ error: FerryError, since: Int64) {
        code = error.code.rawValue
        message = error.message
        sinceMilliseconds = since
    }

    /// The reason and start of sync failures; `nil` if the last sync succeeded.
    static func failure(_ meta: StoreMeta) throws -> WaitingReason? {
        guard try meta.string(.failure)?.isEmpty == false else { return nil }
        return try meta.json(.failure)
    }

    /// True if the reason equals an error in code and message.
    public func isSame(as error: FerryError) -> Bool { code == error.code.rawValue && message == error.message }
}

extension Store {
    /// Saves the reasons for devices' logs to wait. A known reason keeps its start; resolved reasons are forgotten.
    /// Writes only changes.
    /// - Parameter known: the saved reasons (`StoreReading.waiting`).
    /// - Returns: the start of each reason, in milliseconds.
    public func noteWaiting(
        _ problems: [DeviceID: FerryError], known: [DeviceID: WaitingReason]
    ) throws -> [DeviceID: Int64] {
        let now = clock.milliseconds()
        let present = problems.map { device, error -> (DeviceID, WaitingReason) in
            if let reason = known[device], reason.isSame(as: error) { return (device, reason) }
            return (device, WaitingReason(error, since: now))
        }
        let reasons = Dictionary(uniqueKeysWithValues: present)
        if reasons != known {
            try note { connection in
                for device in Set(known.keys).subtracting(reasons.keys) {
                    try connection.execute(
                        "UPDATE ferry_device SET code = NULL, problem = NULL, since = NULL WHERE id = ?",
                        .blob(device.bytes[...]))
                }
                for (device, reason) in reasons where known[device] != reason {
                    try connection.execute(
                        """
                        INSERT INTO ferry_device(id, name, sequence, time, code, problem, since)
                        VALUES (?1, '', 0, 0, ?2, ?3, ?4)
                        ON CONFLICT(id) DO UPDATE SET code = ?2, problem = ?3, since = ?4
                        """, .blob(device.bytes[...]), .text(reason.code), .text(reason.message),
                        .integer(reason.sinceMilliseconds))
                }
            }
        }
        return reasons.mapValues(\.sinceMilliseconds)
    }

    /// Saves the last sync's failure or success. Writes only changes.
    public func noteFailure(_ error: FerryError?) throws {
        let known = try reading().failure
        if let known, let error, known.isSame(as: error) { return }
        if known == nil && error == nil { return }
        try note { connection in
            let meta = StoreMeta(connection: connection)
            guard let error else { return try meta.set(.failure, "") }
            try meta.set(.failure, json: WaitingReason(error, since: clock.milliseconds()))
        }
    }
}
