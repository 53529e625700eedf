import FerryContainer
import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

final class WatchLoopTests: XCTestCase {
    private let notes = "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT NOT NULL);"

    func testACommitOfAnotherProgramAppearsOnTheOtherDevice() throws {
        for journal in ["wal", "delete"] {
            let fleet = try Fleet()
            try fleet.start("PRAGMA journal_mode = \(journal);" + notes)
            try fleet.join()
            // A database that joined is in WAL mode already; the pair in the second round is mixed.
            let first = RunningLoop(fleet.replicas[0])
            let second = RunningLoop(fleet.replicas[1])
            let writers = try (0...1).map { try Store(path: fleet.databasePath($0)) }
            var latencies: [Int] = []
            for number in 1...40 {
                // Turns about, so that both directions and acknowledgements are in play.
                let (from, to) = number % 2 == 0 ? (0, 1) : (1, 0)
                let text = "number \(number)"
                let start: ContinuousClock.Instant
                if number <= 20 {
                    // Without a time-out the shell gives up where a pass is writing at that moment.
                    try fleet.shell(from, ".timeout 5000\nINSERT INTO note(text) VALUES ('\(text)');")
                    start = .now
                } else {
                    try writers[from].write { try $0.execute("INSERT INTO note(text) VALUES (?)", .text(text)) }
                    start = .now
                }
                let reader = fleet.replicas[to].store
                try waitUntil("\(text) arrives") {
                    try reader.read { try $0.count("SELECT count(*) FROM note WHERE text = ?", .text(text)) } == 1
                }
                latencies.append(start.duration(to: .now).wholeMilliseconds)
            }
            for (writer, part) in [
                ("sqlite3, from its end", latencies[..<20]), ("another connection", latencies[20...]),
            ] {
                let sorted = part.sorted()
                print("latency, \(journal), \(writer): median \(sorted[10]) ms, worst \(sorted[19]) ms")
            }
            first.finish()
            second.finish()
            let durations = (first.reports + second.reports).filter(\.hasNews).map(\.durationMilliseconds).sorted()
            print("passes with news: \(durations.count), median \(durations[durations.count / 2]) ms")
            try fleet.assertEqual("SELECT text FROM note ORDER BY text;")
        }
    }

    func testABurstOfCommitsMakesFewSegments() throws {
        let fleet = try Fleet()
        try fleet.start("PRAGMA journal_mode = wal; PRAGMA synchronous = off;" + notes)
        try fleet.join()
        let first = RunningLoop(fleet.replicas[0])
        let second = RunningLoop(fleet.replicas[1])
        let count = 500
        try fleet.shell(
            0,
            "PRAGMA synchronous = off;"
                + (1...count).map { "INSERT INTO note(text) VALUES ('\($0)');" }.joined(separator: "\n"))
        try waitUntil("all arrive") {
            try fleet.replicas[1].store.read { try $0.count("SELECT count(*) FROM note") } == count
        }
        first.finish()
        second.finish()
        let published = first.reports.reduce(0) { $0 + $1.published.segments }
        print("\(count) commits made \(published) segments")
        XCTAssertLessThan(published, count / 5)
    }

    func testTwoDevicesInStepComeToRest() throws {
        let fleet = try Fleet()
        try fleet.start("PRAGMA journal_mode = wal;" + notes)
        try fleet.join()
        let first = RunningLoop(fleet.replicas[0])
        let second = RunningLoop(fleet.replicas[1])
        try fleet.shell(0, "INSERT INTO note(text) VALUES ('one');")
        try waitUntil("it arrives and is acknowledged") {
            try fleet.replicas[0].status().devices.allSatisfy { $0.unacknowledged == 0 }
        }
        Thread.sleep(forTimeInterval: 1)
        let container = try fleet.replicas[0].openContainer()
        func heads() throws -> [[UInt8]?] {
            try fleet.replicas.map {
                try container.backend.read("devices/\($0.identity.device.hex)/head", maximumBytes: 1 << 20)
            }
        }
        let before = try heads()
        let eventsBefore = first.events.count + second.events.count
        Thread.sleep(forTimeInterval: 1.5)
        XCTAssertEqual(before, try heads(), "a head was written though nothing happened")
        XCTAssertEqual(eventsBefore, first.events.count + second.events.count)
        first.finish()
        second.finish()
    }

    func testTwoLoopsOnOneDatabaseTakeTurns() throws {
        let fleet = try Fleet()
        try fleet.start("PRAGMA journal_mode = wal;" + notes)
        try fleet.join()
        let loops = [
            RunningLoop(fleet.replicas[0]), RunningLoop(try Replica(path: fleet.databasePath(0))),
            RunningLoop(fleet.replicas[1]), RunningLoop(try Replica(path: fleet.databasePath(1))),
        ]
        for number in 1...30 { try fleet.shell(number % 2, "INSERT INTO note(text) VALUES ('\(number)');") }
        try waitUntil("all arrive") {
            try fleet.replicas.allSatisfy { try $0.store.read { try $0.count("SELECT count(*) FROM note") } == 30 }
        }
        for loop in loops { loop.finish() }
        for loop in loops { XCTAssertEqual(loop.failures.map(\.message), []) }
        try fleet.assertEqual("SELECT text FROM note ORDER BY text;")
        for replica in fleet.replicas { XCTAssertEqual(try replica.sync().hasNews, false) }
    }

