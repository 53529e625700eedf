import FerryTestSupport
import XCTest

@testable import FerryEngine

/// The process dies, or the power goes, at every call of SQLite's that changes something, at every write into a key store, and at every
/// write into the folder: database, keys and folder are three disks, of which each may be ahead of the others. The flow is begun again
/// and ends where an undisturbed one would have.
final class SealedDatabaseCrashTests: XCTestCase {
    /// The most points of one kind at which one flow is interrupted.
    private static let maximumPoints = Int(ProcessInfo.processInfo.environment["FERRY_CRASH_POINTS"] ?? "") ?? 3

    private enum Place: CaseIterable {
        case database, keys, folder
    }

    private func count(_ place: Place, _ home: SealedHome) -> Int {
        switch place {
        case .database: home.faults?.count(.crash) ?? 0
        case .keys: home.keyFiles.stepCount
        case .folder: home.files.stepCount
        }
    }

    private func interrupt(_ flow: SealedFlow) throws {
        let undisturbed = try SealedHome(isMortal: true)
        try flow.prepare(undisturbed)
        try undisturbed.takeAsDurable()
        let before = Place.allCases.map { count($0, undisturbed) }
        try flow.act(undisturbed)
        let counts = zip(Place.allCases, before).map { place, before in (place, count(place, undisturbed) - before) }
        try flow.check(undisturbed)
        for (place, count) in counts {
            let stride = max(1, count / Self.maximumPoints)
            for (number, point) in Swift.stride(from: 0, to: count, by: stride).enumerated() {
                let losses: [FaultVFS.Loss] = [.everything, .nothing, .random(seed: UInt64(point))]
                let loss = losses[(number + flow.name.utf8.count) % losses.count]
                try interrupt(
                    flow, place, point, loss, "\(flow.name): \(place) at \(point) of \(count), losing \(loss)")
            }
            print("\(flow.name): every \(stride). of \(count) points of the \(place)")
        }
    }

    private func interrupt(
        _ flow: SealedFlow, _ place: Place, _ point: Int, _ loss: FaultVFS.Loss, _ context: String
    ) throws {
        let home = try SealedHome(isMortal: true)
        let faults = try XCTUnwrap(home.faults)
        try flow.prepare(home)
        // What the app wrote without waiting for the disk is no matter of Ferry's.
        try home.takeAsDurable()
        switch place {
        case .database: faults.arm(.crash, at: point + 1)
        case .keys: home.keyFiles.inject(.kill, afterSteps: point)
        case .folder: home.files.inject(.kill, afterSteps: point)
        }
        do {
            try flow.act(home)
            XCTAssertFalse(faults.isCrashed || home.files.isKilled || home.keyFiles.isKilled, context)
        } catch {
            XCTAssertTrue(faults.isCrashed || home.files.isKilled || home.keyFiles.isKilled, "\(context): \(error)")
        }
        flow.assertGoesOn(home, context) { try home.crash(losing: loss) }
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
    func testLeaving() throws { try interrupt(.leaving) }
    func testLeavingOfTheLastMember() throws { try interrupt(.leavingLast) }
    func testCopying() throws { try interrupt(.copying) }
    func testSealing() throws { try interrupt(.sealing) }
    func testRemovingFilesOfTheOpenTime() throws { try interrupt(.removingFormerFiles) }

    func testFoundingAnew() throws { try interrupt(.foundingAnew) }
    func testEnrolling() throws { try interrupt(.enrolling) }
}
