import FerryCore

/// The insertions accepted by `BulkRowInserter` and not written yet, in order. If SQLite refuses a row, or the batch
/// stays incomplete, the rest is written row by row.
///
/// Invariant: `items` and the rows waiting in `newRows` correspond to each other, in the same order.
final class BulkRowBuffer<Item> {
    private let newRows: BulkRowInserter
    @exclusivity(unchecked) private var items: [Item] = []

    init(_ newRows: BulkRowInserter) { self.newRows = newRows }

    /// Adds an insertion to the batch.
    /// - Returns: true if added. Otherwise write the waiting items, and then this item alone.
    func take(
        _ item: Item, _ insertion: BulkRowInserter.Insertion, writeAlone: (Item) throws -> Void
    ) throws -> Bool {
        if newRows.isOther(insertion) { try write(alone: writeAlone) }
        guard try newRows.take(insertion) else { return false }
        items.append(item)
        if newRows.isFull { try write(alone: writeAlone) }
        return true
    }

    /// Writes the waiting items.
    func write(alone writeAlone: (Item) throws -> Void) throws {
        if items.isEmpty { return }
        defer { items.removeAll(keepingCapacity: true) }
        let written = try newRows.write()
        for item in items.dropFirst(written) { try writeAlone(item) }
    }

    /// Records a key given to a row written alone.
    func note(key: FieldValue?) { newRows.note(key: key) }
}
