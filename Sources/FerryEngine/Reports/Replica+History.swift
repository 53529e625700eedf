import FerryContainer
import FerryCore
import FerryLog
import FerryStore

extension Replica {
    /// Returns the history of the row with a key, from the logs in the container and the waiting segments. Changes
    /// nothing.
    /// - Parameter key: as in `Store.findRows`.
    /// - Throws: as `Store.findRows`; `containerMissing`, `containerEmpty`, `containerMismatch`.
    public func history(table: String, key: [String]) throws -> RowHistories {
        let rows = try store.findRows(table: table, key: key)
        let (reader, gaps) = try readLogs(of: rows)
        let names = try store.reading().names
        let columns = try store.localColumnNames(ofTable: reader.table)
        let histories = try rows.map { row in
            let operations = reader.history(of: row.object)
            let shown = try store.localValues(
                table: row.table,
                operations.map {
                    Dictionary($0.values.map { (exactKey($0.column), $0.value) }, uniquingKeysWith: { $1 })
                })
            let changes = zip(operations, shown).map { operation, shown in
                RowHistory.Change(
                    timeMilliseconds: operation.stamp.time.isKnown ? operation.stamp.time.milliseconds : nil,
                    device: operation.stamp.device,
                    deviceName: names[operation.stamp.device] ?? operation.stamp.device.description,
                    time: operation.stamp.time, sequence: operation.sequence, kind: ChangeKind(operation.kind),
                    values: operation.values.map {
                        NamedValue(
                            column: columns[foldedName($0.column)] ?? $0.column,
                            value:
                                shown[exactKey($0.column)] ?? $0.value)
                    })
            }
            return RowHistory(row: row, changes: changes)
        }
        return RowHistories(
            rows: histories,
            gaps: gaps.map { .init(device: names[$0.device] ?? $0.device.description, reason: $0.error.message) },
            unpacked: try store.waitingChanges().pending)
    }

    /// Reads all logs for operations on some rows of a single table.
    private func readLogs(
        of rows: [FoundRow]
    ) throws -> (reader: HistoryReader, gaps: [(device: DeviceID, error: FerryError)]) {
        let reader = HistoryReader(
            table: try store.tableNames().travelling(rows.first?.table ?? ""), objects: Set(rows.map(\.object)))
        let (readers, gaps) = try readLogs([reader], in: openContainerAfresh())
        return (readers[0], gaps)
    }

    /// Reads all logs of a container, and the waiting segments, once for all readers.
    func readLogs(
        _ readers: [HistoryReader], in container: Container
    ) throws -> (readers: [HistoryReader], gaps: [(device: DeviceID, error: FerryError)]) {
        var readers = readers
        func take(_ changeset: Changeset) throws {
            for place in readers.indices { try readers[place].take(changeset) }
        }
        var gaps: [(device: DeviceID, error: FerryError)] = []
        var ownLast: UInt64 = 0
        for device in try container.devices() {
            let result = try LogWalk(container: container).forEachChangeset(of: device) { try take($0) }
            if device == identity.device { ownLast = result.last }
            if let problem = result.problem { gaps.append((device, problem)) }
        }
        var position: UInt64 = 0
        while let entry = try store.outboxEntry(after: position) {
            position = entry.first
            let changesets = try SegmentDecoder.decode(
                entry.bytes, container: identity.container, device: identity.device,
                parts: store.partSource(of: entry)
            ).1
            for changeset in changesets where changeset.sequence > ownLast { try take(changeset) }
        }
        return (readers, gaps)
    }

    // MARK: Restoring

    /// Restores the values that a conflict lost, as an ordinary change for the next sync, and resolves the conflict.
    /// - Throws: `nothingFound`; `restoreRefused` if the row, column or table is gone or the schema refuses the values;
    ///   `busy`. Nothing is changed then.
    @discardableResult
    public func restoreConflict(_ number: Int64) throws -> RestoredRow {
        try packing { try store.restoreConflict(number, encode: segmentEncoding(for: identity)) }
    }

    /// Restores a row's state at a time, as an ordinary change for the next sync.
    ///
    /// The past consists of the logs' operations up to the time, no matter which device had seen them then. References
    /// lead to the rows referred to at this time; these rows stay as they are now.
    /// - Parameters:
    ///   - key: as in `Store.findRows`.
    ///   - milliseconds: the time, since the Unix epoch.
    ///   - object: chooses among several rows that had the key.
    /// - Throws: as `Store.findRows` and `history`; `invalidArgument` if several rows had the key. `restoreRefused` if
    ///   the logs do not reach back that far, the row was absent then, or the schema refuses the values.
    @discardableResult
    public func restoreRow(
        table: String, key: [String], at milliseconds: Int64, object: ObjectID? = nil,
        options: RestoreOptions = []
    ) throws -> (row: RestoredRow, gaps: [RowHistories.Gap]) {
        let restoration = try restoreRow(
            table: table, key: key, asOf: .end(ofMillisecond: milliseconds), object: object,
            options: options.union(.allowsFuture))
        return (restoration.row, restoration.gaps)
    }

