import Ferry

/// Numbers of changes by device and span of time, as a plot shows them: a pure function of the log's newest changes.
struct ActivityPlot: Encodable, Equatable {
    struct Device: Encodable, Equatable {
        var name: String
        /// The number of changes in each span, the oldest first.
        var counts: [Int]
    }

    /// When the first span begins, in milliseconds since the Unix epoch.
    var startMilliseconds: Int64
    /// The length of a span.
    var bucketMilliseconds: Int64
    var devices: [Device]
    /// The number of counted changes.
    var changes: Int
    /// False if there are older changes in the log.
    var isWhole: Bool

    /// The most spans, and the fewest: changes of one minute are a thin bar.
    static let maximumSpans = 48
    static let minimumSpans = 24
    private static let minute: Int64 = 60_000
    private static let spans: [Int64] =
        [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10_080, 20_160, 40_320].map { $0 * minute }

    struct Change: Equatable {
        var device: String
        var timeMilliseconds: Int64
    }

    /// - Parameters:
    ///   - changes: in any order.
    ///   - now: the end of the last span. Later changes count in this span: clocks differ.
    ///   - offset: local time minus UTC, so days begin at midnight.
    /// - Returns: `nil` without changes.
    init?(_ changes: [Change], now: Int64, offset: Int64 = 0, isWhole: Bool) {
        guard let oldest = changes.map(\.timeMilliseconds).min() else { return nil }
        let first = min(max(oldest, 0), now)
        let span = now - first
        let bucket =
            Self.spans.first { span / $0 < Self.maximumSpans - 1 }
            ?? (span / Int64(Self.maximumSpans - 1) / Self.spans[13] + 1) * Self.spans[13]
        let wanted = (first + offset) / bucket * bucket - offset
        let missing = max(Int64(Self.minimumSpans) - ((now - wanted) / bucket + 1), 0)
        let start = wanted - missing * bucket
        let count = Int((now - start) / bucket) + 1
        var devices: [Device] = []
        var places: [String: Int] = [:]
        for change in changes {
            let place = places[change.device] ?? devices.count
            if place == devices.count {
                devices.append(Device(name: change.device, counts: Array(repeating: 0, count: count)))
                places[change.device] = place
            }
            let index = (min(max(change.timeMilliseconds, first), now) - start) / bucket
            devices[place].counts[Int(index)] += 1
        }
        startMilliseconds = start
        bucketMilliseconds = bucket
        self.devices = devices.sorted { $0.name < $1.name }
        self.changes = changes.count
        self.isWhole = isWhole
    }
}
