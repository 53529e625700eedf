import FerryCore
import FerryMerge
import FerrySchema

extension StoreSession {
    /// Replays remote changesets as far as the policies allow, and moves the positions in their logs.
    /// - Parameters:
    ///   - gate: holds the changesets; consecutive for each device, following the replayed position.
    ///   - checksums: the checksum of each device's last segment, if the changesets end with the segment.
    func replay(_ gate: inout PolicyGate, checksums: [DeviceID: Checksum]) throws {
        // More tables may wait now than before the transaction.
        if !access.waiting.isEmpty { try gate.recordObstacles(access) }
        if !gate.isEmpty {
            try checkSequence(Array(gate.rest))
            let replayed = try replaying {
                let replayed = try replay(&gate)
                try replayAhead(gate)
                return replayed
            }
            try access.contexts.prune()
            for device in replayed {
                // If a log stopped within a segment, the last checksum is unknown.
                let checksum = gate.refused[device] == nil ? checksums[device] : nil
                try DeviceTable(connection).setChecksum(checksum, of: device)
            }
        }
        outcome.refused = gate.refused
    }

    /// Replays what waiting logs have in other tables. Their positions stay.
    private func replayAhead(_ gate: PolicyGate) throws {
        var marks = try LogsAhead.load(access.meta)
        let before = marks
        marks.keep(Set(gate.refused.keys))
        let changesets = gate.ahead(&marks, access.registry, access.hooks)
        if !changesets.isEmpty {
            var times = try access.versionVector().positions.mapValues(\.time)
            for changeset in changesets {
                let former = times[changeset.device] ?? .zero
                try access.contexts.record(changeset.context, of: changeset.device, after: former)
                times[changeset.device] = max(former, changeset.time)
            }
            for changeset in changesets { try contentNews.note(changeset.tables, access, areOwn: false) }
            let merged = try AppTriggerSandbox(access).run {
                try ChangesetApplier(access).apply(changesets, &clock, movesPositions: false)
            }
            try take(merged)
            try passOn(changesets)
        }
        if marks != before { try marks.save(access.meta) }
    }

    /// Replays the changesets allowed by the policies, each part under the policies of earlier parts.
    /// - Returns: the devices with replayed changesets.
    private func replay(_ gate: inout PolicyGate) throws -> Set<DeviceID> {
        var replayed: Set<DeviceID> = []
        while let changesets = gate.next(access.registry, access.hooks) {
            let seeds = try PlainReferenceChange.takeUp(PlainReferenceList.targets(in: changesets), &access)
            for changeset in changesets { try contentNews.note(changeset.tables, access, areOwn: false) }
            let merged = try AppTriggerSandbox(access).run {
                try ChangesetApplier(access).apply(changesets, &clock)
            }
            try take(merged)
            try settle(seeds)
            try GenerationWriters(access).note(changesets)
            try passOn(changesets)
            replayed.formUnion(changesets.map(\.device))
            try applyPolicies()
        }
        return replayed
    }

    /// Applies policies set since the last pass; the rest of the pass uses the new policies.
    func applyPolicies() throws {
        guard let change = try PolicyMigration(access) else { return }
        let outcome = try change.run()
        access = outcome.access
        touched.formUnion(outcome.tables)
    }

    private func checkSequence(_ incoming: [Changeset]) throws {
        var expected = try access.versionVector()
        for changeset in incoming {
            let next = expected[changeset.device].sequence + 1
            guard changeset.sequence == next, changeset.device != access.device else {
                throw FerryError(
                    .internalInconsistency,
                    "Changeset \(changeset.sequence) was to be replayed where \(next) is next.",
                    device: changeset.device, sequence: changeset.sequence)
            }
            expected.advance(changeset.device, to: LogPosition(sequence: changeset.sequence, time: changeset.time))
        }
    }
}
