import FerryCore
import FerryMerge
import FerryStore

/// The history of a row, as far as in the devices' logs.
public struct RowHistory: Sendable {
    /// A change of the row.
    public struct Change: Equatable, Sendable {
        /// When the change was made, in milliseconds since the Unix epoch, by its device's clock; `nil` for
        /// pre-existing rows.
        public var timeMilliseconds: Int64?
        public var device: DeviceID
        public var deviceName: String
        /// The whole time, by which changes of the same millisecond are told apart.
        package var time: HybridTime
        /// The number of the changeset in this device's log.
        package var sequence: UInt64
        public var kind: ChangeKind
        /// The written values, in the order of column names in the log; references as local keys if the parent rows are
        /// known.
        public var values: [NamedValue]
    }

    public var row: FoundRow
    /// The oldest first. A later change wins; concurrent changes that lost are included.
    public var changes: [Change]
}

/// The histories of the objects that a key names, and the unreadable logs.
public struct RowHistories: Sendable {
    /// An incomplete log of a device.
    public struct Gap: Codable, Equatable, Sendable {
        /// The device's name.
        public var device: String
        public var reason: String
    }

    public var rows: [RowHistory]
    public var gaps: [Gap]
    /// Number of this device's pending changes, which the histories do not include.
    package var unpacked: Int
}

/// An operation on an object in a log, with portable values by column name.
struct LoggedOperation {
    var stamp: Stamp
    var sequence: UInt64
    var kind: ObjectOperation.Kind
    /// The author's local key, at insertion.
    var key: FieldValue?
    var values: [NamedValue]
    /// The parts written to columns under a policy in place of a value, by the exact key of the column's name.
    var parts: [String: PolicyPart] = [:]
}

/// Gathers the operations on some objects of a single table from all logs. Memory is bounded by the findings and a
/// single segment.
struct HistoryReader {
    /// Maximum number of gathered operations.
    static let maximumOperations = 1_000_000

    let table: String
    let objects: Set<ObjectID>
    private(set) var operations: [ObjectID: [LoggedOperation]] = [:]
    /// Objects of which a snapshot has registers under a policy: the operations do not tell their values.
    private(set) var incomplete: Set<ObjectID> = []
    private var count = 0

    init(table: String, objects: Set<ObjectID>) {
        self.table = table
        self.objects = objects
    }

    /// Gathers a changeset's operations on the objects.
    mutating func take(_ changeset: Changeset) throws {
        for changes in changeset.tables where equalNames(changes.name, table) {
            // Operations are sorted by object: each object is found without a look at all operations.
            for object in objects {
                var index = changes.operations.firstIndexSorted { $0.object < object }
                while index < changes.operations.count, changes.operations[index].object == object {
                    try note(changes.operations[index], changes, changeset)
                    index += 1
                }
            }
        }
    }

    /// Gathers a snapshot's registers of the objects, as operations.
    /// - Parameter names: the local names of columns, by folded name.
    mutating func take(_ chunk: SnapshotChunk, columns names: [String: String]) throws {
        for object in chunk.objects where objects.contains(object.id) {
            for deletion in object.earlierDeletions + [object.deleted].compactMap({ $0 }) {
                try add(LoggedOperation(stamp: deletion, sequence: 0, kind: .delete, values: []), to: object.id)
            }
            if let inserted = object.inserted {
                try add(
                    LoggedOperation(stamp: inserted, sequence: 0, kind: .insert, key: object.key?.copied, values: []),
                    to: object.id)
            }
            for (column, cell) in zip(chunk.shapes[object.shape], chunk.cells(of: object)) {
                if chunk.columns[column].isRegister {
                    incomplete.insert(object.id)
                    continue
                }
                let name = chunk.columns[column].name
                let value = NamedValue(column: names[foldedName(name)] ?? name, value: cell.content.copied)
                try add(
                    LoggedOperation(stamp: cell.stamp, sequence: 0, kind: .update, values: [value]), to: object.id)
            }
        }
    }

    private mutating func add(_ operation: LoggedOperation, to object: ObjectID) throws {
        count += 1
        if count > Self.maximumOperations {
            throw FerryError(
                .limitExceeded, "The logs hold more than \(Self.maximumOperations) changes of the row.")
        }
        operations[object, default: []].append(operation)
    }

    private mutating func note(_ operation: ObjectOperation, _ changes: TableChanges, _ changeset: Changeset) throws {
        // Copied, because slices would hold the whole segment in memory.
        let stamp = Stamp(time: operation.time, device: changeset.device)
        var parts: [String: PolicyPart] = [:]
        let values = try zip(changes.shapes[operation.shape], changes.values(of: operation)).map { column, value in
            let name = changes.columns[column]
            guard let kind = changes.payload(of: column), case .blob(let bytes) = value else {
                return NamedValue(column: name, value: value.copied)
            }
            // The shown value results from the author's own writes.
            let part = try PolicyCodec.decode(Array(bytes)[...], as: kind, own: stamp)
            parts[exactKey(name)] = part
            return NamedValue(column: name, value: WrittenValue.part(part).ownValue ?? .null)
        }
        try add(
            LoggedOperation(
                stamp: stamp, sequence: changeset.sequence, kind: operation.kind, key: operation.key?.copied,
                values: values, parts: parts), to: operation.object)
    }

    /// The operations on an object, oldest first.
    func history(of object: ObjectID) -> [LoggedOperation] {
        (operations[object] ?? []).sorted { left, right in
            left.stamp != right.stamp ? left.stamp < right.stamp : left.sequence < right.sequence
        }
    }
}

extension Array {
    /// The index of the first element that is not before the searched element, in a sorted array.
    fileprivate func firstIndexSorted(isBefore: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
