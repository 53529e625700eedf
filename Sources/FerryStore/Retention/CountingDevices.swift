import FerryCore

/// Which other devices count this one when they forget deletions (`ferry_meta`, `counting`).
///
/// A device that has not heard of this one yet may forget a deletion that is not known here. Once its head acknowledges a
/// changeset of this device's it waits for it, as for any other. Until then this device has to be ready to publish again
/// what it keeps of deleted rows (`KeptRows`), because to the other its changes of them mean nothing.
struct CountingDevices: Codable, Equatable {
    /// The first changeset of this device's log that says that it is there, or there again.
    var first: UInt64 = 1
    /// The devices that count it, as IDs in hexadecimal.
    var known: Set<String> = []
    /// Those that were there when this device joined, got its ID or came back, and may have forgotten deletions by then.
    var awaited: Set<String> = []
    /// Whether it joined with this ID, so that nobody else wrote under it or for it.
    var hasJoined: Bool?

    static func read(_ meta: StoreMeta) throws -> CountingDevices {
        try meta.json(.counting) ?? CountingDevices()
    }

    func save(_ meta: StoreMeta) throws { try meta.set(.counting, json: self) }

    /// Begins anew: from the next changeset of this device's on, every other device has to say that it counts it.
    static func begin(_ access: StoreAccess) throws {
        let vector = try access.versionVector()
        var counting = CountingDevices(first: vector[access.device].sequence + 1)
        counting.awaited = Set(vector.positions.keys.filter { $0 != access.device }.map(\.hex))
        try counting.save(access.meta)
    }
}

extension CountingDevices {
    /// Which rows whose deletion is held back are published again.
    enum HeldBack {
        case none, all
        /// Those that rows hold back which this device wrote (`OwnHolders`).
        case byOwnRows
    }

    /// What devices that count this one from now on may have forgotten without it.
    /// - Parameter successors: those of them whose databases had another ID before, and whose copies others do not know of.
    func heldBack(for news: Set<String>, successors: Set<String>) -> HeldBack {
        let isAwaited = !awaited.isDisjoint(with: news)
        if isAwaited, hasJoined != true { return .all }
        // A device that joins later forgets nothing without those that are there.
        return isAwaited || !successors.isEmpty ? .byOwnRows : .none
    }
}

extension CountingDevices {
    /// `CountingDevices.known`, and `first`.
    typealias Known = (devices: Set<DeviceID>, acknowledging: UInt64)
}

extension Store {
    /// Notes which devices are in a container that this one is about to join: perhaps it is an older state of the folder,
    /// and they have forgotten deletions that it does not know.
    public func awaitCounting(by devices: [DeviceID]) throws {
        try note { connection in
            let meta = StoreMeta(connection: connection)
            var counting = try CountingDevices.read(meta)
            counting.awaited.formUnion(devices.map(\.hex))
            counting.hasJoined = true
            try counting.save(meta)
        }
    }

    /// The devices that are known to count this one when they forget deletions, and the number of the changeset of this
    /// device's that others have to acknowledge to be among them.
    public func countingDevices() throws -> (devices: Set<DeviceID>, acknowledging: UInt64) {
        try read { connection in
            try lastCounting.value(connection) { connection in
                let counting = try CountingDevices.read(StoreMeta(connection: connection))
                return (Set(counting.known.compactMap { DeviceID($0) }), counting.first)
            }
        }
    }
}
