import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// The effect of a restoration, done or planned.
public struct RestoredRow: Equatable, Sendable {
    public enum Action: String, Codable, Sendable {
        case inserted
        case updated
        case deleted
        /// The row already has the wanted values.
        case unchanged
    }

    public var table: String
    /// The row's key on this device; the former key of a deleted row.
    public var key: [FieldValue]
    public var action: Action
    /// The written columns, in the table's order.
    public var columns: [String]
    /// Columns left NULL or unchanged, because their target is gone.
    public var withoutReference: [String]
}

/// What a restoration may do, besides writing values.
public struct RestoreOptions: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Deletes the row if the row was absent at the time.
    public static let allowsDeletion = RestoreOptions(rawValue: 1)
    /// Tries, and changes no row. Pending changes are packed all the same.
    public static let isDryRun = RestoreOptions(rawValue: 2)
    /// Admits any time ahead of this device's clock.
    package static let allowsFuture = RestoreOptions(rawValue: 4)
}

/// The wanted content of a row.
package enum RowTarget: Equatable, Sendable {
    /// Portable values by the exact key of the column's name. Further columns stay unchanged, or get their default in a new row. `wish` is the
    /// key for a new row, if no key is known here.
    case values([String: FieldValue], wish: FieldValue? = nil)
    case absent
}

