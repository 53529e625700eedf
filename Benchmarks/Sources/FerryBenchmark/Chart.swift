/// The plots: cost against size. Their raw values are the files' names.
enum Chart: String, CaseIterable {
    case nothingNew = "nothing-new"
    case merge
    case joinTime = "join-time"
    case joinMemory = "join-memory"
    case keyValue = "key-value"
    case latency
    case idle

    var title: String {
        switch self {
        case .nothingNew: "A sync with nothing new"
        case .merge: "Replaying updates, against the rows they touch"
        case .joinTime: "The first join"
        case .joinMemory: "The first join: the most memory of its process"
        case .keyValue: "A set of the key-value store"
        case .latency: "From a commit to the other device"
        case .idle: "A pair that rests"
        }
    }

    var xLabel: String {
        switch self {
        case .nothingNew: "changes before, or rows in the store"
        case .merge: "rows updated"
        case .joinTime, .joinMemory: "rows in the container"
        case .keyValue: "members of the set"
        case .latency, .idle: "devices in the container"
        }
    }

    /// As in the tables.
    var unit: String {
        switch self {
        case .nothingNew, .merge, .keyValue, .latency: "ms"
        case .joinTime: "s"
        case .joinMemory: "MB"
        case .idle: "% of a core"
        }
    }

    var yLabel: String { ["ms": "milliseconds", "s": "seconds", "MB": "megabytes"][unit] ?? unit }
}
