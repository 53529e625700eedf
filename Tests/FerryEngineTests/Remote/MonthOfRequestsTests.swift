import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryContainer
@testable import FerryEngine

/// What a container in an object storage costs in a month of simulated time.
///
/// Schedules are production's. What a look, a publication and a reading cost is shown by `RemoteReplicaTests` with whole devices. All
/// devices of a container are alike, so one is played.
final class MonthOfRequestsTests: XCTestCase {
    private static let day = 86_400_000
    /// Files of each device in the container.
    private static let filesPerDevice = 40

    /// Requests of a device.
    private struct Requests {
        var looks = 0
        var listings = 0
        var heads = 0
        var readings = 0
        var publications = 0

        /// Amazon's prices of 2026, in dollars: $5 for a million PUTs or LISTs, $0.40 for a million GETs.
        var dollars: Double {
            let reads = looks + heads + readings + publications * 2
            return Double(reads) * 0.4e-6 + Double(listings + publications * 3) * 5e-6
        }
    }

    /// Plays a month of a device.
    /// - Parameters:
    ///   - publications: of all devices, a day, at random times of the hours in use.
    private func month(devices: Int, publications: Int, hours: Int, seed: UInt64) -> Requests {
        var chance = Chance(seed: seed)
        let timing = RemoteTiming()
        let pages = devices * Self.filesPerDevice / ObjectPage.maximumObjects + 1
        let interval = timing.listing(pages: pages)
        var (schedule, requests) = (RemoteSchedule(timing), Requests())
        var (now, nextListing) = (0, 0)
        var changed: Set<Int> = []
        for day in 0..<30 {
            let begin = day * Self.day
            let times = (0..<publications).map { _ in begin + chance.below(hours * 3_600_000) }.sorted()
            var index = 0
            while now < begin + Self.day {
                var isOwn = false
                var found = 0
                while index < times.count, times[index] <= now {
                    let author = chance.below(devices)
                    changed.insert(author)
                    if author == 0 { isOwn = true } else { found += 1 }
                    index += 1
                }
                requests.readings += found
                if isOwn { requests.publications += 1 }
                if now >= nextListing {
                    // A listing tells whose head is another one since the last.
                    requests.listings += pages
                    requests.heads += changed.subtracting([0]).count
                    changed = []
                    nextListing = now + interval
                } else {
                    requests.looks += 1
                }
                now += schedule.next(
                    foundNews: found > 0 || isOwn, isAfterCommit: isOwn, at: now, chance: chance.next())
            }
        }
        return requests
    }

    func testAMonthCostsWhatThePagesSay() {
        let cases = [(10, 0, 4), (10, 200, 4), (100, 2000, 8), (1000, 10_000, 8)]
        print(
            "devices, publications a day, hours: looks, listings, heads, readings, publications of a device in a month; "
                + "dollars each, and all")
        var costs: [Double] = []
        for (devices, publications, hours) in cases {
            let requests = month(devices: devices, publications: publications, hours: hours, seed: 1)
            let all = requests.dollars * Double(devices)
            costs.append(all)
            print(
                "\(devices), \(publications), \(hours): \(requests.looks), \(requests.listings), \(requests.heads), "
                    + "\(requests.readings), \(requests.publications); "
                    + String(format: "%.3f, %.2f", requests.dollars, all))
        }
        // At rest a device looks once a minute, and lists every ten minutes.
        let rest = month(devices: 10, publications: 0, hours: 4, seed: 2)
        XCTAssertEqual(Double(rest.looks + rest.listings), 43_200, accuracy: 4000)
        XCTAssertEqual(Double(rest.listings), 4320, accuracy: 400)
        for (cost, bound) in zip(costs, [0.5, 2.0, 60, 1200]) { XCTAssertLessThan(cost, bound) }
    }

    func testAListingOfFortyThousandFilesIsFortyRequestsAndLittleMemory() throws {
        let storage = MemoryStorage()
        var random = Chance(seed: 3)
        for device in 0..<1000 {
            let directory = Container.segmentsDirectory(of: DeviceID(high: 7, low: UInt64(device)))
            for number in 1...40 {
                let name = try SegmentName(
                    first: UInt64(number), last: UInt64(number), checksum: Checksum(high: random.next(), low: 0))
                storage.set(directory + "/" + name.fileName, [1])
            }
        }
        let backend = RemoteBackend(storage)
        let before = try Self.residentBytes()
        try backend.refresh(.full)
        let grown = try Self.residentBytes() - before
        XCTAssertEqual(storage.count(.list), 40)
        print("a listing of 40,000 files: \(grown >> 20) MB more")
        XCTAssertLessThan(grown, 96 << 20)
        XCTAssertEqual(try backend.list(Container.devicesDirectory, after: nil).count, 1000)
    }

    private static func residentBytes() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
    }
}
