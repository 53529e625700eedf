import FerryContainer
import FerryCore
import FerryStore

/// What became of rows that had gone with their tables.
package struct LeftRowsReport: Codable, Equatable, Sendable {
    package struct Table: Codable, Equatable, Sendable {
        package var table: String
        /// The rows brought back, and deleted again where that was asked for.
        package var rows = 0
        /// The rows still not here.
        package var left = 0
        /// Why the first of them is not here; `nil` without any.
        package var reason: String?

        private enum CodingKeys: String, CodingKey {
            case table, rows, reason
            case left = "unsettled"
        }
    }

    package var tables: [Table]
    /// The unreadable logs: what they say is missing.
    package var gaps: [RowHistories.Gap]
}

extension Replica {
    /// Brings back rows that went when their table was dropped or emptied, as ordinary insertions for the next sync. The values are those of
    /// the logs and of the first readable snapshot.
    /// - Parameters:
    ///   - table: only rows of this table; `nil` for all tables.
    ///   - isDeleting: true: delete the rows again, so that they go on every device.
    /// - Throws: `invalidArgument` for a table that does not travel; `busy`; and why the container cannot be read. Rows brought back before
    ///   stay.
    package func bringBackRows(ofTable table: String? = nil, isDeleting: Bool = false) throws -> LeftRowsReport {
        try packing {
            // A table made anew since the last pass is compared first.
            if try store.needsPass() { _ = try store.pass(replaying: [], encode: segmentEncoding(for: identity)) }
            let left = try store.leftObjects(table: table)
            if left.isEmpty { return LeftRowsReport(tables: [], gaps: []) }
            let container = try openContainerAfresh()
            let names = try store.tableNames()
            var (readers, gaps) = try readLogs(
                left.map { HistoryReader(table: names.travelling($0.table), objects: Set($0.objects)) }, in: container)
            try takeSnapshot(container, &readers)
            let rows = zip(left, readers).map { left, reader in LeftRows(left.table, left.objects, reader) }
            var tables = try rows.map { try bringBack($0) }
            if isDeleting {
                // Children first.
                for (place, rows) in rows.enumerated().reversed() where tables[place].rows > 0 {
                    try delete(rows, &tables[place])
                }
            }
            for place in tables.indices where tables[place].left > 0 && tables[place].reason == nil {
                tables[place].reason = "The logs and snapshots in the container do not hold all of the row."
            }
            let devices = try store.reading().names
            return LeftRowsReport(
                tables: tables,
                gaps: gaps.map { .init(device: devices[$0.device] ?? $0.device.description, reason: $0.error.message) })
        }
    }

    /// The objects of a table without a row, and what the container holds of them.
    private struct LeftRows {
        let table: String
        let objects: [ObjectID]
        let reader: HistoryReader

        init(_ table: String, _ objects: [ObjectID], _ reader: HistoryReader) {
            (self.table, self.objects, self.reader) = (table, objects, reader)
        }
    }

    /// Reads the objects of the first readable snapshot: logs lose their beginning to it.
    private func takeSnapshot(_ container: Container, _ readers: inout [HistoryReader]) throws {
        for entry in try SnapshotCatalog(container).entries() {
            var taken = readers
            do {
                for place in taken.indices {
                    let columns = try store.localColumnNames(ofTable: taken[place].table)
                    for table in entry.manifest.tables where equalNames(table.name, taken[place].table) {
                        for chunk in table.chunks {
                            try taken[place].take(
                                SnapshotImporter.read(chunk, of: table.name, entry, container), columns: columns)
                        }
                    }
                }
                readers = taken
                return
            } catch let error as FerryError where error.concernsOneFile {
                continue
            }
        }
    }

    /// Brings rows of a table back.
    private func bringBack(_ rows: LeftRows) throws -> LeftRowsReport.Table {
        var report = LeftRowsReport.Table(table: rows.table)
        var open: [(object: ObjectID, target: RowTarget)] = []
        for object in rows.objects {
            if rows.reader.incomplete.contains(object) {
                report.left += 1
                continue
            }
            switch PastRow.fold(rows.reader.history(of: object), at: .latest, isComplete: false) {
            case .present(let values, let key): open.append((object, .values(values, wish: key)))
            case .absent, .unknown: report.left += 1
            }
        }
        let (count, reason) = try settle(open, of: rows.table)
        report.rows = count
        report.reason = reason
        report.left += open.count - count
        return report
    }

    /// Deletes rows that were brought back.
    private func delete(_ rows: LeftRows, _ report: inout LeftRowsReport.Table) throws {
        let (count, reason) = try settle(rows.objects.map { ($0, .absent) }, of: rows.table)
        let refused = rows.objects.count - count
        report.rows -= refused
        report.left += refused
        report.reason = report.reason ?? reason
    }

    /// Makes rows what they should be. A row may refer to another one of them, so refused rows are tried again after the others.
    /// - Returns: how many rows are so now, and why the first of the others is not.
    private func settle(
        _ rows: [(object: ObjectID, target: RowTarget)], of table: String
    ) throws -> (count: Int, reason: String?) {
        var (open, refused, reason): ([(object: ObjectID, target: RowTarget)], _, String?) = ([], rows, nil)
        repeat {
            (open, refused, reason) = (refused, [], nil)
            for row in open {
                do {
                    _ = try store.restoreRow(
                        row.object, table: table, to: row.target, encode: segmentEncoding(for: identity))
                } catch let error as FerryError where error.code == .restoreRefused {
                    reason = reason ?? error.message
                    refused.append(row)
                }
            }
        } while !refused.isEmpty && refused.count < open.count
        return (rows.count - refused.count, reason)
    }
}
