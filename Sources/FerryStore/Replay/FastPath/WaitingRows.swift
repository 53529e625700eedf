import FerryCore

/// What `NewRows` took and has not written, in the order in which it came, and what becomes of it where SQLite refuses a row,
/// or too few wait to be written together: it is written alone.
final class WaitingRows<Item> {
    private let newRows: NewRows
    @exclusivity(unchecked) private var items: [Item] = []

    init(_ newRows: NewRows) { self.newRows = newRows }

    /// Takes an insertion, to be written with others.
    /// - Returns: whether it did; otherwise write what waits, and then this one alone.
    func take(
        _ item: Item, _ insertion: NewRows.Insertion, writeAlone: (Item) throws -> Void
    ) throws -> Bool {
        if newRows.isOther(insertion) { try write(alone: writeAlone) }
        guard try newRows.take(insertion) else { return false }
        items.append(item)
        if newRows.isFull { try write(alone: writeAlone) }
        return true
    }

    /// Writes what waits.
    func write(alone writeAlone: (Item) throws -> Void) throws {
        if items.isEmpty { return }
        defer { items.removeAll(keepingCapacity: true) }
        let written = try newRows.write()
        for item in items.dropFirst(written) { try writeAlone(item) }
    }

    /// A key that a row was given which was written alone.
    func note(key: FieldValue?) { newRows.note(key: key) }
}
