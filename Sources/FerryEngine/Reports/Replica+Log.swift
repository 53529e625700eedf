import FerryContainer
import FerryCore
import FerryLog
import FerryStore

extension Replica {
    /// Returns the newest changes of all devices, newest first, as far as the container holds them.
    /// - Parameters:
    ///   - limit: the maximum number of entries.
    ///   - table: only changes of this table.
    package func log(limit: Int = 50, table: String? = nil) throws -> [LogEntry] {
        let container = try openContainerAfresh()
        let names = try store.reading().names
        let tables = try store.tableNames()
        let table = table.map(tables.travelling)
        var changes: [LoggedChange] = []
        for device in try container.devices() {
            changes += try newestChanges(of: device, in: container, limit, table)
        }
        changes.sort { $0.time != $1.time ? $0.time > $1.time : $0.object < $1.object }
        var columns: [String: [String: String]] = [:]
        return try changes.prefix(limit).map { change in
            let name = foldedName(change.table)
            let local = try columns[name] ?? store.localColumnNames(ofTable: change.table)
            columns[name] = local
            return LogEntry(
                timeMilliseconds: change.time.isKnown ? change.time.milliseconds : nil,
                device: names[change.device] ?? change.device.description,
                sequence: change.sequence, table: tables.local(change.table),
                key: try store.knownKey(table: change.table, object: change.object), object: change.object,
                operation: ChangeKind(change.kind), columns: change.columns.map { local[foldedName($0)] ?? $0 })
        }
    }

    /// The newest changes in a device's log, newest first.
    private func newestChanges(
        of device: DeviceID, in container: Container, _ limit: Int, _ table: String?
    ) throws -> [LoggedChange] {
        var newest = NewestChanges(limit)
        // The newest first; smaller segments before the roll-up that contains them. Changesets already read are
        // skipped.
        var lowest = UInt64.max
        let names = try container.segments(of: device).sorted { ($0.last, $0.first) > ($1.last, $1.first) }
        for name in names where newest.count < limit && name.first < lowest {
            let changesets: [Changeset]
            do {
                guard let bytes = try container.readSegment(name, of: device) else { continue }
                changesets = try SegmentDecoder.decode(
                    bytes, container: container.id, device: device, parts: .leftOut, asksForFew: true
                ).1
            } catch let error as FerryError
                where container.isSealed ? error.saysNothing : [.damagedFile, .formatTooNew].contains(error.code)
            {
                // Readable files are reported here; `sync` and `status` report unreadable files.
                continue
            }
            for changeset in changesets where changeset.sequence < lowest {
                for changes in changeset.tables where table.map({ equalNames($0, changes.name) }) ?? true {
                    newest.take(changes, of: changeset)
                }
            }
            lowest = min(lowest, changesets.first?.sequence ?? lowest)
        }
        return newest.sorted()
    }
}

/// A change in a log.
struct LoggedChange {
    var time: HybridTime
    var device: DeviceID
    var sequence: UInt64
    var table: String
    var object: ObjectID
    var kind: ObjectOperation.Kind
    var columns: [String]
}

/// Keeps the newest of many changes. Of changes of one time the first are kept.
struct NewestChanges {
    private let limit: Int
    /// Never more than twice the limit.
    private(set) var kept: [LoggedChange] = []
    /// From this time on down no change is kept any more.
    private var floor: HybridTime?
    /// The number of changes taken, kept or not.
    private(set) var count = 0

    init(_ limit: Int) { self.limit = limit }

    /// Takes all changes of a changeset to a table. Only for those that may stay the columns' names are gathered.
    mutating func take(_ changes: TableChanges, of changeset: Changeset) {
        count += changes.operations.count
        for operation in changes.operations where floor.map({ operation.time > $0 }) ?? true {
            kept.append(
                LoggedChange(
                    time: operation.time, device: changeset.device, sequence: changeset.sequence, table: changes.name,
                    object: operation.object, kind: operation.kind,
                    columns: changes.shapes[operation.shape].map { changes.columns[$0] }))
            if kept.count / 2 >= limit { cut() }
        }
    }

    private mutating func cut() {
        kept = sorted()
        floor = kept.last?.time
    }

    /// The newest changes, newest first.
    func sorted() -> [LoggedChange] {
        // The order of equal elements is not defined for `sort`.
        let places = kept.indices.sorted { left, right in
            kept[left].time != kept[right].time ? kept[left].time > kept[right].time : left < right
        }
        return places.prefix(limit).map { kept[$0] }
    }
}
