import FerryContainer
import FerryCore
import FerryStore

/// The databases that continue under new IDs: several successors of an ID if copies were made
/// (Docs/Architecture/identity-and-forks.md).
struct Successors {
    /// For each former ID of a database: the successors, and how far each successor knew the log as its own. A
    /// successor sends later changes again under the new ID.
    let all: [DeviceID: [DeviceID: Head.Predecessor]]
    /// This device, and its database's former IDs.
    private let own: Set<DeviceID>
    private let heads: [DeviceID: Head]

    init(_ heads: [DeviceID: Head], self device: DeviceID, _ former: [PreviousIdentity]) {
        var all: [DeviceID: [DeviceID: Head.Predecessor]] = [:]
        for (successor, head) in heads where successor != device {
            if let predecessor = head.predecessor { all[predecessor.device, default: [:]][successor] = predecessor }
        }
        // Former devices are listed newest first: this device succeeds the newest, and each listed device succeeds the
        // device behind it.
        for (successor, predecessor) in zip([device] + former.map(\.device), former) {
            all[predecessor.device, default: [:]][successor] = Head.Predecessor(predecessor)
        }
        self.all = all
        own = Set([device] + former.map(\.device))
        self.heads = heads
    }

    /// True if everything behind a position of a log was sent again, by any author. Two copies published under this ID,
    /// and both have new IDs.
    func haveSentAgain(_ device: DeviceID, after position: UInt64) -> Bool {
        guard let successors = all[device], successors.count > 1 else { return false }
        return successors.values.allSatisfy { $0.sequence <= position }
    }

    /// Returns the ends of the log's branches with nothing missing for a reader behind a position. Their authors sent
    /// the changes again, and the reader has read these changes.
    /// - Parameter read: the reader's last changeset of a device's log.
    func endsSentAgain(_ device: DeviceID, after position: UInt64, read: (DeviceID) -> UInt64) -> Set<LogEnd> {
        let covered = (all[device] ?? [:]).filter { successor, predecessor in
            if predecessor.sequence > position { return false }
            // A head reports the end only after everything was sent again.
            return own.contains(successor) || heads[successor].map { $0.position.sequence <= read(successor) } ?? false
        }
        return Set(covered.values.compactMap(\.end))
    }
}

extension Head.Predecessor {
    init(_ former: PreviousIdentity) {
        self.init(device: former.device, sequence: former.sequence, end: former.end)
    }
}
