import FerryCore
import FerrySchema

/// An object with all its values, each with the device that wrote it and the time.
package struct RowDetail: Equatable, Sendable {
    package struct Field: Equatable, Sendable {
        package var column: String
        /// The value as this device shows it; the kept one of an object without a row. `nil` if unknown.
        package var value: FieldValue?
        /// The device of the newest write of the column; `nil` if nobody wrote it: keys of this device, computed values.
        package var device: DeviceID?
        package var deviceName: String?
        /// When the column was written, in milliseconds since the Unix epoch, by the writer's clock; `nil` for pre-existing rows.
        package var timeMilliseconds: Int64?
        /// The policy by which concurrent writes of the column merge; `nil` if the last writer wins.
        package var policy: String?
    }

    package var row: FoundRow
    /// In the table's order, the key of a table with integer keys first.
    package var fields: [Field]
    /// True if the row was written here since the last flush. The devices and times are those before that write.
    package var isUnpacked: Bool
}

/// Reads objects with the origin of each value.
struct RowDetailReader {
    private let access: StoreAccess
    private let table: TrackedTable
    private let names: [DeviceID: String]

    init(_ access: StoreAccess, _ table: TrackedTable) throws {
        self.access = access
        self.table = table
        names = try access.deviceNames()
    }

    /// - Parameter found: an object of the table.
    func read(_ found: FoundRow) throws -> RowDetail {
        let state = try access.objects(of: table.id).load(found.object)
        let row = state.shown.hasRow ? try access.reader(of: table.id).read(state.key) : nil
        // A unified row shows values of all its objects.
        let members = try access.unified.members(of: found.object, table.id).map {
            try access.objects(of: table.id).load($0)
        }
        let local = LocalNames(access)
        var fields: [RowDetail.Field] = []
        if table.isMapped, let name = table.keyColumns.first {
            fields.append(RowDetail.Field(column: name, value: found.key.first))
        }
        for column in table.columns where column.isLocal {
            let kept = try state.kept.fields[column.id].map { try local.value($0, column) }
            let stamp = ([state] + members).compactMap { $0.registers.stamp(of: column.id) }.max()
            fields.append(
                RowDetail.Field(
                    column: column.name, value: row.map { $0[column.id] } ?? kept, device: stamp?.device,
                    deviceName: stamp.map { names[$0.device] ?? $0.device.description },
                    timeMilliseconds: stamp.flatMap { $0.time.isKnown ? $0.time.milliseconds : nil },
                    policy: column.policy == .lastWriterWins ? nil : column.policy.word))
        }
        return RowDetail(
            row: found, fields: fields,
            isUnpacked: try PendingTable(access.connection).mentions(table.id, key: state.key))
    }
}
