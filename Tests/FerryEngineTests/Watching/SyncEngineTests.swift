import FerryContainer
import FerryCore
import FerryStore
import FerryTestSupport
import Foundation
import GRDB
import XCTest

@testable import FerryEngine

/// Two apps in one process, each with a pool of its own.
final class SyncEngineTests: XCTestCase {
    private var scratch: ScratchFolder?
    private var pools: [DatabasePool] = []
    private var engines: [SyncEngine] = []

    override func setUpWithError() throws {
        scratch = try ScratchFolder()
        for index in 0..<2 {
            let pool = try DatabasePool(path: path("db\(index).sqlite"))
            try pool.write { database in
                try database.execute(
                    sql: """
                        CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT NOT NULL);
                        CREATE TABLE tag(name TEXT PRIMARY KEY, colour TEXT) WITHOUT ROWID;
                        """)
            }
            pools.append(pool)
            let replica =
                index == 0
                ? try Replica.create(Store(pool), containerPath: containerPath, sealing: .open, name: "first").replica
                : try Replica.join(Store(pool), containerPath: containerPath, name: "second").replica
            engines.append(SyncEngine(replica))
        }
    }

    override func tearDownWithError() throws {
        engines = []
        pools = []
        scratch = nil
    }

    private func path(_ name: String) throws -> String { try XCTUnwrap(scratch).path(name) }

    private var containerPath: String { get throws { try path("container") } }

    private func write(_ index: Int, _ sql: String) throws { try pools[index].write { try $0.execute(sql: sql) } }

    private func count(_ index: Int, _ table: String) throws -> Int {
        try pools[index].read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") ?? 0 }
    }

    func testWritesOnBothSidesReachBothPools() async throws {
        for engine in engines { engine.start() }
        try write(0, "INSERT INTO note(text) VALUES ('a')")
        try write(1, "INSERT INTO note(text) VALUES ('b'); INSERT INTO tag VALUES ('calm', 'blue')")
        try waitUntil("both are in step") {
            try count(0, "note") == 2 && count(1, "note") == 2 && count(0, "tag") == 1
        }
        for engine in engines {
            XCTAssertTrue(engine.isRunning)
            await engine.stop()
            XCTAssertFalse(engine.isRunning)
        }
    }

    func testObservationsOfThePoolSeeWhatOtherDevicesWrite() async throws {
        for (index, table) in [(0, "note"), (1, "tag")] {
            let seen = Locked<[Int]>([])
            let observation = ValueObservation.tracking {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") ?? 0
            }
            let cancellable = observation.start(
                in: pools[index], scheduling: .async(onQueue: DispatchQueue(label: "observer"))
            ) {
                XCTFail("\($0)")
            } onChange: { count in
                seen.withLock { $0.append(count) }
            }
            try waitUntil("the first value") { seen.withLock { !$0.isEmpty } }
            for engine in engines { engine.start() }
            try write(
                1 - index,
                table == "note" ? "INSERT INTO note(text) VALUES ('x')" : "INSERT INTO tag VALUES ('t', 'red')")
            try waitUntil("\(table) is observed") { seen.withLock { $0.last == 1 } }
            cancellable.cancel()
            for engine in engines { await engine.stop() }
        }
    }

    func testEveryoneGetsTheEventsOfTheirOwnStream() async throws {
        let streams = [engines[0].events, engines[0].events]
        engines[0].start()
        for stream in streams {
            var kinds: [String] = []
            for await event in stream {
                switch event {
                case .started: kinds.append("started")
                case .synced: kinds.append("synced")
                case .databaseChanged, .reopened: continue
                case .failed(let error): kinds.append("failed: \(error)")
                case .following: kinds.append("following")
                case .leading: kinds.append("leading")
                case .stopped: kinds.append("stopped")
                }
                if kinds.count == 2 { break }
            }
            XCTAssertEqual(kinds, ["started", "synced"])
        }
        await engines[0].stop()
    }

