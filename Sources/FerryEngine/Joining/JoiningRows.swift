import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// The pre-existing rows of a joining database: finds rows also in the container, and follows the options.
///
/// 1. The rows are packed with an unknown time (`HybridTime.joining`), and lose to the container's rows.
/// 2. The container's rows are merged. Then the rows on both sides are known, by any identity.
/// 3. `giveUpFormerValues` takes out values that the container has or had.
/// 4. `settle` follows the options.
///
/// With `theirs`, steps 1 and 2 are first a trial, then rolled back: rows only in this database are deleted before the
/// container's rows come. Nothing is published earlier.
struct JoiningRows {
    let replica: Replica
    private let options: JoinOptions
    /// The container's objects, before the join.
    private let objects: LoggedRows
    private var here: ObjectSets = [:]
    /// The integer keys of packed rows, by table and object.
    private var integers: [String: [ObjectID: FieldValue]] = [:]
    /// Number of integer keys on both sides without any sign that the rows are the same.
    private(set) var matchingKeys = 0
    /// Number of rows that became a row of the container by the integer alone.
    private(set) var assumedKeys = 0
    /// Number of rows that are the container's by what the database remembers, though nobody asked for `Match.keys`.
    private(set) var knownKeys = 0
    /// Number of deleted rows, because only this database had them.
    private(set) var removed = 0

    private var store: Store { replica.store }

    init(_ replica: Replica, _ container: Container, _ options: JoinOptions) throws {
        self.replica = replica
        self.options = options
        objects = try LoggedRows(container)
        try replica.store.setOldTime(
            .joining(givingWay: options.rows != .mine, among: objects.unknownTimes))
    }

    /// Packs the rows. With `Match.keys`, rows under the container's keys first become the container's objects. So do the remembered rows of
    /// a database that left the container.
    mutating func pack() throws -> PassOutcome {
        if options.match == .keys {
            let holders = objects.holders
            let remembered = options.rememberedKeys
            let adopted = try store.adopt(remembered?.applied(to: holders) ?? holders)
            assumedKeys = adopted.reduce(0) { $0 + (remembered?.tables[$1.key] == nil ? $1.value : 0) }
        } else {
            var known: Set<String> = []
            if let remembered = options.rememberedKeys, try store.isOrigin(of: remembered) {
                knownKeys = try store.adopt(remembered.applied(to: [:])).values.reduce(0, +)
                known = Set(remembered.tables.keys)
            }
            let alive = objects.alive
            let keys = try store.integerKeys()
            for (table, holders) in objects.holders where !known.contains(table) {
                let there = holders.filter { alive[table]?.contains($0.value) ?? false }
                matchingKeys += keys[table].map { keys in there.keys.filter(keys.contains).count } ?? 0
            }
        }
        var here: ObjectSets = [:]
        let encode = replica.segmentEncoding(for: replica.identity)
        let outcome = try store.pass(replaying: []) { changeset, previous, keep in
            for changes in changeset.tables {
                here[foldedName(changes.name), default: []].formUnion(changes.operations.map(\.object))
                if options.rows != .theirs { continue }
                for operation in changes.operations {
                    if let key = operation.key {
                        integers[foldedName(changes.name), default: [:]][operation.object] = key
                    }
                }
            }
            return try encode(changeset, previous, keep)
        }
        self.here = here
        return outcome
    }

    /// Gives up values that the container has or had, after the container's rows are merged: such values are no conflict, here or on any other
    /// device. With `mine` all values are written again, and count.
    mutating func giveUpFormerValues(of container: Container) throws {
        if options.rows == .mine { return }
        var asked: ObjectSets = [:]
        for (table, rewritten) in objects.rewritten {
            let both = rewritten.intersection(here[table] ?? [])
            if !both.isEmpty { asked[table] = both }
        }
        if asked.isEmpty { return }
        var values = try store.formerValues()
        try forEachWaiting { try values.ask($0, about: asked) }
        let beginning = values
        try LoggedRows.forEach(
            of: container, restart: { values = beginning }, chunk: { values.take($0) },
            changes: { try values.take($0, of: $1) })
        let former = try store.giveUp(values)
        if !former.isEmpty { try rewrite { former.removed(from: $0) } }
    }

    /// Reads the packed changes that wait to be published.
    private func forEachWaiting(_ take: (TableChanges) throws -> Void) throws {
        let identity = replica.identity
        var sequence: UInt64 = 0
        while let entry = try store.outboxEntry(after: sequence) {
            let (_, changesets) = try SegmentDecoder.decode(
                entry.bytes, container: identity.container, device: identity.device,
                parts: store.partSource(of: entry))
            for changeset in changesets { for changes in changeset.tables { try take(changes) } }
            sequence = entry.last
        }
    }

