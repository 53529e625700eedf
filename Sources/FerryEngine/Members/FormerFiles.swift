import FerryContainer
import FerryCore
import FerryMembers
import FerryStore

/// Decides which files from before a container was sealed may go. No member reads them, and everybody with the folder
/// can.
///
/// They go once nobody can need them any more:
/// - nothing in them is beyond the accepted end of the log, so every database has the changes or gets them;
/// - a whole snapshot of a member has all accepted changes, and newcomers can open the snapshot;
/// - every remaining member with a head has replayed as much;
/// - no row names a pack among them;
/// - no copy by a syncer is among them, and the log has no second branch.
///
/// Files that are nobody's, such as files of the operating system, neither keep the files nor go with them.
struct FormerFiles {
    /// Why files stay.
    enum Obstacle: Equatable {
        /// A file has changes that nobody has accepted: the number of the last changeset.
        case beyondAccepted(UInt64)
        /// Two databases wrote the log.
        case forked
        /// Copies or placeholders by a syncer: their names.
        case copies([String])
        /// No whole snapshot of a member has the accepted changes.
        case inNoSnapshot
        /// A member has not replayed the accepted changes.
        case notReplayed(by: DeviceID)
        /// A row names a pack among the files.
        case neededPacks
    }

    private let container: Container
    private let membership: Membership
    private let heads: [DeviceID: Head]
    private let forked: Set<DeviceID>
    private let needsPacks: (DeviceID) throws -> Bool

    /// - Parameters:
    ///   - container: with the present seal.
    ///   - heads: of the remaining members.
    ///   - forked: the logs with known branches.
    ///   - needsPacks: whether a row names a pack of a device.
    init(
        _ container: Container, _ membership: Membership, heads: [DeviceID: Head], forked: Set<DeviceID>,
        needsPacks: @escaping (DeviceID) throws -> Bool = { _ in false }
    ) {
        self.needsPacks = needsPacks
        self.container = container
        self.membership = membership
        self.heads = heads
        self.forked = forked
    }

    /// The devices with logs from before the founding of the membership.
    static func logs(_ membership: Membership) -> [DeviceID] {
        guard case .found(let founding)? = membership.records[membership.genesis]?.acts.first else { return [] }
        return founding.formerLogs.map(\.device)
    }

    /// Whether a device is from before the membership: a former log, or a device in no record.
    static func isFormer(_ device: DeviceID, _ membership: Membership) -> Bool {
        let roster = membership.roster
        if let removed = roster.removed[device] {
            return removed.removedMilliseconds == nil && logs(membership).contains(device)
        }
        return roster.members[device] == nil && roster.left[device] == nil
    }

    /// The sentence about files in a device's directory that are nobody's.
    static func foreign(_ names: [String]) -> String {
        "What is left is none of Ferry's: \(Obstacle.list(names))."
    }

    /// Why a device's files stay; `nil` if they may go.
    func obstacle(to remains: Container.Remains) throws -> Obstacle? {
        let device = remains.device
        let end = membership.roster.removed[device]?.end?.sequence ?? 0
        if !remains.copies.isEmpty { return .copies(remains.copies) }
        if remains.lastSequence > end { return .beyondAccepted(remains.lastSequence) }
        if forked.contains(device) { return .forked }
        if try remains.hasPacks && needsPacks(device) { return .neededPacks }
        if end == 0 { return nil }
        for (member, head) in heads.sorted(by: { $0.key < $1.key })
        where membership.roster.members[member] != nil && (head.acknowledgements[device]?.sequence ?? 0) < end {
            return .notReplayed(by: member)
        }
        let catalog = SnapshotCatalog(container)
        for entry in try catalog.entries()
        where membership.roster.members[entry.device] != nil && entry.manifest.vector[device].sequence >= end {
            if try NeededEpochs.isHandedOn(entry, container) && catalog.isWhole(entry) { return nil }
        }
        return .inNoSnapshot
    }
}

extension FormerFiles.Obstacle {
    /// The first file in the way; `nil` for further obstacles.
    var file: String? {
        if case .copies(let names) = self { names.first } else { nil }
    }

    /// Advice for a person, if files do not go by themselves.
    var advice: String? {
        switch self {
        case .beyondAccepted:
            "Once its database is enrolled, or if that is gone for good, `ferry seal … --clean --anyway` removes them."
        case .copies:
            "Delete the copies where the proper files are there, and sync; `ferry seal … --clean --anyway` removes the rest at once."
        default: nil
        }
    }

    /// The most names in a sentence.
    private static let namedFiles = 5

    /// The names of files for people.
    static func list(_ names: [String]) -> String {
        names.prefix(namedFiles).joined(separator: ", ")
            + (names.count > namedFiles ? " and \(names.count - namedFiles) more" : "")
    }

    /// In words for people.
    func sentence(_ names: [DeviceID: String]) -> String {
        switch self {
        case .beyondAccepted(let last):
            "Its files have changes, up to number \(last), beyond what was accepted of its log: no member has read them. Its own "
                + "database sends them again when it enrols."
        case .forked: "Two databases wrote its log, and its files may have what only one of them had."
        case .copies(let names):
            names.count == 1
                ? "\(Self.list(names)) looks like a syncer's copy of one of them."
                : "These look like a syncer's copies of some of them: \(Self.list(names))."
        case .neededPacks: "Its packs have bytes of documents that no sealed pack has yet."
        case .inNoSnapshot: "No whole snapshot of a member has all of its changes yet."
        case .notReplayed(let member): "\(names[member] ?? member.description) has not replayed all of its changes yet."
        }
    }
}
