import FerryCore

/// The time of a change for each column of an object, by number. Storage is dense, because every row passes through
/// here.
struct ColumnTimes {
    private var slots: [HybridTime?] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    subscript(column: Int) -> HybridTime? {
        get { column < slots.count ? slots[column] : nil }
        set {
            if column >= slots.count {
                if newValue == nil { return }
                slots.append(contentsOf: repeatElement(nil, count: column - slots.count + 1))
            }
            count += (newValue == nil ? 0 : 1) - (slots[column] == nil ? 0 : 1)
            slots[column] = newValue
        }
    }

    /// The latest time.
    var latest: HybridTime? { slots.lazy.compactMap { $0 }.max() }

    /// The columns grouped by the time of their change, in the order of times.
    var byTime: [(time: HybridTime, columns: [Int])] {
        var groups: [(time: HybridTime, columns: [Int])] = []
        for column in slots.indices {
            guard let time = slots[column] else { continue }
            // Usually all columns changed at the same time.
            if let known = groups.firstIndex(where: { $0.time == time }) {
                groups[known].columns.append(column)
            } else {
                groups.append((time, [column]))
            }
        }
        return groups.count > 1 ? groups.sorted { $0.time < $1.time } : groups
    }
}
