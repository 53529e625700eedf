import FerryCore
import FerrySeal

/// The members, the counted ends of the logs of devices which are out, and the epoch for sealing files. The roster is a
/// pure function of the counted records. Devices with the same records have the same roster (Docs/Sealing.md, "Who is a
/// member").
package struct Roster: Hashable, Sendable {
    /// A member device.
    package struct Member: Hashable, Sendable {
        package let keys: DevicePublicKeys
        /// The way of admission; `nil` for the founder.
        package let way: Admission.Way?
        /// The admitting device; `nil` for the recovery key and for the founder.
        package let admittedBy: DeviceID?
        /// The time by the admitting device's wall clock, in milliseconds since the Unix epoch.
        package let admittedMilliseconds: UInt64
    }

    /// A device that left without a removal.
    package struct Left: Hashable, Sendable {
        package let keys: DevicePublicKeys
        /// The end of the device's log.
        package let end: LogEnding
    }

    /// A device that is out for good.
    package struct Removed: Hashable, Sendable {
        /// The counted end of the device's log; `nil` while nobody has told an end.
        package let end: LogEnding?
        /// The removing device. `nil` for the recovery key, for former logs, and for devices that lost every standing
        /// admission without a removal.
        package let removedBy: DeviceID?
        /// The time by the removing device's wall clock; `nil` without a removal.
        package let removedMilliseconds: UInt64?
    }

    /// The epoch for sealing files.
    package struct Epoch: Hashable, Sendable {
        package let id: EpochID
        package let number: UInt32
        /// `nil`: the recovery key.
        package let madeBy: DeviceID?
        package let milliseconds: UInt64
        /// Members without a wrap of the epoch.
        package let lacking: [DeviceID]
    }

    package let members: [DeviceID: Member]
    /// Devices that left without a removal.
    package let left: [DeviceID: Left]
    package let removed: [DeviceID: Removed]
    /// The epoch held by members and the recovery key alone. `nil` without such an epoch: a member with something to
    /// publish then makes an epoch.
    package let epoch: Epoch?
    /// The greatest number of any epoch, clean or not.
    package let greatestEpoch: UInt32
    package let recovery: DevicePublicKeys?
    /// Whether a record has an act known only to a later Ferry. The device publishes nothing before it has this Ferry.
    package let needsUpdate: Bool
    /// SHA-256 of the roster's decisions. Two devices with the same records and different digests disagree
    /// (Docs/Format.md, "Heads").
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

    /// Whether the files of a device count: members, and devices that left.
    package func isReadable(_ device: DeviceID) -> Bool { members[device] != nil || left[device] != nil }

    /// The end of the log of a device that left or was removed: the changes that count. `nil` for a member, and where nothing was accepted.
    package func end(of device: DeviceID) -> LogEnding? { left[device]?.end ?? removed[device]?.end }

    /// The keys of a device with readable files; `nil` for the rest.
    package func keys(of device: DeviceID) -> DevicePublicKeys? { members[device]?.keys ?? left[device]?.keys }

    // MARK: Computing a roster

    private static func member(
        _ device: MemberGraph.Device, _ graph: MemberGraph, _ scope: MemberGraph.Scope, _ admitted: Set<Int>
    ) -> Member? {
        guard let keys = device.keys else { return nil }
        // Of several admissions, the roster shows the first by the author's clock. The hash decides between equal
        // times.
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

    /// The clean epoch with the greatest number, then ID. An epoch is clean if only members and the recovery key hold
    /// the secret: the maker and all receivers of wraps. The same must hold for every later epoch, because a later ring
    /// may hold the epoch.
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
