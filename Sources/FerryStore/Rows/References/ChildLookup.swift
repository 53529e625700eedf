import FerryCore
import FerryMerge

/// Whether rows refer to a key. Asked for many keys of a table whose children have no index on the reference, it reads
/// the children's references once instead of once per key.
struct ChildLookup {
    /// Questions after which reading all references is cheaper than asking again.
    private static let patience = 8

    let access: StoreAccess
    /// Whether it looks through references that no foreign key checks, and only those.
    private let isUnchecked: Bool
    private var questions: [Int: [Int: Question]] = [:]
    private var references: [Int: [Int: Set<[FieldValue]>]] = [:]
    private var isIndexed: [Int: [Int: Bool]] = [:]

    /// Whether rows of a table refer by one of its foreign keys.
    private struct Question {
        let statement: LazyStatement
        /// Under another collation than BINARY, equal keys may have different bytes: those SQLite compares.
        let isBinary: Bool
        /// How often it was asked.
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
        // The row between them may go, or become another, in the same pass: then only the rules, which read all rows before they
        // write any, learn what the key meant.
        for place in table.inheritingColumns where !isUnchecked {
            let child = access.registry[place.table]
            if try refers(child, -1 - place.column, [place.column], rowKey) { return true }
        }
        return false
    }

    /// Whether rows refer to a key by one foreign key.
    mutating func hasChildren(
        _ table: TrackedTable, key rowKey: [FieldValue], by incoming: TrackedTable.IncomingKey
    ) throws -> Bool {
        let child = access.registry[incoming.table]
        let key = child.foreignKeys[incoming.foreignKey]
        // Which values a deleted row offered under another UNIQUE key is not known here: the rules look.
        guard let parts = key.parts(of: rowKey) else { return true }
        return try refers(child, incoming.foreignKey, key.columns, parts, by: key)
    }

    /// - Parameters:
    ///   - place: the foreign key's, or below zero for a column that no foreign key leads from.
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
            // As what is referred to would be kept.
            let affinities = columns.enumerated().map { place, column in
                key.map { access.registry.affinity(of: $0, place) } ?? child.columns[column].keyAffinity
            }
            let rows = try access.connection.rows(
                "SELECT DISTINCT \(names.joined(separator: ", ")) FROM \(quoted(child.name))")
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
                "SELECT 1 FROM \(quoted(child.name)) WHERE \(condition) LIMIT 1", access.connection),
            isBinary: collations.allSatisfy { $0 == "BINARY" })
    }

    private mutating func hasIndex(_ child: TrackedTable, _ place: Int, _ columns: [Int]) throws -> Bool {
        if let known = isIndexed[child.id]?[place] { return known }
        let found = try access.connection.hasIndex(
            on: child.name, beginningWith: child.columns[columns[0]].name)
        isIndexed[child.id, default: [:]][place] = found
        return found
    }
}
