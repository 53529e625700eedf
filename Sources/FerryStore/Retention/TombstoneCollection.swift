import FerryCore
import FerryMerge

/// Forgets deleted objects whose deletion every active device has seen.
///
/// What is still to come of an object that is forgotten was written in knowledge of its deletion, and such a write says
/// all that is needed: an insertion under its key begins it anew (`ObjectRegisters.floor`), and a row whose deletion is
/// held back is published again whole before anybody writes to it or refers to it (`HeldBackRows`). So a device that has
/// forgotten and one that has not come out the same. What could still be brought back otherwise stays: an object that a
/// deletion which is not covered yet might hold back again, once it loses; and one with values that rows may refer to by
/// RESTRICT or NO ACTION. Another row may have them one day and be given others, while a device that has not heard of that
/// refers to them. Then nobody has them but the object that is deleted.
struct TombstoneCollection {
    /// Objects looked at in one transaction.
    static let batchSize = 5_000

    private let access: StoreAccess
    private let stable: StampCoverage
    private let now: HybridTime
    /// What tombstones that stay refer to by RESTRICT or NO ACTION, or offer.
    private(set) var awaited: Set<RowToken>
    private let hasConflicts: Bool
    /// Whether changes wait to be packed.
    private let hasNotes: Bool

    /// The state of tombstones, as the index of them has it.
    static let condition = "shown = \(Shown.tombstone)"

    /// - Parameter awaited: as an earlier batch found it, where nothing was replayed since; `nil`: it is found.
    init(_ access: StoreAccess, stable: VersionVector, awaited: Set<RowToken>? = nil) throws {
        self.access = access
        self.stable = StampCoverage(stable, replayed: try access.versionVector())
        now = try access.hybridClock().now
        hasNotes = try access.connection.count("SELECT EXISTS(SELECT 1 FROM ferry_pending)") != 0
        hasConflicts =
            try access.connection.count("SELECT EXISTS(SELECT 1 FROM ferry_conflict WHERE resolved IS NULL)") != 0
        self.awaited = awaited ?? []
        if awaited == nil { try findAwaited() }
    }

