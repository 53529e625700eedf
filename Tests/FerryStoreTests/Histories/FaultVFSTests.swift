import FerryTestSupport
import Foundation
import GRDB
import XCTest

/// The faulty file system below SQLite, on plain databases: what it takes away is what SQLite says may be lost.
final class FaultVFSTests: XCTestCase {
    /// How a database is kept. In DELETE mode only EXTRA makes the removal of the journal, which is the commit, durable.
    private static let settings = [
        (journal: "WAL", synchronous: "FULL"), (journal: "DELETE", synchronous: "EXTRA"),
        (journal: "TRUNCATE", synchronous: "FULL"), (journal: "PERSIST", synchronous: "FULL"),
    ]

    private static let losses: [FaultVFS.Loss] =
        [.nothing, .everything, .random(seed: 1)]

    /// A database in a folder of its own.
    private final class Home {
        let folder: ScratchFolder
        let faults: FaultVFS
        private let settings: (journal: String, synchronous: String)

        init(_ settings: (journal: String, synchronous: String)) throws {
            self.settings = settings
            folder = try ScratchFolder()
            faults = try FaultVFS(folder: folder.path)
        }

        func open() throws -> DatabaseQueue {
            let queue = try DatabaseQueue(path: folder.path("db.sqlite"))
            do {
                try queue.writeWithoutTransaction { database in
                    try database.execute(sql: "PRAGMA journal_mode = \(settings.journal)")
                    try database.execute(sql: "PRAGMA synchronous = \(settings.synchronous)")
                }
                return queue
            } catch {
                try queue.close()
                throw error
            }
        }
    }

    /// Three transactions, each of which writes its number over many pages, and takes some away.
    /// - Returns: the last one that SQLite said was committed.
    private func work(_ queue: DatabaseQueue) -> (committed: Int, error: (any Error)?) {
        var committed = 0
        do {
            try queue.write { database in
                try database.execute(sql: "CREATE TABLE IF NOT EXISTS item(id INTEGER PRIMARY KEY, number, filling)")
            }
            for number in 1...3 {
                try queue.write { database in
                    try database.execute(sql: "UPDATE item SET number = ?", arguments: [number])
                    for _ in 0..<3 {
                        try database.execute(
                            sql: "INSERT INTO item(number, filling) VALUES (?, zeroblob(3000))", arguments: [number])
                    }
                    if number == 3 { try database.execute(sql: "DELETE FROM item WHERE id < 5") }
                }
                committed = number
                if number == 2 {
                    try queue.writeWithoutTransaction { _ = try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
                }
            }
        } catch {
            return (committed, error)
        }
        return (committed, nil)
    }

    /// - Returns: the number that all rows have; 0 where there is no row.
    private func check(_ queue: DatabaseQueue, _ context: String) throws -> Int {
        try queue.read { database in
            XCTAssertEqual(try String.fetchAll(database, sql: "PRAGMA integrity_check"), ["ok"], context)
            guard try database.tableExists("item") else { return 0 }
            let numbers = try Int.fetchAll(database, sql: "SELECT DISTINCT number FROM item")
            XCTAssertLessThanOrEqual(numbers.count, 1, context)
            return numbers.first ?? 0
        }
    }

    func testWhatWasCommittedOutlivesAKillAndALossOfPowerAtEveryWrite() throws {
        for settings in Self.settings {
            var call = 0
            var isFinished = false
            while !isFinished {
                call += 1
                for loss in Self.losses {
                    let context = "\(settings), killed at call \(call), losing \(loss)"
                    let home = try Home(settings)
                    home.faults.arm(.crash, at: call)
                    var outcome: (committed: Int, error: (any Error)?) = (0, nil)
                    // The process may die while the database is opened.
                    if let queue = try? home.open() {  // it is recovered below
                        outcome = work(queue)
                        isFinished = outcome.error == nil && !home.faults.isCrashed
                        try? queue.close()  // a dead process closes nothing properly
                    }
                    home.faults.disarm()
                    try home.faults.recover(losing: loss)
                    let queue = try home.open()
                    let found = try check(queue, context)
                    XCTAssertTrue((outcome.committed...outcome.committed + 1).contains(found), "\(context): \(found)")
                    XCTAssertNil(work(queue).error, context)
                    XCTAssertEqual(try check(queue, context), 3, context)
                    try queue.close()
                }
            }
            XCTAssertGreaterThan(call, 30, "\(settings)")
        }
    }

    func testAnUnsynchronizedCommitIsForgottenWhenThePowerGoes() throws {
        let home = try Home((journal: "WAL", synchronous: "NORMAL"))
        let queue = try home.open()
        XCTAssertEqual(work(queue).committed, 3)
        home.faults.arm(.crash, at: 1)
        try? queue.close()  // a dead process closes nothing properly
        try home.faults.recover(losing: .everything)
        let again = try home.open()
        // The checkpoint after the second transaction is all that was synchronized.
        XCTAssertEqual(try check(again, ""), 2)
        try again.close()
    }

    func testEveryFaultIsReportedAndLeavesWhatWasCommitted() throws {
        let codes: [FaultVFS.Fault: ResultCode] = [
            .full: .SQLITE_FULL, .write: .SQLITE_IOERR, .synchronize: .SQLITE_IOERR, .read: .SQLITE_IOERR,
            .busy: .SQLITE_BUSY,
        ]
        for settings in Self.settings {
            for (fault, code) in codes {
                let home = try Home(settings)
                let queue = try home.open()
                XCTAssertEqual(work(queue).committed, 3)
                try queue.close()
                let reopened = try home.open()
                home.faults.arm(fault, at: 1, times: .max)
                XCTAssertThrowsError(
                    try reopened.write { try $0.execute(sql: "UPDATE item SET number = 6") }, "\(settings) \(fault)"
                ) { error in
                    XCTAssertEqual((error as? DatabaseError)?.resultCode, code, "\(settings) \(fault)")
                }
                XCTAssertGreaterThan(home.faults.injected, 0)
                home.faults.disarm()
                XCTAssertEqual(try check(reopened, "\(settings) \(fault)"), 3)
                XCTAssertEqual(work(reopened).committed, 3)
                try reopened.close()
            }
        }
    }

    func testPowerDoesNotGoWhileFilesAreOpen() throws {
        let home = try Home((journal: "WAL", synchronous: "FULL"))
        let queue = try home.open()
        XCTAssertThrowsError(try home.faults.recover()) {
            XCTAssertGreaterThan(($0 as? FaultVFS.Refusal)?.openFiles ?? 0, 0)
        }
        try queue.close()
        try home.faults.recover()
    }
}
