import FerryContainer
import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// A watch that cannot do its work does little, and holds nothing.
final class WatchRestTests: XCTestCase {
    private let notes = "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT NOT NULL);"

    /// Plays a minute in which every pass fails.
    /// - Parameters:
    ///   - every: milliseconds between two events.
    /// - Returns: when passes were made, in milliseconds.
    ///   - growing: for so many milliseconds a program writes the database's file.
    private func attempts(_ error: FerryError, eventsEvery every: Int?, growing: Int = 0) throws -> [Int] {
        let fleet = try Fleet()
        try fleet.start(notes)
        let start = ContinuousClock.now
        let now = Locked(start)
        var turns = WatchTurns(WatchConfiguration(), now: { now.withLock { $0 } })
        var (made, told, milliseconds) = ([Int](), 0, 0)
        while milliseconds < 60_000 {
            if every.map({ milliseconds % $0 == 0 }) ?? false, turns.isBackingOff { turns.recordEventWhileBackingOff() }
            if !turns.isBackingOff {
                made.append(milliseconds)
                if milliseconds < growing {
                    let file = try XCTUnwrap(FileHandle(forWritingAtPath: fleet.databasePath(0)))
                    try file.seekToEnd()
                    try file.write(contentsOf: [0])
                    try file.close()
                }
                turns.recordFailure(error, fleet.replicas[0].store) { _ in told += 1 }
                if turns.isOver { break }
            }
            milliseconds += 1
            now.withLock { $0 = start + .milliseconds(milliseconds) }
        }
        XCTAssertEqual(told, 1)
        return made
    }

    func testAttemptsThatFailComeFurtherApart() throws {
        let full = FerryError(.inputOutput, "No space is left.")
        let made = try attempts(full, eventsEvery: nil)
        XCTAssertEqual(Array(made.prefix(5)), [0, 1000, 3000, 7000, 15_000])
        XCTAssertTrue(zip(made, made.dropFirst()).allSatisfy { 1000...30_000 ~= $1 - $0 })
    }

    func testEventsBringTheNextAttemptForwardAndNeverAtOnce() throws {
        let full = FerryError(.inputOutput, "No space is left.")
        let made = try attempts(full, eventsEvery: 1)
        XCTAssertTrue(zip(made, made.dropFirst()).allSatisfy { $1 - $0 >= 1000 }, "\(made)")
        XCTAssertGreaterThan(made.count, 50)
    }

    func testADatabaseThatStaysAwayEndsTheWatchAfterAFewSeconds() throws {
        for every in [nil, 1] {
            let made = try attempts(FerryError(.databaseMissing, "It is gone."), eventsEvery: every)
            XCTAssertTrue(3000...3200 ~= made.last ?? 0, "\(made)")
        }
    }

    func testADatabaseThatGrowsIsGivenTime() throws {
        let made = try attempts(
            FerryError(.databaseCorrupt, "Half of it is there."), eventsEvery: nil, growing: 10_000)
        XCTAssertTrue(12_800...13_200 ~= made.last ?? 0, "\(made)")
    }

    func testAFolderThatCannotBeWrittenIsToldOnceAndMendedSoon() throws {
        let fleet = try Fleet()
        try fleet.start("PRAGMA journal_mode = wal;" + notes)
        let segments = fleet.containerPath + "/devices/\(fleet.replicas[0].identity.device.hex)/segments"
        let loop = RunningLoop(fleet.replicas[0])
        try waitUntil("the first pass is made") { !loop.reports.isEmpty }
        try FileManager.default.moveItem(atPath: segments, toPath: segments + "-away")
        try Data().write(to: URL(fileURLWithPath: segments))
        for number in 1...30 { try fleet.shell(0, "INSERT INTO note(text) VALUES ('\(number)');") }
        try waitUntil("it fails") { !loop.failures.isEmpty }
        for number in 1...30 { try fleet.shell(0, "INSERT INTO note(text) VALUES ('again \(number)');") }
        XCTAssertEqual(loop.failures.count, 1, "\(loop.failures.map(\.message))")
        try FileManager.default.removeItem(atPath: segments)
        try FileManager.default.moveItem(atPath: segments + "-away", toPath: segments)
        try waitUntil("it is mended") { try fleet.replicas[0].store.unpublishedCount() == 0 }
        loop.finish()
    }

    func testAThousandPassesHoldNothing() throws {
        let fleet = try Fleet()
        try fleet.start("PRAGMA journal_mode = wal;" + notes)
        try fleet.join("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT NOT NULL);")
        try fleet.settle()
        let away = fleet.containerPath + "-away"
        for isAway in [false, true] {
            if isAway { try FileManager.default.moveItem(atPath: fleet.containerPath, toPath: away) }
            let watcher = TirelessWatcher(waits: 1000)
            let loop = WatchLoop(fleet.replicas[0], configuration: WatchConfiguration(), watcher: watcher) { _ in }
            watcher.onWait = { number in
                if number == 20 { watcher.descriptors = Self.openDescriptors }
                if number == 1000 { loop.stop() }
            }
            loop.run()
            XCTAssertEqual(Self.openDescriptors, watcher.descriptors - 1, "the leader's lock is given back")
        }
        try FileManager.default.moveItem(atPath: away, toPath: fleet.containerPath)
        XCTAssertEqual(
            try fleet.replicas[0].store.read { try $0.count("SELECT count(*) FROM temp.sqlite_schema") }, 0)
    }

