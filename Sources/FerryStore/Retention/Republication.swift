import FerryCore
import FerryMerge
import FerrySchema

/// Republication: publishes deleted rows again whole, if this device wrote to them or to rows referring to them without
/// knowing of the deletion. The device may have returned, been copied or restored, or be unknown to a further device.
///
/// Remote devices forgot such deletions without counting this device, so its writes mean nothing to them. After
/// replaying everything, this device publishes the rows again whole.
///
/// `ferry_meta` records the first of its own writes concerned, because a log with the deletion may be replayed before
/// or after the snapshot.
///
/// The deletion may also come later. So republication is repeated for each device whose head newly counts this device
/// (`MemberAcknowledgements`), once everything named by that head is replayed. Then every deletion the device may have
/// forgotten is known here.
///
/// An insertion has a meaning for every device: a device without the deletion takes the insertion for a new row. So if
/// this device inserted an object others deleted, and the deletion stands, the deletion is published again.
struct Republication {
    private let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// Records the merge of a snapshot without all of this device's writes.
    func note(_ standing: SnapshotCoverage) throws {
        let known = standing.snapshot[access.device]
        if known.sequence >= standing.own[access.device].sequence { return }
        let time = Int64(bitPattern: known.time.rawValue)
        try access.meta.set(.returned, min(time, access.meta.integer(.returned) ?? time))
        try MemberAcknowledgements.begin(access)
    }

    /// Finds the objects to publish again.
    /// - Parameters:
    ///   - time: the time of this device's last write known everywhere; `nil` for objects written by any device.
    ///   - wanted: the retained objects to include.
    func find(since time: HybridTime?, heldBack wanted: MemberAcknowledgements.HeldBack) throws -> Set<RowToken> {
        var found: Set<RowToken> = []
        var heldBack: [RowToken] = []
        for table in access.registry.parentsFirst {
            var ids: [ObjectID] = []
            try access.connection.forEachRow(
                """
                SELECT object FROM \(table.objectTable)
                WHERE shown & \(Visibility.deletion) AND \(Visibility.way) <> \(Visibility.none.rawValue) ORDER BY object
                """
            ) { if let id: ObjectID = $0.id(0) { ids.append(id) } }
            for id in ids {
                let state = try access.objects(of: table.id).load(id)
                let token = RowToken(table: table.id, id: id)
                if state.isHeldBack {
                    heldBack.append(token)
                } else if isKept(state, since: time) {
                    found.insert(token)
                }
            }
        }
        switch wanted {
        case .none: break
        case .all: found.formUnion(heldBack)
        case .byOwnRows: found.formUnion(try LocalHolders(access).held(among: heldBack, with: found))
        }
        return found
    }

    /// Finds the deletions to publish again: remote deletions of objects inserted by this device, under its present ID.
    ///
    /// Two devices insert the same object if both give a row the same key. Or if a device repeats its writes under a
    /// new ID (`UnpublishedRestamping`). A device knowing only the first insertion waited only for its author.
    func findDeletions() throws -> Set<RowToken> {
        var found: Set<RowToken> = []
        for table in access.registry.parentsFirst {
            // A device may know very many deletions: their states are read in passing.
            try access.connection.forEachRow(
                """
                SELECT object, state FROM \(table.objectTable)
                WHERE shown & \(Visibility.deletion) AND state IS NOT NULL ORDER BY object
                """
            ) { row in
                guard let id: ObjectID = row.id(0) else { return }
                var registers = try StateCodec.decode(row.bytes(1), device: { try access.devices.device($0) }).registers
                registers.deletionWins = table.deletionWins
                guard !registers.isAlive, let deleted = registers.deleted, deleted.device != access.device,
                    registers.inserted?.device == access.device
                else { return }
                found.insert(RowToken(table: table.id, id: id))
            }
        }
        return found
    }

