import FerryContainer
import FerryCore
import FerryLog
import FerryStore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// The process dies, or the power goes, at every call that changes something, of SQLite's and of the container's: what is
/// opened again is the old state or the new one, nothing is published that the database does not know, and the next
/// attempt ends where an undisturbed one would have.
final class CrashPointTests: XCTestCase {
    /// The most points of one kind at which one situation is interrupted.
    private static let maximumPoints = Int(ProcessInfo.processInfo.environment["FERRY_CRASH_POINTS"] ?? "") ?? 2

    private enum Place: CaseIterable {
        case database, container
    }

    private func interrupt(
        _ situation: FaultSituation, _ keeping: FaultHome.Keeping, largeValues: LargeValueSettings = .init()
    ) throws {
        let home = try FaultHome(keeping)
        home.largeValues = largeValues
        var counts: [Place: Int] = [:]
        let undisturbed = try situation.undisturbed(home) {
            counts = [.database: home.faults.count(.crash), .container: home.files.stepCount]
        }
        let prepared = undisturbed.prepared
        // A container that is put back has been written in so many steps.
        try home.begin(prepared)
        let stepsBefore = home.files.stepCount
        for place in Place.allCases {
            let first = place == .container ? stepsBefore : 0
            let count = try XCTUnwrap(counts[place]) - first
            let stride = max(1, count / Self.maximumPoints)
            for (number, point) in Swift.stride(from: 0, through: count, by: stride).enumerated() {
                let losses: [FaultVFS.Loss] = [.everything, .nothing, .random(seed: UInt64(point))]
                // All of them at each point take too long for every run.
                for loss in Self.maximumPoints > 100 ? losses : [losses[number % losses.count]] {
                    let context =
                        "\(situation.name), \(keeping): \(place) at point \(point) of \(count), losing \(loss)"
                    try home.begin(prepared)
                    switch place {
                    case .database: home.faults.arm(.crash, at: point + 1)
                    case .container: home.files.inject(.kill, afterSteps: point)
                    }
                    var isDone = false
                    do {
                        try situation.act(home)
                        isDone = true
                    } catch {
                        XCTAssertTrue(home.faults.isCrashed || home.files.isKilled, "\(context): \(error)")
                    }
                    try home.crash(losing: loss)
                    try situation.checkAndSettle(home, undisturbed, context)
                    if point == count { XCTAssertTrue(isDone, context) }
                }
            }
            print("\(situation.name), \(keeping): every \(stride). of \(count) points of the \(place)")
        }
    }

    func testInit() throws { try interruptEverywhere(.initialization) }
    func testPackingAndPublication() throws { try interruptEverywhere(.packing) }
    func testPackingAndPublicationOfLargeValues() throws {
        // Every text of some letters lies in parts.
        var settings = LargeValueSettings()
        settings.threshold = 4
        settings.partBytes = 3
        for keeping in FaultHome.Keeping.allCases {
            for situation in [FaultSituation.packing, .collection] {
                try interrupt(situation, keeping, largeValues: settings)
            }
        }
    }
    func testReplay() throws { try interruptEverywhere(.replay) }
    func testGatheringAndPublication() throws { try interruptEverywhere(.gathering) }
    func testBulkLoad() throws { try interruptEverywhere(.bulkLoad) }
    func testJoiningWithRows() throws { try interruptEverywhere(.joining) }
    func testReturning() throws { try interruptEverywhere(.returning) }
    func testRenewal() throws { try interruptEverywhere(.renewal) }
    func testRestoredBackup() throws { try interruptEverywhere(.restored) }
    func testCollection() throws { try interruptEverywhere(.collection) }
    func testLeaving() throws { try interruptEverywhere(.leaving) }
    func testLeavingAlone() throws { try interruptEverywhere(.leavingAlone) }
    func testJoiningAgain() throws { try interruptEverywhere(.rejoining) }
    func testRollUpAndSnapshot() throws { try interruptEverywhere(.compaction) }

    private func interruptEverywhere(_ situation: FaultSituation) throws {
        for keeping in FaultHome.Keeping.allCases { try interrupt(situation, keeping) }
    }
}
