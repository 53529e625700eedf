import FerryCore
import FerrySeal

extension MemberGraph {
    /// The epochs that the maker of an epoch did not know, so that its ring cannot have them, and the members that nobody wrapped
    /// them for. Two devices that knew nothing of each other made both; files of members are sealed under either. Who came later,
    /// and got the one, lacks the other.
    /// - Returns: nothing for an epoch that no record makes.
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
