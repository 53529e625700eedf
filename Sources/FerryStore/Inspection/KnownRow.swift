import FerryCore
import FerrySchema

/// What the state tells of an object's past, beyond the logs: its newest insertion and deletion, and the newest write of each column.
package struct KnownRow: Equatable, Sendable {
    package struct Field: Equatable, Sendable {
        package var stamp: Stamp
        /// The portable value of an object without a row; `nil` where nobody has the value any more.
        package var value: FieldValue?

        package init(stamp: Stamp, value: FieldValue? = nil) {
            self.stamp = stamp
            self.value = value
        }
    }

    /// True if a row shows the object, and has the values.
    package var isShown: Bool
    package var inserted: Stamp?
    package var deleted: Stamp?
    /// By the exact key of the column's travelling name.
    package var fields: [String: Field]

    /// All these stamps.
    package var stamps: [Stamp] { [inserted, deleted].compactMap { $0 } + fields.values.map(\.stamp) }

    package init(isShown: Bool = true, inserted: Stamp?, deleted: Stamp? = nil, fields: [String: Field]) {
        self.isShown = isShown
        self.inserted = inserted
        self.deleted = deleted
        self.fields = fields
    }

    /// Reads an object. `nil` for a unified row, whose values are those of several objects.
    init?(_ object: ObjectID, _ table: TrackedTable, _ access: StoreAccess) throws {
        let state = try access.objects(of: table.id).load(object)
        guard state.shown != .joined, try access.unified.members(of: object, table.id).isEmpty else { return nil }
        isShown = state.shown.hasRow
        inserted = state.registers.inserted
        deleted = state.registers.deleted
        fields = [:]
        for column in table.columns where column.isLocal {
            guard let stamp = state.registers.stamp(of: column.id) else { continue }
            let value = state.kept.fields[column.id]
            fields[exactKey(column.travellingName)] = Field(stamp: stamp, value: isShown ? nil : value)
        }
    }
}
