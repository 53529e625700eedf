import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Finds the foreign keys broken by a flush's captured statements: rows written or left behind on this device without a
/// parent row.
///
/// Before those statements every foreign key except plain references was whole. SQLite keeps foreign keys whole
/// wherever it enforces them. So a program without enforcement broke any key broken now. Call before the rules check
/// the rows.
struct BrokenKeySearch {
    private let access: StoreAccess
    private let lookups: RowLookups
    private let valueReferences: ValueReferences
    private var answers: [DeclaredKey: Bool] = [:]

    init(_ access: StoreAccess, _ lookups: RowLookups) {
        self.access = access
        self.lookups = lookups
        valueReferences = ValueReferences(access)
    }

    /// The broken foreign keys, in the order of their texts.
    func keys(_ captured: ChangeCapture.Result) throws -> [DeclaredKey] {
        var search = self
        for object in captured.touched {
            guard let table = access.registry.tables[object.table], table.isLocal, !object.key.isEmpty else { continue }
            if object.isDeleted {
                try search.lookLeftBehind(object, table)
            } else {
                try search.lookForTargets(object, table)
                if !object.isInsertion { try search.lookForValues(object, table) }
            }
        }
        for number in captured.tablesWithLostKeys.sorted() {
            for (_, key) in search.incoming(access.registry[number]) {
                if case .mapped = key.target { try search.check(key) }
            }
        }
        return search.answers.filter(\.value).keys.sorted { textOrder($0.target, $1.target) }
    }

    /// The foreign keys to a table followed by the rules.
    private func incoming(_ table: TrackedTable) -> [(TrackedTable.IncomingKey, TrackedForeignKey)] {
        table.incoming.compactMap { incoming in
            let key = access.registry[incoming.table].foreignKeys[incoming.foreignKey]
            return key.action == .none ? nil : (incoming, key)
        }
    }

    /// Asks SQLite, once for each foreign key.
    private mutating func check(_ key: TrackedForeignKey) throws {
        guard let declared = key.declared, answers[declared] == nil else { return }
        answers[declared] = try !isFerryName(declared.child) && declared.brokenRows(access.connection, limit: 1) > 0
    }

    private func isUnanswered(_ key: TrackedForeignKey) -> Bool { key.declared.map { answers[$0] == nil } ?? false }

    /// Checks whether a written row lacks a parent row.
    private mutating func lookForTargets(_ object: TouchedObject, _ table: TrackedTable) throws {
        let places = table.foreignKeys.indices.filter { place in
            let key = table.foreignKeys[place]
            return key.action != .none && isUnanswered(key) && key.columns.contains { object.columns.contains($0) }
        }
        if places.isEmpty { return }
        if try lookups.targets.areThere(table, key: object.key, through: places) { return }
        for place in places where try !lookups.targets.areThere(table, key: object.key, through: [place]) {
            try check(table.foreignKeys[place])
        }
    }

    /// Checks whether a deleted row left referring rows behind.
    private mutating func lookLeftBehind(_ object: TouchedObject, _ table: TrackedTable) throws {
        for (incoming, key) in incoming(table) where isUnanswered(key) {
            if case .unique(let columns) = key.target {
                if try mayBeMissed(object, columns, by: key, incoming) { try check(key) }
            } else if try lookups.children.hasChildren(table, key: object.key, by: incoming) {
                try check(key)
            }
        }
    }

    /// True if rows may refer to a deleted row's values under a UNIQUE parent key.
    private func mayBeMissed(
        _ object: TouchedObject, _ columns: [Int], by key: TrackedForeignKey, _ incoming: TrackedTable.IncomingKey
    ) throws -> Bool {
        guard let deletion = object.deletion, !deletion.rewritten.contains(where: columns.contains) else { return true }
        var values: [FieldValue] = []
        for column in columns {
            guard let value = deletion.formerRow[column] else { return true }
            if case .reference = value { return true }
            if case .null = value { return false }
            values.append(value)
        }
        let child = access.registry[incoming.table]
        let condition = access.registry.condition(referringBy: key, of: child)
        return try !access.connection.rows(
            "SELECT 1 FROM \(child.quotedName) WHERE \(condition) LIMIT 1", values: values
        )
        .isEmpty
    }

    /// Checks whether rows may refer to values a row no longer has.
    private mutating func lookForValues(_ object: TouchedObject, _ table: TrackedTable) throws {
        for (incoming, _) in valueReferences.incomingKeys(of: table, by: object.columns) {
            try check(access.registry[incoming.table].foreignKeys[incoming.foreignKey])
        }
    }
}

/// Thrown if statements on this device broke foreign keys, found while packing. They must become plain references
/// before the breaking changes are packed.
struct BrokenKeys: Error {
    var keys: [DeclaredKey]
}
