import FerryContent
import FerryCore
import FerryMerge
import FerrySchema

/// Forgets tombstones: deleted objects whose deletion every active device has seen.
///
/// Any future change of a forgotten object was written with knowledge of the deletion. Such a write is complete: an
/// insertion under the key starts the object anew (`ObjectRegisters.floor`). A retained row is published again whole
/// before a write or a new reference (`RetainedRows`). So a device that has forgotten and a device that has not come to
/// the same rows.
///
/// Invariants: these tombstones stay.
/// - An object an uncovered deletion might retain again, once that deletion loses.
/// - A content to which a remembered row leads, deleted rows included.
/// - An object with values rows may refer to by RESTRICT or NO ACTION. A different row may have these values one day
///   and get new values, while an uninformed device refers to them. Then only the deleted object has them.
struct TombstoneCollector {
    /// Number of objects checked in a transaction.
    static let batchSize = 5_000

    private let access: StoreAccess
    private let stable: StampCoverage
    private let now: HybridTime
    /// The parent keys of remaining tombstones, and the objects and parent keys they refer to by RESTRICT or NO ACTION.
    private(set) var awaited: Set<RowToken>
    private let hasConflicts: Bool
    /// True if changes wait to be packed.
    private let hasNotes: Bool

    /// - Parameter awaited: the result of an earlier batch, if nothing was replayed since; `nil` to compute the result.
    init(_ access: StoreAccess, stable: VersionVector, awaited: Set<RowToken>? = nil) throws {
        self.access = access
        self.stable = StampCoverage(stable, replayed: try access.versionVector())
        now = try access.hybridClock().now
        hasNotes = try !PendingTable(access.connection).isEmpty
        hasConflicts = try access.conflicts.hasUnresolved()
        self.awaited = awaited ?? []
        if awaited == nil { try findAwaited() }
    }

    /// True if this device knows everything that may refer to a deleted object. False while values wait for a missing
    /// table or column.
    func isSchemaWhole() throws -> Bool {
        // Everything of a former generation is known in the present generation.
        let left = try Generations.load(access.meta).left
        for table in access.registry.tables.values where !left.contains(table.id) {
            if table.isLocal, table.columns.allSatisfy({ $0.isLocal || $0.isHidden }) { continue }
            let statement = try access.connection.prepare(
                "SELECT object FROM \(table.objectTable) WHERE kept IS NOT NULL AND \"check\" <> 0")
            defer { statement.reset() }
            while try statement.step() {
                guard let id: ObjectID = statement.id(0) else { continue }
                let kept = try access.objects(of: table.id).load(id).kept.fields
                let isForeign = kept.contains { column, _ in
                    !table.isLocal || !table.columns[column].isLocal && !table.columns[column].isHidden
                }
                if isForeign { return false }
            }
        }
        return true
    }

    /// Collects a batch of a table's tombstones.
    /// - Parameter object: the batch starts after this object, in the order of IDs; `nil` to start at the first.
    /// - Returns: the number of collected objects, and the last checked object; `nil` at the end.
    func collect(_ table: TrackedTable, after object: ObjectID?) throws -> (collected: Int, last: ObjectID?) {
        let ids = try tombstones(of: table, after: object)
        let objects = access.objects(of: table.id)
        let contents = try usedContents(ids, of: table)
        var collected = 0
        for id in ids {
            let state = try objects.load(id)
            guard try !contents.contains(id) && isCollectable(state, table) else { continue }
            try objects.remove(state)
            try access.anomalyTokens.forget(RowToken(table: table.id, id: id))
            collected += 1
        }
        return (collected, ids.count < Self.batchSize ? nil : ids.last)
    }

    /// The deleted contents to which remembered rows lead. They stay for whoever brings such a row back
    /// (`ContentCollection.mayForget`).
    private func usedContents(_ ids: [ObjectID], of table: TrackedTable) throws -> Set<ObjectID> {
        guard !ids.isEmpty, table.name == DocumentTables.content, try DocumentTables.areMade(access.meta) else {
            return []
        }
        let contents = Set(ids.map { ContentID(high: $0.high, low: $0.low) })
        let remembered = try ContentReferences(access).remembered(among: contents)
        let stay = contents.filter { !ContentCollection.mayForget($0, remembered: remembered) }
        return Set(stay.map { ObjectID(high: $0.high, low: $0.low) })
    }

    private func tombstones(of table: TrackedTable, after object: ObjectID?) throws -> [ObjectID] {
        var ids: [ObjectID] = []
        try access.connection.forEachRow(
            """
            SELECT object FROM \(table.objectTable) WHERE \(Visibility.tombstoneCondition) AND object > ? ORDER BY object
            LIMIT \(Self.batchSize)
            """, [object.map { .blob($0.bytes[...]) } ?? .blob([])]
        ) { if let id: ObjectID = $0.id(0) { ids.append(id) } }
        return ids
    }

    // MARK: Collectable tombstones

