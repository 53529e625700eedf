import FerryCore
import FerrySQL
import FerrySchema
import FerryTestSupport

@testable import FerryReferenceModel
@testable import FerryStore

/// Tables that stay on each device of a random history and refer to the keys of those that travel, and what must become of
/// their rows: they mean the same object as before, and go or are cleared with it.
struct LocalTablesModel {
    private let schema: OracleSchema
    private var chance: Chance
    private var counts: [String: Int] = [:]

    init(schema: OracleSchema, seed: UInt64) {
        self.schema = schema
        chance = Chance(seed: seed &+ 0x57a1)
    }

    /// A row that stays, and the object that it refers to.
    struct Meaning {
        var table: Int
        var isCleared: Bool
        var row: FieldValue
        var object: ObjectID
        var key: [FieldValue]
        /// What the integers in its key stand for: tables and objects, by place.
        var references: [Int: (table: String, object: ObjectID)]
    }

    private func name(_ table: Int, isCleared: Bool) -> String { "\(isCleared ? "clears" : "goes")_\(table)" }

    private func columns(_ table: Int) -> [String] { schema.tables[table].key.indices.map { "r\($0)" } }

    private func keys(_ table: Int) -> [String] {
        schema.tables[table].key.map { quoted(schema.tables[table].columns[$0].name) }
    }

    /// One with CASCADE and one with SET NULL for each table; some have an index. Without a primary key they stay.
    mutating func makeTables(on device: TestDevice) throws {
        for (number, table) in schema.tables.enumerated() {
            for isCleared in [false, true] {
                let columns = columns(number).joined(separator: ", ")
                let name = name(number, isCleared: isCleared)
                try device.run(
                    """
                    CREATE TABLE \(name)(\(columns), FOREIGN KEY (\(columns))
                        REFERENCES \(quoted(table.name))(\(keys(number).joined(separator: ", ")))
                        ON DELETE \(isCleared ? "SET NULL" : "CASCADE") ON UPDATE CASCADE);
                    """)
                if chance.oneIn(2) { try device.run("CREATE INDEX \(name)_index ON \(name)(\(columns))") }
            }
            // What refers to a row that stays goes with it.
            try device.run(
                """
                CREATE TABLE follows_\(number)(id, first REFERENCES first_\(number)(id) ON DELETE CASCADE);
                CREATE TABLE first_\(number)(id INTEGER UNIQUE, \(columns(number).joined(separator: ", ")),
                    FOREIGN KEY (\(columns(number).joined(separator: ", "))) REFERENCES \(quoted(table.name))
                    ON DELETE CASCADE ON UPDATE CASCADE);
                """)
        }
    }

    /// Adds rows that refer to what is there.
    /// - Returns: what was met since the last time.
    mutating func write(on device: TestDevice) throws -> [String: Int] {
        for number in schema.tables.indices where chance.oneIn(2) {
            let table = quoted(schema.tables[number].name)
            let count = try device.query("SELECT 1 FROM \(table)").count
            if count == 0 { continue }
            let row = "FROM \(table) ORDER BY 1 LIMIT 1 OFFSET \(chance.below(count))"
            let keys = keys(number).joined(separator: ", ")
            let isWhole = self.keys(number).map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
            let source = "SELECT \(keys) FROM (SELECT * \(row)) WHERE \(isWhole)"
            try device.run("INSERT INTO \(name(number, isCleared: chance.oneIn(2))) \(source)")
            try device.run(
                """
                INSERT INTO first_\(number) SELECT coalesce((SELECT max(id) FROM first_\(number)), 0) + 1, * FROM (\(source));
                INSERT INTO follows_\(number) SELECT 1, max(id) FROM first_\(number);
                """)
        }
        defer { counts = [:] }
        return counts
    }

    /// What the rows mean now, where nothing waits to be packed.
    func meanings(on device: TestDevice) throws -> [Meaning] {
        var meanings: [Meaning] = []
        for number in schema.tables.indices {
            for isCleared in [false, true] {
                let list = (["rowid"] + columns(number)).joined(separator: ", ")
                let rows = try device.rows("SELECT \(list) FROM \(name(number, isCleared: isCleared))")
                let objects = try device.store.objectIDs(
                    of: rows.map { Array($0[1...]) }, in: schema.tables[number].name)
                for (row, object) in zip(rows, objects) {
                    guard let object else { continue }
                    let key = Array(row[1...])
                    meanings.append(
                        Meaning(
                            table: number, isCleared: isCleared, row: row[0], object: object, key: key,
                            references: try references(of: object, under: key, in: number, on: device)))
                }
            }
        }
        return meanings
    }

    /// What is wrong with rows that meant something before a pass.
    mutating func complaint(about meanings: [Meaning], on device: TestDevice) throws -> String? {
        for meaning in meanings {
            let name = name(meaning.table, isCleared: meaning.isCleared)
            let row = try device.store.read { connection in
                try connection.rows(
                    "SELECT \(columns(meaning.table).joined(separator: ", ")) FROM \(name) WHERE rowid = ?", meaning.row
                )
            }.first
            let key = try device.store.key(of: meaning.object, in: schema.tables[meaning.table].name)
            let heir = try key ?? self.heir(of: meaning, on: device)
            let expected = heir ?? (meaning.isCleared ? columns(meaning.table).map { _ in FieldValue.null } : nil)
            let fate = key != nil ? "stayed" : heir != nil ? "inherited" : meaning.isCleared ? "cleared" : "went"
            counts[fate, default: 0] += 1
            let (has, wants) = (Self.text(row), Self.text(expected))
            if has != wants {
                return "\(name) \(meaning.row.text), which meant \(meaning.object) under \(Self.text(meaning.key)), "
                    + "has \(has) and not \(wants)"
            }
        }
        return nil
    }

    /// What an object's key refers to by integers: its own reference, where that is one with what its row shows.
    private func references(
        of object: ObjectID, under key: [FieldValue], in number: Int, on device: TestDevice
    ) throws -> [Int: (table: String, object: ObjectID)] {
        let table = schema.tables[number]
        let own = try device.store.readAccess { access -> ColumnValues in
            guard let tracked = access.registry.table(named: table.name) else { return [:] }
            return try access.objects(of: tracked.id).load(object).kept.fields
        }
        var references: [Int: (table: String, object: ObjectID)] = [:]
        for (place, column) in table.key.enumerated() {
            guard let parent = table.columns[column].reference else { continue }
            let name = schema.tables[parent].name
            if case .reference(let target)? = own[column] {
                references[place] = (name, target)
            } else if let target = try device.store.objectIDs(of: [[key[place]]], in: name)[0] {
                references[place] = (name, target)
            }
        }
        return references
    }

    /// The key of a row whose object is gone, where another row has it: a key that is no integer is the row, as long as what
    /// the object refers to has the integers in it (Docs/Merging.md, "Local tables that refer to travelling tables").
    private func heir(of meaning: Meaning, on device: TestDevice) throws -> [FieldValue]? {
        let table = schema.tables[meaning.table]
        if table.isMapped { return nil }
        guard try device.store.objectIDs(of: [meaning.key], in: table.name)[0] != nil else { return nil }
        for (place, reference) in meaning.references
        where try device.store.key(of: reference.object, in: reference.table) != [meaning.key[place]] {
            return nil
        }
        return meaning.key
    }

    /// Keys may differ in letter case where a collation says so.
    private static func text(_ key: [FieldValue]?) -> String {
        key.map { $0.map { $0.text.lowercased() }.joined(separator: ", ") } ?? "no row"
    }
}
