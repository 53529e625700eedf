import FerryCore

/// A fingerprint of a table's schema, compared between devices. Devices with different schemas may show different rows
/// of the same state, and must be able to say why (Docs/Format.md, "Digests of rows").
///
/// The upper half covers the meaning of rows: columns, defaults, targets of references. If the upper halves differ,
/// digests prove nothing about rows. The lower half covers constraints. If only the lower halves differ, digests still
/// compare rows. Names of indexes, order of columns and spelling of names make no difference.
package struct TableShape: Equatable {
    private let meaning: UInt32
    private let constraints: UInt32

    /// - Parameters:
    ///   - local: the table in the schema.
    ///   - registry: the tables of possible references.
    package init(_ table: TrackedTable, _ local: SchemaTable, _ registry: Registry) {
        meaning = Self.hash(Self.meanings(table, local, registry))
        constraints = Self.hash(Self.constraints(table, local))
    }

    /// The number as sent to peers.
    package var value: UInt64 { UInt64(meaning) << 32 | UInt64(constraints) }

    /// True if rows have the same meaning under both numbers.
    package static func mean(_ left: UInt64, _ right: UInt64) -> Bool { left >> 32 == right >> 32 }

    /// Identifies the UNIQUE indexes and foreign keys of a table: which rows are one, and which are hidden.
    package static func rules(_ local: SchemaTable) -> UInt32 { hash(uniqueness(local) + references(local)) }

    private static func hash(_ parts: [[String]]) -> UInt32 {
        var hash = WordHash()
        // Repeated parts count once.
        let different = Dictionary(parts.map { ($0.map(exactKey), $0) }) { first, _ in first }
        for part in different.values.sorted(by: Self.precedes) {
            hash.absorb(UInt64(part.count))
            for word in part { hash.absorb(word) }
        }
        return UInt32(truncatingIfNeeded: hash.value)
    }

    private static func precedes(_ part: [String], _ other: [String]) -> Bool {
        part.lexicographicallyPrecedes(other, by: textOrder)
    }

    // MARK: Meaning of rows

    private static func meanings(
        _ table: TrackedTable, _ local: SchemaTable, _ registry: Registry
    ) -> [[String]] {
        let names = table.columns.map { foldedText($0.baseName) }
        var parts = table.localColumns.map { column in
            ["column", names[column.id], "\(column.affinity)", column.defaultSQL.map(plain) ?? ""]
        }
        parts += table.generatedColumns.map { column in
            ["generated", foldedText(column.name), "\(column.affinity)", plain(column.expression)]
        }
        // References as declared in the schema. The container decides which of them count as plain references, perhaps
        // later.
        for key in local.foreignKeys {
            guard let parent = registry.table(named: key.parentTable), parent.isLocal else { continue }
            let target = key.parentColumns.isEmpty ? parent.keyColumns : key.parentColumns
            let parentNames = target.map { name in
                parent.columnID(name).map { parent.columns[$0].baseName } ?? name
            }
            let pairs = zip(key.columns, parentNames).map { [foldedText(local.travellingName($0)), foldedText($1)] }
            parts.append(
                ["reference", foldedText(parent.name)] + pairs.sorted(by: Self.precedes).joined())
        }
        return parts
    }

    // MARK: Constraints

    private static func constraints(_ table: TrackedTable, _ local: SchemaTable) -> [[String]] {
        var parts = table.columns.filter(\.isLocal).map { column in
            ["column", foldedText(column.baseName), foldedText(column.collation), column.mayBeNull ? "" : "not null"]
        }
        parts.append(["key"] + local.primaryKey.map(foldedText) + [foldedText(table.mappedKey.collation)])
        parts += uniqueness(local) + references(local)
        parts += local.checks.map { ["check", plain($0)] }
        if local.isStrict { parts.append(["strict"]) }
        return parts
    }

    private static func uniqueness(_ local: SchemaTable) -> [[String]] {
        local.uniqueIndexes.map { index in
            let terms = index.terms.flatMap { term in
                [
                    term.column.map { foldedText(local.travellingName($0)) } ?? plain(term.expression ?? ""),
                    foldedText(term.collation),
                ]
            }
            return ["unique"] + terms + ["where", plain(index.condition ?? "")]
        }
    }

    private static func references(_ local: SchemaTable) -> [[String]] {
        local.foreignKeys.map { key in
            ["reference", foldedText(key.parentTable)] + key.columns.map { foldedText(local.travellingName($0)) } + [
                foldedText(key.onDelete)
            ]
        }
    }

    /// Normalizes a text of the schema: removes white space, comments, outer brackets and quotes of names, and folds
    /// case outside of string literals.
    private static func plain(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var words = IndexText.tokens(bytes).map { range -> String in
            let token = String(decoding: bytes[range], as: UTF8.self)
            return token.hasPrefix("'") ? token : foldedText(IndexText.unquoted(token))
        }
        while words.first == "(", words.last == ")", closing(words) == words.count - 1 {
            words = Array(words.dropFirst().dropLast())
        }
        return words.joined(separator: " ")
    }

    /// The position of the bracket closing the first bracket.
    private static func closing(_ words: [String]) -> Int? {
        var depth = 0
        return words.firstIndex { word in
            if word == "(" { depth += 1 }
            if word == ")" { depth -= 1 }
            return depth == 0
        }
    }
}
