import FerryCore
import FerryMerge

/// Deleted rows that a device keeps because it wrote to them, or to what refers to them, when it did not know of the
/// deletion: one that returns, or was copied or restored, or that some other device has not heard of yet.
///
/// The others did not count it when they forgot such deletions, so what it wrote means nothing to them. Once it has replayed
/// what there is, it publishes those rows again whole. `ferry_meta` notes from which of its own writes on this concerns,
/// because the deletion may be in a log that is replayed before or after the snapshot. The deletion may also come later than
/// that. So it is done once more for each device whose head says that it counts this one from now on (`CountingDevices`) and
/// all of what that head speaks of is replayed here, by then with every deletion that it may have forgotten.
///
/// An insertion means something to everybody: who has forgotten the deletion takes it for a new row's. So where such a device
/// inserted what others have deleted, and the deletion stands, it says the deletion again.
struct KeptRows {
    private let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// Notes that a snapshot was merged which does not know all that this device wrote.
    func note(_ standing: SnapshotStanding) throws {
        let known = standing.snapshot[access.device]
        if known.sequence >= standing.own[access.device].sequence { return }
        let time = Int64(bitPattern: known.time.rawValue)
        try access.meta.set(.returned, min(time, access.meta.integer(.returned) ?? time))
        try CountingDevices.begin(access)
    }

    /// The objects to be published again.
    /// - Parameters:
    ///   - time: of this device's last write that everybody knows; `nil`: whoever wrote to them last.
    ///   - wanted: which of those too whose deletion is held back.
    func find(since time: HybridTime?, heldBack wanted: CountingDevices.HeldBack) throws -> Set<RowToken> {
        var found: Set<RowToken> = []
        var heldBack: [RowToken] = []
        for table in access.registry.parentsFirst {
            var ids: [ObjectID] = []
            try access.connection.forEachRow(
                """
                SELECT object FROM \(table.objectTable)
                WHERE shown & \(Shown.deletion) AND \(Shown.way) <> \(Shown.none.rawValue) ORDER BY object
                """
            ) { if let id: ObjectID = $0.id(0) { ids.append(id) } }
            for id in ids {
                let state = try access.objects(of: table.id).load(id)
                let token = RowToken(table: table.id, id: id)
                if HeldBackRows.isHeldBack(state) {
                    heldBack.append(token)
                } else if isKept(state, since: time) {
                    found.insert(token)
                }
            }
        }
        switch wanted {
        case .none: break
        case .all: found.formUnion(heldBack)
        case .byOwnRows: found.formUnion(try OwnHolders(access).held(among: heldBack, with: found))
        }
        return found
    }

    /// The deletions to be said again: others' deletions of what this device inserted, under its present ID.
    ///
    /// Two devices insert one object where both give a row its key, and where one says again what its database said under
    /// another ID (`UnsentRewriting`). Whoever knew the other insertion alone waited for its author only.
    func findDeletions() throws -> Set<RowToken> {
        var found: Set<RowToken> = []
        for table in access.registry.parentsFirst {
            var ids: [ObjectID] = []
            try access.connection.forEachRow(
                "SELECT object FROM \(table.objectTable) WHERE shown & \(Shown.deletion) ORDER BY object"
            ) { if let id: ObjectID = $0.id(0) { ids.append(id) } }
            for id in ids {
                let registers = try access.objects(of: table.id).load(id).registers
                guard !registers.isAlive, let deleted = registers.deleted, deleted.device != access.device,
                    registers.inserted?.device == access.device
                else { continue }
                found.insert(RowToken(table: table.id, id: id))
            }
        }
        return found
    }

    /// What is shown here though it was deleted, and others lack who have replayed all that is known of it here: they have
    /// forgotten it.
    func find(_ requests: [MissingRequest]) throws -> Set<RowToken> {
        let replayed = try access.versionVector()
        // Many may lack the same.
        var requested: [ObjectID: [StampCoverage]] = [:]
        for request in requests {
            let known = StampCoverage(request.known, replayed: replayed)
            for object in request.objects { requested[object, default: []].append(known) }
        }
        var found: Set<RowToken> = []
        for table in access.registry.parentsFirst {
            for (object, coverages) in requested {
                let state = try access.objects(of: table.id).load(object)
                guard state.isStored, HeldBackRows.isHeldBack(state) || isKept(state, since: nil),
                    coverages.contains(where: { $0.covers(state.registers) })
                else { continue }
                found.insert(RowToken(table: table.id, id: object))
            }
        }
        return found
    }

