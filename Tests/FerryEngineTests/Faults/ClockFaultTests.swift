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
            environment: ReplicaEnvironment(clock: clock, random: SystemRandom(), fileSystem: PosixFileSystem()))
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

    /// Another device's clock ran ahead: changes made here since share the millisecond of its last one, in the future.
    func testARowIsRestoredAsOfEachOfItsChangesUnderAClockThatRanAhead() throws {
        let (fleet, fast, slow) = try household(ahead: 5 * 3_600_000)
        try fleet.shell(0, "INSERT INTO item VALUES (2, 'from the future')")
        _ = try fast.sync()
        _ = try slow.sync()
        for name in ["v1", "v2", "v3"] {
            try fleet.shell(1, "UPDATE item SET name = '\(name)' WHERE id = 1")
            _ = try slow.sync()
        }
        let changes = try XCTUnwrap(slow.history(table: "item", key: ["1"]).rows.first?.changes)
        XCTAssertEqual(changes.count, 4)
        XCTAssertEqual(Set(changes.map(\.time)).count, 4)
        XCTAssertEqual(Set(changes.dropFirst().map(\.timeMilliseconds)).count, 1)
        for (change, name) in zip(changes, ["one", "v1", "v2", "v3"]) {
            let restoration = try slow.restoreRow(table: "item", key: ["1"], asOf: change.time)
            XCTAssertEqual(restoration.row.action, .updated, name)
            XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item WHERE id = 1"), "\(name)\n")
        }
        // A time in the future that no change has is refused.
        let last = try XCTUnwrap(changes.last?.time.milliseconds)
        for milliseconds in [last + 7, last - 3_600_000] {
            XCTAssertThrowsError(
                try slow.restoreRow(table: "item", key: ["1"], asOf: .end(ofMillisecond: milliseconds))
            ) { XCTAssertEqual(($0 as? FerryError)?.code, .invalidArgument) }
        }
        // By the present time the changes ahead are left out, and told.
        let now = try slow.restoreRow(
            table: "item", key: ["1"], asOf: .end(ofMillisecond: SystemClock().milliseconds()), options: .isDryRun)
        XCTAssertGreaterThanOrEqual(now.ahead, 3)
    }

    /// A clock of Ferry's never goes back, so the date alone mends nothing.
    func testADeviceWhoseClockWasAheadIsToldAndBeginsWithTheRightTimeAsAnotherDevice() throws {
        let (fleet, fast, slow) = try household(ahead: 3 * 365 * Self.day)
        try fleet.shell(0, "UPDATE item SET name = 'from the future'")
        _ = try fast.sync()
        // The date is right from now on.
        let corrected = try Replica(path: fleet.databasePath(0))
        XCTAssertEqual(try slow.sync().waiting.map(\.code), ["clockAhead"])
        let findings = try corrected.examine().findings.filter { $0.subject == "this device" }
        XCTAssertEqual(findings.map(\.severity), [.warning])
        XCTAssertTrue(findings[0].advice.contains("--match keys"), findings[0].advice)
        _ = try corrected.sync()
        _ = try corrected.leave()
        _ = try slow.retire("device0")
        let (again, _) = try Replica.join(
            databasePath: fleet.databasePath(0), containerPath: fleet.containerPath, options: JoinOptions(match: .keys))
        let joined = try XCTUnwrap(again)
        XCTAssertEqual(try joined.examine().findings.filter { $0.subject == "this device" }, [])
        try fleet.shell(0, "INSERT INTO item VALUES (2, 'first')")
        _ = try joined.sync()
        XCTAssertEqual(try slow.sync().waiting, [])
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item ORDER BY id"), "from the future\nfirst\n")
        XCTAssertEqual(try slow.verify(deep: true).differences, [])
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

    /// Two copies of a database may hold the same note, and one machine's clock may be ahead. What the other one writes over the
    /// noted value wins, so the note keeps its time.
    func testANoteOfAClockThatWasAheadIsFollowedByAtMostADay() throws {
        let fleet = try Fleet()
        try fleet.start("CREATE TABLE item(name TEXT PRIMARY KEY, value)")
        for (ahead, followed) in [(0.8, 0.8), (3, 1)] {
            try fleet.shell(0, "REPLACE INTO item VALUES ('a', \(ahead)); UPDATE ferry_pending SET at = at + \(ahead)")
            let now = SystemClock().milliseconds()
            XCTAssertEqual(try fleet.replicas[0].sync().published.changes, 1)
            let raw = try fleet.shell(0, "SELECT value FROM ferry_meta WHERE name = 'clock'").dropLast()
            let time = HybridTime(rawValue: try XCTUnwrap(UInt64(raw)))
            let lead = Double(time.milliseconds - now) / Double(Self.day)
            XCTAssertEqual(lead, followed, accuracy: 0.01, "a note \(ahead) days ahead")
        }
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
            environment: ReplicaEnvironment(
                clock: ShiftedClock(shift: -30 * Self.day), random: SystemRandom(), fileSystem: PosixFileSystem()))
        try fleet.shell(0, "UPDATE item SET name = 'second'")
        _ = try late.sync()
        _ = try slow.sync()
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item"), "second\n")
    }

    /// Random numbers of which device IDs come that are later or earlier than all others.
    private struct ExtremeRandom: RandomSource {
        var number: UInt64
        func next() -> UInt64 { number }
    }

    /// A copy says again what was not sent, a tick later than it was. So does nobody's clock who writes over the value: the new value
    /// wins, whichever ID is the larger one.
    func testWhatIsWrittenOverAValueWinsOverACopyThatSaysTheValueAgainThoughTheClockIsBehind() throws {
        for number in [UInt64.max, 0] {
            for isDeletion in [false, true] {
                let (fleet, fast, slow) = try household(ahead: 2 * 3_600_000)
                try fleet.shell(0, "UPDATE item SET name = 'former'")
                _ = try fast.store.pass(replaying: [], encode: fast.segmentEncoding(for: fast.identity))
                try fleet.shell(0, "VACUUM INTO '\(fleet.databasePath(2))'")
                let copy = try Replica(
                    path: fleet.databasePath(2),
                    environment: ReplicaEnvironment(
                        clock: SystemClock(), random: ExtremeRandom(number: number), fileSystem: PosixFileSystem()))
                XCTAssertEqual(try copy.sync().renewed?.sentAgain, 1)
                try fleet.shell(0, isDeletion ? "DELETE FROM item" : "UPDATE item SET name = 'new'")
                // Its clock is right by now, and so two hours behind what it wrote before.
                fleet.replicas[0] = try Replica(path: fleet.databasePath(0))
                for replica in [fleet.replicas[0], copy, slow, fleet.replicas[0], copy] { _ = try replica.sync() }
                for index in 0..<3 {
                    XCTAssertEqual(try fleet.shell(index, "SELECT name FROM item"), isDeletion ? "" : "new\n")
                }
            }
        }
    }

    /// A clock that says what it is set to, and triggers that noted what another one said.
    private struct MendedClock: WallClock {
        var now = SystemClock().milliseconds()
        var captured: Int64
        func milliseconds() -> Int64 { now }
        func milliseconds(captured: Int64) -> Int64 { self.captured }
    }

    private static let year9999: Int64 = 253_402_300_799_000

    private func replica(_ fleet: Fleet, _ index: Int, _ clock: any WallClock) throws -> Replica {
        try Replica(
            path: fleet.databasePath(index),
            environment: ReplicaEnvironment(clock: clock, random: SystemRandom(), fileSystem: PosixFileSystem()))
    }

    func testWhatIsWrittenWhileTheClockSaysTheYear9999IsSentOnceItIsRight() throws {
        let (fleet, _, _) = try household(ahead: 0)
        let wrong = try replica(fleet, 0, MendedClock(now: Self.year9999, captured: Self.year9999))
        // One row by itself, and then an update, which is packed in another way.
        for (number, statement) in ["INSERT INTO item VALUES (2, 'two')", "UPDATE item SET name = 'uno' WHERE id = 1"]
            .enumerated()
        {
            try fleet.shell(0, statement)
            XCTAssertThrowsError(try wrong.sync()) {
                XCTAssertEqual(($0 as? FerryError)?.code, .clockAhead)
                XCTAssertTrue(($0 as? FerryError)?.message.contains("9999") ?? false)
            }
            XCTAssertTrue(try wrong.status().container.failure?.contains("9999") ?? false)
            XCTAssertTrue(try wrong.examine().findings.contains { $0.subject == "clock" && $0.severity == .fault })
            let right = try replica(fleet, 0, MendedClock(captured: Self.year9999))
            XCTAssertEqual(try right.sync().published.changes, 1, "\(number)")
            XCTAssertNil(try right.status().container.failure)
            try fleet.settle()
            try fleet.assertEqual("SELECT * FROM item ORDER BY id")
        }
        let now = SystemClock().milliseconds()
        XCTAssertTrue(try fleet.replicas[1].log(limit: 9).allSatisfy { $0.timeMilliseconds ?? 0 < now + Self.day })
        // What somebody writes later wins.
        try fleet.shell(1, "UPDATE item SET name = 'later' WHERE id = 1")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT name FROM item WHERE id = 1"), "later\n")
    }

    func testAClockThatSaysTheYear9999MakesNoContainerAndJoinsNone() throws {
        let fleet = try Fleet()
        try fleet.start("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)")
        let environment = ReplicaEnvironment(
            clock: MendedClock(now: Self.year9999, captured: Self.year9999), random: SystemRandom(),
            fileSystem: PosixFileSystem())
        XCTAssertThrowsError(
            try ReplicaSetup(environment: environment).join(
                databasePath: fleet.databasePath(1), containerPath: fleet.containerPath)
        ) { XCTAssertEqual(($0 as? FerryError)?.code, .clockAhead) }
        XCTAssertFalse(FileManager.default.fileExists(atPath: fleet.databasePath(1)))
        try fleet.shell(2, "CREATE TABLE item(id INTEGER PRIMARY KEY)")
        XCTAssertThrowsError(
            try ReplicaSetup(environment: environment).create(
                Store(path: fleet.databasePath(2)), containerPath: fleet.containerPath + "2")
        ) { XCTAssertEqual(($0 as? FerryError)?.code, .clockAhead) }
        XCTAssertFalse(FileManager.default.fileExists(atPath: fleet.containerPath + "2"))
    }
}
