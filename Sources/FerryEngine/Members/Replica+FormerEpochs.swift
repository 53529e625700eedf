import FerryCore
import FerryMembers
import FerrySeal
import FerryStore

/// The keys of documents on the way into another membership, or to a device that was let in again.
///
/// An epoch names a content as long as the content exists, and packs lie under the epoch of their time. The members of a later
/// membership open both, so the epochs go along: in the ring of an epoch of the new membership. No file is ever sealed under them
/// again.
extension Replica {
    /// The secrets of the epochs that name this database's contents, or seal the packs, by the present membership.
    /// - Returns: nothing for an open container, whose contents need no secret.
    /// - Throws: `keyMissing`, as `membership`.
    func epochsOfContents() throws -> [EpochSecret] {
        guard identity.genesis != nil, try store.hasDocumentTables(), let membership = try membership() else {
            return []
        }
        let needed = try store.contentEpochs().union(store.rememberedContentEpochs())
        return needed.sorted().compactMap { membership.keyring[$0] }
    }

    /// Hands the keys of this database's contents on to members who lack them, with a new epoch whose ring has them. The former keys are at
    /// hand until the database has a new device.
    /// - Parameter membership: of the new device.
    /// - Returns: the record to publish; nothing if the new device has all keys, or if this computer has no key of the former device.
    /// - Throws: `formatTooNew` where a record is from a newer Ferry.
    func handOnEpochsOfContents(_ membership: inout Membership) throws -> Set<RecordHash> {
        let known: [EpochSecret]
        do {
            known = try epochsOfContents()
        } catch let error as FerryError where error.code == .keyMissing {
            return []
        }
        let ring = known.filter { membership.keyring[$0.id] == nil }
        if ring.isEmpty { return [] }
        try checkUnderstood(membership)
        let act = try membership.epoch(
            for: membership.keys(of: membership.roster.members.keys), ring: ring, random: environment.random)
        let record = try membership.record([act], milliseconds: environment.clock.milliseconds())
        guard try membership.insert([record]).map(\.hash) == [record.hash] else {
            throw FerryError(
                .internalInconsistency, "A record of this device's does not count.", device: membership.device)
        }
        return [record.hash]
    }
}
