import FerryCore

/// A living object without an own row, with all its values: hidden, or unified with a different object.
public struct HiddenRow: Equatable, Sendable {
    public var table: String
    public var object: ObjectID
    /// The intended key; empty if unknown.
    public var key: [FieldValue]
    public var kind: AnomalyKind
    /// The reason for having no row; for a unified object with the key of the row that stands for the object.
    public var reason: String
    /// The columns or expressions that the reason is about, as far as the kind has some.
    public var columns: [String]
    /// The values in the order of the table's columns, with references as local keys if the target is known. Columns
    /// never written are absent.
    public var values: [NamedValue]
}

/// A column's name and a value.
public struct NamedValue: Equatable, Sendable {
    public var column: String
    public var value: FieldValue

    package init(column: String, value: FieldValue) {
        self.column = column
        self.value = value
    }
}

struct HiddenRowReader {
    let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// How many there are.
    func count(table: String?) throws -> Int {
        let number = try table.map { try access.registry.travellingTable($0).id }
        return try access.anomalies.count(of: AnomalyKind.withoutRow, table: number)
    }

    func read(table name: String?, object: ObjectID? = nil, limit: Int) throws -> [HiddenRow] {
        let number = try name.map { try access.registry.travellingTable($0).id }
        let entries = try access.anomalies.entries(
            of: AnomalyKind.withoutRow, table: number, object: object, limit: limit)
        let found = entries.compactMap { entry in
            access.registry.tables[entry.object.table].map { ($0, entry.object.id, entry.reason) }
        }
        let names = LocalNames(access)
        return try found.map { table, object, reason in
            let state = try access.objects(of: table.id).load(object)
            let values = try state.kept.fields.map { column, value in
                NamedValue(column: table.columns[column].name, value: try names.value(value, table.columns[column]))
            }
            var sentence = reason.sentence
            if reason.kind == .joined {
                sentence += " (\(try names.key(of: object, table).map(\.text).joined(separator: ", ")))"
            }
            return HiddenRow(
                table: table.localName, object: object, key: try names.ownKey(of: state, table), kind: reason.kind,
                reason: sentence, columns: reason.columns, values: values)
        }
    }
}
