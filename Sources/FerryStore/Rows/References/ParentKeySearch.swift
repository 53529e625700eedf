import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Finds the rows with a parent key, by the token of the key.
struct ParentKeySearch {
    private let access: StoreAccess
    private let translator: ReferenceTranslator
    private var searches: [RowToken: (parent: TrackedTable, columns: [Int], values: [FieldValue])] = [:]

    init(_ access: StoreAccess) {
        self.access = access
        translator = ReferenceTranslator(access)
    }

    /// Records the meaning of a token: the parent key of a foreign key by value, with these values.
    mutating func note(_ token: RowToken, _ key: TrackedForeignKey, _ values: ColumnValues) {
        guard case .unique(let columns) = key.target, searches[token] == nil else { return }
        searches[token] = (access.registry[key.parent], columns, key.columns.map { values[$0] ?? .null })
    }

    /// True if a token's meaning is recorded.
    func isNoted(_ token: RowToken) -> Bool { searches[token] != nil }

    /// The object with a row having a recorded parent key.
    func object(offering token: RowToken) throws -> RowToken? {
        guard let (parent, columns, values) = searches[token] else { return nil }
        var local: [FieldValue] = []
        for (column, value) in zip(columns, values) {
            guard let part = try translator.local(value, parent.columns[column]) else { return nil }
            local.append(part)
        }
        let condition = access.registry.condition(onParentKey: columns, of: parent)
        let rows = try access.connection.rows(
            "SELECT \(parent.keyList) FROM \(parent.quotedName) WHERE \(condition) LIMIT 1", values: local)
        guard let key = rows.first, let object = try translator.object(parent, key) else { return nil }
        return RowToken(table: parent.id, id: object)
    }
}
