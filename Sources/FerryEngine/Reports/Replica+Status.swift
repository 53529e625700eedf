import FerryContainer
import FerryCore
import FerryLog
import FerryStore

extension Replica {
    /// The container is there, and this device cannot take part.
    private static let codesOfAccess: Set<FerryError.Code> = [.keyMissing, .keyExposed, .notMember]

    /// Returns the status from the store and the container's heads. Nothing is changed.
    public func status() throws -> StatusReport {
        try refreshIdentity()
        let identity = identity
        let status = try store.status()
        let reading = try store.reading()
        let former = reading.formerDevices
        var heads: [DeviceID: Head] = [:]
        var problems: [DeviceID: FerryError] = [:]
        var problem: FerryError?
        var abandoned: Set<DeviceID> = []
        do {
            let container = try openContainerAfresh()
            try container.forEachHead(of: container.devices()) { device, head in
                do {
                    if let head = try head.get() { heads[device] = head }
                } catch let error as FerryError {
                    problems[device] = error
                }
            }
            let batch = try reader(container, reading).read(
                after: reading.vector, known: reading.checksums, isThorough: true)
            problems.merge(batch.problems) { $1 }
            abandoned = batch.abandoned
            problems.merge(try refusals(of: batch, reading)) { $1 }
        } catch let error as FerryError {
            problem = error
        }
        let ownSequence = status.devices.first { $0.isSelf }?.position.sequence ?? 0
        var seen = Dictionary(
            status.devices.filter { !$0.isSelf }.map { ($0.id, ($0.name, $0.position.sequence)) },
            uniquingKeysWith: { first, _ in first })
        for (device, head) in heads where device != identity.device && seen[device] == nil {
            seen[device] = (head.deviceName, 0)
        }
        let vector = reading.vector
        problems.merge(clocksAhead(reading)) { reason, _ in reason }
        let told = heads.filter { $0.key != identity.device }
        problems.merge(forkedViews(told, reading, abandoned: abandoned)) { reason, _ in reason }
        problems.merge(withheldLogs(told, reading)) { reason, _ in reason }
        if try isOut() {
            // The key of a membership without this device never arrives.
            problems = problems.filter { $0.value.code != .fileNotThereYet }
        }
        // Without a key or a folder no head was read.
        if !told.isEmpty { problems.merge(disagreements(told, with: try membership())) { reason, _ in reason } }
        let successors = Successors(heads, self: identity.device, former).all
        let superseded = try endedDevices(reading).union(successors.keys)
        // The store may know more of a superseded device than the device's last head announces.
        for (device, head) in heads
        where device != identity.device && problems[device] == nil && !superseded.contains(device) {
            problems[device] = Self.older(head, than: vector[device].sequence)
        }
        let reasons = reading.waiting
        // A problem that no sync has met yet is as old as this look.
        func since(_ device: DeviceID) -> Int64? {
            guard let problem = problems[device] else { return nil }
            return reasons[device].flatMap { $0.isSame(as: problem) ? $0.sinceMilliseconds : nil }
                ?? environment.clock.milliseconds()
        }
        var others = heads
        others[identity.device] = nil
        let look = ContainerView(heads: others, devices: Array(others.keys))
        let activity = try presentActivity(look, reading).activity
        let counted = Dictionary(activity.peers.map { ($0.record.id, $0) }, uniquingKeysWith: { first, _ in first })
        let indexedByKeys = try store.tablesWithIndexesOnKeys()
        let apart = Set(reading.otherGenerations.map(\.device))
        let gone = try devicesThatAreOut()
        let roster = gone.isEmpty ? nil : try membership()?.roster
        let peers = seen.sorted { $0.key < $1.key }.map { device, known in
            let head = heads[device]
            let announced = head?.position.sequence ?? 0
            let standing = head.map {
                PeerStanding(vector, reading.tables, hasNotes: status.pendingNotes > 0, superseded: superseded, $0)
            }
            let acknowledged = head?.acknowledgements[identity.device]?.sequence ?? 0
            return StatusReport.Peer(
                id: device.description, name: head?.deviceName ?? known.0,
                behind: announced > known.1 && !abandoned.contains(device) ? Int(min(announced - known.1, 1 << 40)) : 0,
                unacknowledged:
                    ownSequence > acknowledged && !gone.contains(device) ? Int(ownSequence - acknowledged) : 0,
                lastSeenMilliseconds: head?.writtenMilliseconds ?? counted[device]?.record.writtenMilliseconds
                    ?? (gone.contains(device) ? reading.lastSeen(device) : nil),
                activity: gone.contains(device) ? .retired : counted[device]?.state ?? .active,
                isLeftBehind: counted[device].map { activity.isLeftBehind($0, logStart: reading.logStart) } ?? false,
                problem: problems[device]?.message,
                problemCode: problems[device]?.code.rawValue, problemSinceMilliseconds: since(device),
                problemFile: problems[device]?.path,
                standing: Self.kind(standing, status, isApart: apart.contains(device)),
                changesetsBehind: standing?.behind,
                changesetsAhead: standing?.ahead,
                differing: Self.names(standing?.tables.differing),
                waitingTables: Self.names(standing?.tables.waiting),
                differingRows: Self.names(standing.map { $0.tables.rows.subtracting($0.tables.states) }),
                differingSchemas: Self.names(
                    standing.map { $0.kind == .differs ? $0.tables.schemas : $0.tables.meanings }),
                leftTables: Self.names(standing.map { $0.tables.left.intersection($0.tables.states) }),
                differingByKeys: Self.names(standing.map { $0.tables.rows.isEmpty ? [] : indexedByKeys }),
                successors: successors[device]?.keys.sorted().map(\.description),
                membership: gone.contains(device) ? roster.flatMap { MemberStanding(device, in: $0)?.membership } : nil)
        }
        let failure = reading.failure
        var place = StatusReport.ContainerPlace(
            id: identity.container.description, name: identity.containerName, path: identity.containerPath,
            kind: (try? ContainerLocation(identity.containerPath).kind) ?? "folder",  // a place was read before
            reachable: problem.map { Self.codesOfAccess.contains($0.code) } ?? true, problem: problem?.message,
            failure: failure?.note.error().message,
            failingSinceMilliseconds: failure?.sinceMilliseconds)
        do {
            if let reason = try addMembership(to: &place, named: reading.names) { place.problem = reason }
        } catch let error as FerryError where Self.codesOfAccess.contains(error.code) {
            place.sealed = true
            place.problem = error.message
        }
        if let reason = reasonAgainstPlace() { place.problem = place.problem ?? reason.message }
        return StatusReport(
            device: .init(id: identity.device.description, name: identity.deviceName),
            container: place,
            tables: status.tables.map { .init($0) },
            leftOut: status.leftOut.map { .init(name: $0.name, reason: $0.reason) },
            tablesApart: try tablesApart(reading), waitingTables: reading.waitingTables,
            leftOutTriggers: try store.leftOutTriggers(), devices: peers,
            unpublished: status.pendingNotes + status.outboxChanges, unseenTables: status.unseen, hidden: status.hidden,
            exceptions: status.exceptional.map {
                .init(
                    table: $0.table, kind: .init($0.kind), reason: $0.reason,
                    columns: $0.columns.isEmpty ? nil : $0.columns, count: $0.count)
            }
                + status.stranded.map {
                    .init(
                        table: $0.table, kind: .stranded,
                        reason: "refers to a row of \($0.parent) that another device deleted, or that is hidden",
                        count: $0.rows)
                }
                + status.left.sorted { $0.key < $1.key }.map { table, count in
                    .init(
                        table: plainText(table), kind: .left,
                        reason:
                            "went when the table was dropped or emptied here without a deletion; the other devices may "
                            + "have it, and a new file that joins gets it back", count: count)
                }, conflicts: status.conflicts,
            policies: try store.policies().map { .init(target: $0.target, policy: $0.word, applied: $0.isApplied) },
            plainReferences: try store.plainReferences(), documents: try documentsStatus())
    }

