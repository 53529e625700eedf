import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// Values of this device that lost to unchanged values of a second device.
///
/// After a rebuild nobody knows the columns of a row that were written before Ferry's scan. So each device sends
/// unchanged values beside written values, and the device's ID decides between two devices' values (`TiedConflict`).
/// The logs hold the former value, and so distinguish the two. A value that lost to the former value comes back, as an
/// ordinary change.
struct UnchangedValues {
    /// Maximum number of conflicts for a sync to examine. Further conflicts stay in the list for a person.
    static let maximumConflicts = 10_000

    let conflicts: [TiedConflict]

    /// Readers for the objects of all conflicts, one for each table.
    var readers: [HistoryReader] {
        Dictionary(grouping: conflicts, by: \.table).sorted { $0.key < $1.key }.map { table, conflicts in
            HistoryReader(table: table, objects: Set(conflicts.map(\.object)))
        }
    }

    /// The numbers of the conflicts in which the other device's value equals the former value.
    /// - Parameter readers: `readers`, after they took all logs.
    func lostToFormerValues(_ readers: [HistoryReader]) -> [Int64] {
        readers.flatMap { reader in
            conflicts.filter { $0.table == reader.table && former(of: $0, reader) == $0.kept }.map(\.number)
        }.sorted()
    }

    /// The value common to both devices before; `nil` if no log has it any more.
    private func former(of conflict: TiedConflict, _ reader: HistoryReader) -> FieldValue? {
        let written = reader.history(of: conflict.object).last { operation in
            operation.stamp.time < conflict.time
                && operation.values.contains { equalNames($0.column, conflict.column) }
        }
        // An earlier value says nothing: logs lose their beginning to snapshots.
        guard let written, written.stamp.time.next == conflict.time else { return nil }
        return written.values.last { equalNames($0.column, conflict.column) }?.value
    }
}

extension Replica {
    /// Brings back values that lost to unchanged values of a second device.
    /// - Parameter number: the last conflict before this sync.
    /// - Returns: how many came back.
    func restoreLostToUnchanged(after number: Int64, _ container: Container) throws -> Int {
        let conflicts = try store.tiedConflicts(after: number, limit: UnchangedValues.maximumConflicts)
        if conflicts.isEmpty { return 0 }
        let values = UnchangedValues(conflicts: conflicts)
        var restored = 0
        for number in try values.lostToFormerValues(readLogs(values.readers, in: container).readers) {
            do {
                _ = try store.restoreConflict(number, encode: segmentEncoding(for: identity))
                restored += 1
            } catch let error as FerryError where error.code == .restoreRefused {
                // The row is gone, or the schema refuses the value. The conflict stays in the list.
            }
        }
        return restored
    }
}
