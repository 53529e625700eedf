import FerryCore
import FerryStore
import GRDB

/// Keeps the object IDs of a list's rows, if its table travels.
struct LiveObjects: Sendable {
    let store: Store
    let table: String
    /// Keys looked up in a transaction.
    static let batchSize = 5_000

    /// Looks up the IDs that an index lacks.
    func fill(_ index: LiveIndex) throws {
        let known = index.objects.withLock { $0 }
        try look(up: index.keys.filter { known[$0] == nil }, in: index)
    }

    /// Takes over the known IDs of a former index, and looks up all that may differ now.
    func carry(from former: LiveIndex, to index: LiveIndex, _ difference: LiveDifference) throws {
        var objects = former.objects.withLock { $0 }
        for change in difference.changes where change.kind == .deleted { objects[change.key] = nil }
        index.objects.withLock { $0 = objects }
        let changed = difference.changes.filter { $0.kind != .deleted }.map(\.key)
        let isNew = Set(changed)
        // Rows that were not packed yet may be packed by now.
        let unknown = index.keys.filter { objects[$0] == nil && !isNew.contains($0) }
        try look(up: changed + unknown, in: index)
    }

    private func look(up keys: [LiveKey], in index: LiveIndex) throws {
        for start in stride(from: 0, to: keys.count, by: Self.batchSize) {
            let batch = Array(keys[start..<min(start + Self.batchSize, keys.count)])
            let found = try store.objectIDs(of: batch.map { $0.databaseValues.map(FieldValue.init) }, in: table)
            index.objects.withLock { objects in
                for (key, object) in zip(batch, found) { objects[key] = object }
            }
        }
    }
}
