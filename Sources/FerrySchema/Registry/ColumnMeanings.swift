import FerryCore
import FerrySQL

/// The meaning of a column's values, as given by a foreign key.
///
/// A column may keep its name and refer to something new, by a different kind of value. Then the new values have
/// nothing to do with the former values: object IDs of rows become texts, for example. Devices before the migration
/// could not show the new values.
///
/// So Ferry treats the column as a new column, with the target in its name (`variant`). Every device's own schema
/// decides the column in use.
package struct ColumnMeaning: Codable, Equatable, Sendable {
    /// The column's target, in lower case. `artist(id)` for an integer primary key; `artist(name text)` for a primary
    /// key of a different type; `artist.id` for any further column; empty without a target.
    @ComparedByBytes package var target: String
    /// The target of the column with the plain name, and whether values travel as object IDs. `nil` if this database
    /// never had the plain column: the device joined with the column under a different meaning.
    @ComparedByBytes package var plainTarget: String?
    package var isPlainObject: Bool

    /// True if values under the plain name mean something else than values with a new target: another kind of value, or
    /// rows of another table.
    func differs(from target: String, isObject: Bool) -> Bool {
        guard let plainTarget, !equalBytes(plainTarget, target) else { return false }
        return isPlainObject != isObject
            || isObject && !Self.parent(plainTarget).utf8.elementsEqual(Self.parent(target).utf8)
    }

    /// The table of a target.
    private static func parent(_ target: String) -> Substring {
        target[..<(target.utf8.firstIndex { $0 == UInt8(ascii: "(") || $0 == UInt8(ascii: ".") } ?? target.endIndex)]
    }

    /// The name of a target's table, in lower case.
    package static func parent(ofTarget target: String) -> String { String(parent(target)) }

    /// The target in a variant's name; `nil` for a plain name.
    package static func target(of name: String) -> String? {
        arrow(in: name).map { String(name[$0.upperBound...]) }
    }

    /// Names the column under a different meaning.
    package static func variant(_ column: String, _ target: String) -> String { "\(column) → \(target)" }

    /// The plain column of a variant's name; `nil` for a plain name.
    package static func base(of name: String) -> String? {
        arrow(in: name).map { String(name[..<$0.lowerBound]) }
    }

    /// The place of the arrow in a variant's name. Asked for each registered column, so names without the arrow's first byte are not
    /// searched.
    private static func arrow(in name: String) -> Range<String.Index>? {
        guard name.utf8.contains(0xe2) else { return nil }
        return name.unicodeScalars.firstRange(of: " → ".unicodeScalars)
    }
}

extension SchemaTable {
    /// The targets of a column's own foreign keys (`ColumnMeaning.target`); `nil` if a target table is missing.
    package func target(of column: String, _ schema: Schema) -> String? {
        var targets: Set<String> = []
        for key in foreignKeys where key.columns.count == 1 && equalNames(key.columns[0], column) {
            guard let parent = schema.table(key.parentTable) else { return nil }
            let local = key.parentColumns.first ?? (parent.primaryKey.count == 1 ? parent.primaryKey[0] : "")
            targets.insert(exactKey(parent.target(to: local)))
        }
        return targets.map(plainText).sorted(by: textOrder).joined(separator: ", ")
    }

    /// The target of a foreign key to a column of this table (`ColumnMeaning.target`).
    package func target(to column: String) -> String {
        let isKey = primaryKey.count == 1 && equalNames(primaryKey[0], column)
        // An integer key may become a key of a different type under the same name.
        let type = isIntegerKey ? "" : self.column(column).map { " \($0.affinity)" } ?? ""
        let travelling = travellingName(column)
        return foldedText(isKey ? "\(name)(\(travelling)\(type))" : "\(name).\(travelling)")
    }

    /// The tables a column refers to by the column's own foreign keys.
    package func parents(of column: String) -> [String] {
        foreignKeys.filter { $0.columns.count == 1 && equalNames($0.columns[0], column) }.map(\.parentTable)
    }
}

