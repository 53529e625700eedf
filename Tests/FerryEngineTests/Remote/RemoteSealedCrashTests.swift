import FerryContainer
import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// The process dies before or after every request of the flows of a sealed container over an object storage, or a request fails. The flow
/// is begun again and ends where an undisturbed one would have: with as many members, and without a directory of nobody.
final class RemoteSealedCrashTests: XCTestCase {
    /// The most requests at which one flow is interrupted.
    private static let maximumPoints = Int(ProcessInfo.processInfo.environment["FERRY_CRASH_POINTS"] ?? "") ?? 6

    private func makeHome() throws -> (SealedHome, MemoryStorage) {
        // Requests side by side would be counted in another order each time.
        let storage = MemoryStorage(traits: StorageTraits(maximumParallel: 1))
        let home = try SealedHome(storage, isMortal: true)
        // The order of devices, and with it the number of requests, is that of their IDs.
        home.random = SeededRandom(seed: 1)
        return (home, storage)
    }

    private func interrupt(
        _ flow: SealedFlow, by faults: [MemoryStorage.Fault] = MemoryStorage.Fault.allCases
    ) throws {
        let (undisturbed, storage) = try makeHome()
        try flow.prepare(undisturbed)
        storage.resetCounts()
        try flow.act(undisturbed)
        let count = storage.count()
        try flow.check(undisturbed)
        let stride = max(1, count / Self.maximumPoints)
        for (number, point) in Swift.stride(from: 0, to: count, by: stride).enumerated() {
            // All faults at each point take too long for every run.
            for fault in Self.maximumPoints > 100 ? faults : [faults[number % faults.count]] {
                let context = "\(flow.name): \(fault) at request \(point) of \(count)"
                let (home, storage) = try makeHome()
                try flow.prepare(home)
                try home.takeAsDurable()
                storage.inject(fault, afterRequests: point)
                do {
                    try flow.act(home)
                } catch {
                    XCTAssertTrue(storage.isKilled || error is FerryError, "\(context): \(error)")
                }
                XCTAssertFalse(storage.hasFault, "\(context) did not happen")
                flow.assertGoesOn(home, context) { try home.crash(losing: .nothing) }
            }
        }
        print("\(flow.name): every \(stride). of \(count) requests")
    }

    func testFounding() throws { try interrupt(.founding) }
    func testInviting() throws { try interrupt(.inviting) }
    func testLettingIn() throws { try interrupt(.lettingIn) }
    func testApproving() throws { try interrupt(.approving) }
    func testAsking() throws { try interrupt(.asking) }
    func testJoining() throws { try interrupt(.joining) }
    func testAskingByRecovery() throws { try interrupt(.recovering) }
    func testRemoving() throws { try interrupt(.removing) }
    func testRotating() throws { try interrupt(.rotating) }
    func testRenewing() throws { try interrupt(.renewing) }
    /// Where a request fails, the device leaves without a word, and says so: a member removes it.
    func testLeaving() throws { try interrupt(.leaving, by: [.killedBefore, .killedAfter]) }
    func testLeavingOfTheLastMember() throws { try interrupt(.leavingLast, by: [.killedBefore, .killedAfter]) }
    func testCopying() throws { try interrupt(.copying) }
    func testSealing() throws { try interrupt(.sealing) }
    func testFoundingAnew() throws { try interrupt(.foundingAnew) }
    func testRemovingFilesOfTheOpenTime() throws { try interrupt(.removingFormerFiles) }
    func testEnrolling() throws { try interrupt(.enrolling) }
}
