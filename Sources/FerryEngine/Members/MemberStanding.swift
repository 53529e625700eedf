import FerryCore
import FerryMembers
import FerryStore

/// The standing of a device in a sealed container, for reports.
struct MemberStanding {
    /// `founder`, `member`, `copy`, `left` or `removed`.
    let membership: String
    /// `code`, `words`, `recovery` or `copy`; `nil` for the founder and without an admission.
    let way: String?
    let admittedBy: DeviceID?
    let admittedMilliseconds: Int64?
    let removedBy: DeviceID?

    /// - Returns: `nil` for a device in no record.
    init?(_ device: DeviceID, in roster: Roster) {
        let member = roster.members[device]
        let removed = roster.removed[device]
        if let member {
            membership = member.way == .copy ? "copy" : member.way == nil ? "founder" : "member"
        } else if removed != nil {
            membership = "removed"
        } else if roster.left[device] != nil {
            membership = "left"
        } else {
            return nil
        }
        way = member?.way.map(Self.word)
        admittedBy = member?.admittedBy
        admittedMilliseconds = member.flatMap { $0.way == nil ? nil : Int64(clamping: $0.admittedMilliseconds) }
        removedBy = removed?.removedBy
    }

    private static func word(_ way: Admission.Way) -> String {
        switch way {
        case .code: "code"
        case .words: "words"
        case .recovery: "recovery"
        case .copy: "copy"
        }
    }
}

extension DevicesReport.Device {
    /// The same report with the device's standing in a sealed container.
    func telling(_ standing: MemberStanding?) -> Self {
        var told = self
        told.membership = standing?.membership
        told.way = standing?.way
        told.admittedBy = standing?.admittedBy?.description
        told.admittedMilliseconds = standing?.admittedMilliseconds
        told.removedBy = standing?.removedBy?.description
        return told
    }
}

extension StoreSummary {
    /// When a device without a readable head was last heard of: the time of the last head here, or of the last change. `nil`: never.
    func lastSeen(_ device: DeviceID) -> Int64? {
        if let written = devices.first(where: { $0.id == device })?.writtenMilliseconds { return written }
        let last = vector[device]
        return last.sequence > 0 ? last.time.milliseconds : nil
    }
}

extension Replica {
    /// Adds the members' standings to a list of devices, and the devices that are out.
    func addMembership(to devices: inout [DevicesReport.Device], _ reading: StoreSummary) throws {
        let names = reading.names
        guard let roster = try rosterWithKey() else { return }
        for place in devices.indices {
            guard let device = DeviceID(devices[place].id) else { continue }
            devices[place] = devices[place].telling(MemberStanding(device, in: roster))
        }
        let listed = Set(devices.map(\.id))
        for device in (Set(roster.removed.keys).union(roster.left.keys)).sorted()
        where !listed.contains(device.description) {
            let gone = DevicesReport.Device(
                id: device.description, name: names[device] ?? device.description, isThisDevice: false,
                activity: .retired,
                lastSeenMilliseconds: reading.lastSeen(device),
                behind: 0, unacknowledged: 0, holdsBackSegments: 0,
                holdsBackBytes: 0, isLeftBehind: false)
            devices.append(gone.telling(MemberStanding(device, in: roster)))
        }
    }

    /// The roster of a sealed container; `nil` for an open container, and for a device without its key, because nothing is known then.
    func rosterWithKey() throws -> Roster? {
        do {
            return try membership()?.roster
        } catch let error as FerryError where error.code == .keyMissing || error.code == .keyExposed {
            return nil
        }
    }

    /// How long reports mention an admitted copy, in milliseconds.
    private static let copyNewsMilliseconds: Int64 = 30 * 86_400_000

    /// Adds the known facts about a sealed container to a status.
    /// - Returns: the reason why this device takes no part any more; `nil` for a member.
    func addMembership(to place: inout StatusReport.ContainerPlace, named names: [DeviceID: String]) throws -> String? {
        guard let membership = try membership() else { return nil }
        let roster = membership.roster
        place.sealed = true
        place.epoch = roster.epoch.map { Int($0.number) }
        place.members = roster.members.count
        let now = environment.clock.milliseconds()
        let copies = roster.copies(named: names) { device, member in
            device != membership.device
                && now.milliseconds(since: Int64(clamping: member.admittedMilliseconds)) < Self.copyNewsMilliseconds
        }
        if !copies.isEmpty { place.copies = copies }
        do {
            try checkMember(membership)
            let container = try plainContainer()
            let look = try MemberReader(container: container, now: now).look(membership)
            let claims = look.claims.filter { $0.way == .words }.count
            if claims > 0 { place.claims = claims }
            let byCode = CodeClaim.all(in: look, membership).count
            if byCode > 0 { place.codeClaims = byCode }
            return nil
        } catch let error as FerryError where error.code == .notMember {
            return error.message
        } catch let error as FerryError where Self.isOfTheContainer(error.code) {
            return nil
        }
    }
}
