import FerryCore
import FerryStore
import FerryTestSupport
import Foundation
import GRDB
import XCTest

@testable import FerryEngine

/// An app hears of conflicts, and takes part in replays.
final class ConflictStreamTests: XCTestCase {
    private var scratch: ScratchFolder?
    private var pools: [DatabasePool] = []
    private var engines: [SyncEngine] = []

    override func setUpWithError() throws {
        scratch = try ScratchFolder()
        let container = try path("container")
        for index in 0..<2 {
            let pool = try DatabasePool(path: path("db\(index).sqlite"))
            try pool.write { database in
                try database.execute(
                    sql: """
                        CREATE TABLE tag(name TEXT PRIMARY KEY, colour TEXT) WITHOUT ROWID;
                        CREATE TABLE total(name TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
                        """)
            }
            pools.append(pool)
            let replica =
                index == 0
                ? try Replica.create(Store(pool), containerPath: container, sealing: .open, name: "first").replica
                : try Replica.join(Store(pool), containerPath: container, name: "second").replica
            engines.append(SyncEngine(replica))
        }
    }

    override func tearDownWithError() throws {
        engines = []
        pools = []
        scratch = nil
    }

    private func path(_ name: String) throws -> String { try XCTUnwrap(scratch).path(name) }

    private func write(_ index: Int, _ sql: String) throws { try pools[index].write { try $0.execute(sql: sql) } }

    private func text(_ index: Int, _ sql: String) throws -> String? {
        try pools[index].read { try String.fetchOne($0, sql: sql) }
    }

    /// Both write the same tags; the second one's writes come later.
    private func disagree(_ names: String...) async throws {
        for name in names {
            try write(0, "INSERT INTO tag VALUES ('\(name)', 'red')")
            try write(1, "INSERT INTO tag VALUES ('\(name)', 'blue')")
        }
        try await engines[0].sync()
        try await engines[1].sync()
    }

    func testEveryNewConflictIsHeardOnce() async throws {
        try await disagree("before")
        var conflicts = try engines[1].newConflicts().makeAsyncIterator()
        try await disagree("a")
        let first = try await conflicts.next()
        XCTAssertEqual(first?.key, [.text("a")])
        try await disagree("b", "c")
        let second = try await conflicts.next()
        let third = try await conflicts.next()
        XCTAssertEqual(Set([second, third].compactMap { $0?.key }), [[.text("b")], [.text("c")]])
        // Who remembers a number goes on from there.
        var later = try engines[1].newConflicts(after: XCTUnwrap(second).number).makeAsyncIterator()
        let again = try await later.next()
        XCTAssertEqual(again, third)
        engines[1] = engines[0]
        let end = try await conflicts.next()
        XCTAssertNil(end)
    }

    func testAConflictThatAnotherProcessNoticesIsHeardToo() async throws {
        engines[1].start()
        var conflicts = try engines[1].newConflicts().makeAsyncIterator()
        try write(0, "INSERT INTO tag VALUES ('a', 'red')")
        try write(1, "INSERT INTO tag VALUES ('a', 'blue')")
        // As the command would: with a connection of its own.
        let other = try Replica(path: pools[1].path)
        for _ in 0..<2 {
            try await engines[0].sync()
            _ = try other.sync()
        }
        let conflict = try await conflicts.next()
        XCTAssertEqual(conflict?.key, [.text("a")])
        await engines[1].stop()
    }

    func testAnAppRestoresFromItsOwnPool() async throws {
        try await disagree("a")
        let conflict = try XCTUnwrap(engines[1].store.conflicts().first)
        let lost = try XCTUnwrap(conflict.lost.value)
        XCTAssertEqual(try engines[1].replica.restoreConflict(conflict.number).columns, ["colour"])
        XCTAssertEqual(try text(1, "SELECT colour FROM tag"), lost.text)
        XCTAssertEqual(try text(1, "PRAGMA foreign_keys"), "1")
        try await engines[1].sync()
        try await engines[0].sync()
        XCTAssertEqual(try text(0, "SELECT colour FROM tag"), lost.text)
    }

    // MARK: The hook

    func testWhatTheHookWritesIsPublishedBySameSync() async throws {
        engines[1].store.willCommitReplay = { database, changes in
            for key in changes[table: "tag"]?.written ?? [] {
                try database.execute(
                    sql: "INSERT OR REPLACE INTO total SELECT ?, count(*) FROM tag", arguments: [key[0].databaseValue])
            }
        }
        try write(0, "INSERT INTO tag VALUES ('calm', 'blue')")
        try await engines[0].sync()
        let report = try await engines[1].sync()
        XCTAssertEqual(report.published.changes, 1)
        try await engines[0].sync()
        XCTAssertEqual(try text(0, "SELECT name || n FROM total"), "calm1")
    }

    func testAHookThatFailsStopsReplaysAndNotWhatThisDeviceSends() async throws {
        struct Refusal: Error {}
        engines[1].store.willCommitReplay = { _, _ in throw Refusal() }
        try write(0, "INSERT INTO tag VALUES ('theirs', 'blue')")
        try write(1, "INSERT INTO tag VALUES ('own', 'red')")
        try await engines[0].sync()
        do {
            try await engines[1].sync()
            XCTFail("the hook's failure is told")
        } catch let error as FerryError {
            XCTAssertEqual(error.code, .replayHookFailed)
            XCTAssertTrue(error.cause is Refusal)
        }
        XCTAssertEqual(try text(1, "SELECT group_concat(name) FROM tag"), "own")
        try await engines[0].sync()
        XCTAssertEqual(try text(0, "SELECT group_concat(name) FROM tag ORDER BY name"), "own,theirs")
        engines[1].store.willCommitReplay = nil
        try await engines[1].sync()
        XCTAssertEqual(try text(1, "SELECT group_concat(name) FROM tag"), "own,theirs")
    }
}
