import FerryContainer
import FerryCore
import FerryStore

/// The objects in a container's logs, for a database that joins with rows of its own.
struct LoggedRows {
    private struct Entry {
        var inserted: HybridTime?
        var written = HybridTime.zero
        var deleted: HybridTime?
        /// The key given by the object's author.
        var key: FieldValue?
        /// True if values were written more than once: some are former values.
        var isRewritten = false

        var isAlive: Bool { inserted != nil && deleted.map { $0 < written } ?? true }

        /// True if this entry is the better owner of a key given to several objects.
        func isMeant(ratherThan other: Entry) -> Bool {
            if isAlive != other.isAlive { return isAlive }
            let (own, others) = (inserted ?? .zero, other.inserted ?? .zero)
            if !isAlive { return own > others }
            if own.givesWay != others.givesWay { return others.givesWay }
            return own.givesWay ? own > others : own < others
        }
    }

    /// The objects by table name in lower case.
    private var tables: [String: [ObjectID: Entry]] = [:]
    /// The unknown times of rows that joined earlier.
    private(set) var unknownTimes: Set<HybridTime> = []

    /// Reads the whole container, as `forEach`.
    init(_ container: Container) throws {
        try Self.forEach(
            of: container, restart: { tables = [:] }, chunk: { take($0) }, changes: { changes, _ in take(changes) })
    }

    /// Reads the whole snapshot with the most changesets, then every device's log, as far as present.
    /// - Parameter restart: forgets all chunks so far, as their snapshot proved damaged.
    static func forEach(
        of container: Container, restart: () -> Void, chunk: (SnapshotChunk) throws -> Void,
        changes: (TableChanges, DeviceID) throws -> Void
    ) throws {
        // No device of the container has this ID, so every log is read.
        let reader = LogReader(container: container, device: DeviceID(high: 0, low: 0))
        var positions = try forEachChunk(of: container, restart, chunk)
        while true {
            let batch = try reader.read(after: positions, isThorough: true)
            for changeset in batch.changesets {
                positions.advance(changeset.device, to: LogPosition(sequence: changeset.sequence, time: changeset.time))
                for table in changeset.tables { try changes(table, changeset.device) }
            }
            if !batch.isFull { return }
        }
    }

    /// Reads the objects of the first readable snapshot.
    /// - Returns: the vector of the snapshot.
    private static func forEachChunk(
        of container: Container, _ restart: () -> Void, _ take: (SnapshotChunk) throws -> Void
    ) throws -> VersionVector {
        for entry in try SnapshotCatalog(container).entries() {
            do {
                for table in entry.manifest.tables {
                    for chunk in table.chunks {
                        try take(try SnapshotImporter.read(chunk, of: table.name, entry, container))
                    }
                }
                return entry.manifest.vector
            } catch let error as FerryError where error.concernsOneFile {
                restart()
            }
        }
        return VersionVector()
    }

    private mutating func take(_ chunk: SnapshotChunk) {
        let isKeyed = if case .key = chunk.identity { false } else { true }
        for object in chunk.objects {
            var entry = Entry()
            entry.inserted = object.inserted?.time
            entry.written = chunk.cells(of: object).reduce(object.inserted?.time ?? .zero) { max($0, $1.stamp.time) }
            entry.deleted = object.deleted?.time
            note(object.inserted?.time)
            for cell in chunk.cells(of: object) { note(cell.stamp.time) }
            entry.key = isKeyed ? object.key : nil
            tables[foldedName(chunk.table), default: [:]][object.id] = entry
        }
    }

    private mutating func take(_ changes: TableChanges) {
        let isKeyed = if case .key = changes.identity { false } else { true }
        for operation in changes.operations {
            if operation.kind != .delete { note(operation.time) }
            var entry = tables[foldedName(changes.name)]?[operation.object] ?? Entry()
            if operation.kind != .delete, entry.inserted != nil || entry.written != .zero { entry.isRewritten = true }
            switch operation.kind {
            case .insert:
                if entry.inserted.map({ $0 < operation.time }) ?? true {
                    entry.inserted = operation.time
                    if isKeyed { entry.key = operation.key }
                }
                entry.written = max(entry.written, operation.time)
            case .update: entry.written = max(entry.written, operation.time)
            case .delete: entry.deleted = max(entry.deleted ?? operation.time, operation.time)
            }
            tables[foldedName(changes.name), default: [:]][operation.object] = entry
        }
    }

    private mutating func note(_ time: HybridTime?) {
        if let time, !time.isKnown { unknownTimes.insert(time) }
    }

    var alive: ObjectSets { tables.mapValues { Set($0.filter { $0.value.isAlive }.keys) } }

    /// Living objects with values that were written more than once.
    var rewritten: ObjectSets {
        tables.mapValues { Set($0.filter { $0.value.isAlive && $0.value.isRewritten }.keys) }.filter {
            !$0.value.isEmpty
        }
    }

    /// The object of each key, by table. Of several objects with the same key, a living object comes before a deleted
    /// object. Of living objects the oldest, which kept the key; of deleted objects the newest.
    var holders: [String: [FieldValue: ObjectID]] {
        tables.mapValues { objects in
            var holders: [FieldValue: (object: ObjectID, entry: Entry)] = [:]
            for (object, entry) in objects.sorted(by: { $0.key < $1.key }) {
                guard let key = entry.key else { continue }
                if holders[key].map({ entry.isMeant(ratherThan: $0.entry) }) ?? true { holders[key] = (object, entry) }
            }
            return holders.mapValues(\.object)
        }
    }
}
