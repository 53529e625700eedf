/// The texts by which SQLite computes what an index holds.
struct IndexTexts {
    /// Its expressions and its condition.
    let own: [String]
    /// Those of the generated columns that they speak of, and that these speak of.
    private(set) var generated: [String] = []

    init(_ index: TrackedUniqueIndex, _ table: TrackedTable) {
        own =
            index.terms.compactMap { $0.column == nil ? $0.expression : nil } + (index.condition.map { [$0] } ?? [])
        var rest = table.generatedColumns
        var texts = own
        while let text = texts.popLast() {
            for column in rest where IndexText.mentions(text, column.name) {
                rest.removeAll { $0.name == column.name }
                generated.append(column.expression)
                texts.append(column.expression)
            }
        }
    }

    /// Whether they speak of something by one of these names. Some other word may be meant.
    func mention(_ names: [String]) -> Bool {
        (own + generated).contains { text in names.contains { IndexText.mentions(text, $0) } }
    }
}
