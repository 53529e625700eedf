import FerryCore
import FerrySQL

/// A foreign key of the schema ignored by the rules. The column keeps the written value, and the row is shown whether
/// or not the parent row exists. The JSON keys are fixed: scripts rely on them.
public struct PlainReference: Codable, Equatable, Sendable {
    public var table: String
    public var columns: [String]
    /// The parent table.
    public var parent: String
    /// The reason, as a sentence without a full stop.
    public var reason: String
}

/// A foreign key named by a person by table and columns, to be a plain reference from the beginning.
public struct PlainReferenceName: Hashable, Sendable {
    @ComparedByBytes package var table: String
    /// In any order.
    @ComparedByBytes package var columns: [String]

    public init(table: String, columns: [String]) {
        self.table = table
        self.columns = columns
    }

    /// True if this name means the given foreign key.
    package func names(_ key: DeclaredKey) -> Bool {
        equalNames(table, key.child) && Set(columns.map(foldedName)) == Set(key.columns.map(foldedName))
    }
}

extension Registry {
    /// The foreign keys of travelling tables that count as plain references.
    package func plainReferences(_ connection: SQLConnection) throws -> [PlainReference] {
        let words = try PolicyList(connection).applied()
        var found: [PlainReference] = []
        for table in schema.tables where self.table(named: table.name)?.isLocal ?? false {
            for key in table.foreignKeys {
                guard let reason = reason(key, of: table, schema, words) else { continue }
                found.append(
                    PlainReference(
                        table: table.localName, columns: key.columns,
                        parent: schema.table(key.parentTable)?.localName ?? key.parentTable, reason: reason))
            }
        }
        return found
    }

    private func reason(
        _ key: SchemaForeignKey, of table: SchemaTable, _ schema: Schema, _ words: [String: String]
    ) -> String? {
        if let flaw = schema.flaw(of: key, in: table) { return "SQLite cannot use it: \(flaw)" }
        if let column = schema.generatedColumn(of: key, in: table) {
            return "“\(column.name)” is a generated column, and Ferry follows none"
        }
        guard let word = schema.declaredKey(key, of: table).flatMap({ words[exactKey($0.target)] }) else { return nil }
        return word == DeclaredKey.namedWord ? "somebody said so" : "rows were written that refer to nothing"
    }
}
