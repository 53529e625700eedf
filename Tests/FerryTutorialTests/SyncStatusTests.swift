import Ferry
import FerryTestSupport
import Foundation
import GRDB
import Observation
import XCTest

/// The observable status, as a view sees it: `withObservationTracking` says when to read again.
@MainActor
final class SyncStatusTests: XCTestCase {
    private struct Device {
        let pool: DatabasePool
        let engine: SyncEngine

        init(_ name: String, in folder: ScratchFolder) async throws {
            let pool = try DatabasePool(path: folder.path(name + ".sqlite"))
            try await pool.write {
                try $0.execute(sql: "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
            }
            self.pool = pool
            let store = Store(pool, keyDirectory: folder.path("keys of " + name))
            engine = SyncEngine(
                try await Replica.open(
                    store, containerPath: folder.path("shared"), as: .firstUnsealed,
                    device: NewDevice(name: name)
                ).replica)
        }

        func add(_ names: String...) async throws {
            try await pool.write { database in
                for name in names {
                    try database.execute(sql: "INSERT INTO item(name) VALUES (?)", arguments: [name])
                }
            }
        }

        func count() async throws -> Int {
            try await pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM item") ?? 0 }
        }
    }

    /// Waits as a view does: reads, and reads again after each change of what was read.
    private func wait(until isFulfilled: @MainActor () -> Bool) async {
        while !isFulfilled() {
            await withCheckedContinuation { continuation in
                let isDone = withObservationTracking {
                    isFulfilled()
                } onChange: {
                    continuation.resume()
                }
                // Nothing runs on the main actor between the two looks.
                XCTAssertFalse(isDone)
            }
            await Task.yield()
        }
    }

    func testItFollowsAnEngine() async throws {
        let folder = try ScratchFolder()
        let laptop = try await Device("laptop", in: folder)
        let phone = try await Device("phone", in: folder)
        let status = SyncStatus(laptop.engine)
        XCTAssertNil(status.report)
        XCTAssertNil(status.lastSync)
        XCTAssertFalse(status.isInStep, "nothing is known yet")
        await wait { status.report != nil }
        XCTAssertEqual(status.devices.map(\.name), ["phone"])
        guard case .stopped = status.state else { return XCTFail("\(status.state)") }

        let start = Date()
        laptop.engine.start()
        await wait { if case .running = status.state { status.lastSync != nil } else { false } }
        XCTAssertGreaterThan(try XCTUnwrap(status.lastSync), start.addingTimeInterval(-1))
        phone.engine.start()
        try await laptop.add("by the laptop")
        try await phone.add("by the phone")
        // The laptop may be in step before the phone has sent what it just wrote. With both rows here nothing more comes.
        var seen = status.lastSync
        while try await laptop.count() < 2 {
            await wait { status.lastSync != seen }
            seen = status.lastSync
        }
        await wait { status.isInStep && status.concerns.isEmpty }
        XCTAssertEqual(status.unpublished, 0)
        XCTAssertEqual(status.devices.map(\.standing), [.inStep])
        await laptop.engine.stop()
        await phone.engine.stop()
        await wait { if case .stopped = status.state { true } else { false } }
    }

    /// A device that only replays sends no change. Its head says that it has everything.
    func testItTellsThatAnotherDeviceHasCaughtUp() async throws {
        let folder = try ScratchFolder()
        let laptop = try await Device("laptop", in: folder)
        let phone = try await Device("phone", in: folder)
        let status = SyncStatus(laptop.engine)
        laptop.engine.start()
        await wait { status.isInStep }
        try await laptop.add("by the laptop")
        await wait { status.unpublished == 0 && status.devices.map(\.standing) != [.inStep] }
        try await phone.engine.sync()
        await wait { status.isInStep }
        await laptop.engine.stop()
    }

    func testItTellsFailuresAndWhatWaits() async throws {
        let folder = try ScratchFolder()
        let laptop = try await Device("laptop", in: folder)
        let status = SyncStatus(laptop.engine)
        laptop.engine.start()
        await wait { status.isInStep }
        try FileManager.default.moveItem(atPath: folder.path("shared"), toPath: folder.path("away"))
        try await laptop.add("while the folder is away", "and another one")
        await wait { status.failure?.code == .containerMissing && status.unpublished == 2 }
        guard case .failing = status.state else { return XCTFail("\(status.state)") }
        XCTAssertEqual(status.report?.container.reachable, false)
        XCTAssertFalse(status.isInStep)
        await wait { status.concerns.contains { $0.kind == .unreachable } }
        try FileManager.default.moveItem(atPath: folder.path("away"), toPath: folder.path("shared"))
        await wait { status.failure == nil && status.isInStep }
        await laptop.engine.stop()
    }

    func testItLetsGoOfNothingButItself() async throws {
        let folder = try ScratchFolder()
        let laptop = try await Device("laptop", in: folder)
        weak var released: SyncStatus?
        do {
            let status = SyncStatus(laptop.engine)
            released = status
            await status.refresh()
            XCTAssertNotNil(status.report)
        }
        // Tasks of the object may be about to end.
        let deadline = ContinuousClock.now + .seconds(60)
        while released != nil, ContinuousClock.now < deadline { await Task.yield() }
        XCTAssertNil(released)
        try await laptop.engine.sync()
    }
}