    /// The effect of a restoration, with what the time leaves open.
    package struct PastRowRestoration {
        package var row: RestoredRow
        package var gaps: [RowHistories.Gap]
        /// Number of changes left out because their time is ahead of this device's clock; 0 for a time that is ahead, too.
        package var ahead: Int
    }

    /// Restores a row's state at a time, as the function above.
    /// - Parameter time: included. Without `allowsFuture`, a time ahead of this device's clock must be the time of a change of the row: a clock of
    ///   some device ran ahead.
    /// - Throws: as the function above; `invalidArgument` for a time in the future.
    package func restoreRow(
        table: String, key: [String], asOf time: HybridTime, object: ObjectID? = nil,
        options: RestoreOptions = []
    ) throws -> PastRowRestoration {
        try packing {
            // Pending changes are part of the past, too.
            if try store.needsPass() { _ = try store.pass(replaying: [], encode: segmentEncoding(for: identity)) }
            let row = try chosen(store.findRows(table: table, key: key), object)
            let (reader, gaps) = try readLogs(of: [row])
            let now = environment.clock.milliseconds()
            let history = reader.history(of: row.object)
            let known = try store.knownRow(table: row.table, object: row.object)
            let stamps = history.map(\.stamp) + (known?.stamps ?? [])
            if !options.contains(.allowsFuture), time.milliseconds > now,
                !stamps.contains(where: { $0.time.milliseconds == time.milliseconds })
            {
                throw FerryError(
                    .invalidArgument,
                    "The time is in the future, and no change of the row has the time. "
                        + "`ferry history` tells the times of the changes.")
            }
            let ahead = time.milliseconds > now ? 0 : history.count { $0.stamp.time.milliseconds > now }
            let past = PastRow.fold(
                history, known: known, at: time, isComplete: gaps.isEmpty)
            let names = try store.reading().names
            let told = gaps.map { gap in
                RowHistories.Gap(device: names[gap.device] ?? gap.device.description, reason: gap.error.message)
            }
            let target: RowTarget
            switch past {
            case .present(let values, let key): target = .values(values, wish: key)
            case .absent where row.presence == .shown && !options.contains(.allowsDeletion):
                throw FerryError(
                    .restoreRefused,
                    "The row of \(row.table) was not there then: restoring it would delete it. Say --allow-delete for that."
                )
            case .absent where !allowsAbsence(row.presence):
                throw FerryError(
                    .restoreRefused, "The row of \(row.table) was not there then, and it has no row of its own now.")
            case .absent: target = .absent
            case .unknown(let since):
                throw Self.unknownPast(row.table, since)
            }
            let restored = try store.restoreRow(
                row.object, table: row.table, to: target, isDryRun: options.contains(.isDryRun),
                encode: segmentEncoding(for: identity))
            return PastRowRestoration(row: restored, gaps: told, ahead: ahead)
        }
    }

    /// True if a row absent in the past can be made absent: a write cannot delete a hidden row.
    private func allowsAbsence(_ presence: FoundRow.Presence) -> Bool {
        switch presence {
        case .shown, .deleted, .unknown: true
        case .hidden, .joined: false
        }
    }

    /// The row that a key names: the present owner of the key, or the only former owner.
    private func chosen(_ rows: [FoundRow], _ object: ObjectID?) throws -> FoundRow {
        if let object {
            if let row = rows.first(where: { $0.object == object }) { return row }
            throw FerryError(.nothingFound, "The row \(object) did not have that key.")
        }
        if let row = rows.first, rows.count == 1 || row.presence == .shown { return row }
        throw FerryError(
            .invalidArgument,
            "\(rows.count) rows of \(rows[0].table) had that key. Say which by --object: "
                + rows.map(\.object.description).joined(separator: ", ")
                + ". `ferry history` tells them apart.")
    }

    private static func unknownPast(_ table: String, _ since: Int64?) -> FerryError {
        FerryError(
            .restoreRefused,
            since.map {
                "The logs do not reach back that far for this row of \(table). The earliest possible time is \(ISO8601.text($0))."
            } ?? "The logs do not hold the insertion of this row of \(table), so its past is not known.")
    }
}