    /// Whether this device knows all that may refer to a deleted object: while values wait here for a table or a column
    /// that it does not have yet, it does not.
    func isSchemaWhole() throws -> Bool {
        // Of a generation that was left everything is known by the present one.
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

    /// Collects a batch of one table's tombstones.
    /// - Parameter object: those after it, in the order of IDs; `nil` from the first on.
    /// - Returns: how many were collected, and the last object looked at; `nil` where there are no more.
    func collect(_ table: TrackedTable, after object: ObjectID?) throws -> (collected: Int, last: ObjectID?) {
        let ids = try tombstones(of: table, after: object)
        let objects = access.objects(of: table.id)
        var collected = 0
        for id in ids {
            let state = try objects.load(id)
            guard try isCollectable(state, table) else { continue }
            try objects.remove(state)
            try access.connection.execute(
                "DELETE FROM ferry_exception_token WHERE \"table\" = ? AND object = ?", .integer(Int64(table.id)),
                .blob(id.bytes[...]))
            collected += 1
        }
        return (collected, ids.count < Self.batchSize ? nil : ids.last)
    }

    private func tombstones(of table: TrackedTable, after object: ObjectID?) throws -> [ObjectID] {
        var ids: [ObjectID] = []
        try access.connection.forEachRow(
            """
            SELECT object FROM \(table.objectTable) WHERE \(Self.condition) AND object > ? ORDER BY object
            LIMIT \(Self.batchSize)
            """, [object.map { .blob($0.bytes[...]) } ?? .blob([])]
        ) { if let id: ObjectID = $0.id(0) { ids.append(id) } }
        return ids
    }

    // MARK: What may go

    private func isCollectable(_ state: ObjectState, _ table: TrackedTable) throws -> Bool {
        guard state.shown == .none, isSettled(state), !hasValuesToHold(state, table) else { return false }
        let token = RowToken(table: table.id, id: state.object)
        let offers = References(registry: access.registry).offers(of: table, state.kept.fields)
        if awaited.contains(token) || offers.contains(where: awaited.contains) { return false }
        // Rows that refer to it by a column that no foreign key checks need its key, and so do notes of rows that did.
        if let key = state.key.first,
            try hasNotes || !table.isMapped || KeyReservations(access).isInUse(key, of: table)
        {
            return false
        }
        // What refers to it and has no row of its own claims by the integer that it was given.
        if GivenKeys.isPlain(state.givenKey), try !access.exceptionTokens.objects(concernedBy: token).isEmpty {
            return false
        }
        return try !isListed(token)
    }

    /// Whether rows may refer to an object's values under other columns than the key, and would bring it back.
    private func hasValuesToHold(_ state: ObjectState, _ table: TrackedTable) -> Bool {
        if state.registers.inserted == nil { return false }
        return table.incoming.contains { incoming in
            let key = access.registry[incoming.table].foreignKeys[incoming.foreignKey]
            guard case .unique(let columns) = key.target, key.action == .restrict else { return false }
            return columns.allSatisfy { (state.kept.fields[$0] ?? .null) != .null }
        }
    }

    /// Whether all that is known of a tombstone is known everywhere, and no clock can lag behind it here.
    private func isSettled(_ state: ObjectState) -> Bool {
        guard state.registers.isTombstone, let newest = state.registers.newest, newest.time <= now else { return false }
        return stable.covers(state.registers)
            && state.policies.values.allSatisfy { $0.stamps.allSatisfy { !$0.time.isKnown || stable.covers($0) } }
    }

    /// Whether something is said of an object that needs its state: how it is shown, or a conflict that nobody has
    /// settled, which may bring it back.
    private func isListed(_ token: RowToken) throws -> Bool {
        let (table, id) = (FieldValue.integer(Int64(token.table)), FieldValue.blob(token.id.bytes[...]))
        if hasConflicts,
            try !access.connection.rows(
                "SELECT 1 FROM ferry_conflict WHERE \"table\" = ? AND object = ? AND resolved IS NULL LIMIT 1", table,
                id
            ).isEmpty
        {
            return true
        }
        return try !access.connection.rows(
            """
            SELECT 1 FROM ferry_exception WHERE "table" = ?1 AND object = ?2
            UNION ALL SELECT 1 FROM ferry_joined WHERE "table" = ?1 AND object = ?2
            UNION ALL SELECT 1 FROM ferry_joined WHERE "table" = ?1 AND representative = ?2 LIMIT 1
            """, table, id
        ).isEmpty
    }

    // MARK: What must stay for others' sake

    /// A deletion that is not covered may still lose, and what it deleted would hold back what that refers to. So would what
    /// stays for its values.
    private mutating func findAwaited() throws {
        let meaning = References(registry: access.registry)
        var work: [RowToken] = []
        for table in access.registry.tables.values where table.isLocal {
            if table.incoming.isEmpty, table.foreignKeys.isEmpty { continue }
            var last: ObjectID?
            repeat {
                let ids = try tombstones(of: table, after: last)
                for id in ids {
                    let state = try access.objects(of: table.id).load(id)
                    if isSettled(state), !hasValuesToHold(state, table) { continue }
                    awaited.formUnion(meaning.offers(of: table, state.kept.fields))
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
                work += try access.exceptionTokens.objects(concernedBy: target).filter { $0.table == target.table }
            }
        }
    }
}

extension Store {
    /// Forgets deleted objects that nothing can bring back any more: all that is known of them is covered by `stable`.
    /// It may be repeated, also after a crash in between: each batch is a transaction of its own. Call it where no other
    /// process of Ferry's works on the database.
    ///
    /// - Parameter stable: for each device, what every active device has replayed of its log, as the heads tell that this
    ///   store has replayed up to. A vector that says more than is true makes devices show different rows.
    /// - Returns: the number of objects that were forgotten.
    /// - Throws: `busy`, `inputOutput`; what was collected before stays collected.
    @discardableResult
    public func collectTombstones(stable: VersionVector) throws -> Int {
        if try tombstoneCount() == 0 { return 0 }
        var collected = 0
        var awaited: (tokens: Set<RowToken>, position: VersionVector)?
        let numbers = try readAccess { access in
            try TombstoneCollection(access, stable: stable, awaited: []).isSchemaWhole()
                ? access.registry.tables.values.filter(\.isLocal).map(\.id).sorted() : []
        }
        for number in numbers {
            var last: ObjectID?
            repeat {
                last = try access { access in
                    guard let table = access.registry.tables[number], table.isLocal else { return (nil, []) }
                    let position = try access.versionVector()
                    let known = awaited.flatMap { $0.position == position ? $0.tokens : nil }
                    let collection = try TombstoneCollection(access, stable: stable, awaited: known)
                    awaited = (collection.awaited, position)
                    let batch = try collection.collect(table, after: last)
                    collected += batch.collected
                    return (batch.last, [])
                }
            } while last != nil
        }
        return collected
    }

    /// How many deleted objects the store remembers.
    public func tombstoneCount() throws -> Int {
        try readAccess { access in
            try access.registry.tables.values.reduce(0) { sum, table in
                try sum
                    + access.connection.count(
                        "SELECT count(*) FROM \(table.objectTable) WHERE \(TombstoneCollection.condition)")
            }
        }
    }
}
