import FerryCore
import FerrySQL
import FerrySchema

/// Gathers the new replayed positions of a batch, changeset by changeset, and writes each device's position once.
struct ReplayedPositions {
    /// A device's position in its log, and the context of its last changeset; `nil` before the first changeset of the
    /// batch.
    private struct Standing {
        var sequence: UInt64
        var time: HybridTime
        var context: VersionVector?
    }

    private let access: StoreAccess
    private var late: [DeviceID: UInt64] = [:]
    private var standings: [DeviceID: Standing] = [:]
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess) { self.access = access }

    /// - Returns: the time of the device's log before the changeset.
    mutating func note(_ changeset: Changeset) throws -> HybridTime {
        let former = try standings[changeset.device] ?? stored(changeset.device)
        if let schema = changeset.schema {
            try NewestSchema(connection).note(schema, at: Stamp(time: changeset.time, device: changeset.device))
            try ToldColumnNames(connection).hear(schema)
        }
        if BackdatedChanges.isLate(changeset.tables, after: former.time) { late[changeset.device] = changeset.sequence }
        // An unchanged context is recorded already.
        if former.context != changeset.context {
            try access.contexts.record(changeset.context, of: changeset.device, after: former.time)
        }
        standings[changeset.device] = Standing(
            sequence: changeset.sequence, time: max(former.time, changeset.time), context: changeset.context)
        return former.time
    }

    private func stored(_ device: DeviceID) throws -> Standing {
        let number = try access.devices.number(of: device)
        return Standing(sequence: 0, time: try DeviceTable(connection).time(ofNumber: number))
    }

    func save() throws {
        for (device, standing) in standings {
            try DeviceTable(connection).advance(
                access.devices.number(of: device),
                to: LogPosition(sequence: standing.sequence, time: standing.time))
        }
        try BackdatedChanges.note(late, access.meta)
    }
}