/// Finds the columns with a changed meaning.
///
/// Such a column waits while a target table is still leaving its former generation. Meanwhile only the fact of a write
/// is known. `rewritten` lists the written rows. Their changes are recorded again once the column exists under the new
/// meaning.
package struct ColumnMeanings {
    private let connection: SQLConnection
    private let schema: Schema
    private var meta: MetaTable { MetaTable(connection: connection) }

    package init(_ connection: SQLConnection, _ schema: Schema) {
        self.connection = connection
        self.schema = schema
    }

    /// Registers a variant for each column with a changed meaning, and records the meanings of all columns.
    /// - Returns: true if the registry must be made anew.
    package func update(_ registry: Registry) throws -> Bool {
        let before = try Generations.load(meta)
        var generations = before
        var isChanged = false
        var numbers = FreeNumbers(connection)
        let digests = DigestTable(connection)
        let areRecorded = try meta.string(.rules) != nil
        for table in registry.tables.values.sorted(by: { $0.id < $1.id }) where table.isLocal {
            guard let local = schema.table(table.name), !registry.leaving.contains(table.id) else { continue }
            let key = Set(table.keyColumnIDs)
            for column in table.localColumns where !key.contains(column.id) {
                let name = foldedName(column.baseName)
                guard let target = local.target(of: column.name, schema) else { continue }
                let known = generations.meanings["\(table.id)"]?[name]
                // A column that never referred to anything has no meaning.
                if known == nil, target.isEmpty, column.reference == nil { continue }
                // The foreign key is gone, and the column refers to the same rows.
                if let known, !known.target.isEmpty, target.isEmpty, column.reference != nil { continue }
                let isObject = column.reference != nil
                // A column without a target so far had values of its own. An earlier Ferry recorded no meanings.
                let hadValues = try areRecorded && digests.columns(of: table.id).contains(column.id)
                var meaning =
                    known
                    ?? ColumnMeaning(
                        target: target, plainTarget: hadValues ? "" : target, isPlainObject: isObject && !hadValues)
                meaning.target = target
                if column.isVariant, String?.areEqualBytes(meaning.plainTarget, target) { meaning.plainTarget = nil }
                generations.meanings["\(table.id)", default: [:]][name] = meaning
                guard !column.isVariant, meaning.differs(from: target, isObject: isObject) else { continue }
                try Registry.register(
                    table.name, table.identity, columns: [ColumnMeaning.variant(column.baseName, target)], &numbers,
                    in: connection)
                isChanged = true
            }
        }
        if generations != before { try generations.save(meta) }
        return isChanged
    }

    /// Records the rows with a pending change of a waiting column.
    package func recordRewritten(_ registry: Registry) throws {
        let before = try Generations.load(meta)
        var generations = before
        for table in registry.tables.values where table.isLocal {
            for column in table.columns where column.isHidden && !column.isLocal {
                let rows = try PendingTable(connection).texts(
                    ofUpdatesOf: column.id, in: table.id, width: table.keyColumns.count)
                for row in rows {
                    let name = foldedName(column.baseName)
                    generations.rewritten["\(table.id)", default: [:]][name, default: []].append(row)
                }
            }
        }
        if generations != before { try generations.save(meta) }
    }

    /// Records pending changes for these rows again, once the column exists.
    package func appendRewritten(_ registry: Registry) throws {
        var generations = try Generations.load(meta)
        if generations.rewritten.isEmpty { return }
        for (number, columns) in generations.rewritten.sorted(by: { $0.key < $1.key }) {
            guard let table = Int(number).flatMap({ registry.tables[$0] }), table.isLocal else { continue }
            for (name, rows) in columns.sorted(by: { $0.key < $1.key }) {
                guard let column = table.localColumns.first(where: { equalNames($0.baseName, name) }) else { continue }
                for row in rows {
                    try PendingTable(connection).restore(
                        row, ofUpdateOf: column.id, in: table.id, width: table.keyColumns.count)
                }
            }
        }
        generations.rewritten = [:]
        try generations.save(meta)
    }
}
