import FerryContainer
import FerryCore

/// How this device's state compares with another one's, as its head tells: a pure function of both.
struct PeerStanding: Equatable {
    enum Kind: String {
        /// Both have replayed the same changes, and the digests of their states agree.
        case inStep
        /// The other device has replayed changes that this one has not.
        case behind
        /// This device has changes that the other one has not replayed.
        case ahead
        /// Both of that.
        case apart
        /// Both have replayed the same changes and hold different states: a defect of Ferry's, or damage.
        case differs
        /// Both have replayed the same changes; the other one does not tell digests.
        case unproven
    }

    var kind: Kind
    /// Changesets of any device that the other one has replayed and this one has not, and the reverse.
    var behind = 0
    var ahead = 0
    /// What the digests that differ cover.
    var differing: [UInt32] = []
    /// Whether both have replayed the same changes, but for logs that were superseded, and hold different states.
    private(set) var isContradicted = false

    /// More than that is said as that: a head may claim anything.
    private static let most = 1 << 40

    private static func sum(_ count: Int, _ further: UInt64) -> Int { min(count + Int(min(further, 1 << 40)), most) }

    /// - Parameters:
    ///   - vector: what this device has replayed, and its digests at that point.
    ///   - hasNotes: whether changes wait that are not packed yet; they will be a changeset.
    ///   - superseded: devices that go on under other IDs. Where two copies published under one ID, their logs are read
    ///     to different ends; what they said came once more from their successors, so equal digests decide.
    init(
        _ vector: VersionVector, _ digests: [UInt32: UInt64], hasNotes: Bool, superseded: Set<DeviceID> = [],
        _ head: Head
    ) {
        var theirs = VersionVector(head.acknowledgements)
        theirs.advance(head.device, to: head.position)
        var differences: Set<DeviceID> = []
        for device in Set(vector.positions.keys).union(theirs.positions.keys) {
            let (here, there) = (vector[device].sequence, theirs[device].sequence)
            if here != there { differences.insert(device) }
            if here < there { behind = Self.sum(behind, there - here) } else { ahead = Self.sum(ahead, here - there) }
        }
        if hasNotes { ahead += 1 }
        let shared = digests.filter { head.digests[$0.key] != nil }
        let isSettled = !hasNotes && !shared.isEmpty && shared.allSatisfy { head.digests[$0.key] == $0.value }
        isContradicted =
            !hasNotes && differences.isSubset(of: superseded) && shared.contains { head.digests[$0.key] != $0.value }
        if isSettled, differences.isSubset(of: superseded) { (behind, ahead) = (0, 0) }
        switch (behind > 0, ahead > 0) {
        case (true, true): kind = .apart
        case (true, false): kind = .behind
        case (false, true): kind = .ahead
        case (false, false):
            let common = digests.filter { head.digests[$0.key] != nil }
            differing = common.filter { head.digests[$0.key] != $0.value }.keys.sorted()
            kind = common.isEmpty ? .unproven : differing.isEmpty ? .inStep : .differs
        }
    }
}