    private func isCollectable(_ state: ObjectState, _ table: TrackedTable) throws -> Bool {
        guard state.shown == .none, isSettled(state), !hasValuesToHold(state, table) else { return false }
        let token = RowToken(table: table.id, id: state.object)
        let parentKeys = ReferenceTokens(registry: access.registry).parentKeys(of: table, state.kept.fields)
        if awaited.contains(token) || parentKeys.contains(where: awaited.contains) { return false }
        // Rows referring to the object by an unchecked column need its key. So do pending changes of former such rows.
        if let key = state.key.first,
            try hasNotes || !table.isMapped || KeyReservations(access).isInUse(key, of: table)
        {
            return false
        }
        // A reference without a row of its own claims by the integer given to the object.
        if GivenKeys.isPlain(state.givenKey), try !access.anomalyTokens.objects(concernedBy: token).isEmpty {
            return false
        }
        return try !isListed(token)
    }

    /// True if rows may refer to the object's values outside the primary key, and would bring the object back.
    private func hasValuesToHold(_ state: ObjectState, _ table: TrackedTable) -> Bool {
        if state.registers.inserted == nil { return false }
        return table.incoming.contains { incoming in
            let key = access.registry[incoming.table].foreignKeys[incoming.foreignKey]
            guard case .unique(let columns) = key.target, key.action == .restrict else { return false }
            return columns.allSatisfy { (state.kept.fields[$0] ?? .null) != .null }
        }
    }

    /// True if everything known of a tombstone is known everywhere, and no clock lags behind the tombstone here.
    private func isSettled(_ state: ObjectState) -> Bool {
        guard state.registers.isTombstone, let newest = state.registers.newest, newest.time <= now else { return false }
        return stable.covers(state.registers)
            && state.policies.values.allSatisfy { $0.stamps.allSatisfy { !$0.time.isKnown || stable.covers($0) } }
    }

    /// True if an entry needs the object's state: an anomaly, or an unresolved conflict that may bring the object back.
    private func isListed(_ token: RowToken) throws -> Bool {
        if hasConflicts, try access.conflicts.isUnresolved(token) { return true }
        return try access.anomalies.contains(token) || access.unified.concerns(token)
    }

    // MARK: Awaited objects

    /// An uncovered deletion may still lose; then the revived object would retain its targets. So would a tombstone
    /// kept for its values.
    private mutating func findAwaited() throws {
        let meaning = ReferenceTokens(registry: access.registry)
        var work: [RowToken] = []
        for table in access.registry.tables.values where table.isLocal {
            if table.incoming.isEmpty, table.foreignKeys.isEmpty { continue }
            var last: ObjectID?
            repeat {
                let ids = try tombstones(of: table, after: last)
                for id in ids {
                    let state = try access.objects(of: table.id).load(id)
                    if isSettled(state), !hasValuesToHold(state, table) { continue }
                    awaited.formUnion(meaning.parentKeys(of: table, state.kept.fields))
                    work.append(RowToken(table: table.id, id: id))
                }
                last = ids.count < Self.batchSize ? nil : ids.last
            } while last != nil
        }
        var expanded: Set<RowToken> = []
        while let token = work.popLast() {
            let table = access.registry[token.table]
            let state = try access.objects(of: token.table).load(token.id)
            guard state.isStored, expanded.insert(token).inserted else { continue }
            for (place, target) in meaning.targets(of: table, state.kept.fields) {
                guard case .restrict = table.foreignKeys[place].action else { continue }
                awaited.insert(target)
                work.append(target)
                work += try access.anomalyTokens.objects(concernedBy: target).filter { $0.table == target.table }
            }
        }
    }
}

extension TombstoneCollector {
    /// The number of remembered tombstones.
    static func count(_ access: StoreAccess) throws -> Int {
        try access.registry.tables.values.reduce(0) { sum, table in
            try sum
                + access.connection.count(
                    "SELECT count(*) FROM \(table.objectTable) WHERE \(Visibility.tombstoneCondition)")
        }
    }

    /// The numbers of the tables to collect. None while values of tables or columns missing here may refer to a deleted
    /// object.
    static func tables(_ access: StoreAccess, stable: VersionVector) throws -> [Int] {
        guard try TombstoneCollector(access, stable: stable, awaited: []).isSchemaWhole() else { return [] }
        return access.registry.tables.values.filter(\.isLocal).map(\.id).sorted()
    }

    /// The progress of a collection, with a batch for each transaction.
    struct Progress {
        let stable: VersionVector
        /// Number of forgotten objects.
        var collected = 0
        /// The last object of the batch before; `nil` at the beginning of a table.
        fileprivate var last: ObjectID?
        /// Tokens that must stay for other devices, as of a position.
        fileprivate var awaited: (tokens: Set<RowToken>, position: VersionVector)?

        init(stable: VersionVector) { self.stable = stable }
    }

    /// Collects the next batch of a table.
    /// - Returns: true if the table may have more.
    static func collectBatch(of number: Int, _ access: StoreAccess, _ progress: inout Progress) throws -> Bool {
        guard let table = access.registry.tables[number], table.isLocal else { return false }
        let position = try access.versionVector()
        let known = progress.awaited.flatMap { $0.position == position ? $0.tokens : nil }
        let collection = try TombstoneCollector(access, stable: progress.stable, awaited: known)
        progress.awaited = (collection.awaited, position)
        let batch = try collection.collect(table, after: progress.last)
        progress.collected += batch.collected
        progress.last = batch.last
        return batch.last != nil
    }
}
