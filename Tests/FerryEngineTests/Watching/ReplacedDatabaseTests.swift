import FerryCore
import FerryStore
import Foundation
import GRDB
import XCTest

@testable import FerryEngine

/// Another file is put in the database's place while it is kept in step.
final class ReplacedDatabaseTests: XCTestCase {
    private let notes = "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
    private let texts = "SELECT text FROM note ORDER BY text;"

    private func makeFleet(_ journal: String) throws -> Fleet {
        let fleet = try Fleet()
        try fleet.start("PRAGMA journal_mode = \(journal);" + notes + "INSERT INTO note(text) VALUES ('first')")
        try fleet.join()
        try fleet.settle()
        return fleet
    }

    private func removeJournals(_ path: String) {
        for suffix in ["-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }

    private func isReopened(_ loop: RunningLoop) -> Bool {
        loop.events.contains { if case .reopened = $0 { true } else { false } }
    }

    private func play(
        _ journal: String, _ replace: (_ path: String, _ backup: String, _ fleet: Fleet) throws -> Void
    ) throws {
        let fleet = try makeFleet(journal)
        let (path, backup) = (fleet.databasePath(0), fleet.folder.appendingPathComponent("backup").path)
        let loop = RunningLoop(fleet.replicas[0])
        let follower = RunningLoop(try Replica(path: path))
        try waitUntil("the first pass is made") { !(loop.reports + follower.reports).isEmpty }
        try fleet.shell(0, "VACUUM INTO '\(backup)'; INSERT INTO note(text) VALUES ('after the backup')")
        func arrives(_ text: String, on index: Int) throws {
            try waitUntil("\(text) arrives") {
                _ = index == 0 ? nil : try fleet.replicas[1].sync()
                return try fleet.shell(index, "SELECT count(*) FROM note WHERE text = '\(text)'") == "1\n"
            }
        }
        try arrives("after the backup", on: 1)
        try replace(path, backup, fleet)
        try fleet.shell(0, "INSERT INTO note(text) VALUES ('in the new file')")
        try arrives("in the new file", on: 1)
        try arrives("after the backup", on: 0)
        try fleet.shell(1, "INSERT INTO note(text) VALUES ('from elsewhere')")
        _ = try fleet.replicas[1].sync()
        try arrives("from elsewhere", on: 0)
        loop.finish()
        follower.finish()
        XCTAssertEqual((loop.failures + follower.failures).map(\.message), [])
        try fleet.assertEqual(texts)
    }

    /// The lock and the contents would be those of the former database.
    func testALinkThatLeadsToAnotherDatabaseIsNotFollowed() throws {
        let fleet = try makeFleet("wal")
        let (link, copy) = (fleet.databasePath(7), fleet.databasePath(8))
        try fleet.shell(0, "VACUUM INTO '\(copy)'")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: fleet.databasePath(0))
        let replica = try Replica(path: link)
        _ = try replica.sync()
        try FileManager.default.removeItem(atPath: link)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: copy)
        // SQLite stays with the former file for as long as the file is there.
        try FileManager.default.removeItem(atPath: fleet.databasePath(0))
        XCTAssertThrowsError(try replica.sync()) { error in
            XCTAssertEqual((error as? FerryError)?.code, .databaseReplaced)
            XCTAssertTrue("\(error)".contains("Open the database again"), "\(error)")
        }
    }

    func testABackupIsRenamedOverIt() throws {
        for journal in ["wal", "delete"] {
            try play(journal) { path, backup, _ in
                removeJournals(path)
                XCTAssertEqual(rename(backup, path), 0)
            }
        }
    }

    func testItIsDeletedAndABackupIsPutThere() throws {
        try play("wal") { path, backup, _ in
            for suffix in ["", "-ferry-lock", "-ferry-leader"] {
                try FileManager.default.removeItem(atPath: path + suffix)
            }
            removeJournals(path)
            try FileManager.default.copyItem(atPath: backup, toPath: path)
        }
    }

    func testABackupIsCopiedOverItInPlace() throws {
        try play("delete") { path, backup, _ in
            let file = try XCTUnwrap(FileHandle(forWritingAtPath: path))
            let bytes = try Data(contentsOf: URL(fileURLWithPath: backup))
            try file.truncate(atOffset: 0)
            for start in stride(from: 0, to: bytes.count, by: 4096) {
                try file.write(contentsOf: bytes[start..<min(start + 4096, bytes.count)])
            }
            try file.close()
        }
    }

