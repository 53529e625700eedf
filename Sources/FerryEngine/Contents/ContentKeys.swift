import FerryContent
import FerryCore
import FerryMembers
import FerrySeal

/// The keys that name contents, with the makers and readers of packs: for an open container, or for a member of a sealed container.
struct ContentKeys {
    let container: ContainerID
    let device: DeviceID
    /// `nil` in an open container.
    private let membership: Membership?

    init(_ container: ContainerID, _ device: DeviceID, _ membership: Membership?) {
        self.container = container
        self.device = device
        self.membership = membership
    }

    /// The key of contents named under an epoch; in an open container the epoch is `nil`.
    /// - Throws: `fileNotThereYet` for an epoch without an arrived secret.
    func key(_ epoch: EpochID?) throws -> ContentKey {
        guard let epoch else { return ContentKey(openContainer: container) }
        guard let secret = membership?.keyring[epoch] else {
            throw FerryError(
                .fileNotThereYet, "The content is named by a key that has not arrived. Wait for the key.",
                device: device)
        }
        return ContentKey(secret)
    }

    /// The surroundings for a reader of packs.
    /// - Parameters:
    ///   - epoch: the epoch of the content.
    ///   - isSealed: whether the pack is sealed.
    func surroundings(_ epoch: EpochID?, isSealed: Bool) throws -> PackReader.Surroundings {
        try surroundings([key(epoch)], isSealed: isSealed)
    }

    /// The surroundings for a reader of packs where any of several keys may name a chunk.
    func surroundings(_ keys: [ContentKey], isSealed: Bool) throws -> PackReader.Surroundings {
        var seal: EnvelopeReader?
        if isSealed {
            guard let membership else {
                throw FerryError(.damagedFile, "A row speaks of a sealed pack, and the container is open.")
            }
            let (roster, keyring) = (membership.roster, membership.keyring)
            seal = EnvelopeReader(container: container, keys: { roster.keys(of: $0) }, epoch: { keyring[$0] })
        }
        return PackReader.Surroundings(container: container, keys: keys, seal: seal)
    }

    /// The epoch for new packs; `nil` in an open container.
    /// - Throws: as `MembershipSealing.sealingEpoch`.
    func sealingEpoch() throws -> EpochID? { try membership?.seal().sealingEpoch() }

    /// The epoch with the key for new contents: the oldest epoch that names contents already, or the current epoch. So equal bytes have a
    /// single name.
    /// - Parameter used: the epochs of the contents known here.
    func namingEpoch(_ used: Set<EpochID>) throws -> EpochID? {
        guard let membership else { return nil }
        let known = used.filter { membership.keyring[$0] != nil }
        let oldest = known.min { left, right in
            let (first, second) = (membership.graph.number(of: left), membership.graph.number(of: right))
            return first == second ? left < right : first < second
        }
        return try oldest ?? sealingEpoch()
    }

    /// Makes writers of packs under an epoch.
    /// - Throws: `fileNotThereYet` for an epoch without a secret here.
    func packMaker(_ epoch: EpochID?) throws -> () -> PackWriter {
        guard let epoch, let membership else {
            let (container, device) = (container, device)
            return { PackWriter(container: container, device: device) }
        }
        guard let secret = membership.keyring[epoch] else {
            throw FerryError(
                .fileNotThereYet, "The key for new files has not arrived. Nothing is stored before it is here.",
                device: device)
        }
        let sealer = try SealedPack.Sealer(secret, by: membership.keys)
        return { PackWriter(sealer) }
    }
}

extension Replica {
    /// The keys of contents, by the present knowledge of the members.
    func contentKeys() throws -> ContentKeys {
        let identity = identity
        return ContentKeys(identity.container, identity.device, try membership())
    }
}
