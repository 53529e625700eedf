import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// The process dies at every write of a flow into the folder, and the folder loses what was not durable. The flow is begun again and
/// ends where an undisturbed one would have: nobody is let in twice, nothing is lost, and all know the same members.
final class SealedCrashTests: XCTestCase {
    /// The most points at which one flow is interrupted.
    private static let maximumPoints = Int(ProcessInfo.processInfo.environment["FERRY_CRASH_POINTS"] ?? "") ?? 6

    private func interrupt(_ flow: SealedFlow) throws {
        let undisturbed = try SealedHome()
        try flow.prepare(undisturbed)
        let before = undisturbed.files.stepCount
        try flow.act(undisturbed)
        let count = undisturbed.files.stepCount - before
        try flow.check(undisturbed)
        let stride = max(1, count / Self.maximumPoints)
        for (number, point) in Swift.stride(from: 0, to: count, by: stride).enumerated() {
            let context = "\(flow.name), killed at step \(point) of \(count)"
            let home = try SealedHome()
            try flow.prepare(home)
            home.files.inject(.kill, afterSteps: point)
            do {
                try flow.act(home)
                XCTAssertFalse(home.files.isKilled, context)
            } catch {
                XCTAssertTrue(home.files.isKilled, "\(context): \(error)")
            }
            home.files.crash(losing: number % 2 == 0 ? .everything : .nothing)
            for index in home.computers.indices where home.computers[index].replica != nil {
                // A database that left, or that a failed join removed, has no replica any more.
                do {
                    try home.reopen(index)
                } catch let error as FerryError where [.notTracked, .databaseMissing].contains(error.code) {
                    home.computers[index].replica = nil
                }
            }
            flow.assertGoesOn(home, context)
        }
        print("\(flow.name): every \(stride). of \(count) writes")
    }

    func testFounding() throws { try interrupt(.founding) }
    func testLettingIn() throws { try interrupt(.lettingIn) }
    func testApproving() throws { try interrupt(.approving) }
    func testAsking() throws { try interrupt(.asking) }
    func testJoining() throws { try interrupt(.joining) }
    func testAskingByRecovery() throws { try interrupt(.recovering) }
    func testRemoving() throws { try interrupt(.removing) }
    func testRotating() throws { try interrupt(.rotating) }
    func testRenewing() throws { try interrupt(.renewing) }
    func testLeaving() throws { try interrupt(.leaving) }
    func testLeavingOfTheLastMember() throws { try interrupt(.leavingLast) }
    func testCopying() throws { try interrupt(.copying) }
    func testSealing() throws { try interrupt(.sealing) }
    func testRemovingFilesOfTheOpenTime() throws { try interrupt(.removingFormerFiles) }

    func testFoundingAnew() throws { try interrupt(.foundingAnew) }
    func testEnrolling() throws { try interrupt(.enrolling) }
    func testInviting() throws { try interrupt(.inviting) }
}
