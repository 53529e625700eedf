import FerryCore
import FerrySeal

extension MemberGraph {
    /// The epochs unknown to the maker of an epoch, and therefore absent from the epoch's ring, with the members who
    /// lack a wrap of them. Two devices without knowledge of each other made both epochs, and members' files are sealed
    /// under either. A later member with a wrap of only the first epoch lacks the second.
    /// - Returns: nothing for an epoch made by no record.
    package func epochsBeside(_ epoch: EpochID, lackedBy members: some Sequence<DeviceID>) -> [EpochID: [DeviceID]] {
        let made = epochs.entries(of: epoch).map { epochs[$0].record }
        guard !made.isEmpty else { return [:] }
        var holders: [EpochID: Set<DeviceID>] = [:]
        for entry in epochs.all where entry.epoch != epoch {
            let isKnown = made.contains { sets.contains(entry.record, in: nodes[$0].scope.records) }
            if isKnown { continue }
            var all = holders[entry.epoch] ?? entry.strangers
            all.formUnion(entry.strangers)
            all.formUnion(devices.indices.filter { sets.contains($0, in: entry.holders) }.map { devices[$0].id })
            holders[entry.epoch] = all
        }
        let members = members.sorted()
        return holders.mapValues { holders in members.filter { !holders.contains($0) } }.filter { !$0.value.isEmpty }
    }
}
