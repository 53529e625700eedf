import FerryCore
import FerryMembers
import FerryStore

/// Whether this device is in, why a device is out, and how a device takes part again.
extension Replica {
    /// Throws `notMember` if this device is out.
    func checkMember(_ membership: Membership) throws {
        if membership.isMember { return }
        if try isLeaving(membership) {
            throw FerryError(
                .notMember, "This device has left the container. Run `ferry leave` again: it was interrupted.",
                path: store.path, device: membership.device)
        }
        throw FerryError(
            .notMember, "\(try departure(membership)) Its changes wait. \(Self.wayBack(membership.roster))",
            path: store.path, device: membership.device)
    }

    /// Whether this database was interrupted while leaving. A database put back from a backup is not.
    func isLeaving(_ membership: Membership) throws -> Bool {
        guard membership.roster.left[membership.device] != nil else { return false }
        return try store.leavingDevice() == membership.device
    }

    /// Why this device is no member, in a sentence.
    private func departure(_ membership: Membership) throws -> String {
        if membership.roster.left[membership.device] != nil {
            return "This device has left the container, and its database and keys were put back since."
        }
        let removed = membership.roster.removed[membership.device]
        guard let removed, let by = removed.removedBy else {
            return removed?.removedMilliseconds != nil
                ? "This device was removed with the recovery code."
                : "This device is no member of the container any more: nobody who is one let it in."
        }
        let name = try store.reading().names[by] ?? by.description
        let date = removed.removedMilliseconds.map { " on " + ISO8601.text(Int64(clamping: $0)) } ?? ""
        return "This device was removed by \(name)\(date)."
    }

    /// How a device that is out takes part again.
    static func wayBack(_ roster: Roster) -> String {
        if !roster.members.isEmpty { return "`ferry enrol` asks to be let in again." }
        return roster.recovery == nil
            ? "Nobody is a member any more, and there is no recovery code: nobody can let anybody in. Run `ferry leave`, and `ferry init` "
                + "with a new folder."
            : "Nobody is a member any more: `ferry enrol … --recovery -` lets this device in."
    }
}
