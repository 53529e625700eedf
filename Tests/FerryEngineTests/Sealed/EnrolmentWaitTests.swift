import FerryContainer
import FerryCore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// A newcomer that waits until it is let in.
final class EnrolmentWaitTests: XCTestCase {
    /// Lets something happen in each pause, and then says that the folder changed.
    private final class Folder: ChangeWatching {
        let deliversEvents = true
        let pauses = Locked(0)
        let watched = Locked<Set<String>>([])
        private let happens: @Sendable (_ pause: Int) -> Void

        init(_ happens: @escaping @Sendable (_ pause: Int) -> Void) { self.happens = happens }

        var now: ContinuousClock.Instant { .now }
        func setDirectories(_ paths: [String], files: [String]) { watched.withLock { $0.formUnion(paths) } }
        func wait(timeoutMilliseconds: Int) -> WakeReason {
            happens(
                pauses.withLock {
                    $0 += 1
                    return $0
                })
            return .changed
        }
        func wake() {}
    }

    /// `@unchecked Sendable` because the test does nothing with it while somebody waits.
    private struct Shared: @unchecked Sendable {
        let home: SealedHome
    }

    func testAChangeOfTheFolderEndsTheWaitOnceSomebodyHasLetTheDeviceIn() async throws {
        let home = try SealedHome()
        try home.found()
        let code = try home.replica(0).invite().code
        let newcomer = home.addComputer()
        let enrolment = try home.begin(newcomer, .code(code))
        let shared = Shared(home: home)
        let failure = Locked<String?>(nil)
        let folder = Folder { pause in
            // The first change is somebody else's.
            guard pause == 2 else { return }
            do { _ = try shared.home.replica(0).sync() } catch { failure.withLock { $0 = "\(error)" } }
        }
        let state = try await enrolment.waitUntilAdmitted(ContainerWait(watcher: folder))
        XCTAssertNil(failure.withLock { $0 })
        XCTAssertEqual(folder.pauses.withLock { $0 }, 2)
        let place = "\(SealedHome.place)/devices/\(try home.device(0).hex)"
        XCTAssertTrue(folder.watched.withLock { $0 }.contains { $0.hasPrefix(place) }, "the inviting device is watched")
        guard case .admitted(let host, _) = state else { return XCTFail("\(state)") }
        XCTAssertEqual(host, try home.device(0))
        try home.join(newcomer, enrolment)
        // Who is in waits no more.
        let again = try await enrolment.waitUntilAdmitted(ContainerWait(watcher: folder))
        XCTAssertEqual(again, state)
        XCTAssertEqual(folder.pauses.withLock { $0 }, 2)
    }

    func testTheWaitEndsWithItsTaskAndCanBeTakenUpAgain() async throws {
        let home = try SealedHome()
        try home.found()
        let enrolment = try home.begin(home.addComputer(), .words)
        let never = PollSchedule(
            minimumMilliseconds: 3_600_000, maximumMilliseconds: 3_600_000, maximumWithoutEventsMilliseconds: 3_600_000)
        let task = Task { try await enrolment.waitUntilAdmitted(ContainerWait(poll: never)) }
        task.cancel()
        switch await task.result {
        case .success(let state): XCTFail("\(state)")
        case .failure(let error): XCTAssertTrue(error is CancellationError, "\(error)")
        }
        guard case .waiting(let words?) = try enrolment.state() else { return XCTFail("no words are shown") }
        _ = try home.replica(0).approve(words: words)
        _ = try home.replica(0).sync()
        guard case .admitted = try await enrolment.waitUntilAdmitted() else { return XCTFail("not let in") }
    }

    func testAFailureEndsTheWait() async throws {
        let home = try SealedHome()
        try home.found()
        let enrolment = try home.begin(home.addComputer(), .words)
        let shared = Shared(home: home)
        let folder = Folder { _ in
            // A failure shows in what the wait then finds.
            _ = try? shared.home.seal(0, anew: true)
        }
        do {
            let state = try await enrolment.waitUntilAdmitted(ContainerWait(watcher: folder))
            XCTFail("\(state)")
        } catch let error as FerryError {
            XCTAssertEqual(error.code, .codeRefused)
        }
        XCTAssertEqual(folder.pauses.withLock { $0 }, 1)
    }
}
