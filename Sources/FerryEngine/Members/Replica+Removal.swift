import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal

/// The result of removing a device. The JSON keys are fixed.
public struct RemovalReport: Codable, Equatable, Sendable {
    /// The device and the device's copies.
    public var removed: [StatusReport.DeviceName]
    /// Members admitted by these devices: a person decides about each.
    public var admittedByThem: [StatusReport.DeviceName]
    /// The devices with the new epoch, this device included.
    package var staying: [StatusReport.DeviceName]

    init(
        _ removed: [DeviceID], admittedByThem: [DeviceID], staying: [DeviceID], _ names: [DeviceID: String]
    ) {
        func told(_ devices: [DeviceID]) -> [StatusReport.DeviceName] {
            devices.map { StatusReport.DeviceName(id: $0.description, name: names[$0] ?? $0.description) }
        }
        self.removed = told(removed)
        self.admittedByThem = told(admittedByThem)
        self.staying = told(staying)
    }
}

extension Replica {
    /// Removes a device and the device's copies from the membership for good. The device's changes up to now are kept.
    /// Later changes by the device are not read, and the device cannot read later files.
    ///
    /// A device that left can be removed too, if somebody may have a copy of its key.
    /// - Parameters:
    ///   - word: the device's name, the ID, or the beginning of the ID. A member counts before a device that left.
    ///   - recovery: the recovery code, needed for an older device.
    /// - Throws: `removalRefused` for a device admitted before this device, without a recovery code. `codeRefused` for
    ///   a wrong code; `nothingFound`; `invalidArgument` for this device itself; as `sync`.
    package func remove(_ word: String, recovery code: SecretCode? = nil) throws -> RemovalReport {
        // The device's changes up to now are read first. Afterwards the removed logs are accepted as far as they are
        // known here.
        try betweenSyncs { container in
            var membership = try requiredMembership()
            let names = try memberNames(container, membership)
            let target = try Self.device(word, in: names, membership)
            guard target != membership.device else {
                throw FerryError(
                    .invalidArgument, "A device cannot remove itself. Run `ferry leave` on it, or name another one.")
            }
            let recovery = try code.map { try recoveryKeys($0, membership) }
            guard recovery != nil || membership.graph.mayRemove(membership.device, target) else {
                throw FerryError(
                    .removalRefused,
                    "\(names[target] ?? target.description) was let in before this device. To remove it takes an older device, or "
                        + "the recovery code: --recovery -", device: target)
            }
            let kin = membership.kin(of: target)
            let leaving = [target] + (kin.contains(membership.device) ? [] : kin)
            let staying = membership.roster.members.keys.filter { !leaving.contains($0) }
            let admitted = membership.roster.members.filter { member in
                member.value.admittedBy.map { leaving.contains($0) } ?? false && !leaving.contains(member.key)
            }.keys
            try sayRemoved(leaving, staying: staying, byRecovery: recovery, &membership, container)
            return RemovalReport(leaving, admittedByThem: admitted.sorted(), staying: staying.sorted(), names)
        }
    }

    /// Removes all remaining devices by the recovery code, as after a theft. Their changes up to now are kept.
    /// - Throws: `codeRefused` for a wrong code; as `sync`.
    package func removeOthers(recovery code: SecretCode) throws -> RemovalReport {
        // Their logs are read first: nobody reads the log of a device that is out.
        try betweenSyncs { container in
            var membership = try requiredMembership()
            let recovery = try recoveryKeys(code, membership)
            let names = try memberNames(container, membership)
            let leaving = membership.roster.members.keys.filter { $0 != membership.device }.sorted()
            try sayRemoved(leaving, staying: [membership.device], byRecovery: recovery, &membership, container)
            return RemovalReport(leaving, admittedByThem: [], staying: [membership.device], names)
        }
    }

    /// Publishes the removal of devices in as many records as needed, each with an epoch for the staying devices.
    private func sayRemoved(
        _ leaving: [DeviceID], staying: [DeviceID], byRecovery recovery: DeviceKeys?, _ membership: inout Membership,
        _ container: Container
    ) throws {
        let keys = membership.keys(of: staying)
        for start in stride(from: 0, to: leaving.count, by: MemberRecord.maximumActs - 1) {
            let part = leaving[start..<min(start + MemberRecord.maximumActs - 1, leaving.count)]
            let epoch = try membership.epoch(for: keys, random: environment.random)
            try say(part.map { .remove($0) } + [epoch], byRecovery: recovery, &membership, container)
        }
    }

    /// The keys of the recovery code.
    /// - Throws: `codeRefused` for a different membership's code, and without a recovery code.
    func recoveryKeys(_ code: SecretCode, _ membership: Membership) throws -> DeviceKeys {
        let keys = try DeviceKeys(recovery: code, container: membership.container)
        guard membership.roster.recovery == keys.publicKeys else {
            throw FerryError(
                .codeRefused,
                membership.roster.recovery == nil
                    ? "This container has no recovery code." : "This is not the recovery code of this container.")
        }
        return keys
    }

    /// The names of members for people, as far as they are known.
    func memberNames(_ container: Container, _ membership: Membership) throws -> [DeviceID: String] {
        var names = try store.reading().names
        for (device, head) in try ContainerView(container, except: identity.device).heads {
            names[device] = head.deviceName
        }
        names[identity.device] = identity.deviceName
        return names
    }

    /// The member named by a word; if there is none, the device that left. A copy of its key may lie anywhere, and could let devices in
    /// until a removal.
    private static func device(
        _ word: String, in names: [DeviceID: String], _ membership: Membership
    ) throws -> DeviceID {
        func choose(among devices: some Collection<DeviceID>) throws -> DeviceID {
            try DeviceWord(word).choose(among: devices.sorted(), calledBy: "member", id: \.description) { names[$0] }
        }
        do {
            return try choose(among: membership.roster.members.keys)
        } catch let error as FerryError where error.code == .nothingFound {
            do {
                return try choose(among: membership.roster.left.keys)
            } catch let other as FerryError where other.code == .nothingFound {
                throw error
            }
        }
    }
}