    func testStoppingAndStartingAgainGoesOn() async throws {
        for round in 1...5 {
            for engine in engines { engine.start() }
            engines[0].start()
            try write(round % 2, "INSERT INTO note(text) VALUES ('\(round)')")
            try waitUntil("round \(round)") { try count(0, "note") == round && count(1, "note") == round }
            for engine in engines { await engine.stop() }
            await engines[0].stop()
        }
    }

    func testAnEngineThatIsLetGoStopsAndEndsItsStreams() async throws {
        var engine: SyncEngine? = SyncEngine(engines[0].replica)
        let stream = try XCTUnwrap(engine).events
        engine?.start()
        engine = nil
        for await _ in stream {}
    }

    func testSyncOnRequestPublishesWhatWasCommittedBefore() async throws {
        try write(0, "INSERT INTO note(text) VALUES ('a')")
        let first = engines[0]
        try await withThrowingTaskGroup(of: SyncReport.self) { group in
            for _ in 0..<10 { group.addTask { try await first.sync() } }
            var published = 0
            for try await report in group { published = max(published, report.published.changes) }
            XCTAssertEqual(published, 1)
        }
        let report = try await engines[1].sync()
        XCTAssertEqual(report.replayed.changes, 1)
        XCTAssertEqual(try count(1, "note"), 1)
        let status = try await engines[1].status()
        XCTAssertEqual(status.unpublished, 0)
    }

    func testAContainerThatGoesAndComesBackLosesNothing() async throws {
        let failures = Locked<[FerryError.Code]>([])
        let recoveries = Locked(0)
        let stream = engines[0].events
        let listener = Task {
            for await event in stream {
                if case .failed(let error) = event { failures.withLock { $0.append(error.code) } }
                if case .synced = event, failures.withLock({ !$0.isEmpty }) { recoveries.withLock { $0 += 1 } }
            }
        }
        for engine in engines { engine.start() }
        try write(0, "INSERT INTO note(text) VALUES ('before')")
        try waitUntil("it arrives") { try count(1, "note") == 1 }
        let away = try path("away")
        try FileManager.default.moveItem(atPath: containerPath, toPath: away)
        try write(0, "INSERT INTO note(text) VALUES ('while it is away')")
        try waitUntil("the failure is told") { failures.withLock { !$0.isEmpty } }
        if case .failing(let error) = engines[0].state {
            XCTAssertEqual(error.code, .containerMissing)
        } else {
            XCTFail()
        }
        try write(1, "INSERT INTO note(text) VALUES ('here too')")
        // Packed all the same: the changes have their times and their order.
        try waitUntil("it is packed") { try engines[0].store.status().pendingNotes == 0 }
        try FileManager.default.moveItem(atPath: away, toPath: containerPath)
        try waitUntil("both are in step") { try count(0, "note") == 3 && count(1, "note") == 3 }
        try waitUntil("the recovery is told") { recoveries.withLock { $0 > 0 } }
        XCTAssertEqual(failures.withLock { $0 }, [.containerMissing], "told once")
        if case .running = engines[0].state {} else { XCTFail("\(engines[0].state)") }
        for engine in engines { await engine.stop() }
        listener.cancel()
    }

    func testADatabaseInMemoryIsKeptInStepOnRequest() async throws {
        let queue = try DatabaseQueue()
        try await queue.write { database in
            try database.execute(sql: "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT NOT NULL);")
            try database.execute(sql: "CREATE TABLE tag(name TEXT PRIMARY KEY, colour TEXT) WITHOUT ROWID;")
        }
        let engine = SyncEngine(try Replica.join(Store(queue), containerPath: containerPath, name: "third").replica)
        try await queue.write { try $0.execute(sql: "INSERT INTO note(text) VALUES ('m')") }
        try await engine.sync()
        try await engines[0].sync()
        XCTAssertEqual(try count(0, "note"), 1)
        XCTAssertFalse(FileManager.default.fileExists(atPath: ":memory:-ferry-lock"))
    }
}
