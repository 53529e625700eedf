import FerryContainer
import FerryStore
import XCTest

@testable import FerryEngine

/// A transaction of Ferry begins behind another program's commit.
final class WritersGapTests: XCTestCase {
    /// Events at given times; waits move the clock.
    private final class Watcher: ChangeWatching {
        private struct State {
            var events: [Int]
            var milliseconds = 0
        }

        private let start = ContinuousClock.now
        private let state: Locked<State>

        init(_ events: [Int]) { state = Locked(State(events: events)) }

        let deliversEvents = true
        func setDirectories(_ paths: [String], files: [String]) {}
        func wake() {}
        var now: ContinuousClock.Instant { start + .milliseconds(passed) }
        var passed: Int { state.withLock { $0.milliseconds } }

        func wait(timeoutMilliseconds: Int) -> WakeReason {
            state.withLock { state in
                let end = state.milliseconds + timeoutMilliseconds
                guard let next = state.events.first, next <= end else {
                    state.milliseconds = end
                    return .timedOut
                }
                state.milliseconds = max(state.milliseconds, next)
                state.events.removeAll { $0 <= state.milliseconds }
                return .changed
            }
        }
    }

    private func waited(_ events: [Int], _ room: WritersGap.Room = .always) -> Int {
        let watcher = Watcher(events)
        let gap = WritersGap(watcher)
        gap.give(room)
        gap.wait(.note)
        return watcher.passed
    }

    func testATransactionBeginsWhenTheNextCommitIsOver() {
        // A journal comes at 30, grows, and goes at 36.
        XCTAssertEqual(waited([-20, -5, 30, 32, 36, 80]), 36 + WritersGap.quietMilliseconds)
    }

    func testWhatWasBeforeIsNoCommitToWaitFor() {
        XCTAssertEqual(waited([-9, -4, 0]), WritersGap.longestMilliseconds)
    }

    func testNobodyIsWaitedForWithoutEnd() {
        XCTAssertEqual(waited([]), WritersGap.longestMilliseconds)
        let restless = waited(Array(stride(from: 10, to: 500, by: 2)))
        XCTAssertLessThanOrEqual(restless, 10 + WritersGap.commitMilliseconds + WritersGap.quietMilliseconds)
    }

    func testAPassWaitsOnlyForAProgramThatWritesAllTheTime() {
        for (room, passes) in [
            (WritersGap.Room.none, [false, false]), (.afterCommit, [false, true]), (.always, [true, true]),
        ] {
            let found = [WriteUrgency.pass, .note].map { urgency in
                let watcher = Watcher([30])
                let gap = WritersGap(watcher)
                gap.give(room)
                gap.wait(urgency)
                return watcher.passed > 0
            }
            XCTAssertEqual(found, passes, "\(room)")
        }
    }

    func testWaitingProgramsWriteBetweenTwoTransactions() {
        func left(_ events: [Int], afterCommit: Bool = false) -> Int {
            let watcher = Watcher(events)
            WritersGap(watcher).letIn(afterCommit: afterCommit)
            return watcher.passed
        }
        // Nobody waits. What was before is not the commit of a waiting program.
        XCTAssertEqual(left([]), WritersGap.retryMilliseconds)
        XCTAssertEqual(left([-5, 0]), WritersGap.retryMilliseconds)
        // A program waits, and writes once more. Or the program has written already.
        XCTAssertEqual(left([8, 18]), 8 + WritersGap.nextWriteMilliseconds)
        XCTAssertEqual(left([9], afterCommit: true), WritersGap.nextWriteMilliseconds)
        let restless = left(Array(stride(from: 10, to: 500, by: 2)))
        XCTAssertLessThanOrEqual(restless, 10 + WritersGap.nextWriteMilliseconds)
    }
}