    /// A sync meets every part of the file, and writes into none of them.
    func testSyncsMeetEveryPartOfABackupThatIsCopiedOverItInPlace() throws {
        try play("delete") { path, backup, fleet in
            let file = try XCTUnwrap(FileHandle(forWritingAtPath: path))
            let bytes = try Data(contentsOf: URL(fileURLWithPath: backup))
            try file.truncate(atOffset: 0)
            var refusals: Set<FerryError.Code> = []
            for end in stride(from: 0, to: bytes.count, by: 4096) {
                try file.write(contentsOf: bytes[max(end - 4096, 0)..<end])
                do {
                    _ = try fleet.replicas[0].sync()
                    XCTFail("a sync took \(end) of \(bytes.count) bytes for a database")
                } catch let error as FerryError {
                    refusals.insert(error.code)
                }
                XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: path)), bytes[..<end])
            }
            XCTAssert(refusals.isSubset(of: [.storeIncomplete, .notTracked, .databaseCorrupt, .notADatabase]))
            try file.write(contentsOf: bytes[max((bytes.count - 1) / 4096 * 4096, 0)...])
            try file.close()
        }
    }

    /// The program writes while a transaction of Ferry's is under way, which then changes nothing.
    func testABackupIsCopiedOverItDuringATransaction() throws {
        for journal in ["delete", "wal"] {
            let fleet = try makeFleet(journal)
            let path = fleet.databasePath(0)
            _ = try fleet.shell(0, "PRAGMA wal_checkpoint(TRUNCATE)")
            let other = try Data(contentsOf: URL(fileURLWithPath: path)).prefix(4096).map { ~$0 }
            let store = try Store(path: path)
            XCTAssertThrowsError(
                try store.write { connection in
                    try connection.execute("INSERT INTO note(text) VALUES ('zqxjk')")
                    let file = try XCTUnwrap(FileHandle(forWritingAtPath: path))
                    try file.write(contentsOf: Data(other))
                    try file.close()
                }
            ) { XCTAssertEqual(($0 as? FerryError)?.code, .databaseReplaced) }
            XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: path)).prefix(4096), Data(other))
            XCTAssertEqual(try String(contentsOfFile: path, encoding: .isoLatin1).contains("zqxjk"), false)
        }
    }

    func testItIsDeletedForGood() throws {
        let fleet = try makeFleet("wal")
        let path = fleet.databasePath(0)
        let loop = RunningLoop(fleet.replicas[0])
        try waitUntil("the first pass is made") { !loop.reports.isEmpty }
        try FileManager.default.removeItem(atPath: path)
        removeJournals(path)
        try waitUntil("it ends") { loop.hasEnded }
        XCTAssertEqual(loop.failures.map(\.code), [.databaseMissing])
        XCTAssertFalse(FileManager.default.fileExists(atPath: path))
    }

    func testADatabaseOfSomebodyElsesIsPutThere() throws {
        let fleet = try makeFleet("wal")
        let path = fleet.databasePath(0)
        let loop = RunningLoop(fleet.replicas[0])
        try waitUntil("the first pass is made") { !loop.reports.isEmpty }
        try fleet.shell(7, notes)
        removeJournals(path)
        XCTAssertEqual(rename(fleet.databasePath(7), path), 0)
        try waitUntil("it ends") { loop.hasEnded }
        XCTAssertEqual(loop.failures.map(\.code), [.databaseReplaced])
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'ferry%'"), "0\n")
    }

    func testAnAppsOwnPoolIsToldToOpenTheFileAgain() throws {
        let fleet = try makeFleet("wal")
        let path = fleet.databasePath(0)
        let pool = try DatabasePool(path: path)
        let loop = RunningLoop(try Replica(Store(pool)))
        try waitUntil("the first pass is made") { !loop.reports.isEmpty }
        let backup = fleet.folder.appendingPathComponent("backup").path
        try fleet.shell(0, "VACUUM INTO '\(backup)'")
        removeJournals(path)
        XCTAssertEqual(rename(backup, path), 0)
        try waitUntil("it ends") { loop.hasEnded }
        XCTAssertEqual(loop.failures.map(\.code), [.databaseReplaced])
        XCTAssertFalse(isReopened(loop))
        try pool.close()
    }
}
