import FerryCore
import FerrySQL

/// A person's choice of travelling tables.
public struct TableSelection: Equatable, Sendable {
    /// The chosen tables; `nil` for all possible tables.
    @ComparedByBytes package var only: [String]?
    @ComparedByBytes package var except: [String]
    /// Of `except` the tables that the container did not have when this database joined. They travel once another device has them.
    @ComparedByBytes package var awaited: [String]
    /// Tables with objects identified by the values of named columns at insertion, by the exact key of the name.
    @ComparedByBytes package var declaredIdentities: [String: [String]]
    /// Columns holding a table's keys without a foreign key. If the parent's keys are device-specific, the values
    /// travel as objects, like values of foreign keys.
    package var references: [UndeclaredReference]
    /// Foreign keys made plain references from the beginning, permanently and for the whole container.
    package var plainReferences: [PlainReferenceName]
    /// Tables already travelling in the container, although a new container would leave them local.
    @ComparedByBytes package var travelling: [String]
    /// Integer keys previously moved to a new column in the container: the column, by the exact key of the table's name.
    @ComparedByBytes package var movedKeys: [String: String]
    /// Tables with another name in the container.
    package var renamed: TableNames
    /// Columns with another name in the container.
    package var renamedColumns: ColumnNameList
    /// The collations by which the container's devices derive IDs from keys, by the key of the table's name.
    @ComparedByBytes package var keyCollations: [String: [String]]
    /// The columns of declared identities in the container's schema, if some were renamed, by the key of the table's
    /// name.
    @ComparedByBytes package var identityColumns: [String: [String]]

    public init(
        only: [String]? = nil, except: [String] = [], declaredIdentities: [String: [String]] = [:],
        references: [UndeclaredReference] = [], plainReferences: [PlainReferenceName] = []
    ) {
        self.only = only
        self.except = except
        awaited = []
        self.declaredIdentities = declaredIdentities.byExactKeys
        self.references = references
        self.plainReferences = plainReferences
        travelling = []
        movedKeys = [:]
        renamed = TableNames()
        renamedColumns = ColumnNameList()
        keyCollations = [:]
        identityColumns = [:]
    }
}

