import FerryCore
import FerrySeal

/// Who is a member, how far the logs of those count who are out, and which epoch files are sealed under. A pure function of the
/// records that count: who has the same records has the same roster (Docs/Sealing.md, "Who is a member").
package struct Roster: Hashable, Sendable {
    /// A device that is in.
    package struct Member: Hashable, Sendable {
        package let keys: DevicePublicKeys
        /// How it was let in; `nil` for the founder.
        package let way: Admission.Way?
        /// Who let it in; `nil` for the recovery key and for the founder.
        package let admittedBy: DeviceID?
        /// When, by that one's wall clock, in milliseconds since the Unix epoch.
        package let admittedMilliseconds: UInt64
    }

    /// A device that left and that nobody removed.
    package struct Left: Hashable, Sendable {
        package let keys: DevicePublicKeys
        /// Where its log ends.
        package let end: LogEnding
    }

    /// A device that is out for good.
    package struct Removed: Hashable, Sendable {
        /// How far its log counts; `nil` while nobody has said.
        package let end: LogEnding?
        /// Who removed it; `nil` for the recovery key, for former logs, and for devices that nobody removed but that nobody
        /// whose admission stands had let in.
        package let removedBy: DeviceID?
        /// When, by that one's wall clock; `nil` where nobody did.
        package let removedMilliseconds: UInt64?
    }

    /// What files are sealed under.
    package struct Epoch: Hashable, Sendable {
        package let id: EpochID
        package let number: UInt32
        /// `nil`: the recovery key.
        package let madeBy: DeviceID?
        package let milliseconds: UInt64
        /// Members that nobody wrapped it for.
        package let lacking: [DeviceID]
    }

    package let members: [DeviceID: Member]
    /// Devices that left and that nobody removed.
    package let left: [DeviceID: Left]
    package let removed: [DeviceID: Removed]
    /// The epoch that nobody has but members and the recovery key; `nil` where there is none: who has something to publish makes
    /// one.
    package let epoch: Epoch?
    /// The greatest number of an epoch that there is, clean or not.
    package let greatestEpoch: UInt32
    package let recovery: DevicePublicKeys?
    /// Whether a record says something that only a later Ferry understands: nothing is published until it is there.
    package let needsUpdate: Bool
    /// SHA-256 of what the roster decides: two devices with the same records and another one of this disagree (Docs/Format.md,
    /// "Heads").
    package let digest: [UInt8]

    package init(_ graph: MemberGraph) {
        let (scope, sets) = (graph.all, graph.sets)
        let admitted = graph.admitted(by: scope)
        var members: [DeviceID: Member] = [:]
        var left: [DeviceID: Left] = [:]
        var removed: [DeviceID: Removed] = [:]
        var memberNumbers: [Int] = []
        for (number, device) in graph.devices.enumerated() where device.keys != nil || device.isFormer {
            if device.isFormer || !device.removals.isEmpty || !admitted.contains(number) {
                removed[device.id] = Self.removal(of: device, graph, scope, admitted)
            } else if let end = device.endings.max(), let keys = device.keys {
                left[device.id] = Left(keys: keys, end: end)
            } else if let member = Self.member(device, graph, scope, admitted) {
                members[device.id] = member
                memberNumbers.append(number)
            }
        }
        self.members = members
        self.left = left
        self.removed = removed
        epoch = Self.currentEpoch(graph, memberNumbers, members, sets)
        greatestEpoch = graph.epochs.all.map(\.number).max() ?? 0
        recovery = graph.recoveryKeys
        needsUpdate = graph.needsUpdate
        digest = Self.digest(members, left, removed, epoch?.id)
    }

    /// Whose files count: members, and who left.
    package func isReadable(_ device: DeviceID) -> Bool { members[device] != nil || left[device] != nil }

    /// The keys of a device whose files count; `nil` for all others.
    package func keys(of device: DeviceID) -> DevicePublicKeys? { members[device]?.keys ?? left[device]?.keys }

    // MARK: Computing it

    private static func member(
        _ device: MemberGraph.Device, _ graph: MemberGraph, _ scope: MemberGraph.Scope, _ admitted: Set<Int>
    ) -> Member? {
        guard let keys = device.keys else { return nil }
        // Of several admissions the first by its author's clock is shown; the hash decides between equal ones.
        let standing = device.admissions.filter { edge in
            (edge.author.map(admitted.contains) ?? true) && graph.stands(edge.record, edge.author, by: scope)
        }
        let first = standing.min {
            let (left, right) = (graph.nodes[$0.record], graph.nodes[$1.record])
            return (left.milliseconds, left.hash) < (right.milliseconds, right.hash)
        }
        guard let first else { return nil }
        return Member(
            keys: keys, way: first.way, admittedBy: first.author.map { graph.devices[$0].id },
            admittedMilliseconds: graph.nodes[first.record].milliseconds)
    }

    private static func removal(
        of device: MemberGraph.Device, _ graph: MemberGraph, _ scope: MemberGraph.Scope, _ admitted: Set<Int>
    ) -> Removed {
        var ends = device.acceptances.filter { acceptance in
            (acceptance.author.map(admitted.contains) ?? true)
                && graph.stands(acceptance.record, acceptance.author, by: scope)
        }.map(\.end)
        if device.isFormer { ends += device.endings }
        let first = device.removals.min {
            let (left, right) = (graph.nodes[$0.record], graph.nodes[$1.record])
            return (left.milliseconds, left.hash) < (right.milliseconds, right.hash)
        }
        return Removed(
            end: ends.max(), removedBy: first.flatMap { $0.author.map { graph.devices[$0].id } },
            removedMilliseconds: first.map { graph.nodes[$0.record].milliseconds })
    }

    /// The clean epoch with the greatest number, then ID. One is clean where its maker and all that it was wrapped for are
    /// members or the recovery key, and so are those of every later one, whose ring may hold it.
    private static func currentEpoch(
        _ graph: MemberGraph, _ numbers: [Int], _ members: [DeviceID: Member], _ sets: PagedSets
    ) -> Epoch? {
        var sets = sets
        let memberSet = sets.union([], inserting: numbers)
        func isHeldByMembersAlone(_ entry: EpochLedger.Entry) -> Bool {
            entry.strangers.allSatisfy { members[$0] != nil } && sets.isSubset(entry.holders, of: memberSet)
        }
        let held = graph.epochs.all.filter { !isHeldByMembersAlone($0) }
        let exposed = sets.union(held.map { graph.nodes[$0.record].scope.records }, inserting: held.map(\.record))
        let exposedIDs = Set(graph.epochs.all.filter { sets.contains($0.record, in: exposed) }.map(\.epoch))
        let current = graph.epochs.all.filter { !exposedIDs.contains($0.epoch) }
            .max { ($0.number, $0.epoch) < ($1.number, $1.epoch) }
        guard let current else { return nil }
        let same = graph.epochs.entries(of: current.epoch).map { graph.epochs[$0] }
        let holders = sets.union(same.map(\.holders))
        let strangers = same.reduce(into: Set<DeviceID>()) { $0.formUnion($1.strangers) }
        let lacking = numbers.filter { !sets.contains($0, in: holders) }.map { graph.devices[$0].id }
        return Epoch(
            id: current.epoch, number: current.number, madeBy: current.maker.map { graph.devices[$0].id },
            milliseconds: graph.nodes[current.record].milliseconds,
            lacking: lacking.filter { !strangers.contains($0) }.sorted())
    }
}

