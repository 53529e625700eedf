import FerryCore
import FerrySQL
import FerrySchema

/// Member acknowledgements: the devices that count this device before they forget deletions (`ferry_meta`, `counting`).
///
/// A device without knowledge of this device may forget a deletion unknown here. Once its head acknowledges a changeset
/// of this device, the device waits for this device, as for any member.
///
/// Until then this device must be ready to publish retained and revived rows again (`Republication`). Mere changes of
/// such rows mean nothing to a device without the row.
struct MemberAcknowledgements: Codable, Equatable {
    /// The first changeset of this device's log announcing this device, or its return.
    var first: UInt64 = 1
    /// The counting devices, as IDs in hexadecimal.
    var known: Set<String> = []
    /// Devices present when this device joined, got its ID or came back. They may have forgotten deletions by then.
    var awaited: Set<String> = []
    /// True if this device joined with this ID, so nobody else wrote under the ID or for it.
    var hasJoined: Bool?

    static func read(_ meta: MetaTable) throws -> MemberAcknowledgements {
        try meta.json(.counting) ?? MemberAcknowledgements()
    }

    func save(_ meta: MetaTable) throws { try meta.set(.counting, json: self) }

    /// Starts anew: every device must acknowledge this device's next changeset.
    static func begin(_ access: StoreAccess) throws {
        let vector = try access.versionVector()
        var counting = MemberAcknowledgements(first: vector[access.device].sequence + 1)
        counting.awaited = Set(vector.positions.keys.filter { $0 != access.device }.map(\.hex))
        try counting.save(access.meta)
    }
}

extension MemberAcknowledgements {
    /// The retained rows to publish again.
    enum HeldBack {
        case none, all
        /// Retained by rows this device wrote (`LocalHolders`).
        case byOwnRows
    }

    /// The retained rows that newly counting devices may have forgotten.
    /// - Parameter successors: newly counting devices with an earlier ID, whose copies may be unknown to further
    ///   devices.
    func heldBack(for news: Set<String>, successors: Set<String>) -> HeldBack {
        let isAwaited = !awaited.isDisjoint(with: news)
        if isAwaited, hasJoined != true { return .all }
        // A device joining later forgets nothing without present members.
        return isAwaited || !successors.isEmpty ? .byOwnRows : .none
    }
}

extension MemberAcknowledgements {
    /// The devices that count this device, and the changeset that further devices must acknowledge to count.
    typealias Known = (devices: Set<DeviceID>, acknowledging: UInt64)

    static func known(_ connection: SQLConnection) throws -> Known {
        let counting = try read(MetaTable(connection: connection))
        return (Set(counting.known.compactMap { DeviceID($0) }), counting.first)
    }

    /// Records the devices in a container that this device is about to join.
    static func expect(_ devices: [DeviceID], _ meta: MetaTable) throws {
        var counting = try read(meta)
        counting.awaited.formUnion(devices.map(\.hex))
        counting.hasJoined = true
        try counting.save(meta)
    }
}
