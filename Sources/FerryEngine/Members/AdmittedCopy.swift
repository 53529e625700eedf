import FerryCore
import FerryMembers

/// A copy of a database, or a restored backup, that came into a sealed container by the keys of its former device. Where nobody made
/// the copy, somebody else has the keys: remove it.
public struct AdmittedCopy: Codable, Equatable, Sendable {
    /// The ID of the copy's device.
    public var id: String
    /// The name of the device that it was.
    public var of: String
    /// When it came in by its own clock, in milliseconds since the Unix epoch.
    public var admittedMilliseconds: Int64
}

extension Roster {
    /// The copies among the members, by their IDs. A device that got new keys in the place of its former ones is none.
    /// - Parameters:
    ///   - names: the names of devices, as far as they are known.
    ///   - isMeant: which members to take.
    func copies(
        named names: [DeviceID: String], where isMeant: (DeviceID, Member) -> Bool
    ) -> [AdmittedCopy] {
        members.sorted { $0.key < $1.key }.compactMap { device, member in
            guard member.way == .copy, let original = member.admittedBy, members[original] != nil,
                isMeant(device, member)
            else { return nil }
            return AdmittedCopy(
                id: device.description, of: names[original] ?? original.description,
                admittedMilliseconds: Int64(clamping: member.admittedMilliseconds))
        }
    }
}
