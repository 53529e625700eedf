import FerryCore
import FerrySeal

/// The epochs that records made, and who has which.
struct EpochLedger: Sendable {
    struct Entry: Sendable {
        /// The number of the record that made it.
        let record: Int
        let epoch: EpochID
        let number: UInt32
        /// `nil` for the recovery key.
        let maker: Int?
        /// The numbers of the devices that its secret was wrapped for, of its maker, and of those that handed it on.
        var holders: PagedSets.Set
        /// Further devices that it was wrapped for, which no record had named then.
        var strangers: Set<DeviceID>
    }

    private(set) var all: [Entry] = []
    private var byID: [EpochID: [Int]] = [:]

    subscript(_ place: Int) -> Entry {
        get { all[place] }
        set { all[place] = newValue }
    }

    /// The places of the entries with an ID: one, unless a member took another's ID.
    func entries(of epoch: EpochID) -> [Int] { byID[epoch, default: []] }

    mutating func append(_ entry: Entry) {
        byID[entry.epoch, default: []].append(all.count)
        all.append(entry)
    }
}