    /// Whether this device is no member of its sealed container, as far as known here.
    private func isOut() throws -> Bool {
        do {
            return try membership().map { !$0.isMember } ?? false
        } catch let error as FerryError where Self.codesOfAccess.contains(error.code) {
            return false
        }
    }

    func documentsStatus() throws -> StatusReport.Documents? {
        guard let found = try store.contentStatistics(), found.contents + found.folders + found.strangeValues > 0
        else { return nil }
        let pending = try pendingPacks()
        return StatusReport.Documents(
            documents: found.documents, folders: found.folders, bytes: found.bytes, hereBytes: found.hereBytes,
            pendingPacks: pending.count, pendingBytes: pending.reduce(0) { $0 + $1.byteCount }, waiting: found.waiting,
            code: found.code?.rawValue, file: found.file, sinceMilliseconds: found.sinceMilliseconds, lost: found.lost,
            conflicts: found.conflicts, strangeValues: found.strangeValues > 0 ? found.strangeValues : nil,
            strangeColumn: found.strangeColumn)
    }

    /// Returns why logs with whole files stop: their content is refused, now or by the last sync. Each error names its
    /// file.
    func refusals(of batch: LogReader.Batch, _ reading: StoreSummary) throws -> [DeviceID: FerryError] {
        var refusals = try store.refusals(of: batch.changesets)
        for (device, reason) in reading.waiting where refusals[device] == nil && batch.problems[device] == nil {
            // The last sync stopped at the next changeset to replay.
            guard let next = batch.changesets.first(where: { $0.device == device })?.sequence else { continue }
            var error = reason.note.error(of: device)
            if error.sequence == nil { error.sequence = next }
            if Self.isRefusal(error) { refusals[device] = error }
        }
        return Dictionary(
            uniqueKeysWithValues: refusals.map { ($0, LogReplay.located($1, $0, batch)) })
    }

    /// True if an error concerns a present log that cannot be replayed, false if the log is still to come.
    private static func isRefusal(_ error: FerryError) -> Bool {
        ![.fileNotThereYet, .logCollected, .olderState, .clockAhead, .deviceForked].contains(error.code)
    }

    /// Digests prove nothing about a table that was made anew since the last pass, or that has another primary key there.
    private static func kind(
        _ standing: PeerStanding?, _ status: StoreStatus, isApart: Bool
    ) -> PeerStanding.Kind? {
        guard let kind = standing?.kind else { return nil }
        return kind == .inStep && (isApart || !status.unseen.isEmpty) ? .unproven : kind
    }

    private static func names(_ tables: Set<String>?) -> [String]? {
        tables.flatMap { $0.isEmpty ? nil : $0.sorted().map(plainText) }
    }

    /// Explains a head with fewer changesets than known here. The syncer still has to bring the new head, or the folder
    /// went back to an older state.
    static func older(_ head: Head, than known: UInt64) -> FerryError? {
        guard head.position.sequence < known else { return nil }
        return FerryError(
            .olderState,
            "The container shows an older state of it: its head tells of \(head.position.sequence) changesets, and \(known) are "
                + "known here. Nothing is lost. If this lasts, the container was set back: sync on that device.",
            device: head.device)
    }
}
