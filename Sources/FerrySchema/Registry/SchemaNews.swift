import FerryCore

/// A table whose triggers did not see all writes for a while: the table was made anew, its triggers were dropped, or its
/// rows were displaced under a UNIQUE index that the triggers did not know.
package struct UnseenTable: Codable, Sendable {
    /// The table's number.
    package var table: Int
    /// The columns covered by the object checksums.
    package var covered: [Int]
    /// True if Ferry saw the database without the table in between, or with the table without a key.
    package var wasAbsent: Bool
    /// True if the table always existed, without a key for a while: missing rows were deleted.
    package var wasThere: Bool?
    /// True if other constraints decide about the rows than before.
    package var hasOtherRules: Bool?
    /// The former affinities of columns that have another affinity now; `nil` if a former Ferry did not record them.
    package var formerTypes: [Int: SchemaColumn.Affinity]?

    package init(
        table: Int, covered: [Int], wasAbsent: Bool, wasThere: Bool? = nil, hasOtherRules: Bool? = nil,
        formerTypes: [Int: SchemaColumn.Affinity]? = nil
    ) {
        self.table = table
        self.covered = covered
        self.wasAbsent = wasAbsent
        self.wasThere = wasThere
        self.hasOtherRules = hasOtherRules
        self.formerTypes = formerTypes
    }
}

/// Work left by schema changes, until done (`ferry_meta`, `schemaNews`).
package struct SchemaNews: Codable, Sendable {
    /// Tables with rows to compare with the state, parents first.
    package var unseen: [UnseenTable] = []
    /// Tables with dropped columns, and rebuilt tables: object checksums must be computed anew.
    package var reshaped: [Int] = []
    /// Tables new to this database, or with new columns: values of peers may wait for them. They are shown after
    /// pending changes are packed, because the rules would overwrite changes no flush has read.
    package var adopted: [Int] = []
    /// Tables whose objects not shown as written are projected again, with their display checksums. The covered columns or
    /// the constraints changed, or an earlier version of Ferry did not compute the checksums. Done together with
    /// `adopted`.
    package var unproven: [Int] = []

    /// Columns that travel under another name from now on. Done together with `adopted`.
    package var moved: [Moved]?

    package struct Moved: Codable, Equatable, Sendable {
        package var table: Int
        package var pairs: [Pair]

        package init(table: Int, pairs: [Pair]) {
            self.table = table
            self.pairs = pairs
        }
    }

    /// A column's number before and now.
    package struct Pair: Codable, Equatable, Sendable {
        package var from: Int
        package var to: Int

        package init(from: Int, to: Int) {
            self.from = from
            self.to = to
        }
    }

    package var isEmpty: Bool {
        unseen.isEmpty && reshaped.isEmpty && adopted.isEmpty && unproven.isEmpty && moved?.isEmpty ?? true
    }

    /// Adds later work. For a table already waiting to be compared, the first entry has the covered columns.
    package mutating func add(_ later: SchemaNews) {
        unseen += later.unseen.filter { table in !unseen.contains { $0.table == table.table } }
        reshaped = Set(reshaped).union(later.reshaped).sorted()
        adopted = Set(adopted).union(later.adopted).sorted()
        unproven = Set(unproven).union(later.unproven).sorted()
        if let later = later.moved { moved = (moved ?? []) + later }
    }

    package static func load(_ meta: MetaTable) throws -> SchemaNews { try meta.json(.schemaNews) ?? SchemaNews() }

    package func save(_ meta: MetaTable) throws {
        if isEmpty { try meta.remove(.schemaNews) } else { try meta.set(.schemaNews, json: self) }
    }

    package init(
        unseen: [UnseenTable] = [], reshaped: [Int] = [], adopted: [Int] = [], unproven: [Int] = [],
        moved: [Moved]? = nil
    ) {
        self.unseen = unseen
        self.reshaped = reshaped
        self.adopted = adopted
        self.unproven = unproven
        self.moved = moved
    }
}
