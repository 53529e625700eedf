import FerryCore

/// What a device's schema says of a table, as a number that devices compare: two that have other schemas may show other rows of
/// one state, and must be able to say why (Docs/Format.md, "Digests of rows").
///
/// The upper half tells what rows mean: columns, their defaults, what they refer to. Where it differs, digests prove nothing of the
/// rows. The lower half tells what the schema refuses: where only that differs, digests tell whether the rows do.
/// Names of indexes, the order of columns and the spelling of names make no difference.
struct TableShape: Equatable {
    private let meaning: UInt32
    private let constraints: UInt32

    /// - Parameters:
    ///   - local: the table as the schema has it.
    ///   - registry: the tables that it may refer to.
    init(_ table: TrackedTable, _ local: SchemaTable, _ registry: Registry) {
        meaning = Self.hash(Self.meanings(table, local, registry))
        constraints = Self.hash(Self.constraints(table, local))
    }

    /// The number as it travels.
    var value: UInt64 { UInt64(meaning) << 32 | UInt64(constraints) }

    /// Whether rows mean the same by two such numbers.
    static func mean(_ left: UInt64, _ right: UInt64) -> Bool { left >> 32 == right >> 32 }

    private static func hash(_ parts: [[String]]) -> UInt32 {
        var hash = WordHash()
        // What is said twice is said once.
        for part in Set(parts).sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            hash.absorb(UInt64(part.count))
            for word in part { hash.absorb(word) }
        }
        return UInt32(truncatingIfNeeded: hash.value)
    }

    // MARK: What rows mean

    private static func meanings(
        _ table: TrackedTable, _ local: SchemaTable, _ registry: Registry
    ) -> [[String]] {
        let names = table.columns.map { foldedName($0.name) }
        var parts = table.localColumns.map { column in
            ["column", names[column.id], "\(column.affinity)", column.defaultSQL.map(plain) ?? ""]
        }
        parts += table.generatedColumns.map { column in
            ["generated", foldedName(column.name), "\(column.affinity)", plain(column.expression)]
        }
        // As the schema says it: which of them count as plain references is the container's, and may be told later.
        for key in local.foreignKeys {
            guard let parent = registry.table(named: key.parentTable), parent.isLocal else { continue }
            let target = key.parentColumns.isEmpty ? parent.keyColumns : key.parentColumns
            let pairs = zip(key.columns, target).map { [foldedName($0), foldedName($1)] }
            parts.append(
                ["reference", foldedName(parent.name)] + pairs.sorted { $0.lexicographicallyPrecedes($1) }.joined())
        }
        return parts
    }

    // MARK: What the schema refuses

    private static func constraints(_ table: TrackedTable, _ local: SchemaTable) -> [[String]] {
        var parts = table.columns.filter(\.isLocal).map { column in
            ["column", foldedName(column.name), foldedName(column.collation), column.mayBeNull ? "" : "not null"]
        }
        parts.append(["key"] + local.primaryKey.map(foldedName) + [foldedName(table.mappedKey.collation)])
        parts += local.uniqueIndexes.map { index in
            let terms = index.terms.flatMap { term in
                [term.column.map(foldedName) ?? plain(term.expression ?? ""), foldedName(term.collation)]
            }
            return ["unique"] + terms + ["where", plain(index.condition ?? "")]
        }
        parts += local.foreignKeys.map { key in
            ["reference", foldedName(key.parentTable)] + key.columns.map(foldedName) + [foldedName(key.onDelete)]
        }
        parts += local.checks.map { ["check", plain($0)] }
        if local.isStrict { parts.append(["strict"]) }
        return parts
    }

    /// A text of the schema without what makes no difference: white space, comments, brackets around it, quotes of names, and the
    /// case of all that is no text.
    private static func plain(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var words = IndexText.tokens(bytes).map { range -> String in
            let token = String(decoding: bytes[range], as: UTF8.self)
            return token.hasPrefix("'") ? token : foldedName(IndexText.unquoted(token))
        }
        while words.first == "(", words.last == ")", closing(words) == words.count - 1 {
            words = Array(words.dropFirst().dropLast())
        }
        return words.joined(separator: " ")
    }

    /// The place of the bracket that closes the first one.
    private static func closing(_ words: [String]) -> Int? {
        var depth = 0
        return words.firstIndex { word in
            if word == "(" { depth += 1 }
            if word == ")" { depth -= 1 }
            return depth == 0
        }
    }
}