    /// Finds requested objects shown here in spite of a deletion. The requesting device has replayed everything known
    /// of the object here, and so has forgotten the object.
    func find(_ requests: [MissingRequest]) throws -> Set<RowToken> {
        let replayed = try access.versionVector()
        // Several requests may name the same object.
        var requested: [ObjectID: [StampCoverage]] = [:]
        for request in requests {
            let known = StampCoverage(request.known, replayed: replayed)
            for object in request.objects { requested[object, default: []].append(known) }
        }
        var found: Set<RowToken> = []
        for table in access.registry.parentsFirst {
            for (object, coverages) in requested {
                let state = try access.objects(of: table.id).load(object)
                guard state.isStored, state.isHeldBack || Repetition.concerns(state.registers),
                    coverages.contains(where: { $0.covers(state.registers) })
                else { continue }
                found.insert(RowToken(table: table.id, id: object))
            }
        }
        return found
    }

    private func isKept(_ state: ObjectState, since time: HybridTime?) -> Bool {
        let registers = state.registers
        guard Repetition.concerns(registers), !registers.isRepeated else { return false }
        guard let time else { return true }
        return registers.fields.contains { $0.map { $0.device == access.device && $0.time > time } ?? false }
    }

    /// Writes objects as new rows, as of now, with all known values.
    /// - Returns: the objects the rules must check.
    func publishAgain(
        _ found: Set<RowToken>, _ clock: inout HybridClock, _ changes: inout [TableChanges]
    ) throws -> [TouchedObject] {
        let flush = FlushWriter(access, clock, tracksReferences: false)
        var touched: [TouchedObject] = []
        let byTable = Dictionary(grouping: found, by: \.table)
        for table in access.registry.parentsFirst {
            guard let tokens = byTable[table.id] else { continue }
            touched += try flush.write(to: table) { writer, clock in
                try tokens.map(\.id).sorted().map { try writer.publishAgain($0, &clock) }
            }
        }
        var following = ReferenceRepointing(access)
        touched += try following.follow(flush)
        changes += flush.changes
        clock = flush.clock
        return touched
    }
}

extension StoreSession {
    /// Publishes rows again if the other devices may have forgotten their deletion.
    /// - Parameter isDue: true if newly counting devices or this device's return need rows beyond `requests`.
    /// - Returns: true if there is something new to publish, pending changes included.
    func republishRows(
        isDue: Bool, isLast: Bool, counting: Set<DeviceID>, successors: Set<DeviceID>, requests: [MissingRequest]
    ) throws -> Bool {
        let returned = try access.meta.integer(.returned)
        let since = HybridTime(rawValue: UInt64(bitPattern: returned ?? 0))
        var others = try MemberAcknowledgements.read(access.meta)
        let news = Set(counting.map(\.hex))
        let heldBack =
            returned != nil ? .all : others.heldBack(for: news, successors: Set(successors.map(\.hex)))
        let kept = Republication(access)
        var (changes, repetitions): ([TableChanges], [TableChanges]) = ([], [])
        try AppTriggerSandbox(access).run {
            var found = try kept.find(requests)
            if isDue { found.formUnion(try kept.find(since: news.isEmpty ? since : nil, heldBack: heldBack)) }
            let repetition = try Repetition(access, among: found)
            let repeated = try repetition.write(&repetitions)
            let written = try kept.publishAgain(found.subtracting(repetition.objects), &clock, &changes)
            touched.formUnion((repeated + written).map(\.table))
            try RowProjector(access).settle(repeated + written)
        }
        try stage(repetitions)
        try stage(changes)
        if heldBack != .none { try stage(RepeatedDeletions(access).write(kept.findDeletions())) }
        if isLast { try access.meta.remove(.returned) }
        if !news.isEmpty {
            others.known.formUnion(news)
            others.awaited.subtract(news)
            try others.save(access.meta)
        }
        // Pending changes were packed first.
        return outcome.packed > 0
    }
}
