import FerryCore

/// The texts by which SQLite computes the contents of an index.
package struct IndexExpressions {
    /// The index's expressions and condition.
    package let own: [String]
    /// The expressions of generated columns mentioned in `own`, directly or through further generated columns.
    package private(set) var generated: [String] = []

    package init(_ index: TrackedUniqueIndex, _ table: TrackedTable) {
        own =
            index.terms.compactMap { $0.column == nil ? $0.expression : nil } + (index.condition.map { [$0] } ?? [])
        var rest = table.generatedColumns
        var texts = own
        while let text = texts.popLast() {
            for column in rest where IndexText.mentions(text, column.name) {
                rest.removeAll { equalNames($0.name, column.name) }
                generated.append(column.expression)
                texts.append(column.expression)
            }
        }
    }

    /// True if a text mentions any of these names. The match may be a different word with the same letters.
    package func mention(_ names: [String]) -> Bool {
        (own + generated).contains { text in names.contains { IndexText.mentions(text, $0) } }
    }
}
