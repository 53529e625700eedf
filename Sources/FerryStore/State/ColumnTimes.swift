import FerryCore

/// For each column of one object the time of a change, by number: dense, because it is on the path of every row.
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

    /// The latest of all.
    var latest: HybridTime? { slots.lazy.compactMap { $0 }.max() }

    /// The columns by the times at which they changed, in the order of the times.
    var byTime: [(time: HybridTime, columns: [Int])] {
        var groups: [(time: HybridTime, columns: [Int])] = []
        for column in slots.indices {
            guard let time = slots[column] else { continue }
            // Mostly all changed at once.
            if let known = groups.firstIndex(where: { $0.time == time }) {
                groups[known].columns.append(column)
            } else {
                groups.append((time, [column]))
            }
        }
        return groups.count > 1 ? groups.sorted { $0.time < $1.time } : groups
    }
}
