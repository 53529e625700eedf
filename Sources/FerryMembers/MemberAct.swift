import FerryCore
import FerrySeal

/// A statement of a record about members or epochs. A record has one or several acts, all by the record's author.
package enum MemberAct: Hashable, Sendable {
    /// Founds the membership. Only the first record has this act, as the first act.
    case found(Founding)
    /// Lets a device in.
    case admit(Admission)
    /// Puts a device out, for good.
    case remove(DeviceID)
    /// The author leaves, and says where the author's log ends.
    case leave(LogEnding)
    /// A published snapshot covers the log of a device that is out, up to this end.
    case accept(DeviceID, LogEnding)
    /// Makes an epoch.
    case epoch(EpochMaking)
    /// Hands an epoch on to devices admitted later.
    case grant(EpochID, [KeyWrap])
    /// An act of a later Ferry.
    case unknown(UInt8, [UInt8])
}

/// The content of the act that founds a membership.
package struct Founding: Hashable, Sendable {
    /// The keys of the recovery code; `nil` where there is none.
    package var recovery: DevicePublicKeys?
    /// The recovery key's signature over the preceding bytes of the record; all zero without a recovery key.
    package var recoverySignature: [UInt8]
    package var founder: DevicePublicKeys
    /// The logs of an open container before sealing. The logs count as removed, with these ends. In ascending order.
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

/// The way by which a device was let in, and the device's keys.
package struct Admission: Hashable, Sendable {
    /// The kind of proof behind an admission.
    package enum Way: UInt8, CaseIterable, Sendable {
        /// The newcomer knows the code of an invitation.
        case code = 1
        /// A person typed the words on the newcomer's screen.
        case words = 2
        /// The recovery key.
        case recovery = 3
        /// The device was copied, and the original device admits the copy. The copy is as old as the original.
        case copy = 4
    }

    package var way: Way
    package var device: DeviceID
    package var keys: DevicePublicKeys
    /// The hash of the answered claim; all zero for `recovery` and `copy`.
    package var claim: [UInt8]
    /// For `code` the proof of the author's knowledge of the code; all zero for the rest.
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

/// The end of a log, as far as the log counts.
package struct LogEnding: Hashable, Comparable, Sendable {
    /// The number of the last changeset; 0 for a log without any.
    package var sequence: UInt64
    /// The latest time up to there.
    package var time: HybridTime
    /// The checksum of the segment at the end.
    package var checksum: Checksum

    package init(sequence: UInt64, time: HybridTime, checksum: Checksum) {
        self.sequence = sequence
        self.time = time
        self.checksum = checksum
    }

    /// By the number. Time and checksum decide between branches of a forked log, and mean nothing.
    package static func < (left: LogEnding, right: LogEnding) -> Bool {
        (left.sequence, left.time, left.checksum) < (right.sequence, right.time, right.checksum)
    }
}

/// A new epoch: name, wraps for the receivers of the secret, and the earlier epochs still needed.
package struct EpochMaking: Hashable, Sendable {
    /// One more than the greatest number known to the author.
    package var number: UInt32
    package var epoch: EpochID
    /// In strictly ascending order of receivers.
    package var wraps: [KeyWrap]
    /// The bytes from `EpochSecret.sealRing`.
    package var ring: [UInt8]

    package init(number: UInt32, epoch: EpochID, wraps: [KeyWrap], ring: [UInt8]) {
        self.number = number
        self.epoch = epoch
        self.wraps = wraps
        self.ring = ring
    }
}
