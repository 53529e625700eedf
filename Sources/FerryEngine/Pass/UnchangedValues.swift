import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// Values that perhaps nobody wrote, in conflicts with values that somebody did.
///
/// After a rebuild nobody knows the columns of a row that were written before Ferry's scan. So each device sends
/// unchanged values beside written values, and the device's ID decides between two devices' values of one time
/// (`BackdatedConflict`). The logs and snapshots hold the former value, and so distinguish the two.
///
/// - A value that lost to the former value comes back, as an ordinary change of its author.
/// - Where the former value lost, nothing was lost, and the conflict goes.
struct UnchangedValues {
    /// Maximum number of conflicts for a sync to examine. Further conflicts stay in the list for a person.
    static let maximumConflicts = 10_000

    /// What becomes of conflicts, by number.
    struct Outcome: Equatable {
        var returning: [Int64] = []
        var groundless: [Int64] = []
    }

    let conflicts: [BackdatedConflict]
    /// The former values, by the conflict's number.
    private var formers: [Int64: FieldValue] = [:]

    init(_ conflicts: [BackdatedConflict]) { self.conflicts = conflicts }

    /// Readers for the objects of all conflicts, one for each table.
    var readers: [HistoryReader] {
        Dictionary(grouping: conflicts) { exactKey($0.table) }.sorted { $0.key < $1.key }.map { table, conflicts in
            HistoryReader(table: plainText(table), objects: Set(conflicts.map(\.object)))
        }
    }

    /// Finds former values in the logs.
    /// - Parameter readers: `readers`, after they took all logs.
    mutating func find(in readers: [HistoryReader]) {
        for reader in readers {
            for conflict in conflicts where equalBytes(conflict.table, reader.table) {
                formers[conflict.number] = former(of: conflict, reader)
            }
        }
    }

    /// The value a tick before; `nil` if no log has it any more. An earlier value says nothing.
    private func former(of conflict: BackdatedConflict, _ reader: HistoryReader) -> FieldValue? {
        let written = reader.history(of: conflict.object).last { operation in
            operation.stamp.time < conflict.time
                && operation.values.contains { equalNames($0.column, conflict.column) }
        }
        guard let written, written.stamp.time.next == conflict.time else { return nil }
        return written.values.last { equalNames($0.column, conflict.column) }?.value
    }

    /// Finds the remaining former values in snapshots: logs lose their beginning to them.
    mutating func findInSnapshots(_ container: Container) throws {
        if open.isEmpty { return }
        for entry in try SnapshotCatalog(container).entries() {
            do {
                for table in entry.manifest.tables {
                    for chunk in table.chunks where open.contains(where: { equalNames($0.table, table.name) }) {
                        take(try SnapshotImporter.read(chunk, of: table.name, entry, container))
                    }
                }
            } catch let error as FerryError where error.concernsOneFile {
                // Another snapshot may have the value. Without any the conflict stays in the list.
                continue
            }
        }
    }

    private var open: [BackdatedConflict] { conflicts.filter { formers[$0.number] == nil } }

    private mutating func take(_ chunk: SnapshotChunk) {
        let sought = Dictionary(grouping: open.filter { equalNames($0.table, chunk.table) }, by: \.object)
        for object in chunk.objects {
            for conflict in sought[object.id] ?? [] {
                for (place, cell) in zip(chunk.shapes[object.shape], chunk.cells(of: object)) {
                    let column = chunk.columns[place]
                    guard !column.isRegister, equalNames(column.name, conflict.column),
                        cell.stamp.time.next == conflict.time
                    else { continue }
                    formers[conflict.number] = cell.content
                }
            }
        }
    }

    /// What becomes of the conflicts with a known former value.
    var outcome: Outcome {
        var outcome = Outcome()
        for conflict in conflicts {
            guard let former = formers[conflict.number] else { continue }
            if conflict.lost == former {
                outcome.groundless.append(conflict.number)
            } else if conflict.isTie, conflict.isOwn, conflict.kept == former {
                outcome.returning.append(conflict.number)
            }
        }
        return outcome
    }
}

extension Replica {
    /// Brings back values that lost to unchanged values of a second device, and removes conflicts without a loss: an unchanged value lost, or
    /// both sides refer to one row.
    /// - Parameter number: the last conflict before this sync.
    /// - Returns: how many values came back, and how many conflicts were removed.
    func settleConflicts(after number: Int64, _ container: Container) throws -> (restored: Int, forgotten: Int) {
        let ofOneRow = try store.conflictsOfOneRow(after: number, limit: UnchangedValues.maximumConflicts)
        if !ofOneRow.isEmpty { try store.forgetConflicts(ofOneRow) }
        let settled = try settleUnchangedValues(after: number, container)
        return (settled.restored, settled.forgotten + ofOneRow.count)
    }

    private func settleUnchangedValues(
        after number: Int64, _ container: Container
    ) throws -> (restored: Int, forgotten: Int) {
        let conflicts = try store.backdatedConflicts(after: number, limit: UnchangedValues.maximumConflicts)
        if conflicts.isEmpty { return (0, 0) }
        var values = UnchangedValues(conflicts)
        try values.find(in: readLogs(values.readers, in: container).readers)
        try values.findInSnapshots(container)
        let outcome = values.outcome
        if !outcome.groundless.isEmpty { try store.forgetConflicts(outcome.groundless) }
        var restored = 0
        for number in outcome.returning {
            do {
                _ = try store.restoreConflict(number, encode: segmentEncoding(for: identity))
                restored += 1
            } catch let error as FerryError where error.code == .restoreRefused {
                // The row is gone, or the schema refuses the value. The conflict stays in the list.
            }
        }
        return (restored, outcome.groundless.count)
    }
}
