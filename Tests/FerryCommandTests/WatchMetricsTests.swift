import Ferry
import XCTest

@testable import FerryCommand

final class WatchMetricsTests: XCTestCase {
    func testEventsBecomeFigures() {
        var metrics = WatchMetrics(database: "a")
        metrics.record(.started, atMilliseconds: 1000)
        XCTAssertTrue(metrics.isRunning && metrics.isLeading && !metrics.isFailing)
        metrics.record(.failed(FerryError(.containerMissing, "away")), atMilliseconds: 2000)
        XCTAssertEqual(
            [metrics.isFailing, metrics.failures == 1, metrics.lastFailureMilliseconds == 2000], [true, true, true])
        var report = SyncReport()
        report.published.changes = 3
        report.replayed.changes = 4
        report.hidden = 1
        report.held = "no key"
        metrics.record(.synced(report), atMilliseconds: 3000)
        metrics.record(.synced(report), atMilliseconds: 4000)
        XCTAssertEqual([metrics.passes, metrics.published, metrics.replayed, metrics.hidden], [2, 6, 8, 1])
        XCTAssertTrue(!metrics.isFailing && metrics.isHeld)
        XCTAssertEqual(metrics.lastPassMilliseconds, 4000)
        metrics.record(.following, atMilliseconds: 5000)
        XCTAssertTrue(metrics.isRunning && !metrics.isLeading)
        metrics.record(.stopped, atMilliseconds: 6000)
        XCTAssertFalse(metrics.isRunning)
    }

    func testTheTextIsWhatPrometheusReads() {
        var first = WatchMetrics(database: "my \"a\"\\b\n.sqlite")
        first.record(.synced(SyncReport()), atMilliseconds: 1_700_000_000_007)
        first.reading = .init(
            unpublished: 2, conflicts: 1,
            peers: [.init(id: "42", name: "phone", heardMilliseconds: 1500, isWaiting: true)])
        let text = MetricsText.of([first, WatchMetrics(database: "b")], version: "0.1.0")
        let label = #"database="my \"a\"\\b\n.sqlite""#
        for line in [
            #"ferry_build_info{version="0.1.0"} 1"#, "ferry_unpublished_changes{\(label)} 2",
            "ferry_conflicts{\(label)} 1",
            #"ferry_unpublished_changes{database="b"} 0"#,
            "ferry_last_reported_pass_timestamp_seconds{\(label)} 1700000000.007",
            "ferry_device_heard_timestamp_seconds{\(label),device=\"phone\",id=\"42\"} 1.500",
            "ferry_device_waiting{\(label),device=\"phone\",id=\"42\"} 1", "# TYPE ferry_failures_total counter",
        ] {
            XCTAssertTrue(text.contains("\n\(line)\n"), "\(line)\n\(text)")
        }
        XCTAssertTrue(text.hasSuffix("\n"))
        // Each family has its words once, before its samples.
        let families = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE") }
        XCTAssertEqual(Set(families).count, families.count)
    }
}
