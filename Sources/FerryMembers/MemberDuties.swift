import FerryCore
import FerrySeal

/// What a member has to do for the others, from what it knows: a pure list, which the engine turns into records and snapshots.
/// Several members may do the same at once; that does no harm.
package struct MemberDuties: Hashable, Sendable {
    package enum Duty: Hashable, Sendable {
        /// Let the newcomer of a claim in.
        case admit(Claim, Admission.Way)
        /// Make an epoch, because there is none that is clean, because one that is not clean has a greater number, or because nobody can
        /// open the clean one here.
        case rotate
        /// Hand an epoch on to members that lack it.
        case grant(EpochID, [DeviceID])
        /// Publish a snapshot that covers what is known here of the log of a device that is out.
        case cover(DeviceID, LogEnding)
        /// Say how far the log of a device that is out counts: a snapshot that covers it is there.
        case accept(DeviceID, LogEnding)
    }

    /// What a member knows.
    package struct Situation: Sendable {
        package var device: DeviceID
        package var roster: Roster
        /// Whether there is something to publish, so that an epoch is needed.
        package var hasSomethingToPublish: Bool
        /// The epochs whose secrets are here.
        package var knownEpochs: Set<EpochID>
        /// Epochs besides the current one that members lack, with these members: those under which there are files, and those that
        /// the current one's ring cannot have (`MemberGraph.epochsBeside`).
        package var lackingOthers: [EpochID: [DeviceID]] = [:]
        /// Claims that an invitation of this device is bound to, or whose words a person typed here.
        package var claims: [Claim]
        /// How far the logs of other devices are replayed here.
        package var positions: [DeviceID: LogEnding]
        /// Of these logs those that a snapshot of a member which is there covers as far as they are replayed here.
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

    /// In the order in which they are done.
    package let due: [Duty]

    /// Finds what is due. Nothing is for who is no member, or cannot tell who is one.
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
        // Nothing is sealed under an epoch below the greatest number that was seen: a greater one that is not clean has to be beaten.
        if let epoch = roster.epoch, epoch.number >= roster.greatestEpoch {
            grant(epoch.id, epoch.lacking)
            // Somebody wrapped it for this device by a wrap that opens nothing: waiting would be for ever.
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
