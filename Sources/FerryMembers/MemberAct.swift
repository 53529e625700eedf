import FerryCore
import FerrySeal

/// What a record says of members or epochs. A record has one or several, and all of them are its author's.
package enum MemberAct: Hashable, Sendable {
    /// Founds the membership. The first act of the first record, and of no other.
    case found(Founding)
    /// Lets a device in.
    case admit(Admission)
    /// Puts a device out, for good.
    case remove(DeviceID)
    /// The author goes, and says where its log ends.
    case leave(LogEnding)
    /// A snapshot that is there covers the log of a device that is out, so far.
    case accept(DeviceID, LogEnding)
    /// Makes an epoch.
    case epoch(EpochMaking)
    /// Hands an epoch on to devices that came later.
    case grant(EpochID, [KeyWrap])
    /// Something that a later Ferry says.
    case unknown(UInt8, [UInt8])
}

/// What the first record founds a membership with.
package struct Founding: Hashable, Sendable {
    /// The keys of the recovery code; `nil` where there is none.
    package var recovery: DevicePublicKeys?
    /// The recovery key's signature over the record up to it; all zero where there is none.
    package var recoverySignature: [UInt8]
    package var founder: DevicePublicKeys
    /// The logs of an open container that was sealed: they count as removed, with these ends. In ascending order.
    package var formerLogs: [FormerLog]

    package init(
        recovery: DevicePublicKeys?, recoverySignature: [UInt8] = [UInt8](repeating: 0, count: 64),
        founder: DevicePublicKeys, formerLogs: [FormerLog] = []
    ) {
        self.recovery = recovery
        self.recoverySignature = recoverySignature
        self.founder = founder
        self.formerLogs = formerLogs
    }

    package struct FormerLog: Hashable, Sendable {
        package var device: DeviceID
        package var end: LogEnding

        package init(device: DeviceID, end: LogEnding) {
            self.device = device
            self.end = end
        }
    }
}

/// How a device was let in, and with which keys.
package struct Admission: Hashable, Sendable {
    /// Who vouches for the newcomer.
    package enum Way: UInt8, CaseIterable, Sendable {
        /// Whoever knows the code of an invitation.
        case code = 1
        /// A person who typed the words on its screen.
        case words = 2
        /// The recovery key.
        case recovery = 3
        /// The device that it was before it was copied: it is as old as that one.
        case copy = 4
    }

    package var way: Way
    package var device: DeviceID
    package var keys: DevicePublicKeys
    /// The hash of the claim that is answered; all zero for `recovery` and `copy`.
    package var claim: [UInt8]
    /// For `code` the proof that the author knows it too; all zero for the others.
    package var answer: [UInt8]

    private static let zeros = [UInt8](repeating: 0, count: 32)

    package init(
        _ way: Way, _ keys: DevicePublicKeys, in container: ContainerID, claim: [UInt8]? = nil, answer: [UInt8]? = nil
    ) {
        self.way = way
        device = keys.device(in: container)
        self.keys = keys
        self.claim = claim ?? Self.zeros
        self.answer = answer ?? Self.zeros
    }
}

/// Where a log ends, as far as it counts.
package struct LogEnding: Hashable, Comparable, Sendable {
    /// The number of the last changeset; 0 for a log without any.
    package var sequence: UInt64
    /// The latest time up to there.
    package var time: HybridTime
    /// The checksum of the segment that ends there.
    package var checksum: Checksum

    package init(sequence: UInt64, time: HybridTime, checksum: Checksum) {
        self.sequence = sequence
        self.time = time
        self.checksum = checksum
    }

    /// By the number; what follows decides between branches of a log that forked, and means nothing.
    package static func < (left: LogEnding, right: LogEnding) -> Bool {
        (left.sequence, left.time, left.checksum) < (right.sequence, right.time, right.checksum)
    }
}

/// A new epoch: its name, who gets its secret, and the earlier ones that are still needed.
package struct EpochMaking: Hashable, Sendable {
    /// One more than the greatest number that the author knew.
    package var number: UInt32
    package var epoch: EpochID
    /// In strictly ascending order of receivers.
    package var wraps: [KeyWrap]
    /// What `EpochSecret.sealRing` made.
    package var ring: [UInt8]

    package init(number: UInt32, epoch: EpochID, wraps: [KeyWrap], ring: [UInt8]) {
        self.number = number
        self.epoch = epoch
        self.wraps = wraps
        self.ring = ring
    }
}