/// Decides which tables of a schema travel, and how their objects are identified: a pure function of schema and
/// selection.
package struct TrackingPlan: Equatable {
    package var tracked: [TrackedTableRecord] = []
    package var leftOut: [LeftOutTable] = []

    /// The most columns of a table that travels. SQLite allows 2,000 columns of a result, and a verification reads a row's columns with
    /// those of its key and of its state (https://www.sqlite.org/limits.html#max_column).
    package static let maximumColumns = 1_900

    /// - Parameters:
    ///   - isNew: true if the selection was made for this schema, so all its names must exist. A selection made for an earlier
    ///     schema applies as far as possible.
    ///   - elsewhere: tables known to travel on remote devices.
    ///   - collations: the collations by which keys derive IDs, by the table's name in lower case; `nil` for those of the
    ///     selection.
    package init(
        _ schema: Schema, _ selection: TableSelection, isNew: Bool = true, elsewhere: Set<String> = [],
        collations: [String: [String]]? = nil
    ) throws {
        let collations = collations ?? selection.keyCollations
        if isNew { try Self.check(selection, against: schema) }
        // Tables travelling under an earlier version of Ferry go on travelling.
        let going = elsewhere.union(selection.travelling.map(foldedName))
        for table in schema.tables {
            let ofApp = going.contains(foldedName(table.name)) ? nil : Self.reasonOfApp(table, schema)
            let ofKey = collations[foldedName(table.name)].flatMap { Self.reason(ofKey: table, $0) }
            if let reason = Self.reasonToLeaveOut(table, selection) ?? ofApp ?? ofKey {
                leftOut.append(LeftOutTable(name: table.name, reason: reason))
            } else {
                tracked.append(TrackedTableRecord(name: table.name, identity: .surrogate))
            }
        }
        try leaveOutChildrenOfLeftOutTables(schema, selection, isNew: isNew, elsewhere)
        if isNew { try ReferenceCheck(schema: schema, tracked: tracked.map(\.name)).check(selection.references) }
        if isNew { try checkPlainReferences(selection.plainReferences, schema) }
        let names = trackedNames
        for index in tracked.indices {
            guard let table = schema.table(tracked[index].name) else { continue }
            tracked[index].identity = try identity(of: table, schema, selection, names)
        }
    }

    private static func check(_ selection: TableSelection, against schema: Schema) throws {
        let named =
            (selection.only ?? []) + selection.except + selection.declaredIdentities.keys.sorted().map(plainText)
        for name in named where schema.table(name) == nil {
            throw FerryError(.invalidArgument, "The database has no table “\(name)”. Check the spelling.")
        }
        for (key, columns) in selection.declaredIdentities.sorted(by: { $0.key < $1.key }) {
            let name = plainText(key)
            guard let table = schema.table(name) else { continue }
            if table.primaryKey.count != 1 {
                throw FerryError(
                    .unsupportedTable,
                    "An identity can be declared for a table whose primary key is one column; “\(name)” has "
                        + "\(table.primaryKey.count). Leave its identity out: its key identifies its rows.")
            }
            let present = selection.identityColumns[foldedName(name)] ?? columns
            for column in present where !column.isEmpty && table.column(column)?.isGenerated ?? true {
                throw FerryError(
                    .invalidArgument, "The table “\(name)” has no column “\(column)” that can identify its rows.")
            }
            for column in columns where equalNames(column, table.primaryKey[0]) {
                throw FerryError(
                    .invalidArgument,
                    "The identity of “\(name)” is declared because its key does not say it; "
                        + "name other columns than “\(column)”.")
            }
        }
        for name in selection.only ?? [] {
            guard let table = schema.table(name),
                let reason = reasonToLeaveOut(table, TableSelection()) ?? reasonOfApp(table, schema)
            else { continue }
            throw FerryError(.unsupportedTable, "The table “\(name)” cannot travel: \(reason).")
        }
    }

    /// The reason to leave out a table with a key by which one object could have several rows.
    private static func reason(ofKey table: SchemaTable, _ recorded: [String]) -> String? {
        guard KeyEquality.tellsMoreApart(table, than: recorded) else { return nil }
        let columns = table.primaryKey.joined(separator: ", ")
        return
            "the other devices compare its key (\(columns)) with COLLATE \(recorded.joined(separator: ", ")), and this "
            + "database tells more keys apart; give the column that collation again"
    }

    /// The reason to leave out a table that describes this database's own file.
    private static func reasonOfApp(_ table: SchemaTable, _ schema: Schema) -> String? {
        if BookkeepingTables.contains(table.name, columns: table.columns.map(\.name)) {
            return "notes this database's own migrations"
        }
        return CoreDataTables.areThere(in: schema) ? CoreDataTables.reasonToStay(table.name) : nil
    }

    private static func reasonToLeaveOut(_ table: SchemaTable, _ selection: TableSelection) -> String? {
        switch table.kind {
        case .view: return "a view; the tables it shows travel"
        case .virtual: return "a virtual table; every device keeps its own"
        case .shadow: return "belongs to a virtual table"
        case .table: break
        }
        if OwnNames.isTravelling(table.name, columns: table.columns.map(\.name)) { return nil }
        if SchemaReader.isReserved(table) {
            return "its name begins with ferry_, as only Ferry's own may that travel"
        }
        if let only = selection.only, !only.contains(where: { equalNames($0, table.name) }) { return "not selected" }
        if selection.except.contains(where: { equalNames($0, table.name) }) { return "excepted" }
        if table.primaryKey.isEmpty { return "has no primary key, so its rows cannot be told apart" }
        if table.columns.count > maximumColumns { return "has more than \(maximumColumns) columns" }
        return nil
    }

    /// Leaves out children of local tables: a foreign key to a local table could not hold on remote devices. A foreign
    /// key unusable in SQLite holds nowhere and does not matter, unless remote devices have the parent: the parent may
    /// come here as well.
    private mutating func leaveOutChildrenOfLeftOutTables(
        _ schema: Schema, _ selection: TableSelection, isNew: Bool, _ elsewhere: Set<String>
    ) throws {
        var isSettled = false
        var names = trackedNames
        while !isSettled {
            isSettled = true
            for record in tracked {
                guard
                    let child = schema.table(record.name),
                    let parent = child.foreignKeys.first(where: { key in
                        !names.contains(foldedName(key.parentTable))
                            && (schema.flaw(of: key, in: child) == nil
                                || elsewhere.contains(foldedName(key.parentTable)))
                    })?.parentTable
                else { continue }
                if isNew, selection.only?.contains(where: { equalNames($0, record.name) }) ?? false {
                    throw FerryError(
                        .unsupportedTable,
                        "The table “\(record.name)” refers to “\(parent)”, which would not travel. "
                            + "Select both or neither.")
                }
                tracked.removeAll { equalNames($0.name, record.name) }
                names.remove(foldedName(record.name))
                leftOut.append(LeftOutTable(name: record.name, reason: "refers to \(parent), which does not travel"))
                isSettled = false
            }
        }
    }

    private func checkPlainReferences(_ names: [PlainReferenceName], _ schema: Schema) throws {
        let known = trackedNames
        for name in names {
            let child = schema.table(name.table).flatMap { known.contains(foldedName($0.name)) ? $0 : nil }
            let isThere = child?.foreignKeys.contains { key in
                Set(key.columns.map(foldedName)) == Set(name.columns.map(foldedName))
            }
            if isThere ?? false { continue }
            throw FerryError(
                .invalidArgument,
                "The columns \(name.columns.joined(separator: ", ")) of “\(name.table)” are no foreign key of a table that "
                    + "travels. Name a table and all columns of its foreign key, as in “song.album_id”.")
        }
    }

    private var trackedNames: Set<String> { Set(tracked.map { foldedName($0.name) }) }

    private func identity(
        of table: SchemaTable, _ schema: Schema, _ selection: TableSelection, _ trackedNames: Set<String>
    ) throws -> TableIdentity {
        if let declared = selection.declaredIdentities.first(where: { equalNames($0.key, table.name) }) {
            return .declared(declared.value.map { name in table.column(name)?.name ?? name })
        }
        // An integer key that is also a reference, or a part of one, says which row it belongs to. So its parent identifies it, or
        // its value.
        let isReference =
            table.foreignKeys.contains { key in
                key.columns.contains { equalNames($0, table.primaryKey[0]) }
                    && !equalNames(key.parentTable, table.name)
                    && trackedNames.contains(foldedName(key.parentTable))
            }
            || selection.references.contains { reference in
                equalNames(reference.table, table.name) && equalNames(reference.column, table.primaryKey[0])
            }
        guard table.isIntegerKey, !isReference, !PinnedKey.isThere(in: table) else { return .key(table.primaryKey) }
        let moved = selection.movedKeys.first {
            equalNames($0.key, table.name) && equalNames($0.value, table.primaryKey[0])
        }
        return moved.map { .surrogateBy($0.value) } ?? .surrogate
    }
}

extension TrackingPlan {
    /// Applies the original selection to a schema.
    /// - Parameter isNew: true if the selection was made for this schema, and must fit. Later, and for a different
    ///   device's selection, named tables and columns may be missing.
    package init(kept connection: SQLConnection, _ schema: Schema, isNew: Bool = false) throws {
        let selection = try MetaTable(connection: connection).string(.selection).map(SelectionText.parse)
        let registered = try RegisteredTables(connection).all()
        let generations = try Generations.load(MetaTable(connection: connection))
        var collations = selection?.keyCollations ?? [:]
        for entry in registered {
            // A table of another primary key has no collations, or another number of them.
            if let known = generations.collations["\(entry.number)"] { collations[foldedName(entry.name)] = known }
        }
        try self.init(
            schema, selection ?? TableSelection(), isNew: isNew, elsewhere: Set(registered.map { foldedName($0.name) }),
            collations: collations)
    }
}