extension Roster {
    private static func digest(
        _ members: [DeviceID: Member], _ left: [DeviceID: Left], _ removed: [DeviceID: Removed], _ epoch: EpochID?
    ) -> [UInt8] {
        var writer = ByteWriter()
        writer.writeVarint(UInt64(members.count))
        for (device, member) in members.sorted(by: { $0.key < $1.key }) {
            writer.write(device)
            writer.write(contentsOf: member.keys.signing)
            writer.write(contentsOf: member.keys.box)
        }
        writer.writeVarint(UInt64(left.count))
        for (device, left) in left.sorted(by: { $0.key < $1.key }) { write(device, left.end, to: &writer) }
        writer.writeVarint(UInt64(removed.count))
        for (device, removed) in removed.sorted(by: { $0.key < $1.key }) {
            write(device, removed.end, to: &writer)
        }
        writer.write(epoch ?? EpochID(high: 0, low: 0))
        return SealSuite.digest(writer.bytes)
    }

    private static func write(_ device: DeviceID, _ end: LogEnding?, to writer: inout ByteWriter) {
        writer.write(device)
        writer.writeVarint(end?.sequence ?? 0)
        writer.write64(end?.time.rawValue ?? 0)
        writer.write(end?.checksum ?? Checksum(high: 0, low: 0))
    }
}