    /// A trial's findings: the rows to delete.
    struct Verdict {
        fileprivate var gone: ObjectSets = [:]
        /// Rows under integer keys, by key: the trial's objects are not the join's objects.
        fileprivate var goneIntegers: [String: Set<FieldValue>] = [:]
        var counts: [RowComparisonCount] = []
    }

    /// Finds the rows only in this database, after a trial. Everything must be merged before: rows may be unified by UNIQUE values, and by
    /// UNIQUE values of referenced rows.
    func verdict() throws -> Verdict {
        let alive = objects.alive
        let matched = try store.matchedRows(here: here, there: alive)
        var verdict = Verdict(counts: try store.compareRows(here: here, there: alive))
        for (name, objects) in here {
            for object in objects.subtracting(matched[name] ?? []) {
                if let integer = integers[name]?[object] {
                    verdict.goneIntegers[name, default: []].insert(integer)
                } else {
                    verdict.gone[name, default: []].insert(object)
                }
            }
        }
        return verdict
    }

    /// Deletes the rows only in this database before the container's rows come, so the rows' integers are free.
    mutating func remove(_ verdict: Verdict) throws {
        var gone = verdict.gone
        for (name, integers) in verdict.goneIntegers {
            let objects = self.integers[name, default: [:]].filter { integers.contains($0.value) }.keys
            gone[name, default: []].formUnion(objects)
        }
        try remove(gone)
    }

    /// Follows the options `merge` and `mine`, after the container's rows are merged. Resulting changes wait in the
    /// outbox.
    /// - Returns: how the rows compare with the container's rows.
    mutating func settle() throws -> [RowComparisonCount] {
        let alive = objects.alive
        let matched = try store.matchedRows(here: here, there: alive)
        try writeAgain(
            revived: store.deletedRows(among: here), renewed: options.rows == .mine ? matched : [:])
        return try store.compareRows(here: here, there: alive)
    }

    /// Removes rows from the outbox, and from the database.
    private mutating func remove(_ gone: ObjectSets) throws {
        if gone.isEmpty { return }
        try rewrite { $0.without(gone[foldedName($0.name)] ?? []) }
        removed = try store.removePreexistingRows(gone, encode: replica.segmentEncoding(for: replica.identity))
    }

    /// Encodes the waiting segments anew.
    /// - Parameter last: the last changeset to transform; later changesets only get a new preceding segment.
    private func rewrite(
        through last: UInt64 = .max, _ transform: (TableChanges) throws -> TableChanges
    ) throws {
        let identity = replica.identity
        let settings = replica.environment.largeValues
        try store.rewriteOutbox { entry, previous, parts, keep in
            let (_, changesets) = try SegmentDecoder.decode(
                entry.bytes, container: identity.container, device: identity.device, parts: parts.source)
            let rest = try changesets.map { changeset in
                if changeset.sequence > last { return changeset }
                var rest = changeset
                rest.tables = try changeset.tables.map(transform).filter { !$0.operations.isEmpty }
                return rest
            }
            return try OutboxEntry(
                encoding: rest, container: identity.container, previous: previous, largeValues: settings, keep)
        }
    }

    /// Writes as of now: rows in danger of being lost, and rows that shall win.
    private func writeAgain(revived: ObjectSets, renewed: ObjectSets) throws {
        if revived.isEmpty && renewed.isEmpty { return }
        let identity = replica.identity
        // New changes are packed behind the earlier changes.
        guard let last = try store.outboxSizes().last?.last else { return }
        var sequence: UInt64 = 0
        while sequence < last, let entry = try store.outboxEntry(after: sequence) {
            let (_, changesets) = try SegmentDecoder.decode(
                entry.bytes, container: identity.container, device: identity.device,
                parts: store.partSource(of: entry))
            for changeset in changesets {
                _ = try store.rewritePreexistingRows(
                    changeset.tables, revived: revived, renewed: renewed, encode: replica.segmentEncoding(for: identity)
                )
            }
            sequence = entry.last
        }
        try rewrite(through: last) {
            try store.withoutWhatIsWrittenAgain($0, revived: revived, renewed: renewed)
        }
    }
}

extension TableChanges {
    /// The changes without the operations on some objects.
    fileprivate func without(_ objects: Set<ObjectID>) -> TableChanges {
        if objects.isEmpty { return self }
        var rest = TableChanges(name: name, identity: identity)
        rest.columns = columns
        rest.shapes = shapes
        rest.payloads = payloads
        for operation in operations where !objects.contains(operation.object) {
            var moved = operation
            moved.firstValue = rest.values.count
            rest.values += values(of: operation)
            rest.operations.append(moved)
        }
        return rest
    }
}
