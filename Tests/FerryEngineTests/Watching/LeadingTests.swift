import FerryContainer
import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// Several loops for one database: one leads, the others follow.
final class LeadingTests: XCTestCase {
    private let notes = "PRAGMA journal_mode = wal; CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT NOT NULL);"

    private func fleet() throws -> Fleet {
        let fleet = try Fleet()
        try fleet.start(notes)
        try fleet.join()
        return fleet
    }

    private func kinds(_ loop: RunningLoop) -> [String] {
        loop.events.map { event in
            switch event {
            case .started: "started"
            case .following: "following"
            case .leading: "leading"
            case .synced: "synced"
            case .databaseChanged: "databaseChanged"
            case .reopened: "reopened"
            case .failed: "failed"
            case .stopped: "stopped"
            }
        }
    }

    func testTheSecondLoopFollowsMakesNoPassesAndTakesOverWhenTheFirstEnds() throws {
        let fleet = try fleet()
        let leader = RunningLoop(fleet.replicas[0])
        try waitUntil("it leads") { !leader.reports.isEmpty }
        let second = try Replica(path: fleet.databasePath(0))
        let follower = RunningLoop(second)
        try waitUntil("it follows") { kinds(follower).contains("following") }
        let other = RunningLoop(fleet.replicas[1])
        for number in 1...20 { try fleet.shell(number % 2, "INSERT INTO note(text) VALUES ('\(number)');") }
        try waitUntil("all arrive") {
            try fleet.replicas.allSatisfy { try $0.store.read { try $0.count("SELECT count(*) FROM note") } == 20 }
        }
        // It tells commits, and moves nothing itself.
        try waitUntil("it tells commits") { kinds(follower).contains("databaseChanged") }
        XCTAssertEqual(follower.reports.count, 0)
        // The other device may have the last change before the leader tells of it.
        try waitUntil("the leader tells of all") { leader.reports.reduce(0) { $0 + $1.published.changes } == 10 }
        // Asked, it makes a pass all the same.
        XCTAssertEqual(try second.sync().waiting, [])
        leader.finish()
        try waitUntil("it takes over") { kinds(follower).contains("synced") }
        try fleet.shell(0, "INSERT INTO note(text) VALUES ('last');")
        try waitUntil("it arrives") {
            try fleet.replicas[1].store.read { try $0.count("SELECT count(*) FROM note") } == 21
        }
        follower.finish()
        other.finish()
        XCTAssertEqual(
            Array(kinds(follower).filter { $0 != "databaseChanged" }.prefix(4)),
            ["started", "following", "leading", "synced"])
        for loop in [leader, follower, other] { XCTAssertEqual(loop.failures.map(\.message), []) }
        XCTAssertFalse(kinds(leader).contains("following"))
    }

    /// Takes over within a second: it looks twice a second at least, though nothing is told, and one look is enough.
    func testAFollowerTakesOverAtItsNextLook() throws {
        let fleet = try fleet()
        let leader = LeaderLock(databasePath: fleet.databasePath(0))
        XCTAssertTrue(try leader.acquire())
        let watcher = SteppedWatcher()
        let events = Locked<[SyncEvent]>([])
        let configuration = WatchConfiguration()
        let loop = WatchLoop(
            try Replica(path: fleet.databasePath(0)), configuration: configuration, watcher: watcher
        ) { event in events.withLock { $0.append(event) } }
        func leads() -> Bool { events.withLock { $0.contains { if case .leading = $0 { true } else { false } } } }
        let ended = DispatchSemaphore(value: 0)
        Thread {
            loop.run()
            ended.signal()
        }.start()
        for _ in 0..<3 {
            XCTAssertEqual(watcher.nextTimeout(), configuration.followMilliseconds)
            XCTAssertFalse(leads())
            watcher.goOn()
        }
        // It waits, and has looked for the last time while another one leads.
        XCTAssertEqual(watcher.nextTimeout(), configuration.followMilliseconds)
        XCTAssertLessThanOrEqual(configuration.followMilliseconds, 500)
        leader.release()
        watcher.goOn()
        // Before it waits again it leads and has made a pass.
        _ = watcher.nextTimeout()
        XCTAssertTrue(leads())
        XCTAssertTrue(events.withLock { $0.contains { if case .synced = $0 { true } else { false } } })
        loop.stop()
        watcher.goOn()
        ended.wait()
    }

