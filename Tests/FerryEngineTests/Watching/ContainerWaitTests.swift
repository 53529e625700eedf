import FerryContainer
import FerryCore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// Waiting for a newcomer, and for an admission.
final class ContainerWaitTests: XCTestCase {
    /// Notes the waits, and ends each at once.
    private final class Watcher: ChangeWatching {
        let deliversEvents: Bool
        let timeouts = Locked<[Int]>([])
        let watched = Locked<[[String]]>([])
        private let clock = Locked(ContinuousClock.Instant.now)

        init(deliversEvents: Bool) { self.deliversEvents = deliversEvents }

        var now: ContinuousClock.Instant { clock.withLock { $0 } }
        func setDirectories(_ paths: [String], files: [String]) { watched.withLock { $0.append(paths) } }
        func wait(timeoutMilliseconds: Int) -> WakeReason {
            timeouts.withLock { $0.append(timeoutMilliseconds) }
            clock.withLock { $0 += .milliseconds(timeoutMilliseconds) }
            return .timedOut
        }
        func wake() {}
    }

    func testWithoutEventsItLooksEachSecond() throws {
        let watcher = Watcher(deliversEvents: false)
        var looks = 0
        let found = try ContainerWait(watcher: watcher).until {
            ["place \(looks)"]
        } look: { () -> Int? in
            looks += 1
            return looks == 4 ? looks : nil
        }
        XCTAssertEqual(found, 4)
        XCTAssertEqual(watcher.timeouts.withLock { $0 }, [1000, 1000, 1000])
        XCTAssertEqual(watcher.watched.withLock { $0 }, [["place 0"], ["place 1"], ["place 2"], ["place 3"]])
    }

    func testTheWaitEndsWhenItsTimeIsOver() throws {
        let watcher = Watcher(deliversEvents: true)
        XCTAssertNil(
            try ContainerWait(watcher: watcher).until(milliseconds: 5000) {
                []
            } look: { () -> Int? in
                nil
            })
        XCTAssertEqual(watcher.timeouts.withLock { $0 }, [2000, 3000])
        var looks = 0
        XCTAssertNil(
            try ContainerWait(watcher: watcher).until(milliseconds: 0) {
                []
            } look: { () -> Int? in
                looks += 1
                return nil
            })
        XCTAssertEqual(looks, 1, "without waiting it looks once")
    }

    func testAFailureOfALookEndsTheWait() throws {
        let wait = ContainerWait(watcher: Watcher(deliversEvents: true))
        XCTAssertThrowsError(
            try wait.until {
                []
            } look: { () -> Int? in
                throw FerryError(.containerMissing, "It is away.")
            })
    }

    /// A poll that no test waits for.
    private let never = PollSchedule(
        minimumMilliseconds: 3_600_000, maximumMilliseconds: 3_600_000, maximumWithoutEventsMilliseconds: 3_600_000)

    func testAChangeOfTheFolderWakes() throws {
        let watcher = ChangeWatcher()
        guard watcher.deliversEvents else { throw XCTSkip("this system's folders tell of no changes") }
        let folder = try ScratchFolder()
        let wait = ContainerWait(watcher: watcher, poll: never)
        let hasLooked = DispatchSemaphore(value: 0)
        let place = folder.path("")
        let name = folder.path("claim")
        let (done, result) = (DispatchSemaphore(value: 0), Locked<Bool?>(nil))
        Thread.detachNewThread {
            let found = try? wait.until {
                [place]
            } look: { () -> Bool? in
                let isThere = FileManager.default.fileExists(atPath: name)
                hasLooked.signal()
                return isThere ? true : nil
            }
            result.withLock { $0 = found ?? nil }
            done.signal()
        }
        hasLooked.wait()
        try Data("asks".utf8).write(to: URL(fileURLWithPath: name))
        XCTAssertEqual(done.wait(timeout: .now() + 60), .success)
        XCTAssertEqual(result.withLock { $0 }, true)
    }

    func testStoppingEndsTheWait() throws {
        let wait = ContainerWait(poll: never)
        let hasLooked = DispatchSemaphore(value: 0)
        let (done, result) = (DispatchSemaphore(value: 0), Locked<Bool?>(nil))
        Thread.detachNewThread {
            let found = try? wait.until {
                []
            } look: { () -> Bool? in
                hasLooked.signal()
                return nil
            }
            result.withLock { $0 = found ?? nil }
            done.signal()
        }
        hasLooked.wait()
        wait.stop()
        XCTAssertEqual(done.wait(timeout: .now() + 60), .success)
        XCTAssertNil(result.withLock { $0 })
        // Stopped before it began, it looks once and does not wait.
        XCTAssertNil(
            try wait.until {
                []
            } look: { () -> Bool? in
                nil
            })
    }
}
