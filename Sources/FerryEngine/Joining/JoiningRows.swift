import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// The rows that a database brings along when it joins: which of them are the container's, and what becomes of them.
///
/// They are packed with an unknown time, at which they lose to whatever the container has (`HybridTime.joining`), and the
/// container's are merged. Then it is known which rows both have, by whatever identity, and `settle` does what the options
/// say. With `theirs` that is a trial, of which nothing remains: rows that only this database has go before the others come.
/// Nothing is published before.
struct JoiningRows {
    let replica: Replica
    private let options: JoinOptions
    /// What the container has.
    private let objects: ContainerObjects
    private var here: ObjectSets = [:]
    /// The integer keys of those rows that have some, by tables and objects.
    private var integers: [String: [ObjectID: FieldValue]] = [:]
    /// Integer keys that rows on both sides have though nothing says that they are the same rows.
    private(set) var matchingKeys = 0
    /// Rows that were taken out because only this database had them.
    private(set) var removed = 0

    private var store: Store { replica.store }

    init(_ replica: Replica, _ container: Container, _ options: JoinOptions) throws {
        self.replica = replica
        self.options = options
        objects = try ContainerObjects(container)
        try replica.store.setOldTime(
            .joining(givingWay: options.rows != .mine, among: objects.unknownTimes))
    }

    /// Packs the rows, after those under the container's keys became its objects where that was asked for.
    mutating func pack() throws -> PassOutcome {
        if options.match == .keys {
            _ = try store.adopt(objects.holders)
        } else {
            let alive = objects.alive
            let keys = try store.integerKeys()
            for (table, holders) in objects.holders {
                let there = holders.filter { alive[table]?.contains($0.value) ?? false }
                matchingKeys += keys[table].map { keys in there.keys.filter(keys.contains).count } ?? 0
            }
        }
        var here: ObjectSets = [:]
        let seal = replica.sealer(for: replica.identity)
        let outcome = try store.pass(replaying: []) { changeset, previous in
            for changes in changeset.tables {
                here[foldedName(changes.name), default: []].formUnion(changes.operations.map(\.object))
                if options.rows != .theirs { continue }
                for operation in changes.operations {
                    if let key = operation.key {
                        integers[foldedName(changes.name), default: [:]][operation.object] = key
                    }
                }
            }
            return try seal(changeset, previous)
        }
        self.here = here
        return outcome
    }

    /// What a trial told of rows that are to be deleted.
    struct Verdict {
        fileprivate var gone: ObjectSets = [:]
        /// Of rows under integers: the objects of a trial are not those of the join.
        fileprivate var goneIntegers: [String: Set<FieldValue>] = [:]
        var counts: [RowComparisonCount] = []
    }

    /// Finds out which rows only this database has, after a trial. Only once all is merged that is known: rows may be one by
    /// UNIQUE values, and by those of rows that they refer to.
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

    /// Deletes the rows that only this database has, before the container's come: their integers are free for these.
    mutating func remove(_ verdict: Verdict) throws {
        var gone = verdict.gone
        for (name, integers) in verdict.goneIntegers {
            let objects = self.integers[name, default: [:]].filter { integers.contains($0.value) }.keys
            gone[name, default: []].formUnion(objects)
        }
        try remove(gone)
    }

    /// Does what the options `merge` and `mine` say, once the container's rows are merged. What it does waits in the outbox.
    /// - Returns: how the rows stood to the container's.
    mutating func settle() throws -> [RowComparisonCount] {
        let alive = objects.alive
        let matched = try store.matchedRows(here: here, there: alive)
        try writeAgain(
            revived: store.deletedRows(among: here), renewed: options.rows == .mine ? matched : [:])
        return try store.compareRows(here: here, there: alive)
    }

    /// Takes rows out of what is to be published, and out of the database.
    private mutating func remove(_ gone: ObjectSets) throws {
        if gone.isEmpty { return }
        try rewrite { $0.without(gone[foldedName($0.name)] ?? []) }
        removed = try store.removeOldRows(gone, seal: replica.sealer(for: replica.identity))
    }

    /// Makes the segments that wait to be published anew.
    /// - Parameter last: the last changeset that is made anew; those behind it only follow another segment.
    private func rewrite(
        through last: UInt64 = .max, _ transform: (TableChanges) throws -> TableChanges
    ) throws {
        let identity = replica.identity
        try store.rewriteOutbox { entry, previous in
            let (_, changesets) = try SegmentDecoder.decode(
                entry.bytes, container: identity.container, device: identity.device)
            let rest = try changesets.map { changeset in
                if changeset.sequence > last { return changeset }
                var rest = changeset
                rest.tables = try changeset.tables.map(transform).filter { !$0.operations.isEmpty }
                return rest
            }
            let segment = try SegmentEncoder.encode(rest, container: identity.container, previous: previous)
            return OutboxEntry(
                first: segment.firstSequence, last: segment.lastSequence,
                changes: rest.reduce(0) { $0 + $1.operationCount }, checksum: segment.checksum, bytes: segment.bytes)
        }
    }

    /// Writes as of now what would be lost otherwise, or what is to win.
    private func writeAgain(revived: ObjectSets, renewed: ObjectSets) throws {
        if revived.isEmpty && renewed.isEmpty { return }
        let identity = replica.identity
        // What it writes is packed behind what was there.
        guard let last = try store.outboxSizes().last?.last else { return }
        var sequence: UInt64 = 0
        while sequence < last, let entry = try store.outboxEntry(after: sequence) {
            let (_, changesets) = try SegmentDecoder.decode(
                entry.bytes, container: identity.container, device: identity.device)
            for changeset in changesets {
                _ = try store.writeOldRowsAgain(
                    changeset.tables, revived: revived, renewed: renewed, seal: replica.sealer(for: identity))
            }
            sequence = entry.last
        }
        try rewrite(through: last) {
            try store.withoutWhatIsWrittenAgain($0, revived: revived, renewed: renewed)
        }
    }
}

extension TableChanges {
    /// All but what concerns some objects.
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
