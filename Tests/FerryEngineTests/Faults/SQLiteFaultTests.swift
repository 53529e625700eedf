import FerryCore
import FerryStore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// SQLite fails at every call of everything that Ferry does: full disks, errors, locks. What is done succeeds or says what
/// failed, leaves the database as it was or as it should be, and is done with the next attempt.
final class SQLiteFaultTests: XCTestCase {
    /// The most calls of one kind at which one situation is made to fail.
    private static let maximumCalls = Int(ProcessInfo.processInfo.environment["FERRY_FAULT_CALLS"] ?? "") ?? 2

    private static let faults: [(FaultVFS.Fault, FerryError.Code)] = [
        (.full, .inputOutput), (.write, .inputOutput), (.synchronize, .inputOutput), (.read, .inputOutput),
        (.busy, .busy),
    ]

    /// Does it with a fault at every call, or at as many as there is time for, evenly spread.
    private func checkEveryFault(_ situation: FaultSituation, _ keeping: FaultHome.Keeping) throws {
        let home = try FaultHome(keeping)
        var counts: [FaultVFS.Fault: Int] = [:]
        let undisturbed = try situation.undisturbed(home) {
            for (fault, _) in Self.faults { counts[fault] = home.faults.count(fault) }
        }
        for (fault, code) in Self.faults {
            let count = try XCTUnwrap(counts[fault])
            let stride = max(1, count / Self.maximumCalls)
            for (number, call) in Swift.stride(from: 1, through: count, by: stride).enumerated() {
                // A lock is held for longer than the devices of this test wait, and for less than others do.
                let times = number % 2 == 0 ? 1 : fault == .busy ? 12 : Int.max
                let context =
                    "\(situation.name), \(keeping): \(fault) at call \(call) of \(count), "
                    + (times == 1 ? "once" : "from there on")
                try home.begin(undisturbed.prepared)
                home.faults.arm(fault, at: call, times: times)
                do {
                    try situation.act(home)
                } catch let error as FerryError {
                    XCTAssertEqual(error.code, code, "\(context): \(error)")
                    XCTAssertTrue(Self.saysWhatToDo(error), "\(context): \(error)")
                }
                home.faults.disarm()
                try situation.checkAndSettle(home, undisturbed, context)
            }
            print("\(situation.name), \(keeping): \(fault) at every \(stride). of \(count) calls")
        }
    }

    /// Whether a message holds more than what SQLite said.
    private static func saysWhatToDo(_ error: FerryError) -> Bool {
        error.message.contains(/[Tt]ry again|Check|Make room/)
    }

    func testInit() throws { try checkEverywhere(.initialization) }
    func testPacking() throws { try checkEverywhere(.packing) }
    func testReplay() throws { try checkEverywhere(.replay) }
    func testGathering() throws { try checkEverywhere(.gathering) }
    func testBulkLoad() throws { try checkEverywhere(.bulkLoad) }
    func testJoiningWithRows() throws { try checkEverywhere(.joining) }
    func testReturning() throws { try checkEverywhere(.returning) }
    func testRenewal() throws { try checkEverywhere(.renewal) }
    func testRestoredBackup() throws { try checkEverywhere(.restored) }
    func testCollection() throws { try checkEverywhere(.collection) }
    func testCompaction() throws { try checkEverywhere(.compaction) }

    private func checkEverywhere(_ situation: FaultSituation) throws {
        for keeping in [FaultHome.Keeping.wal, .rollback] { try checkEveryFault(situation, keeping) }
    }
}

extension FaultHome {
    /// The app's rows that the subject has; none where there is no database yet.
    func rows() throws -> Set<String> {
        guard FileManager.default.fileExists(atPath: databasePath(Self.subject)) else { return [] }
        if try isTracked(Self.subject) { return Set(try FaultSituation.rows(of: replica(Self.subject).store)) }
        let store = try openStore(Self.subject)
        let rows = Set(try FaultSituation.rows(of: store))
        if keeping != .pool { try store.close() }
        return rows
    }
}