    func testAFollowerEndsWhenTheDatabaseLeavesItsContainer() throws {
        let fleet = try fleet()
        let leader = RunningLoop(fleet.replicas[0])
        try waitUntil("it leads") { !leader.reports.isEmpty }
        let follower = RunningLoop(try Replica(path: fleet.databasePath(0)))
        try waitUntil("it follows") { kinds(follower).contains("following") }
        _ = try Replica(path: fleet.databasePath(0)).leave()
        try waitUntil("both end") { leader.hasEnded && follower.hasEnded }
        XCTAssertEqual(follower.failures.map(\.code), [.notTracked])
        XCTAssertFalse(FileManager.default.fileExists(atPath: fleet.databasePath(0) + "-ferry-leader"))
    }

    func testAStoreWithFunctionsOfTheAppsDoesNotFollow() throws {
        let fleet = try fleet()
        let leader = RunningLoop(fleet.replicas[0])
        try waitUntil("it leads") { !leader.reports.isEmpty }
        let store = try Store(path: fleet.databasePath(0))
        store.registerMergeHook("longest") { max($0, $1) }
        let other = RunningLoop(try Replica(store))
        try waitUntil("it makes a pass") { !other.reports.isEmpty }
        XCTAssertFalse(kinds(other).contains("following"))
        leader.finish()
        other.finish()
    }

    func testAnEngineTellsThatItFollows() async throws {
        let fleet = try fleet()
        let leader = RunningLoop(fleet.replicas[0])
        try waitUntil("it leads") { !leader.reports.isEmpty }
        let engine = SyncEngine(try Replica(path: fleet.databasePath(0)))
        var events = engine.events.makeAsyncIterator()
        engine.start()
        while let event = await events.next() {
            if case .following = event { break }
        }
        guard case .following = engine.state else { return XCTFail("\(engine.state)") }
        leader.finish()
        while let event = await events.next() {
            if case .synced = event { break }
        }
        guard case .running = engine.state else { return XCTFail("\(engine.state)") }
        await engine.stop()
    }

    func testWhoWaitsTooLongForTheDevicesLockIsTold() throws {
        let fleet = try fleet()
        let path = fleet.databasePath(0)
        try DeviceLock(databasePath: path).withLock {
            XCTAssertThrowsError(try DeviceLock(databasePath: path).withLock(waitMilliseconds: 20) {}) {
                XCTAssertEqual(($0 as? FerryError)?.code, .busy)
            }
        }
        try DeviceLock(databasePath: path).withLock(waitMilliseconds: 20) {}
    }

    func testALockThatIsHeldIsHadByNobodyElseAndARemovedFileIsNotMistakenForIt() throws {
        let fleet = try fleet()
        let path = fleet.databasePath(0)
        let (first, second) = (LeaderLock(databasePath: path), LeaderLock(databasePath: path))
        XCTAssertTrue(try first.acquire())
        XCTAssertTrue(try first.acquire())
        XCTAssertFalse(try second.acquire())
        first.release()
        XCTAssertTrue(try second.acquire())
        second.remove()
        XCTAssertTrue(try first.acquire())
        second.release()
        XCTAssertFalse(try second.acquire())
        XCTAssertTrue(try LeaderLock(databasePath: "").acquire())
        XCTAssertThrowsError(try LeaderLock(databasePath: fleet.folder.path + "/none/db").acquire())
    }
}

/// A watcher that tells nothing: each wait times out when the test says so.
private final class SteppedWatcher: ChangeWatching {
    let deliversEvents = true
    private let timeouts = Locked<[Int]>([])
    private let asked = DispatchSemaphore(value: 0)
    private let allowed = DispatchSemaphore(value: 0)

    func setDirectories(_ paths: [String], files: [String]) {}
    func wake() {}

    func wait(timeoutMilliseconds: Int) -> WakeReason {
        timeouts.withLock { $0.append(timeoutMilliseconds) }
        asked.signal()
        allowed.wait()
        return .timedOut
    }

    /// Waits until the loop waits.
    /// - Returns: for how long it means to.
    func nextTimeout() -> Int {
        asked.wait()
        return timeouts.withLock { $0.removeFirst() }
    }

    /// Ends the present wait.
    func goOn() { allowed.signal() }
}
