import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Determines whether rows refer to a key. After many lookups by a foreign key without an index, reads all references
/// of the child table once.
struct ChildLookup {
    /// Number of lookups after which reading all references is cheaper.
    private static let patience = 8

    let access: StoreAccess
    /// True to search only references unchecked by foreign keys, false to search only checked references.
    private let isUnchecked: Bool
    private var questions: [Int: [Int: Question]] = [:]
    private var references: [Int: [Int: Set<[FieldValue]>]] = [:]
    private var isIndexed: [Int: [Int: Bool]] = [:]

    /// A lookup of a table's rows by a foreign key.
    private struct Question {
        let statement: LazyStatement
        /// Under a collation other than BINARY, equal keys may have different bytes. Then only SQLite compares.
        let isBinary: Bool
        /// Number of lookups so far.
        var count = 0
    }

    init(_ access: StoreAccess, isUnchecked: Bool = false) {
        self.access = access
        self.isUnchecked = isUnchecked
    }

    mutating func hasChildren(_ table: TrackedTable, key rowKey: [FieldValue]) throws -> Bool {
        if table.incoming.isEmpty || rowKey.isEmpty { return false }
        for incoming in table.incoming {
            let child = access.registry[incoming.table]
            let key = child.foreignKeys[incoming.foreignKey]
            if (key.action == .none) != isUnchecked { continue }
            if try hasChildren(table, key: rowKey, by: incoming) { return true }
        }
        // The row in between may be deleted or changed in the same pass. Then only the rules learn the key's meaning:
        // they read all rows before writing any.
        for place in table.inheritingColumns where !isUnchecked {
            let child = access.registry[place.table]
            if try refers(child, -1 - place.column, [place.column], rowKey) { return true }
        }
        return false
    }

    /// True if rows refer to a key by this foreign key.
    mutating func hasChildren(
        _ table: TrackedTable, key rowKey: [FieldValue], by incoming: TrackedTable.IncomingKey
    ) throws -> Bool {
        let child = access.registry[incoming.table]
        let key = child.foreignKeys[incoming.foreignKey]
        // The deleted row's values under a different UNIQUE key are unknown here: the rules must decide.
        guard let parts = key.parts(of: rowKey) else { return true }
        return try refers(child, incoming.foreignKey, key.columns, parts, by: key)
    }

    /// - Parameters:
    ///   - place: the foreign key's position, or a negative number for a column without a foreign key.
    ///   - key: `nil` for such a column.
    private mutating func refers(
        _ child: TrackedTable, _ place: Int, _ columns: [Int], _ parts: [FieldValue], by key: TrackedForeignKey? = nil
    ) throws -> Bool {
        if let known = references[child.id]?[place] { return known.contains(parts) }
        var question = questions[child.id]?[place] ?? self.question(child, columns, key)
        question.count += 1
        questions[child.id, default: [:]][place] = question
        if try question.count > Self.patience && question.isBinary && !hasIndex(child, place, columns) {
            let names = columns.map { quoted(child.columns[$0].name) }
            // Converts values as the parent column would store them.
            let affinities = columns.enumerated().map { place, column in
                key.map { access.registry.affinity(of: $0, place) } ?? child.columns[column].keyAffinity
            }
            let rows = try access.connection.rows(
                "SELECT DISTINCT \(names.joined(separator: ", ")) FROM \(child.quotedName)")
            let all = Set(rows.map { row in zip(row, affinities).map { $0.taken(by: $1) } })
            references[child.id, default: [:]][place] = all
            return all.contains(parts)
        }
        let statement = try question.statement.prepared()
        defer { statement.rewind() }
        for (index, value) in parts.enumerated() { statement.bind(value, Int32(index + 1)) }
        return try statement.step()
    }

    private func question(_ child: TrackedTable, _ columns: [Int], _ key: TrackedForeignKey?) -> Question {
        let condition =
            key.map { access.registry.condition(referringBy: $0, of: child) }
            ?? zip(columns, 1...).map { "\(quoted(child.columns[$0].name)) = ?\($1)" }.joined(separator: " AND ")
        let collations = columns.map { child.columns[$0].collation } + (key.flatMap(access.registry.collations) ?? [])
        return Question(
            statement: LazyStatement(
                "SELECT 1 FROM \(child.quotedName) WHERE \(condition) LIMIT 1", access.connection),
            isBinary: collations.allSatisfy { $0 == "BINARY" })
    }

    private mutating func hasIndex(_ child: TrackedTable, _ place: Int, _ columns: [Int]) throws -> Bool {
        if let known = isIndexed[child.id]?[place] { return known }
        let found = try access.connection.hasIndex(
            on: child.localName, beginningWith: child.columns[columns[0]].name)
        isIndexed[child.id, default: [:]][place] = found
        return found
    }
}
