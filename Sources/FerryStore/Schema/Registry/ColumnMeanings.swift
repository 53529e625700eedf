import FerryCore

/// What a column's values are, as far as a foreign key says it.
///
/// Where a column keeps its name and refers to something else by something else than before, its values have nothing to do with
/// the former ones: as object IDs they were the rows of one table, now they are texts. Devices that have not migrated could
/// not show them. So to Ferry that is another column, whose name says what it refers to (`variant`). Every device tells from its own
/// schema which of the two it has.
struct ColumnMeaning: Codable, Equatable, Sendable {
    /// What it refers to, in lower case: `artist(id)` where that is an integer primary key, `artist(name text)` where it is another
    /// one, otherwise `artist.id`; empty where it refers to nothing.
    var target: String
    /// What the column that bears its plain name refers to, and whether its values travel as object IDs; `nil` where this database
    /// never had it, because a device joined that knew the column by another meaning from the beginning.
    var plainTarget: String?
    var isPlainObject: Bool

    /// The name of the column by another meaning.
    static func variant(_ column: String, _ target: String) -> String { "\(column) → \(target)" }

    /// The column that a name is a variant of; `nil` where it is none.
    static func base(of name: String) -> String? {
        guard let end = name.range(of: " → ")?.lowerBound else { return nil }
        return String(name[..<end])
    }
}

extension SchemaTable {
    /// What a column refers to by foreign keys of its own (`ColumnMeaning.target`); `nil` where a table that it refers to is not there.
    func target(of column: String, _ schema: Schema) -> String? {
        var targets: Set<String> = []
        for key in foreignKeys where key.columns.count == 1 && equalNames(key.columns[0], column) {
            guard let parent = schema.table(key.parentTable) else { return nil }
            let name = key.parentColumns.first ?? (parent.primaryKey.count == 1 ? parent.primaryKey[0] : "")
            let isKey = parent.primaryKey.count == 1 && equalNames(parent.primaryKey[0], name)
            // An integer key may become another one under the same name.
            let type = parent.isIntegerKey ? "" : parent.column(name).map { " \($0.affinity)" } ?? ""
            targets.insert(foldedName(isKey ? "\(parent.name)(\(name)\(type))" : "\(parent.name).\(name)"))
        }
        return targets.sorted().joined(separator: ", ")
    }

    /// The tables that a column refers to by foreign keys of its own.
    func parents(of column: String) -> [String] {
        foreignKeys.filter { $0.columns.count == 1 && equalNames($0.columns[0], column) }.map(\.parentTable)
    }
}

/// Finds the columns that mean something else than before.
///
/// Such a column waits, while a table that it refers to is still what it was. What is noted of it meanwhile nothing can be told of but
/// that it was written: `rewritten` says of which rows, and they are noted again when the column is there by its new meaning.
struct ColumnMeanings {
    private let connection: SQLConnection
    private let schema: Schema
    private var meta: StoreMeta { StoreMeta(connection: connection) }

    init(_ connection: SQLConnection, _ schema: Schema) {
        self.connection = connection
        self.schema = schema
    }

    /// Enters a column by its new meaning for each that means something else than before, and takes down what all mean.
    /// - Returns: whether the registry has to be made anew.
    func update(_ registry: Registry) throws -> Bool {
        let before = try Generations.load(meta)
        var generations = before
        var isChanged = false
        var numbers = FreeNumbers(connection)
        for table in registry.tables.values.sorted(by: { $0.id < $1.id }) where table.isLocal {
            guard let local = schema.table(table.name), !registry.leaving.contains(table.id) else { continue }
            let key = Set(table.keyColumnIDs)
            for column in table.localColumns where !key.contains(column.id) {
                let name = foldedName(column.name)
                guard let target = local.target(of: column.name, schema) else { continue }
                let known = generations.meanings["\(table.id)"]?[name]
                // What refers to nothing, and never did, means nothing.
                if known == nil, target.isEmpty, column.reference == nil { continue }
                let isObject = column.reference != nil
                var meaning = known ?? ColumnMeaning(target: target, plainTarget: target, isPlainObject: isObject)
                meaning.target = target
                if column.formerName != nil, meaning.plainTarget == target { meaning.plainTarget = nil }
                generations.meanings["\(table.id)", default: [:]][name] = meaning
                guard column.formerName == nil, meaning.isPlainObject != isObject, let plain = meaning.plainTarget,
                    plain != target
                else { continue }
                try Registry.register(
                    table.name, table.identity, columns: [ColumnMeaning.variant(column.name, target)], &numbers,
                    in: connection)
                isChanged = true
            }
        }
        if generations != before { try generations.save(meta) }
        return isChanged
    }

    /// Takes down the rows of which a note says that a column was written which waits.
    func noteRewritten(_ registry: Registry) throws {
        let before = try Generations.load(meta)
        var generations = before
        for table in registry.tables.values where table.isLocal {
            for column in table.columns where column.isHidden && !column.isLocal {
                let slots = table.keyColumns.indices.map { "quote(k\($0))" }.joined(separator: " || ', ' || ")
                let mask = CaptureTriggers.mask(of: column.id)
                let group = mask >> Int64(CaptureTriggers.groupSize)
                let bit = mask & (1 << Int64(CaptureTriggers.groupSize) - 1)
                let rows = try connection.rows(
                    """
                    SELECT DISTINCT \(slots) || ', ' || quote(at) FROM ferry_pending WHERE "table" = \(table.id)
                        AND event = \(PendingEvent.update.rawValue) AND mask >> \(CaptureTriggers.groupSize) = \(group)
                        AND mask & \(bit)
                    """)
                for row in rows {
                    let name = foldedName(ColumnMeaning.base(of: column.name) ?? column.name)
                    generations.rewritten["\(table.id)", default: [:]][name, default: []].append(row[0].text)
                }
            }
        }
        if generations != before { try generations.save(meta) }
    }

    /// Notes such rows again, where the column is there.
    func appendRewritten(_ registry: Registry) throws {
        var generations = try Generations.load(meta)
        if generations.rewritten.isEmpty { return }
        for (number, columns) in generations.rewritten.sorted(by: { $0.key < $1.key }) {
            guard let table = Int(number).flatMap({ registry.tables[$0] }), table.isLocal else { continue }
            let slots = table.keyColumns.indices.map { "k\($0)" }.joined(separator: ", ")
            for (name, rows) in columns.sorted(by: { $0.key < $1.key }) {
                guard let column = table.localColumns.first(where: { equalNames($0.name, name) }) else { continue }
                let mask = CaptureTriggers.mask(of: column.id)
                for row in rows {
                    try connection.executeScript(
                        "INSERT INTO ferry_pending(\"table\", event, mask, \(slots), at) "
                            + "VALUES (\(table.id), \(PendingEvent.update.rawValue), \(mask), \(row))")
                }
            }
        }
        generations.rewritten = [:]
        try generations.save(meta)
    }
}