    func testOtherConnectionsCommitsAreTold() throws {
        let fleet = try Fleet()
        try fleet.start("PRAGMA journal_mode = wal;" + notes)
        let loop = RunningLoop(fleet.replicas[0])
        try waitUntil("the first pass is made") { !loop.reports.isEmpty }
        try fleet.shell(0, "CREATE TABLE IF NOT EXISTS other(x); INSERT INTO other VALUES (1);")
        try waitUntil("it is told") { loop.events.contains { if case .databaseChanged = $0 { true } else { false } } }
        loop.finish()
    }

    func testADatabaseLockedForAWhileLosesNothing() throws {
        let fleet = try Fleet()
        try fleet.start(notes)
        try fleet.join()
        // A store that gives up at once, as an app's connection does by default.
        let impatient = try Store(path: fleet.databasePath(0), busyTimeoutSeconds: 0)
        let first = RunningLoop(try Replica(impatient))
        let second = RunningLoop(fleet.replicas[1])
        try waitUntil("the first pass is made") { !first.reports.isEmpty }
        let holder = try Store(path: fleet.databasePath(0))
        try holder.write { connection in
            try connection.execute("INSERT INTO note(text) VALUES ('held')")
            Thread.sleep(forTimeInterval: 0.5)
        }
        try waitUntil("it arrives") {
            try fleet.replicas[1].store.read { try $0.count("SELECT count(*) FROM note") } == 1
        }
        first.finish()
        second.finish()
        XCTAssertEqual(first.failures.map(\.message), [])
    }

    func testADatabaseThatLeavesItsContainerEndsTheLoop() throws {
        let fleet = try Fleet()
        try fleet.start(notes)
        let loop = RunningLoop(fleet.replicas[0])
        try waitUntil("the first pass is made") { !loop.reports.isEmpty }
        _ = try Replica(path: fleet.databasePath(0)).leave()
        try waitUntil("it stops") { loop.hasEnded }
        XCTAssertEqual(loop.failures.map(\.code), [.notTracked])
    }

    func testStoppingBeforeRunningEndsItAtOnce() throws {
        let fleet = try Fleet()
        try fleet.start(notes)
        let events = Locked<[SyncEvent]>([])
        let loop = WatchLoop(fleet.replicas[0]) { event in events.withLock { $0.append(event) } }
        loop.stop()
        loop.stop()
        loop.run()
        XCTAssertEqual(events.withLock { $0.count }, 1)
    }

    /// Prints figures and asserts nothing; `FERRY_MEASURE=1` runs it.
    func testMeasureTheProcessorTimeOfAnIdlePair() throws {
        guard ProcessInfo.processInfo.environment["FERRY_MEASURE"] != nil else { throw XCTSkip("measures for 20 s") }
        let fleet = try Fleet()
        try fleet.start("PRAGMA journal_mode = wal;" + notes)
        try fleet.join()
        let first = RunningLoop(fleet.replicas[0])
        let second = RunningLoop(fleet.replicas[1])
        try fleet.shell(0, "INSERT INTO note(text) VALUES ('one');")
        Thread.sleep(forTimeInterval: 3)
        let before = try processorMilliseconds()
        Thread.sleep(forTimeInterval: 20)
        print("idle pair: \(try processorMilliseconds() - before) ms of processor time in 20 s")
        first.finish()
        second.finish()
    }

    /// utime and stime of proc(5), in ticks of 10 ms.
    private func processorMilliseconds() throws -> Int {
        let fields = try String(contentsOfFile: "/proc/self/stat", encoding: .utf8).split(separator: ")")[1].split(
            separator: " ")
        return (Int(fields[11])! + Int(fields[12])!) * 10
    }
}

/// Waits for what comes soon; long enough for the slowest machine.
func waitUntil(
    _ what: String, seconds: Double = 20, file: StaticString = #filePath, line: UInt = #line, _ isSo: () throws -> Bool
) throws {
    let start = ContinuousClock.now
    while try !isSo() {
        if start.duration(to: .now) > .seconds(seconds) {
            XCTFail("\(what): not within \(seconds) s", file: file, line: line)
            throw FerryError(.busy, what)
        }
        Thread.sleep(forTimeInterval: 0.001)
    }
}

/// A loop on a thread, and what it told.
final class RunningLoop: Sendable {
    private let told: Locked<[SyncEvent]>
    private let end: Locked<Bool>
    private let loop: WatchLoop

    init(_ replica: Replica) {
        let told = Locked<[SyncEvent]>([])
        let end = Locked(false)
        let loop = WatchLoop(replica) { event in told.withLock { $0.append(event) } }
        (self.told, self.end, self.loop) = (told, end, loop)
        Thread {
            loop.run()
            end.withLock { $0 = true }
        }.start()
    }

    var events: [SyncEvent] { told.withLock { $0 } }
    var hasEnded: Bool { end.withLock { $0 } }
    var reports: [SyncReport] { events.compactMap { if case .synced(let report) = $0 { report } else { nil } } }
    var failures: [FerryError] { events.compactMap { if case .failed(let error) = $0 { error } else { nil } } }

    /// Stops the loop and waits for its end.
    func finish() {
        loop.stop()
        while !hasEnded { Thread.sleep(forTimeInterval: 0.001) }
    }
}
