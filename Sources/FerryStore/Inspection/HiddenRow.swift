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

    /// The kinds of anomalies without a row, as SQL.
    static let kinds = AnomalyKind.allCases.filter { $0.isHidden || $0 == .joined }.map { "\($0.rawValue)" }.joined(
        separator: ", ")

    /// How many there are.
    func count(table: String?) throws -> Int {
        let counted = "SELECT count(*) FROM ferry_exception WHERE kind IN (\(Self.kinds))"
        guard let table else { return try access.connection.count(counted) }
        return try access.connection.count(
            counted + " AND \"table\" = ?", .integer(Int64(try access.registry.travellingTable(table).id)))
    }

    func read(table name: String?, object: ObjectID? = nil, limit: Int) throws -> [HiddenRow] {
        let table = try name.map { try access.registry.travellingTable($0).id }
        var conditions = ["kind IN (\(Self.kinds))"]
        var values: [FieldValue] = []
        if let table {
            conditions.append("\"table\" = ?")
            values.append(.integer(Int64(table)))
        }
        if let object {
            conditions.append("object = ?")
            values.append(.blob(object.bytes[...]))
        }
        var found: [(table: TrackedTable, object: ObjectID, reason: AnomalyReason)] = []
        try access.connection.forEachRow(
            "SELECT \"table\", object, kind, reason FROM ferry_exception"
                + ConflictReader.clause(conditions) + " ORDER BY \"table\", object LIMIT ?",
            values + [.integer(Int64(limit))]
        ) { row in
            guard let table = access.registry.tables[row.int(0)], let object: ObjectID = row.id(1),
                let kind = AnomalyKind(rawValue: row.int(2))
            else { return }
            found.append((table, object, AnomalyReason(kind, stored: row.string(3))))
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
                table: table.name, object: object, key: try names.ownKey(of: state, table), kind: reason.kind,
                reason: sentence, columns: reason.columns, values: values)
        }
    }
}
