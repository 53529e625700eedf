import FerryCore
import FerrySQL
import GRDB
import GRDBSQLite
import XCTest

@testable import FerryReferenceModel
@testable import FerryStore

/// A schema under test as verification reads it, with the identities that Docs/Rules.md gives to its tables.
struct OracleSchema {
    typealias Table = ModelSchema.Table

    let test: TestSchema
    let plain: ModelSchema

    var tables: [Table] { plain.tables }

    subscript(name: String) -> Table { plain[name] }

    /// - Parameter plainReferences: foreign keys that count as plain references.
    init(_ schema: TestSchema, plainReferences: Set<String> = []) throws {
        test = schema
        plain = try DatabaseQueue().write { database in
            try database.execute(sql: schema.sql)
            var identities: [String: TableIdentity] = [:]
            for name in try String.fetchAll(
                database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
            {
                identities[name.lowercased()] = try Self.identity(of: name, schema, database)
            }
            let connection = SQLConnection(try XCTUnwrap(database.sqliteConnection))
            defer { connection.finalizeStatements() }
            return try ModelSchema(
                connection, identities: identities, undeclaredReferences: schema.references,
                plainReferences: plainReferences)
        }
    }

    private static func identity(
        of name: String, _ schema: TestSchema, _ database: Database
    ) throws -> TableIdentity {
        if let declared = schema.declared[name] { return .declared(declared) }
        let key = try Row.fetchAll(
            database, sql: "SELECT name, type FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", arguments: [name])
        let names = key.map { $0["name"] as String }
        let isReference =
            try Row.fetchAll(
                database, sql: "SELECT * FROM pragma_foreign_key_list(?) WHERE \"table\" <> ?", arguments: [name, name]
            ).contains { $0["from"] == names[0] } && names.count == 1
            || schema.references.contains { $0.table == name && [$0.column] == names }
        let isInteger = key.count == 1 && (key[0]["type"] as String).uppercased() == "INTEGER"
        return isInteger && !isReference ? .surrogate : .key(names)
    }
}
