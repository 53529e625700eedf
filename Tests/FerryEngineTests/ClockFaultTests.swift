import FerryContainer
import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// Clocks that are wrong.
final class ClockFaultTests: XCTestCase {
    private static let day: Int64 = 24 * 3_600_000

    /// Two devices, the first one's clock being ahead, and capture believing it.
    private func household(ahead milliseconds: Int64) throws -> (fleet: Fleet, fast: Replica, slow: Replica) {
        let fleet = try Fleet()
        try fleet.start("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item VALUES (1, 'one');")
        try fleet.join()
        try fleet.settle()
        let clock = ShiftedClock(shift: milliseconds)
        let fast = try Replica(
            path: fleet.databasePath(0),
            environment: Environment(clock: clock, random: SystemRandom(), fileSystem: PosixFileSystem()))
        return (fleet, fast, fleet.replicas[1])
    }

    private struct ShiftedClock: WallClock {
        var shift: Int64
        func milliseconds() -> Int64 { SystemClock().milliseconds() + shift }
        func milliseconds(captured: Int64) -> Int64 { captured + shift }
    }

    func testADeviceWhoseClockIsYearsAheadIsNamedForAsLongAsItIs() throws {
        let (fleet, fast, slow) = try household(ahead: 3 * 365 * Self.day)
        try fleet.shell(0, "UPDATE item SET name = 'from the future'")
        _ = try fast.sync()
        for _ in 0..<2 {
            let report = try slow.sync()
            XCTAssertEqual(report.waiting.map(\.code), ["clockAhead"])
            XCTAssertEqual(report.waiting.map(\.isDamage), [false])
        }
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item"), "from the future\n")
        XCTAssertEqual(try slow.status().devices.first?.problemCode, "clockAhead")
    }

    func testALocalEditOfARowFromTheFutureTakesEffectAndTheClockDoesNotFollow() throws {
        let (fleet, fast, slow) = try household(ahead: 3 * 365 * Self.day)
        try fleet.shell(0, "UPDATE item SET name = 'from the future'")
        _ = try fast.sync()
        _ = try slow.sync()
        try fleet.shell(1, "UPDATE item SET name = 'now'; INSERT INTO item VALUES (2, 'also now')")
        _ = try slow.sync()
        _ = try fast.sync()
        XCTAssertEqual(try fleet.shell(0, "SELECT name FROM item ORDER BY id"), "now\nalso now\n")
        let times = try fleet.replicas[1].log(limit: 3).compactMap(\.timeMilliseconds)
        let now = SystemClock().milliseconds()
        XCTAssertEqual(times.filter { $0 < now + Self.day }.count, 1, "the row that is new has the time of now")
    }

    func testAClockThatIsHoursAheadIsFollowedAndNotNamed() throws {
        let (fleet, fast, slow) = try household(ahead: 5 * 3_600_000)
        try fleet.shell(0, "UPDATE item SET name = 'in five hours'")
        _ = try fast.sync()
        XCTAssertEqual(try slow.sync().waiting, [])
        try fleet.shell(1, "UPDATE item SET name = 'now'")
        _ = try slow.sync()
        _ = try fast.sync()
        XCTAssertEqual(try fleet.shell(0, "SELECT name FROM item"), "now\n")
    }

    func testAClockThatJumpsBackDoesNotTakeTimeBack() throws {
        let (fleet, fast, slow) = try household(ahead: 0)
        try fleet.shell(0, "UPDATE item SET name = 'first'")
        _ = try fast.sync()
        let late = try Replica(
            path: fleet.databasePath(0),
            environment: Environment(
                clock: ShiftedClock(shift: -30 * Self.day), random: SystemRandom(), fileSystem: PosixFileSystem()))
        try fleet.shell(0, "UPDATE item SET name = 'second'")
        _ = try late.sync()
        _ = try slow.sync()
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item"), "second\n")
    }
}
