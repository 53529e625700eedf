import FerryContainer
import FerryCore
import FerryStore

/// The databases that go on under other IDs than they had: more than one of an ID where copies were made
/// (Docs/Architecture/identity-and-forks.md).
struct Successors {
    /// For each ID that a database had: those that go on with it, and how far each knew its log as its own. What that held
    /// behind came once more under the successor's ID, as far as it was that database's.
    let all: [DeviceID: [DeviceID: Head.Predecessor]]
    /// This device, and the IDs that its database had.
    private let own: Set<DeviceID>
    private let heads: [DeviceID: Head]

    init(_ heads: [DeviceID: Head], self device: DeviceID, _ former: [FormerDevice]) {
        var all: [DeviceID: [DeviceID: Head.Predecessor]] = [:]
        for (successor, head) in heads where successor != device {
            if let predecessor = head.predecessor { all[predecessor.device, default: [:]][successor] = predecessor }
        }
        // The last one's successor is this device, each other one's is the one before it in the list.
        for (successor, predecessor) in zip([device] + former.map(\.device), former) {
            all[predecessor.device, default: [:]][successor] = Head.Predecessor(predecessor)
        }
        self.all = all
        own = Set([device] + former.map(\.device))
        self.heads = heads
    }

    /// Whether all that a log holds behind a position has come once more, whoever wrote it: two copies of a database published
    /// under its ID, and both have others.
    func haveSentAgain(_ device: DeviceID, after position: UInt64) -> Bool {
        guard let successors = all[device], successors.count > 1 else { return false }
        return successors.values.allSatisfy { $0.sequence <= position }
    }

    /// Where those branches of a log end of which a reader lacks nothing that is behind a position: their authors have said it
    /// once more, and the reader has read that.
    /// - Parameter read: the last changeset of a device's log that the reader has.
    func endsSentAgain(_ device: DeviceID, after position: UInt64, read: (DeviceID) -> UInt64) -> Set<LogEnd> {
        let covered = (all[device] ?? [:]).filter { successor, predecessor in
            if predecessor.sequence > position { return false }
            // The end is told by heads that speak of all that came again.
            return own.contains(successor) || heads[successor].map { $0.position.sequence <= read(successor) } ?? false
        }
        return Set(covered.values.compactMap(\.end))
    }
}

extension Head.Predecessor {
    init(_ former: FormerDevice) {
        self.init(device: former.device, sequence: former.sequence, end: former.end)
    }
}
