import FerryCore
import FerrySeal

/// A member's duties toward the membership, computed from the member's knowledge. The list is pure; the engine turns
/// the duties into records and snapshots. Several members may do the same duty at once without harm.
package struct MemberDuties: Hashable, Sendable {
    package enum Duty: Hashable, Sendable {
        /// Let the newcomer of a claim in.
        case admit(Claim, Admission.Way)
        /// Make an epoch: there is no clean epoch, or an unclean epoch has a greater number, or nobody can open the
        /// clean epoch here.
        case rotate
        /// Hand an epoch on to members without the secret.
        case grant(EpochID, [DeviceID])
        /// Publish a snapshot that covers this device's knowledge of the log of a device that is out.
        case cover(DeviceID, LogEnding)
        /// Accept the log of a device that is out, up to this end: a snapshot covers the log so far.
        case accept(DeviceID, LogEnding)
    }

    /// The knowledge of a member.
    package struct Situation: Sendable {
        package var device: DeviceID
        package var roster: Roster
        /// Whether there is something to publish, and therefore an epoch is needed.
        package var hasSomethingToPublish: Bool
        /// The epochs with secrets here.
        package var knownEpochs: Set<EpochID>
        /// Epochs besides the current epoch, with the members who lack each of them. These are epochs of existing
        /// files, and epochs outside the current epoch's ring (`MemberGraph.epochsBeside`).
        package var lackingOthers: [EpochID: [DeviceID]] = [:]
        /// Claims bound to an invitation of this device, and claims with words typed by a person here.
        package var claims: [Claim]
        /// How far this device has replayed the logs of the remaining devices.
        package var positions: [DeviceID: LogEnding]
        /// Of these logs, the logs covered by a member's published snapshot as far as this device has replayed them.
        package var covered: Set<DeviceID>

        package init(
            device: DeviceID, roster: Roster, hasSomethingToPublish: Bool = false, knownEpochs: Set<EpochID> = [],
            claims: [Claim] = [], positions: [DeviceID: LogEnding] = [:], covered: Set<DeviceID> = []
        ) {
            self.device = device
            self.roster = roster
            self.hasSomethingToPublish = hasSomethingToPublish
            self.knownEpochs = knownEpochs
            self.claims = claims
            self.positions = positions
            self.covered = covered
        }
    }

    /// In the order of execution.
    package let due: [Duty]

    /// Finds the duties. A device without membership, or with a roster of a later Ferry, has no duties.
    package init(_ situation: Situation) {
        let roster = situation.roster
        guard roster.members[situation.device] != nil, !roster.needsUpdate else {
            due = []
            return
        }
        var due: [Duty] = []
        func grant(_ epoch: EpochID, _ devices: [DeviceID]) {
            let lacking = devices.filter { $0 != situation.device && roster.members[$0] != nil }
            if !lacking.isEmpty, situation.knownEpochs.contains(epoch) { due.append(.grant(epoch, lacking)) }
        }
        for claim in situation.claims.sorted(by: { $0.device < $1.device })
        where roster.members[claim.device] == nil && roster.left[claim.device] == nil
            && roster.removed[claim.device] == nil
        {
            due.append(.admit(claim, claim.way))
        }
        // Nothing is sealed under an epoch below the greatest number seen: a greater unclean epoch has to be beaten.
        if let epoch = roster.epoch, epoch.number >= roster.greatestEpoch {
            grant(epoch.id, epoch.lacking)
            // Somebody made a wrap for this device, and the wrap opens nothing. Waiting would never end.
            let isUnopenable = !situation.knownEpochs.contains(epoch.id) && !epoch.lacking.contains(situation.device)
            if isUnopenable, situation.hasSomethingToPublish { due.append(.rotate) }
        } else if situation.hasSomethingToPublish || !due.isEmpty {
            due.append(.rotate)
        }
        for (epoch, devices) in situation.lackingOthers.sorted(by: { $0.key < $1.key }) { grant(epoch, devices) }
        for (device, removed) in roster.removed.sorted(by: { $0.key < $1.key }) {
            guard let position = situation.positions[device], position.sequence > removed.end?.sequence ?? 0 else {
                continue
            }
            due.append(situation.covered.contains(device) ? .accept(device, position) : .cover(device, position))
        }
        self.due = due
    }
}
