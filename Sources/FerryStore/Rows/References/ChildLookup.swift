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
    private var questions: [Int: [Question]] = [:]
    /// The questions about the last table: most lookups follow one of the same table.
    private var last: (table: Int, questions: [Question])?

    /// Whether rows of a child table refer to a key, by a foreign key or by a column without one.
    private final class Question {
        let child: TrackedTable
        /// The foreign key's position, or a negative number for a column without a foreign key.
        let place: Int
        let columns: [Int]
        /// For each column, the place in the parent's key; `nil` for references to columns besides the key.
        let order: [Int]?
        let key: TrackedForeignKey?
        let statement: LazyStatement
        /// Under a collation other than BINARY, equal keys may have different bytes. Then only SQLite compares.
        let isBinary: Bool
        /// Number of lookups so far.
        @exclusivity(unchecked) var count = 0
        /// True if the child table has an index beginning with the first column; `nil` before the first query.
        @exclusivity(unchecked) var isIndexed: Bool?
        /// All values that rows refer to, once read.
        @exclusivity(unchecked) var references: Set<[FieldValue]>?

        init(_ access: StoreAccess, _ child: TrackedTable, _ place: Int, _ columns: [Int], _ key: TrackedForeignKey?) {
            self.child = child
            self.place = place
            self.columns = columns
            self.key = key
            order = key.map(\.order) ?? Array(columns.indices)
            let condition =
                key.map { access.registry.condition(referringBy: $0, of: child) }
                ?? zip(columns, 1...).map { "\(quoted(child.columns[$0].name)) = ?\($1)" }.joined(separator: " AND ")
            statement = LazyStatement(
                "SELECT 1 FROM \(child.quotedName) WHERE \(condition) LIMIT 1", access.connection)
            let collations =
                columns.map { child.columns[$0].collation } + (key.flatMap(access.registry.collations) ?? [])
            isBinary = collations.allSatisfy { $0 == "BINARY" }
        }
    }

    init(_ access: StoreAccess, isUnchecked: Bool = false) {
        self.access = access
        self.isUnchecked = isUnchecked
    }

    mutating func hasChildren(_ table: TrackedTable, key rowKey: [FieldValue]) throws -> Bool {
        if table.incoming.isEmpty || rowKey.isEmpty { return false }
        for question in questions(about: table) where try refers(question, rowKey) { return true }
        return false
    }

    /// True if rows refer to a key by this foreign key.
    mutating func hasChildren(
        _ table: TrackedTable, key rowKey: [FieldValue], by incoming: TrackedTable.IncomingKey
    ) throws -> Bool {
        let known = questions(about: table).first {
            $0.child.id == incoming.table && $0.place == incoming.foreignKey
        }
        return try refers(known ?? question(incoming), rowKey)
    }

    private mutating func questions(about table: TrackedTable) -> [Question] {
        if let last, last.table == table.id { return last.questions }
        let known = questions[table.id] ?? makeQuestions(about: table)
        questions[table.id] = known
        last = (table.id, known)
        return known
    }

    private func makeQuestions(about table: TrackedTable) -> [Question] {
        let keys = table.incoming.filter { incoming in
            (access.registry[incoming.table].foreignKeys[incoming.foreignKey].action == .none) == isUnchecked
        }
        // The row in between may be deleted or changed in the same pass. Then only the rules learn the key's meaning:
        // they read all rows before writing any.
        let inheriting = isUnchecked ? [] : table.inheritingColumns
        return keys.map(question)
            + inheriting.map { Question(access, access.registry[$0.table], -1 - $0.column, [$0.column], nil) }
    }

    private func question(_ incoming: TrackedTable.IncomingKey) -> Question {
        let child = access.registry[incoming.table]
        let key = child.foreignKeys[incoming.foreignKey]
        return Question(access, child, incoming.foreignKey, key.columns, key)
    }

    private func refers(_ question: Question, _ rowKey: [FieldValue]) throws -> Bool {
        // The deleted row's values under a different UNIQUE key are unknown here: the rules must decide.
        guard let order = question.order else { return true }
        if let known = question.references { return known.contains(order.map { rowKey[$0] }) }
        question.count += 1
        if try question.count > Self.patience && question.isBinary && !hasIndex(question) {
            let all = try references(question)
            question.references = all
            return all.contains(order.map { rowKey[$0] })
        }
        let statement = try question.statement.prepared()
        defer { statement.rewind() }
        for place in order.indices { statement.bind(rowKey[order[place]], Int32(place + 1)) }
        return try statement.step()
    }

    /// All values that rows refer to, as the parent column would store them.
    private func references(_ question: Question) throws -> Set<[FieldValue]> {
        let (child, columns) = (question.child, question.columns)
        let names = columns.map { quoted(child.columns[$0].name) }
        let affinities = columns.enumerated().map { place, column in
            question.key.map { access.registry.affinity(of: $0, place) } ?? child.columns[column].keyAffinity
        }
        let rows = try access.connection.rows(
            "SELECT DISTINCT \(names.joined(separator: ", ")) FROM \(child.quotedName)")
        return Set(rows.map { row in zip(row, affinities).map { $0.taken(by: $1) } })
    }

    private func hasIndex(_ question: Question) throws -> Bool {
        if let known = question.isIndexed { return known }
        let child = question.child
        let found = try access.connection.hasIndex(
            on: child.localName, beginningWith: child.columns[question.columns[0]].name)
        question.isIndexed = found
        return found
    }
}