    private func isKept(_ state: ObjectState, since time: HybridTime?) -> Bool {
        let registers = state.registers
        // An insertion after the deletion says all that is needed.
        guard registers.isAlive, let inserted = registers.inserted, let deleted = registers.deleted, inserted < deleted
        else { return false }
        guard let time else { return true }
        return registers.fields.contains { $0.map { $0.device == access.device && $0.time > time } ?? false }
    }

    /// Writes objects as new rows, as of now, with all that this device knows of them.
    /// - Returns: what the rules have to look at.
    func publishAgain(
        _ found: Set<RowToken>, _ clock: inout HybridClock, _ changes: inout [TableChanges]
    ) throws -> [TouchedObject] {
        var writers: [Int: CapturedWriter] = [:]
        var touched: [TouchedObject] = []
        let byTable = Dictionary(grouping: found, by: \.table)
        for table in access.registry.parentsFirst {
            guard let tokens = byTable[table.id] else { continue }
            var writer = try CapturedWriter(access, table)
            for id in tokens.map(\.id).sorted() { touched.append(try writer.publishAgain(id, &clock)) }
            writers[table.id] = writer
        }
        var following = FollowingReferences(access)
        touched += try following.follow(&writers, &clock, notesReferences: false)
        changes += access.registry.parentsFirst.compactMap { writers[$0.id]?.changes }.filter { !$0.isEmpty }
            .map(\.changes)
        return touched
    }

    /// Says deletions again, each as soon after its own time as can be told from it: what was written later stands.
    func delete(_ found: Set<RowToken>) throws -> [TableChanges] {
        let byTable = Dictionary(grouping: found, by: \.table)
        return try access.registry.parentsFirst.compactMap { table in
            guard let tokens = byTable[table.id] else { return nil }
            let states = access.objects(of: table.id)
            var builder = TableChangesBuilder(table, columns: table.columns)
            for id in tokens.map(\.id).sorted() {
                var state = try states.load(id)
                guard let deleted = state.registers.deleted else { continue }
                let stamp = Stamp(time: deleted.time.next, device: access.device)
                state.registers.mergeDeletion(stamp)
                builder.append(id, .delete, stamp.time)
                try states.save(state)
            }
            return builder.isEmpty ? nil : builder.changes
        }
    }
}

extension Store {
    /// Publishes again what this device keeps of rows whose deletion the others may have forgotten without it, and the deletions
    /// of rows that it inserted.
    /// Does nothing where no snapshot was merged since it was last done, the device has the ID that it had then, nobody
    /// counts it who did not before, and nobody lacks what is here.
    /// - Parameters:
    ///   - isLast: whether everything is replayed, so that it need not be done again.
    ///   - counting: the devices that count this one, and did not when they were asked last; all that their heads speak of is
    ///     replayed here.
    ///   - successors: those of them whose databases had another ID before.
    ///   - requests: what others say that they lack.
    /// - Returns: whether there is something new to publish, what was pending included.
    public func publishKeptRows(
        isLast: Bool, counting: Set<DeviceID> = [], successors: Set<DeviceID> = [], requests: [MissingRequest] = [],
        seal: SegmentSealer
    ) throws -> Bool {
        let isDue = try !counting.isEmpty || read { try StoreMeta(connection: $0).integer(.returned) } != nil
        if try !isDue && (requests.isEmpty || readAccess { try KeptRows($0).find(requests).isEmpty }) { return false }
        return try passing(seal) { work in
            let access = work.access
            let returned = try access.meta.integer(.returned)
            let since = HybridTime(rawValue: UInt64(bitPattern: returned ?? 0))
            var others = try CountingDevices.read(access.meta)
            let news = Set(counting.map(\.hex))
            let heldBack =
                returned != nil ? .all : others.heldBack(for: news, successors: Set(successors.map(\.hex)))
            let kept = KeptRows(access)
            var changes: [TableChanges] = []
            try AppTriggers(access).run {
                var found = try kept.find(requests)
                if isDue { found.formUnion(try kept.find(since: news.isEmpty ? since : nil, heldBack: heldBack)) }
                let written = try kept.publishAgain(found, &work.clock, &changes)
                work.touched.formUnion(written.map(\.table))
                try RowMaintenance(access).settle(written)
            }
            try stage(changes, &work, seal)
            if heldBack != .none { try stage(kept.delete(kept.findDeletions()), &work, seal) }
            if isLast { try access.meta.remove(.returned) }
            if !news.isEmpty {
                others.known.formUnion(news)
                others.awaited.subtract(news)
                try others.save(access.meta)
            }
            // What waited was packed first.
            return work.outcome.packed > 0
        }
    }
}
