import FerryCore
import FerrySQL
import FerrySchema

/// The tables and columns in remote changesets, which the registry must know before the replay.
struct PeerTables {
    private struct Layout: Hashable {
        @ComparedByBytes var name: String
        var identity: TableIdentity
        @ComparedByBytes var columns: [String]
    }

    private let changesets: [Changeset]
    private var news: [Layout] = []

    init(_ changesets: [Changeset]) { self.changesets = changesets }

    /// Finds tables and columns unknown to the registry.
    /// - Returns: true if there are any.
    mutating func find(_ connection: SQLConnection) throws -> Bool {
        // Many changesets name the same few tables with the same columns: each is looked up once.
        var layouts: Set<Layout> = []
        for changes in changesets.lazy.flatMap(\.tables) {
            layouts.insert(Layout(name: changes.name, identity: changes.identity, columns: changes.columns))
        }
        // For a known table, a device's identity of the table matters even before any write.
        for record in changesets.compactMap(\.schema).flatMap(\.tracked)
        where try !TableGeneration.all(record.name, connection).isEmpty {
            layouts.insert(Layout(name: record.name, identity: record.identity, columns: []))
        }
        news = try layouts.filter { try isNews($0, connection) }
        return !news.isEmpty
    }

    /// Enters the unknown tables and columns.
    func enter(_ connection: SQLConnection) throws {
        var numbers = FreeNumbers(connection)
        for layout in news {
            try Registry.register(layout.name, layout.identity, columns: layout.columns, &numbers, in: connection)
        }
        // By its schema, this database may already have such a table or column.
        if news.contains(where: { $0.columns.contains { ColumnMeaning.base(of: $0) != nil } }) {
            try MetaTable(connection: connection).set(.schemaVersion, -1)
        }
    }

    private func isNews(_ layout: Layout, _ connection: SQLConnection) throws -> Bool {
        guard let known = try TableGeneration.named(layout.name, layout.identity, connection) else { return true }
        return try layout.columns.contains { column in
            try !RegisteredTables(connection).hasColumn(column, in: known.number)
        }
    }
}
