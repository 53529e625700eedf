import FerryCore
import FerrySeal

/// The epochs made by records, and the holders of each epoch's secret.
struct EpochLedger: Sendable {
    struct Entry: Sendable {
        /// The number of the record with the epoch's making.
        let record: Int
        let epoch: EpochID
        let number: UInt32
        /// `nil` for the recovery key.
        let maker: Int?
        /// The numbers of the devices with the secret: receivers of wraps, the maker, and devices which handed the
        /// epoch on.
        var holders: PagedSets.Set
        /// Further receivers of wraps, unnamed by any record when the wrap was made.
        var strangers: Set<DeviceID>
    }

    private(set) var all: [Entry] = []
    private var byID: [EpochID: [Int]] = [:]

    subscript(_ place: Int) -> Entry {
        get { all[place] }
        set { all[place] = newValue }
    }

    /// The places of the entries with an ID. There is a single place, unless a member reused the ID of an existing
    /// epoch.
    func entries(of epoch: EpochID) -> [Int] { byID[epoch, default: []] }

    mutating func append(_ entry: Entry) {
        byID[entry.epoch, default: []].append(all.count)
        all.append(entry)
    }
}
