import FerrySimulator
import FerryTestSupport
import XCTest

/// The requests of whole devices in simulated time (`make bench BENCH="--only requests"` plays more of them).
final class RequestSimulationTests: XCTestCase {
    private func play(_ use: ContainerUse) throws -> RequestSimulation.Outcome {
        let folder = try ScratchFolder.make("ferry-requests")
        defer { try? FileManager.default.removeItem(at: folder) }  // a temporary folder
        return try RequestSimulation.run(use, below: folder.path)
    }

    func testADeviceAtRestLooksOnceAMinuteAndListsEveryTenMinutes() throws {
        let outcome = try play(ContainerUse(devices: 2, changes: 0, hours: 4, days: 1, whole: 2))
        XCTAssertEqual(outcome.month(outcome.counts.quietLooks + outcome.counts.listings), 43_200, accuracy: 4000)
        XCTAssertEqual(outcome.month(outcome.counts.listings), 4320, accuracy: 400)
        XCTAssertEqual(outcome.counts.all, outcome.counts.quietLooks + outcome.counts.listings)
    }

    func testASeedRepeatsItsRequests() throws {
        let use = ContainerUse(devices: 6, changes: 4, hours: 1, days: 1, whole: 1)
        let outcomes = try (0..<2).map { _ in try play(use) }
        XCTAssertEqual(outcomes[0], outcomes[1])
        var other = use
        other.seed = 2
        XCTAssertNotEqual(try play(other).counts, outcomes[0].counts)
    }

    /// A change is read by every other device: by one GET of the segment, after one of `latest` that tells of one change or of several.
    func testEveryChangeIsReadOnceByEveryDevice() throws {
        let outcome = try play(ContainerUse(devices: 6, changes: 16, hours: 1, days: 1, whole: 2))
        let counts = outcome.counts
        // Changes within two seconds go in one segment. The whole devices read each other's changes as well.
        XCTAssertEqual(Double(counts.segmentReads + counts.segmentWrites), 16 * 2, accuracy: 4)
        XCTAssertLessThanOrEqual(counts.looks, counts.segmentReads + counts.latestWrites)
        XCTAssertGreaterThan(counts.segmentWrites, 0)
        XCTAssertGreaterThan(counts.headReads, 0)
    }

    func testPricesAreThoseOfAmazon() {
        var counts = RequestCounts()
        (counts.quietLooks, counts.segmentReads, counts.listings) = (900_000, 100_000, 10_000)
        (counts.headWrites, counts.deletions, counts.bytesRead) = (30_000, 7000, 5)
        XCTAssertEqual(StoragePrices.amazon.requests(counts), 0.4 + 0.2, accuracy: 1e-9)
        XCTAssertEqual(StoragePrices.amazon.leaving(bytes: 300e9), 18, accuracy: 1e-9)
        XCTAssertEqual(StoragePrices.amazon.leaving(bytes: 99e9), 0)
        XCTAssertEqual(RequestCounts.kinds.reduce(0) { $0 + $1.count(counts) }, counts.all)
        XCTAssertEqual(((counts + counts) - counts), counts)
    }
}
