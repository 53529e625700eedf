import FerryContainer
import FerryCore
import FerryMembers
import FerryStore

/// Decides which files from before a container was sealed may go. No member reads them, and everybody who has the folder can.
///
/// They go once nobody can need them any more:
/// - nothing in them is beyond what was accepted of the log, so that every database has it or gets it;
/// - a whole snapshot of a member, which newcomers can open, holds all that was accepted;
/// - every other member that has said anything has replayed as much;
/// - no row names a pack among them;
/// - there is no file among them that Ferry does not know, and no other branch of the log.
struct FormerFiles {
    /// Why files stay.
    enum Obstacle: Equatable {
        /// A file has changes that nobody has accepted: the number of the last one.
        case beyondAccepted(UInt64)
        /// Two databases wrote the log.
        case forked
        /// Files that are not Ferry's: the name of the first.
        case unknownFile(String)
        /// No whole snapshot of a member holds what was accepted.
        case inNoSnapshot
        /// A member has not replayed what was accepted.
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
    ///   - heads: the other members'.
    ///   - forked: the logs that are known to have branches.
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

    /// The devices whose logs were published before the membership was founded.
    static func logs(_ membership: Membership) -> [DeviceID] {
        guard case .found(let founding)? = membership.records[membership.genesis]?.acts.first else { return [] }
        return founding.formerLogs.map(\.device)
    }

    /// Whether a device is of the time before the membership: a former log, or one that no record names.
    static func isFormer(_ device: DeviceID, _ membership: Membership) -> Bool {
        let roster = membership.roster
        if let removed = roster.removed[device] {
            return removed.removedMilliseconds == nil && logs(membership).contains(device)
        }
        return roster.members[device] == nil && roster.left[device] == nil
    }

    /// Why a device's files stay; `nil` if they may go.
    func obstacle(to remains: Container.Remains) throws -> Obstacle? {
        let device = remains.device
        let end = membership.roster.removed[device]?.end?.sequence ?? 0
        if let other = remains.others.first { return .unknownFile(other) }
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
    /// The file that is in the way, if there is a single one.
    var file: String? {
        if case .unknownFile(let name) = self { name } else { nil }
    }

    /// What a person may do, where files do not go by themselves.
    var advice: String? {
        guard case .beyondAccepted = self else { return nil }
        return
            "Once its database is enrolled, or if that is gone for good, `ferry seal … --clean --anyway` removes them."
    }

    /// In words for people.
    func sentence(_ names: [DeviceID: String]) -> String {
        switch self {
        case .beyondAccepted(let last):
            "Its files have changes, up to number \(last), beyond what was accepted of its log: no member has read them. Its own "
                + "database sends them again when it enrols."
        case .forked: "Two databases wrote its log, and its files may have what only one of them had."
        case .unknownFile(let name): "\(name) is no file of Ferry's."
        case .neededPacks: "Its packs have bytes of documents that no sealed pack has yet."
        case .inNoSnapshot: "No whole snapshot of a member has all of its changes yet."
        case .notReplayed(let member): "\(names[member] ?? member.description) has not replayed all of its changes yet."
        }
    }
}
