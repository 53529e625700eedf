import FerrySQL
import FerryTestSupport
import GRDB
import XCTest

@testable import FerryStore

/// A commit of Ferry's outlives a loss of power on a connection whose own commits do not.
final class DurableCommitTests: XCTestCase {
    private func rows(_ mode: String, synchronous: String, durably: Bool) throws -> Int {
        let folder = try ScratchFolder()
        let faults = try FaultVFS(folder: folder.path)
        let queue = try DatabaseQueue(path: folder.path("db.sqlite"))
        try queue.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA synchronous = FULL; CREATE TABLE t(x)")
            try database.execute(sql: "PRAGMA journal_mode = \(mode); PRAGMA synchronous = \(synchronous)")
            // What was there is on the disk, the log's name too.
            try database.execute(sql: "PRAGMA synchronous = FULL; INSERT INTO t VALUES (0)")
            try database.execute(sql: "PRAGMA synchronous = \(synchronous)")
            let connection = SQLConnection(try XCTUnwrap(database.sqliteConnection))
            defer { connection.finalizeStatements() }
            let before = try connection.count("PRAGMA synchronous")
            func insert() throws {
                try database.inTransaction(.immediate) {
                    try connection.execute("INSERT INTO t VALUES (1)")
                    return .commit
                }
            }
            try durably ? connection.durably(insert) : insert()
            XCTAssertEqual(try connection.count("PRAGMA synchronous"), before, "the connection is as it was")
        }
        faults.arm(.crash, at: 1)
        try? queue.close()  // a dead process closes nothing properly
        try faults.recover(losing: .everything)
        let again = try DatabaseQueue(path: folder.path("db.sqlite"))
        let count = try again.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") ?? 0 }
        try again.close()
        return count
    }

    func testACommitIsThereAfterALossOfPower() throws {
        for (mode, synchronous) in [("WAL", "NORMAL"), ("WAL", "FULL"), ("WAL", "OFF"), ("DELETE", "NORMAL")] {
            XCTAssertEqual(try rows(mode, synchronous: synchronous, durably: true), 2, "\(mode) \(synchronous)")
        }
    }

    /// The loss of power takes what it may take, or the test above shows nothing.
    func testACommitOfTheConnectionsOwnIsLost() throws {
        XCTAssertEqual(try rows("WAL", synchronous: "NORMAL", durably: false), 1)
    }

    /// The commit stands, and is published only once the disk has it.
    func testADiskThatFailsBehindACommitIsAnErrorAndTheWaitIsRepeated() throws {
        let folder = try ScratchFolder()
        let faults = try FaultVFS(folder: folder.path)
        let queue = try DatabaseQueue(path: folder.path("db.sqlite"))
        try queue.writeWithoutTransaction { database in
            try database.execute(sql: "CREATE TABLE t(x); PRAGMA journal_mode = WAL; INSERT INTO t VALUES (0)")
            let connection = SQLConnection(try XCTUnwrap(database.sqliteConnection))
            defer { connection.finalizeStatements() }
            faults.arm(.synchronize, at: 1, times: .max)
            XCTAssertThrowsError(
                try connection.durably {
                    try database.inTransaction(.immediate) {
                        try connection.execute("INSERT INTO t VALUES (1)")
                        return .commit
                    }
                })
            XCTAssertGreaterThan(faults.injected, 0)
            XCTAssertThrowsError(try connection.synchronizeLog())
            faults.disarm()
            try connection.synchronizeLog()
            XCTAssertEqual(try connection.count("SELECT count(*) FROM t"), 2)
        }
        try queue.close()
        try faults.recover()
    }
}
