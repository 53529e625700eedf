import FerryCore
import FerryMembers

/// A copy of a database, or a restored backup, admitted to a sealed container by the keys of the former device. If
/// nobody made the copy, a stranger has the keys: remove the copy.
public struct AdmittedCopy: Codable, Equatable, Sendable {
    /// The ID of the copy's device.
    public var id: String
    /// The name of the original device.
    public var of: String
    /// The time of admission by the copy's own clock, in milliseconds since the Unix epoch.
    public var admittedMilliseconds: Int64
}

extension Roster {
    /// The copies among the members, by their IDs. A device with new keys in the place of its former keys is no copy.
    /// - Parameters:
    ///   - names: the names of devices, as far as they are known.
    ///   - isMeant: chooses the members.
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
