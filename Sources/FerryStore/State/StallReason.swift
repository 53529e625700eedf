import FerryCore
import FerrySchema

/// The reason and start of a blockage: a device's log cannot be replayed, or this device's changes cannot be published.
package struct StallReason: Equatable, Sendable {
    package var note: FailureNote
    /// Milliseconds since the Unix epoch, by this device's clock.
    package var sinceMilliseconds: Int64

    init(_ note: FailureNote, since: Int64) {
        self.note = note
        sinceMilliseconds = since
    }

    /// True if an error has the same reason. A file may have another place by now.
    package func isSame(as error: FerryError) -> Bool {
        note.code == error.code && note.sequence == error.sequence && note.detail == error.detail
    }

    /// The present reasons for logs to wait. A known reason keeps its start.
    static func reasons(
        _ problems: [DeviceID: FerryError], known: [DeviceID: StallReason], now: Int64
    ) -> [DeviceID: StallReason] {
        let present = problems.map { device, error -> (DeviceID, StallReason) in
            let start = known[device].flatMap { $0.continues(in: error) ? $0.sinceMilliseconds : nil }
            return (device, StallReason(FailureNote(error), since: start ?? now))
        }
        return Dictionary(uniqueKeysWithValues: present)
    }

    /// True if an error is the same blockage still. A note of an earlier Ferry has a code alone.
    private func continues(in error: FerryError) -> Bool {
        isSame(as: error) || note == FailureNote(FerryError(error.code, ""))
    }
}

// MARK: The last sync

extension StallReason {
    /// The note in `ferry_meta`. The JSON keys are fixed: databases have them.
    private struct Form: Codable {
        var code: String
        var sinceMilliseconds: Int64
        /// As `FailureNote.arguments`; an earlier Ferry kept a sentence under `message`.
        var arguments: String?
    }

    /// The reason and start of sync failures; `nil` if the last sync succeeded.
    static func failure(_ meta: MetaTable) throws -> StallReason? {
        guard try meta.string(.failure)?.isEmpty == false, let form: Form = try meta.json(.failure) else { return nil }
        return StallReason(
            FailureNote(code: form.code, arguments: form.arguments ?? ""), since: form.sinceMilliseconds)
    }

    /// Saves the last sync's failure or success. Writes only changes.
    /// - Parameter known: the saved failure.
    static func record(_ error: FerryError?, known: StallReason?, _ meta: MetaTable, now: Int64) throws {
        guard let error else { return try meta.set(.failure, "") }
        let start = known.flatMap { $0.continues(in: error) ? $0.sinceMilliseconds : nil }
        let note = FailureNote(error)
        try meta.set(
            .failure,
            json: Form(code: note.code.rawValue, sinceMilliseconds: start ?? now, arguments: note.arguments))
    }
}
