import FerryContainer
import FerryCore
import FerryLog
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// The process dies before or after every request of the eleven procedures of `FaultSituation`, over an object storage: what is opened
/// again is the old state or the new one, nothing is published that the database does not know, and the next attempt ends where an
/// undisturbed one would have.
final class RemoteCrashPointTests: XCTestCase {
    /// The most requests at which one procedure is interrupted.
    private static let maximumPoints = Int(ProcessInfo.processInfo.environment["FERRY_CRASH_POINTS"] ?? "") ?? 12

    private func interrupt(_ situation: FaultSituation, largeValues: LargeValueSettings = .init()) throws {
        // Requests side by side would be counted in another order each time.
        let storage = MemoryStorage(traits: StorageTraits(maximumParallel: 1))
        let home = try FaultHome(.wal, storage)
        home.largeValues = largeValues
        // The order of devices, and with it the number of requests, is that of their IDs.
        home.random = SeededRandom(seed: 1)
        let undisturbed = try situation.undisturbed(home) {}
        func begin() throws {
            try home.begin(undisturbed.prepared)
            home.random = SeededRandom(seed: 2)
        }
        try begin()
        storage.resetCounts()
        try situation.act(home)
        let count = storage.count()
        let stride = max(1, count / Self.maximumPoints)
        let faults = MemoryStorage.Fault.allCases
        for (number, point) in Swift.stride(from: 0, through: count, by: stride).enumerated() {
            // All faults at each point take too long for every run.
            for fault in Self.maximumPoints > 100 ? faults : [faults[number % faults.count]] {
                let context = "\(situation.name): \(fault) at request \(point) of \(count)"
                try begin()
                storage.inject(fault, afterRequests: point)
                do {
                    try situation.act(home)
                } catch {
                    // The storage did not answer at all, or not for one object.
                    let told = error as? FerryError
                    let isTold = [told?.code, (told?.cause as? FerryError)?.code].contains(.containerMissing)
                    XCTAssertTrue(storage.isKilled || isTold, "\(context): \(error)")
                }
                if point < count { XCTAssertFalse(storage.hasFault, "\(context) did not happen") }
                try home.crash(losing: .nothing)
                try situation.checkAndSettle(home, undisturbed, context)
            }
        }
        print("\(situation.name): every \(stride). of \(count) requests")
    }

    func testInit() throws { try interrupt(.initialization) }
    func testPackingAndPublication() throws { try interrupt(.packing) }
    func testPackingAndPublicationOfLargeValues() throws {
        // Every text of some letters lies in parts.
        var settings = LargeValueSettings()
        settings.threshold = 4
        settings.partBytes = 3
        try interrupt(.packing, largeValues: settings)
    }
    func testReplay() throws { try interrupt(.replay) }
    func testGatheringAndPublication() throws { try interrupt(.gathering) }
    func testBulkLoad() throws { try interrupt(.bulkLoad) }
    func testJoiningWithRows() throws { try interrupt(.joining) }
    func testReturning() throws { try interrupt(.returning) }
    func testRenewal() throws { try interrupt(.renewal) }
    func testRestoredBackup() throws { try interrupt(.restored) }
    func testRollUpAndSnapshot() throws { try interrupt(.compaction) }

    func testLeaving() throws { try interrupt(.leaving) }
    func testLeavingAlone() throws { try interrupt(.leavingAlone) }
    func testJoiningAgain() throws { try interrupt(.rejoining) }
    func testRelocation() throws { try interrupt(.relocation) }

    /// No request is made: nothing of it can be interrupted.
    func testCollection() throws { try interrupt(.collection) }
}

extension FaultSituation {
    /// The storage answers under another name now.
    fileprivate static let relocation = FaultSituation(
        name: "relocation",
        prepare: { try packing.prepare($0) },
        act: { home in
            try home.replica(FaultHome.subject).relocate(to: "s3://bucket/moved")
            try home.sync(FaultHome.subject)
        })
}
