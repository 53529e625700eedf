import FerryCore
import FerrySQL
import FerryStore
import Foundation
import GRDB

/// A request without its type: how its rows are listed, and how the rows of some keys are fetched.
struct LiveRequest: Sendable {
    /// A row that was fetched by its key.
    struct Fetched {
        var key: LiveKey
        /// The hash of the content, as `scan` computes the hash.
        var hash: Int
        var row: Row
    }

    /// The names of the key's columns, in the request's result.
    let keyColumns: @Sendable (Database) throws -> [String]
    /// The request, unchanged.
    private let prepare: @Sendable (Database) throws -> PreparedRequest
    /// A request for the rows of some keys, in any order; `nil`: made of the request's SQL.
    private let select: (@Sendable (Database, [[String: DatabaseValue]]) throws -> [Row])?

    /// A request of the query interface, by the primary key of its table: associations and all.
    init<Record>(_ request: @escaping @Sendable (Database) throws -> QueryInterfaceRequest<Record>)
    where Record: TableRecord {
        prepare = { try request($0).makePreparedRequest($0, forSingleResult: false) }
        keyColumns = { database in
            let columns = try database.primaryKey(Record.databaseTableName).columns
            if columns == [Column.rowID.name] {
                throw FerryError(
                    .invalidArgument,
                    "The table \(Record.databaseTableName) has no primary key of its own. Select its rowid under a "
                        + "name, and give that name as the key.")
            }
            return columns
        }
        select = { database, keys in
            let keys = keys.map { key in key.mapValues { $0 as (any DatabaseValueConvertible)? } }
            // A limit of the request's would count rows before those of these keys are picked.
            let picked = try request(database).filter(keys: keys).limit(keys.count)
            return try Row.fetchAll(database, picked.asRequest(of: Row.self))
        }
    }

    /// Any request, by columns of its result that tell its rows apart.
    init(key: [String], _ request: @escaping @Sendable (Database) throws -> some FetchRequest) {
        prepare = { try request($0).makePreparedRequest($0, forSingleResult: false) }
        keyColumns = { _ in key }
        select = nil
    }

    /// Identifies a list in a cache: the SQL and its arguments.
    func fingerprint(_ database: Database) throws -> String {
        let statement = try prepare(database).statement
        return "\(statement.sql) \(statement.arguments)"
    }

    // MARK: All rows

    /// Lists all rows.
    /// - Parameter bumps: how often rows count as changed besides, by key.
    func scan(_ database: Database, _ sections: LiveSections, bumps: [LiveKey: Int]) throws -> LiveIndex {
        let prepared = try prepare(database)
        let places = try Self.places(of: keyColumns(database), among: prepared.statement.columnNames)
        var sectionPlace: Int?
        if case .column(let name) = sections.rule {
            sectionPlace = try Self.places(of: [name], among: prepared.statement.columnNames)[0]
        }
        var builder = LiveIndexBuilder()
        var section: (value: DatabaseValue, name: String)?
        let rows = try Row.fetchCursor(prepared.statement, adapter: prepared.adapter)
        while let row = try rows.next() {
            let values = row.unadapted
            let key = try Self.key(of: values, places)
            let name: String
            if let sectionPlace {
                let value: DatabaseValue = values[sectionPlace]
                if let section, section.value == value {
                    name = section.name
                } else {
                    name = Self.name(of: value)
                    section = (value, name)
                }
            } else if case .name(let function) = sections.rule {
                name = try function(row)
            } else {
                name = ""
            }
            builder.add(key, hash: Self.hash(of: values), section: name)
        }
        return builder.index(bumps: bumps)
    }

    private static func places(of columns: [String], among names: [String]) throws -> [Int] {
        try columns.map { column in
            if let place = names.firstIndex(where: { equalNames($0, column) }) { return place }
            throw FerryError(
                .invalidArgument, "The request has no column \(column). It has: \(names.joined(separator: ", ")).")
        }
    }

    private static func key(of values: Row, _ places: [Int]) throws -> LiveKey {
        let key = places.count == 1 ? LiveKey(values[places[0]]) : LiveKey(places.map { values[$0] })
        if case .values(let parts) = key, parts.contains(.null) {
            throw FerryError(.invalidArgument, "A row of the request has NULL in its key. Choose columns without it.")
        }
        return key
    }

    private static func name(of value: DatabaseValue) -> String {
        switch value.storage {
        case .null: ""
        case .int64(let integer): "\(integer)"
        case .double(let double): "\(double)"
        case .string(let string): string
        case .blob(let data): data.map { String(format: "%02x", $0) }.joined()
        }
    }

    private static func hash(of values: Row) -> Int {
        var hasher = Hasher()
        // Without the columns' names, which cost as much as the values.
        for place in 0..<values.count { hasher.combine(values[place] as DatabaseValue) }
        return hasher.finalize()
    }

    // MARK: Some rows

    /// Fetches the rows of some keys, in any order; rows that are gone are missing.
    func fetch(_ database: Database, _ keys: [LiveKey]) throws -> [Fetched] {
        if keys.isEmpty { return [] }
        let columns = try keyColumns(database)
        let rows: [Row]
        // A dictionary cannot hold two columns whose names differ in the form of Unicode alone.
        if let select, Set(columns).count == columns.count {
            rows = try select(
                database, keys.map { Dictionary(zip(columns, $0.databaseValues)) { first, _ in first } })
        } else {
            rows = try fetchBySQL(database, keys, columns)
        }
        guard let names = rows.first.map({ Array($0.unadapted.columnNames) }) else { return [] }
        let places = try Self.places(of: columns, among: names)
        return try rows.map { row in
            let values = row.unadapted
            return Fetched(key: try Self.key(of: values, places), hash: Self.hash(of: values), row: row)
        }
    }

    private func fetchBySQL(_ database: Database, _ keys: [LiveKey], _ columns: [String]) throws -> [Row] {
        let prepared = try prepare(database)
        if prepared.adapter != nil {
            // Columns of a subquery have other names: the rows are picked from all of them.
            let places = try Self.places(of: columns, among: prepared.statement.columnNames)
            let wanted = Set(keys)
            let rows = try Row.fetchCursor(prepared.statement, adapter: prepared.adapter)
            var found: [Row] = []
            while found.count < wanted.count, let row = try rows.next() {
                if wanted.contains(try Self.key(of: row.unadapted, places)) { found.append(row.copy()) }
            }
            return found
        }
        let sql = prepared.statement.sql.trimmingCharacters(in: .whitespacesAndNewlines.union([";"]))
        let names = columns.map(quoted).joined(separator: ", ")
        let one = "(" + columns.map { _ in "?" }.joined(separator: ", ") + ")"
        let values = keys.map { _ in one }.joined(separator: ", ")
        let arguments = StatementArguments(keys.flatMap(\.databaseValues))
        return try Row.fetchAll(
            database, sql: "SELECT * FROM (\(sql)\n) WHERE (\(names)) IN (VALUES \(values))",
            arguments: prepared.statement.arguments + arguments)
    }
}
