import FerryContainer
import FerryCore
import FerryMembers
import FerryStore

/// The logs of devices that are out. Nobody reads these logs any more, because their authors can rewrite unread parts.
/// The counted part comes by members' snapshots (Docs/Sealing.md, "Who is a member").
extension Replica {
    /// How far the logs of departed devices are read; no ends for an open container.
    func logEnds() throws -> LogReader.Ends {
        guard let roster = try membershipOfPass()?.roster else { return LogReader.Ends() }
        return LogReader.Ends(
            left: roster.left.mapValues(\.end.sequence), accepted: roster.removed.mapValues { $0.end?.sequence ?? 0 })
    }

    /// Accepts logs of devices that are out, as far as this device knows more than was accepted. A snapshot with these
    /// changes comes first.
    /// - Parameters:
    ///   - container: gets the present seal.
    ///   - heads: of the remaining members.
    ///   - isThorough: true: make sure a snapshot has the accepted changes, even after the loss of the snapshot's
    ///     writer.
    func acceptLogs(
        _ container: inout Container, _ reading: StoreSummary, told heads: [DeviceID: Head], isThorough: Bool
    ) throws {
        guard var membership = try membershipOfPass(), !membership.roster.removed.isEmpty else { return }
        var situation = MemberDuties.Situation(device: membership.device, roster: membership.roster)
        for device in membership.roster.removed.keys {
            guard let position = reading.vector.positions[device], position.sequence > 0 else { continue }
            situation.positions[device] = LogEnding(
                sequence: position.sequence, time: position.time,
                checksum: reading.checksums[device] ?? Checksum(high: 0, low: 0))
        }
        if isThorough { try coverAccepted(situation, at: membership.graph.count, container, told: heads) }
        if MemberDuties(situation).due.isEmpty { return }
        situation.covered = try covered(situation.positions, membership.roster, container)
        if MemberDuties(situation).due.contains(where: { if case .cover = $0 { true } else { false } }) {
            do {
                try writeSnapshot(container)
            } catch let error as FerryError where error.code == .busy {
                // Changes came in the meantime: the next pass covers them too.
                return
            }
            situation.covered = try covered(situation.positions, membership.roster, container)
        }
        let acts = MemberDuties(situation).due.compactMap { duty -> MemberAct? in
            if case .accept(let device, let end) = duty { .accept(device, end) } else { nil }
        }
        for start in stride(from: 0, to: acts.count, by: MemberRecord.maximumActs) {
            try say(
                Array(acts[start..<min(start + MemberRecord.maximumActs, acts.count)]), &membership, container)
        }
        container = try container.sealed(by: membership.seal(after: container.seal))
    }

    /// Publishes a snapshot if no snapshot has the accepted part of a log, and this device has it.
    /// - Parameter count: the number of records.
    private func coverAccepted(
        _ situation: MemberDuties.Situation, at count: Int, _ container: Container, told heads: [DeviceID: Head]
    ) throws {
        var accepted: [DeviceID: LogEnding] = [:]
        for (device, removed) in situation.roster.removed {
            guard let end = removed.end, end.sequence > 0, let own = situation.positions[device] else { continue }
            // If nobody has the whole accepted part, the device with the most of the log covers the part.
            guard own.sequence >= min(end.sequence, LogReader.furthest(of: device, in: heads)) else { continue }
            accepted[device] = min(end, own)
        }
        let now = environment.clock.milliseconds()
        if accepted.isEmpty || memory.areCovered(accepted, at: count, now) { return }
        if try covered(accepted, situation.roster, container).count == accepted.count {
            return memory.noteCovered(accepted, at: count, now)
        }
        do {
            try writeSnapshot(container)
        } catch let error as FerryError where error.code == .busy {
            return  // changes came in the meantime: the next pass writes the snapshot
        }
    }

    /// Writes a snapshot of everything published here.
    /// - Throws: as `SnapshotWriter.write`.
    func writeSnapshot(_ container: Container) throws {
        let snapshots = ContainerSnapshots(
            container: container, store: store, identity: identity, clock: environment.clock,
            largeValues: environment.largeValues)
        try Compactor.note(snapshots.write(), in: store)
    }

    /// Of these logs, the logs covered by a member's present snapshot which newcomers can open.
    private func covered(
        _ positions: [DeviceID: LogEnding], _ roster: Roster, _ container: Container
    ) throws -> Set<DeviceID> {
        let entries = try SnapshotCatalog(container).entries().filter {
            try roster.members[$0.device] != nil && NeededEpochs.isHandedOn($0, container)
        }
        return Set(
            positions.filter { device, end in
                entries.contains { $0.manifest.vector[device].sequence >= end.sequence }
            }.keys)
    }

    /// The devices with the same records and a different roster.
    func disagreements(_ heads: [DeviceID: Head], with membership: Membership?) -> [DeviceID: FerryError] {
        guard let own = membership?.knowledge else { return [:] }
        return heads.compactMapValues { head in
            guard let knowledge = head.sealed?.knowledge, knowledge.recordsDigest == own.recordsDigest,
                knowledge.rosterDigest != own.rosterDigest
            else { return nil }
            return FerryError(
                .membersDiffer,
                "It knows the same records, and takes other devices for members. Update Ferry on both; if that does not help, "
                    + "report it.", device: head.device)
        }
    }
}
