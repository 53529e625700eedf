import FerryContainer
import FerryCore
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// What an engine tells of the pass under way, and of the last one.
final class SyncActivityTests: XCTestCase {
    /// Lets the main actor work until it shows what is expected.
    private func waitUntil(_ what: String, _ isFulfilled: @MainActor () -> Bool) async {
        let deadline = ContinuousClock.now + .seconds(60)
        while await !isFulfilled() {
            if ContinuousClock.now > deadline { return XCTFail("never: \(what)") }
            await Task.yield()
        }
    }

    func testProgressIsThereUntilThePassEnds() async throws {
        let home = try MemoryHome()
        try home.addDevice()
        let engine = SyncEngine(home.replicas[0], configuration: WatchConfiguration())
        let status = await SyncStatus(engine)
        let handler = try XCTUnwrap(engine.core.progressHandler())
        handler(SyncProgress(phase: .replaying, completed: 0, total: nil))
        XCTAssertNil(engine.core.activity.progress, "a pass without anything to do")
        handler(SyncProgress(phase: .replaying, completed: 5, total: 10))
        XCTAssertEqual(engine.core.activity.progress?.completed, 5)
        await waitUntil("the progress is shown") { status.progress?.total == 10 }
        home.clock.set(1_800_000_000_000)
        try await engine.sync()
        XCTAssertNil(engine.core.activity.progress)
        XCTAssertEqual(engine.core.activity.successMilliseconds, 1_800_000_000_000)
        await waitUntil("the end is shown") {
            status.progress == nil && status.lastSync == Date(timeIntervalSince1970: 1_800_000_000)
        }
    }

    func testNobodyAsksForProgressThatNobodyLooksAt() throws {
        let home = try MemoryHome()
        try home.addDevice()
        let engine = SyncEngine(home.replicas[0], configuration: WatchConfiguration())
        XCTAssertNil(engine.core.progressHandler())
    }

    func testAWatchTellsTheProgressAndTheEndOfEachPass() throws {
        let home = try MemoryHome()
        for _ in 0..<2 { try home.addDevice() }
        try home.write(0, "INSERT INTO item(name) VALUES ('one'), ('two')")
        _ = try home.replicas[0].sync()
        let seen = Locked<(progress: [SyncProgress], ends: [Bool])>(([], []))
        let stop = Locked<(@Sendable () -> Void)?>(nil)
        let passes = PassFollower(
            progress: { { progress in seen.withLock { $0.progress.append(progress) } } },
            ended: { hasSucceeded in
                seen.withLock { $0.ends.append(hasSucceeded) }
                stop.withLock { $0 }?()
            })
        let loop = WatchLoop(home.replicas[1], passes: passes) { _ in }
        stop.withLock { $0 = { loop.stop() } }
        loop.run()
        let (progress, ends) = seen.withLock { $0 }
        XCTAssertEqual(ends, [true])
        XCTAssertTrue(progress.contains { $0.phase == .replaying && $0.completed == 2 }, "\(progress)")
    }
}
