import Ferry

/// The figures of a watched database for monitoring. A value: events and readings come in, text for Prometheus comes out.
///
/// Invariants:
/// - Counts only grow.
/// - `isLeading` only while `isRunning`.
/// - `isFailing` exactly from a failure until the next pass.
struct WatchMetrics {
    /// A device in the knowledge of this database.
    struct Peer: Equatable {
        var id: String
        var name: String
        var heardMilliseconds: Int64?
        var isWaiting: Bool
    }

    /// The database's figures beside the events.
    struct Reading: Equatable {
        var unpublished = 0
        var conflicts = 0
        var peers: [Peer] = []
    }

    let database: String
    private(set) var isRunning = false
    private(set) var isLeading = false
    private(set) var isFailing = false
    private(set) var passes = 0
    private(set) var failures = 0
    private(set) var published = 0
    private(set) var replayed = 0
    private(set) var hidden = 0
    private(set) var waiting = 0
    private(set) var claims = 0
    private(set) var isHeld = false
    /// When the last pass with news, or after a failure, ended; `nil` before the first.
    private(set) var lastPassMilliseconds: Int64?
    private(set) var lastFailureMilliseconds: Int64?
    var reading = Reading()

    init(database: String) { self.database = database }

    mutating func record(_ event: SyncEvent, atMilliseconds now: Int64) {
        switch event {
        case .started: (isRunning, isLeading) = (true, true)
        case .following: isLeading = false
        case .leading: isLeading = true
        case .reopened, .databaseChanged: break
        case .synced(let report):
            isFailing = false
            passes += 1
            published += report.published.changes
            replayed += report.replayed.changes
            (hidden, waiting, claims) = (report.hidden, report.waiting.count, report.claims ?? 0)
            isHeld = report.held != nil
            lastPassMilliseconds = now
        case .failed:
            isFailing = true
            failures += 1
            lastFailureMilliseconds = now
        case .stopped: (isRunning, isLeading) = (false, false)
        }
    }
}

/// The text of metrics, in the format of Prometheus
/// (https://prometheus.io/docs/instrumenting/exposition_formats/). Times are in seconds, as is the custom there.
enum MetricsText {
    private struct Family {
        var name: String
        var type: String
        var help: String
        var samples: [(labels: [(String, String)], value: String)] = []

        var lines: [String] {
            if samples.isEmpty { return [] }
            return ["# HELP \(name) \(help)", "# TYPE \(name) \(type)"]
                + samples.map { sample in
                    let labels = sample.labels.map { "\($0.0)=\"\(MetricsText.escaped($0.1))\"" }
                    return name + (labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}") + " " + sample.value
                }
        }
    }

    /// All figures, the families in a fixed order.
    static func of(_ databases: [WatchMetrics], version: String) -> String {
        func family(
            _ name: String, _ type: String, _ help: String, _ value: (WatchMetrics) -> String?
        ) -> Family {
            Family(
                name: "ferry_" + name, type: type, help: help,
                samples: databases.compactMap { one in value(one).map { ([("database", one.database)], $0) } })
        }
        func perPeer(_ name: String, _ help: String, _ value: (WatchMetrics.Peer) -> String?) -> Family {
            Family(
                name: "ferry_" + name, type: "gauge", help: help,
                samples: databases.flatMap { one in
                    one.reading.peers.compactMap { peer in
                        value(peer).map {
                            ([("database", one.database), ("device", peer.name), ("id", peer.id)], $0)
                        }
                    }
                })
        }
        let build = Family(
            name: "ferry_build_info", type: "gauge", help: "The version of Ferry.",
            samples: [([("version", version)], "1")])
        let families = [
            build,
            family("watch_running", "gauge", "1 while ferry watch runs.") { flag($0.isRunning) },
            family("watch_leading", "gauge", "1 while this process, and no other, makes the passes.") {
                flag($0.isLeading)
            },
            family("failing", "gauge", "1 since the last pass failed, until one succeeds.") { flag($0.isFailing) },
            family("reported_passes_total", "counter", "Passes with news, the first one, and those after a failure.") {
                "\($0.passes)"
            },
            family("failures_total", "counter", "Failures that were told; one that lasts counts once.") {
                "\($0.failures)"
            },
            family("published_changes_total", "counter", "Changes sent by this process.") { "\($0.published)" },
            family("replayed_changes_total", "counter", "Changes of other devices merged by this process.") {
                "\($0.replayed)"
            },
            family("unpublished_changes", "gauge", "Changes that are not in the container yet.") {
                "\($0.reading.unpublished)"
            },
            family("hidden_rows", "gauge", "Rows that the schema has no place for now.") { "\($0.hidden)" },
            family("conflicts", "gauge", "Conflicts that nobody has resolved.") { "\($0.reading.conflicts)" },
            family("waiting_devices", "gauge", "Devices whose changes cannot be merged further for now.") {
                "\($0.waiting)"
            },
            family("claims", "gauge", "Devices that ask to be let in.") { "\($0.claims)" },
            family("held", "gauge", "1 while nothing may be published into a sealed container.") { flag($0.isHeld) },
            family("last_reported_pass_timestamp_seconds", "gauge", "When the last of the reported passes ended.") {
                $0.lastPassMilliseconds.map(seconds)
            },
            family("last_failure_timestamp_seconds", "gauge", "When a failure was told last.") {
                $0.lastFailureMilliseconds.map(seconds)
            },
            perPeer("device_heard_timestamp_seconds", "When news of the device was seen here last.") {
                $0.heardMilliseconds.map(seconds)
            },
            perPeer("device_waiting", "1 while the device's changes cannot be merged further.") { flag($0.isWaiting) },
        ]
        return families.flatMap(\.lines).joined(separator: "\n") + "\n"
    }

    private static func flag(_ value: Bool) -> String { value ? "1" : "0" }

    private static func seconds(_ milliseconds: Int64) -> String {
        let (whole, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        let digits = String(abs(rest))
        return "\(whole).\(String(repeating: "0", count: 3 - digits.count))\(digits)"
    }

    /// A label's value: a backslash, a quote and a line break are escaped.
    static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