    // MARK: Migrations

    private let rebuild = [
        "CREATE TABLE new_note(id INTEGER PRIMARY KEY, text TEXT NOT NULL, size INTEGER DEFAULT 0)",
        "INSERT INTO new_note(id, text) SELECT id, text FROM note", "DROP TABLE note",
        "ALTER TABLE new_note RENAME TO note",
    ]

    /// Runs statements while a watch runs: one before each wait of the watch.
    /// - Returns: the number of passes with news.
    private func watch(_ fleet: Fleet, _ statements: [String], every milliseconds: Int) throws -> Int {
        let watcher = TirelessWatcher(waits: 200)
        let passes = Locked(0)
        let loop = WatchLoop(fleet.replicas[0], configuration: WatchConfiguration(), watcher: watcher) { event in
            if case .synced(let report) = event, report.hasNews { passes.withLock { $0 += 1 } }
        }
        var failure: (any Error)?
        watcher.longest = milliseconds
        watcher.onWait = { number in
            do {
                if number <= statements.count { try fleet.shell(0, statements[number - 1], foreignKeys: false) }
            } catch { failure = error }
            if number == 200 || failure != nil { loop.stop() }
        }
        loop.run()
        if let failure { throw failure }
        return passes.withLock { $0 }
    }

    func testATableOfARebuildStatementByStatementNeverTravels() throws {
        for milliseconds in [1, 200, 900] {
            let fleet = try Fleet()
            try fleet.start("PRAGMA journal_mode = wal;" + notes + "INSERT INTO note VALUES (1, 'one'), (2, 'two');")
            try fleet.join()
            try fleet.shell(0, "UPDATE note SET text = 'ONE' WHERE id = 1")
            _ = try watch(fleet, rebuild + ["INSERT INTO note(text) VALUES ('three')"], every: milliseconds)
            let tables = "SELECT count(*) FROM ferry_table WHERE name = 'new_note'"
            try fleet.settle()
            for device in 0...1 { XCTAssertEqual(try fleet.shell(device, tables), "0\n", "\(milliseconds)") }
            try fleet.shell(1, "UPDATE note SET text = 'TWO' WHERE id = 2")
            for statement in rebuild { try fleet.shell(1, statement, foreignKeys: false) }
            try fleet.assertSettled("SELECT id, text, size FROM note ORDER BY id", "1|ONE|0\n2|TWO|0\n3|three|0\n")
        }
    }

    func testANewTableTravelsOnceTheSchemaHasRested() throws {
        let fleet = try Fleet()
        try fleet.start("PRAGMA journal_mode = wal;" + notes)
        try fleet.join()
        let statements = ["CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT)", "INSERT INTO tag VALUES (1, 'new')"]
        XCTAssertGreaterThan(try watch(fleet, statements, every: 100), 0)
        try fleet.shell(1, statements[0])
        _ = try fleet.replicas[1].sync()
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM tag"), "new\n")
    }

    /// A program that never stops writing does not keep a new table from travelling.
    func testASchemaThatNeverRestsIsTakenUpAfterAWhile() throws {
        let fleet = try Fleet()
        try fleet.start("PRAGMA journal_mode = wal;" + notes)
        let statements =
            ["CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT)"]
            + (1...150).map { "INSERT INTO tag VALUES (\($0), 'new')" }
        XCTAssertGreaterThan(try watch(fleet, statements, every: 100), 0)
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM ferry_table WHERE name = 'tag'"), "1\n")
    }

    private static var openDescriptors: Int {
        // Not on Linux: always the same.
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? -1
    }
}

/// A watcher whose waits are over at once, by a clock of its own.
///
/// `@unchecked Sendable` because the loop runs on the test's thread.
private final class TirelessWatcher: ChangeWatching, @unchecked Sendable {
    let deliversEvents = true
    private(set) var now = ContinuousClock.now
    private let waits: Int
    private var count = 0
    var descriptors = 0
    var onWait: (Int) -> Void = { _ in }
    /// The longest wait, in milliseconds.
    var longest = Int.max

    init(waits: Int) { self.waits = waits }

    func setDirectories(_ paths: [String], files: [String]) {}
    func wake() {}

    func wait(timeoutMilliseconds: Int) -> WakeReason {
        count += 1
        now = now.advanced(by: .milliseconds(min(max(timeoutMilliseconds, 0), longest)))
        onWait(count)
        return count % 3 == 0 ? .changed : .timedOut
    }
}
