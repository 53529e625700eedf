import FerryContainer
import FerryCore
import FerryStore

/// The databases that go on under other IDs than they had: more than one of an ID where copies were made
/// (Docs/Architecture.md, "Telling a copy").
struct Successors {
    /// For each ID that a database had: those that go on with it, and the last of its changesets that each knew as its own.
    /// What its log held beyond that came once more under the successor's ID, as far as it was that database's.
    let all: [DeviceID: [DeviceID: UInt64]]

    init(_ heads: [DeviceID: Head], self device: DeviceID, _ former: [FormerDevice]) {
        var all: [DeviceID: [DeviceID: UInt64]] = [:]
        for (successor, head) in heads where successor != device {
            if let predecessor = head.predecessor {
                all[predecessor.device, default: [:]][successor] = predecessor.sequence
            }
        }
        // The last one's successor is this device, each other one's is the one before it in the list.
        for (successor, predecessor) in zip([device] + former.map(\.device), former) {
            all[predecessor.device, default: [:]][successor] = predecessor.sequence
        }
        self.all = all
    }

    /// Whether all that a log holds behind a position has come once more, whoever wrote it: two copies of a database published
    /// under its ID, and both have others.
    func haveSentAgain(_ device: DeviceID, after position: UInt64) -> Bool {
        guard let successors = all[device], successors.count > 1 else { return false }
        return successors.values.allSatisfy { $0 <= position }
    }
}