/// Writes rows like the app, so triggers capture the writes and they travel.
struct RowRestoration {
    let access: StoreAccess
    let table: TrackedTable
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess, _ table: TrackedTable) throws {
        self.access = access
        self.table = table
        if !table.isLocal {
            throw Self.refusal("This database has no table \(table.localName) any more. Make it again first.")
        }
    }

    static func refusal(_ message: String) -> FerryError { FerryError(.restoreRefused, message) }

    // MARK: Conflicts

    /// Restores the losing side of a conflict.
    func restore(_ conflict: ConflictReader.Entry) throws -> RestoredRow {
        var state = try access.objects(of: table.id).load(conflict.object)
        switch conflict.kind {
        case .field, .joined:
            guard let column = conflict.column, column < table.columns.count, let value = conflict.lost.value else {
                throw FerryError(.internalInconsistency, "A conflict names no field.")
            }
            guard table.columns[column].isLocal else {
                throw Self.refusal(
                    "The table \(table.localName) has no column \(table.columns[column].name) any more. Add it again first."
                )
            }
            if state.shown == .joined, let shown = try access.unified.representative(of: state.object, table.id) {
                state = try access.objects(of: table.id).load(shown)
            }
            if state.shown.hasRow { return try write([column: value], state) }
            guard state.shown == .hidden else {
                throw Self.refusal(
                    "The row of \(table.localName) is deleted. Bring it back first: `ferry restore` does it, or an INSERT."
                )
            }
            return try write(state.kept.fields.overlaid(with: [column: value]), state)
        case .deleted:
            if state.shown.hasRow || state.shown == .joined {
                throw Self.refusal(
                    "The row of \(table.localName) is there again. `ferry conflicts … resolve` takes it off the list.")
            }
            guard state.registers.newest != nil else {
                throw Self.refusal(
                    "Every device has seen the deletion of the row of \(table.localName), so that its values are forgotten here. "
                        + "`ferry restore … --at` looks for them in the logs.")
            }
            return try write(state.kept.fields, state)
        case .revived:
            return try remove(state)
        }
    }

    // MARK: Rows

    /// Inserts or updates an object's row.
    /// - Parameters:
    ///   - values: portable values by column; values of missing columns are ignored.
    ///   - wish: the key for a new row if the state has none.
    func write(_ values: ColumnValues, _ state: ObjectState, wish: FieldValue? = nil) throws -> RestoredRow {
        try refuseJoined(state)
        var withoutReference: [String] = []
        var local: [(column: Int, value: FieldValue)] = []
        for (number, value) in values where table.columns[number].isLocal {
            let column = table.columns[number]
            if let present = try localValue(value, column) {
                local.append((number, present))
            } else if isClearable(number) {
                withoutReference.append(column.name)
            } else {
                throw Self.refusal(
                    "\(table.localName).\(column.name) refers to a row that is not there. Bring that row back first.")
            }
        }
        let row =
            state.shown.hasRow
            ? try update(local, state)
            : try insert(local, state, wish: state.kept.key ?? (state.isLeft ? state.key.first : nil) ?? wish)
        return RestoredRow(
            table: table.localName, key: row.key, action: row.action,
            columns: row.columns.map { table.columns[$0].name },
            withoutReference: withoutReference)
    }

    /// The local value of a portable value: a reference to a unified object becomes the key of the unified row. `nil`
    /// for a reference to an object without a row.
    private func localValue(_ value: FieldValue, _ column: TrackedColumn) throws -> FieldValue? {
        if case .reference(let object) = value, let parent = column.reference,
            let shown = try access.unified.representative(of: object, parent)
        {
            return try ReferenceTranslator(access).local(.reference(shown), column)
        }
        return try ReferenceTranslator(access).local(value, column)
    }

    /// True if the column may lose its reference.
    private func isClearable(_ column: Int) -> Bool {
        let keys = table.foreignKeys.filter { $0.columns.contains(column) }
        return !keys.isEmpty && keys.allSatisfy { $0.action == .setNull || $0.action == .setDefault }
    }

    private typealias Written = (key: [FieldValue], action: RestoredRow.Action, columns: [Int])

    private func update(_ values: [(column: Int, value: FieldValue)], _ state: ObjectState) throws -> Written {
        guard let present = try access.reader(of: table.id).read(state.key) else {
            throw FerryError(
                .internalInconsistency, "The state knows a row of \(table.localName) that is not there. Report it.")
        }
        let different = values.filter { present[$0.column] != $0.value }
        if different.isEmpty { return (state.key, .unchanged, []) }
        try check(access.writer(of: table.id).update(key: state.key, different, of: nil))
        return (state.key, .updated, different.map(\.column))
    }

    private func insert(
        _ values: [(column: Int, value: FieldValue)], _ state: ObjectState, wish: FieldValue?
    ) throws -> Written {
        var key: FieldValue?
        if table.isMapped {
            var wishing = state
            wishing.kept.key = wish
            let reservations = KeyReservations(access)
            guard let (allocated, former) = try reservations.keyForRow(of: wishing, in: table) else {
                throw Self.refusal("The row's key in \(table.localName) is taken by another row.")
            }
            // From now on the key leads to the object, so capture finds no new object.
            var reserved = state
            reserved.key = [allocated]
            if table.hasUncheckedReferences {
                // A merely reserved key would go to a new object.
                reserved.shown = state.shown == .none ? .row : .anomalousRow
            }
            try access.objects(of: table.id).save(reserved)
            if let former {
                let unmoved = try reservations.moveReferences([
                    KeyReservations.KeyMove(object: state.object, table: table, former: former, key: allocated)
                ])
                if let child = unmoved.first?.row.table {
                    throw Self.refusal(
                        "A row of \(access.registry[child].name) refers to the row, and cannot refer to it by the key that "
                            + "the row gets here. Let the table's constraints allow the key, and try again.")
                }
            }
            key = allocated
        }
        try check(access.writer(of: table.id).insert(key: key, values))
        let derived = table.keyColumnIDs.map { column in values.first { $0.column == column }?.value ?? .null }
        let rowKey = key.map { [$0] } ?? derived
        if try access.reader(of: table.id).read(rowKey) == nil {
            throw Self.refusal(
                "A trigger of \(table.localName) keeps the row from being inserted. Nothing was changed.")
        }
        return (rowKey, .inserted, values.map(\.column))
    }

    /// Deletes an object's row; referring rows follow the schema's actions.
    func remove(_ state: ObjectState) throws -> RestoredRow {
        try refuseJoined(state)
        let key = try LocalNames(access).ownKey(of: state, table)
        var row = RestoredRow(table: table.localName, key: key, action: .unchanged, columns: [], withoutReference: [])
        if !state.shown.hasRow { return row }
        try check(access.writer(of: table.id).delete(key: state.key, of: nil))
        row.action = .deleted
        return row
    }

    private func refuseJoined(_ state: ObjectState) throws {
        if state.shown != .joined { return }
        throw Self.refusal(
            "That row of \(table.localName) is one with an older one now, which has the same UNIQUE value. Restore the older one, "
                + "or change it by hand.")
    }

    private func check(_ refusal: RowWriter.Refusal?) throws {
        guard let refusal else { return }
        throw Self.refusal(
            "The schema refuses it: \(refusal.message) (table \(table.localName)). Nothing was changed. Make room for it first."
        )
    }
}
