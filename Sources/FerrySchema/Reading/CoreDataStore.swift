import FerryCore
import FerrySQL

/// Advice for a person who puts a Core Data store into a container (Docs/Merging.md, "Core Data stores").
package struct CoreDataAdvice: Codable, Equatable, Sendable {
    /// Core Data's own tables, always local tables.
    package var staying: [String]
    /// Triggers for the entities without a trigger yet: they raise `Z_PRIMARYKEY.Z_MAX` above the keys of rows from
    /// remote devices.
    package var triggers: [String]
}

/// Recognizes a Core Data store by its tables: a pure function of the schema.
package enum CoreDataTables {
    private static let marks = [
        "Z_PRIMARYKEY": ["Z_ENT", "Z_NAME", "Z_SUPER", "Z_MAX"], "Z_METADATA": ["Z_VERSION", "Z_UUID", "Z_PLIST"],
    ]

    package static func areThere(in schema: Schema) -> Bool {
        marks.allSatisfy { name, columns in
            guard let table = schema.table(name), table.kind == .table else { return false }
            return columns.allSatisfy { table.column($0) != nil }
        }
    }

    /// Explains why Core Data's own table stays local; `nil` for the app's entities.
    package static func reasonToStay(_ name: String) -> String? {
        switch foldedName(name) {
        case "z_primarykey": "counts the keys that Core Data gives out on this device"
        case "z_metadata", "z_modelcache": "describes this file for Core Data"
        case "achange", "atransaction", "atransactionstring": "Core Data's history of this file"
        case let name where name.hasPrefix("ansck"): "notes what Core Data exchanged with iCloud from this file"
        default: nil
        }
    }
}

/// The entities of a Core Data store. The rows of an entity `Folder` and of its subentities are in the table `ZFOLDER`.
/// `Z_PK` is the key, and `Z_ENT` holds the entity's number.
package struct CoreDataStore {
    private let schema: Schema
    /// Entities by number.
    private var entities: [Int64: Entity] = [:]

    private struct Entity {
        var name: String
        var parent: Int64
    }

    /// - Returns: `nil` where the schema is no Core Data schema.
    package init?(_ connection: SQLConnection, _ schema: Schema) throws {
        guard CoreDataTables.areThere(in: schema) else { return nil }
        self.schema = schema
        for row in try connection.rows("SELECT Z_ENT, Z_NAME, Z_SUPER FROM Z_PRIMARYKEY") {
            guard case .integer(let number) = row[0], case .text(let name) = row[1] else { continue }
            var parent: Int64 = 0
            if case .integer(let number) = row[2] { parent = number }
            entities[number] = Entity(name: String(decoding: name, as: UTF8.self), parent: parent)
        }
    }

    /// The topmost ancestor of an entity; the entity itself where the entity has no parent.
    private func root(of number: Int64) -> Int64 {
        var place = number
        // The number of entities bounds the steps: parents may form a circle in a damaged file.
        for _ in entities {
            guard let parent = entities[place]?.parent, entities[parent] != nil else { break }
            place = parent
        }
        return place
    }

    /// The table with an entity's rows.
    private func table(ofEntity number: Int64) -> SchemaTable? {
        entities[root(of: number)].flatMap { schema.table("Z" + $0.name) }
    }

    /// The table a column refers to by name. `ZNOTE.ZFOLDER` refers to `ZFOLDER`. `Z_1TAGS.Z_2TAGS`, of a to-many
    /// relationship, refers to the table of entity 2.
    package func parent(of column: SchemaColumn, in table: SchemaTable) -> SchemaTable? {
        let parent: SchemaTable?
        if let number = Self.number(in: table.name) {
            // A relationship of an entity to itself has a column without a number.
            let isReflexive = equalNames(column.name, "REFLEXIVE")
            parent = (Self.number(in: column.name) ?? (isReflexive ? number : nil)).flatMap(self.table(ofEntity:))
        } else {
            parent = table.column("Z_ENT") == nil ? nil : schema.table(column.name)
        }
        return parent.flatMap { $0.isIntegerKey && $0.column("Z_PK") != nil ? $0 : nil }
    }

    /// Reads the number in a name such as `Z_12TAGS`.
    private static func number(in name: String) -> Int64? {
        guard foldedName(name).hasPrefix("z_") else { return nil }
        return Int64(String(name.dropFirst(2).prefix { $0.isASCII && $0.isNumber }))
    }

    /// Makes the advice for this store.
    /// - Parameter tracked: the tables that would travel.
    package func advice(_ tracked: [TrackedTableRecord], _ connection: SQLConnection) throws -> CoreDataAdvice {
        let staying = schema.tables.map(\.name).filter { CoreDataTables.reasonToStay($0) != nil }
        var raised: Set<String> = []
        try connection.forEachRow("SELECT tbl_name, sql FROM sqlite_schema WHERE type = 'trigger' AND sql IS NOT NULL")
        {
            if IndexText.mentions($0.string(1), "Z_PRIMARYKEY") { raised.insert(foldedName($0.string(0))) }
        }
        let triggers = tracked.compactMap { record -> String? in
            guard let table = schema.table(record.name), table.isIntegerKey, table.column("Z_ENT") != nil,
                equalNames(table.primaryKey[0], "Z_PK"), !raised.contains(foldedName(table.name))
            else { return nil }
            return trigger(for: table)
        }
        return CoreDataAdvice(staying: staying.sorted(), triggers: triggers)
    }

    /// Makes the trigger for a table. Core Data draws the keys of subentities from the topmost entity's number.
    private func trigger(for table: SchemaTable) -> String {
        let tops = entities.keys.filter {
            root(of: $0) != $0 && self.table(ofEntity: $0).map { equalNames($0.name, table.name) } ?? false
        }.map(root(of:))
        let which = tops.first.map { "Z_ENT IN (NEW.Z_ENT, \($0))" } ?? "Z_ENT = NEW.Z_ENT"
        return "CREATE TRIGGER \(quoted(table.name + "_max")) AFTER INSERT ON \(table.quotedName) BEGIN "
            + "UPDATE Z_PRIMARYKEY SET Z_MAX = max(Z_MAX, NEW.Z_PK) WHERE \(which); END;"
    }
}
