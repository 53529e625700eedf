import FerryCore
import FerryEngine
import FerryStore
import Foundation
import XCTest

@testable import FerryKeyValue

final class ExternalChangeTests: XCTestCase {
    func testOthersChangesAreToldAndOwnOnesAreNot() throws {
        let pair = try TwoStores()
        let changes = Collected(pair.second.externalChanges)
        try pair.first.set(1, forKey: "a")
        try pair.first.add("m", toSet: "s")
        try pair.first.increment("c")
        try pair.second.set(1, forKey: "own")
        try pair.settle()
        changes.wait("the first changes") { $0.count == 1 }
        XCTAssertEqual(changes.all[0].keys, ["a"])
        XCTAssertEqual(changes.all[0].sets, ["s"])
        XCTAssertEqual(changes.all[0].counters, ["c"])
        try pair.first.removeValue(forKey: "a")
        try pair.settle()
        changes.wait("a removal") { $0.count == 2 }
        XCTAssertEqual(changes.all[1], KeyValueChange(reason: .remoteChange, keys: ["a"]))
    }

    func testTheFirstChangesFromOthersAreTheInitialSync() throws {
        let pair = try TwoStores()
        let changes = Collected(pair.second.externalChanges)
        try pair.first.set(1, forKey: "a")
        try pair.settle()
        changes.wait("the initial sync") { $0 == [KeyValueChange(reason: .initialSync, keys: ["a"])] }
    }

    /// SQL writes the tables without a word. Whoever follows a value hears of it with the pass that sends it.
    func testAValueThatSQLWroteIsTold() async throws {
        let pair = try TwoStores()
        try pair.first.set("first", forKey: "theme")
        try pair.first.increment("launches", by: 1)
        let values = Collected(pair.first.values(forKey: "theme"))
        let counts = Collected(pair.first.values(ofCounter: "launches"))
        values.wait("the present value") { $0 == ["first"] }
        counts.wait("the present counter") { $0 == [1] }
        try pair.engines[0].store.write {
            try $0.execute("UPDATE ferry_kv_value SET value = 'by SQL' WHERE key = 'theme'")
            try $0.execute("UPDATE ferry_kv_counter SET amount = 7")
        }
        try await pair.engines[0].sync()
        values.wait("the value by SQL") { $0.last == .some("by SQL") }
        counts.wait("the counter by SQL") { $0.last == 7 }
    }

    func testAnotherProcessIsTold() throws {
        let pair = try TwoStores()
        try pair.first.set(0, forKey: "a")
        let other = try KeyValueStore(Store(path: pair.databasePath(0)))
        let changes = Collected(other.externalChanges)
        try pair.first.set(1, forKey: "b")
        // Replayed by one process, told in both.
        try pair.second.set(1, forKey: "c")
        try pair.settle()
        try other.checkForChanges()
        changes.wait("both") {
            Set($0) == [
                KeyValueChange(reason: .remoteChange, keys: ["c"]), KeyValueChange(reason: .localChange, keys: ["b"]),
            ]
        }
    }

    func testGoingBeyondTheLimitTogetherIsTold() throws {
        var limits = KeyValueLimits()
        limits.keys = 2
        let pair = try TwoStores(limits: limits)
        try pair.first.set(1, forKey: "a")
        try pair.first.set(1, forKey: "b")
        try pair.second.set(1, forKey: "c")
        let changes = Collected(pair.second.externalChanges)
        try pair.settle()
        changes.wait("the violation") { $0.contains { $0.reason == .quotaViolation && $0.keys == ["a", "b"] } }
        XCTAssertEqual(try pair.second.dictionaryRepresentation().count, 3)
        assertFails(.limitExceeded) { try pair.second.set(1, forKey: "d") }
    }

    func testLeavingTheContainerIsTold() throws {
        let pair = try TwoStores()
        let changes = Collected(pair.second.externalChanges)
        _ = try pair.engines[1].replica.leave()
        try pair.second.checkForChanges()
        changes.wait("the change") { $0 == [KeyValueChange(reason: .containerChange)] }
        XCTAssertThrowsError(try pair.second.set(1, forKey: "a"))
    }

    func testAKeyACounterAndASetAreFollowed() throws {
        let pair = try TwoStores()
        let values = Collected(pair.second.values(forKey: "k"))
        let counter = Collected(pair.second.values(ofCounter: "c"))
        let members = Collected(pair.second.members(followingSet: "s"))
        values.wait("nothing yet") { $0 == [nil] }
        counter.wait("zero") { $0 == [0] }
        members.wait("empty") { $0 == [[]] }
        try pair.second.set(1, forKey: "k")
        try pair.second.set(1, forKey: "other")
        values.wait("its own") { $0 == [nil, 1] }
        pair.waitForALaterMillisecond()
        try pair.first.set(2, forKey: "k")
        try pair.first.increment("c")
        try pair.first.add("m", toSet: "s")
        try pair.settle()
        values.wait("the other's") { $0.last == 2 }
        counter.wait("one") { $0 == [0, 1] }
        members.wait("one member") { $0 == [[], ["m"]] }
    }

    func testAFollowerThatCouldNotReadIsSignalledByTheNextCheck() throws {
        let pair = try TwoStores()
        let members = Collected(pair.second.members(followingSet: "s"))
        members.wait("empty") { $0 == [[]] }
        try pair.first.add("m", toSet: "s")
        for engine in pair.engines { _ = try engine.replica.sync() }
        let store = pair.engines[1].replica.store
        try store.write { try $0.execute("ALTER TABLE ferry_kv_member RENAME TO away") }
        pair.second.broadcast.reportOwn(KeyValueName(.set, "s"))
        XCTAssertTrue(isSoInTime { !pair.second.broadcast.unread.isEmpty }, "no read failed")
        try store.write { try $0.execute("ALTER TABLE away RENAME TO ferry_kv_member") }
        try pair.second.checkForChanges()
        members.wait("the member") { $0.last == ["m"] }
    }

    func testWatchingEnginesBringChangesByThemselves() async throws {
        let pair = try TwoStores()
        let changes = Collected(pair.second.externalChanges)
        for engine in pair.engines { engine.start() }
        try pair.first.set("dark", forKey: "theme")
        changes.wait("it arrives") { $0.contains { $0.keys == ["theme"] } }
        XCTAssertEqual(try pair.second.string(forKey: "theme"), "dark")
        for engine in pair.engines { await engine.stop() }
    }

    func testSynchronizeBringsAndSends() async throws {
        let pair = try TwoStores()
        try pair.first.set(1, forKey: "a")
        try await pair.first.synchronize()
        try await pair.second.synchronize()
        XCTAssertEqual(try pair.second.int64(forKey: "a"), 1)
    }

    func testStreamsEndWithTheStore() async throws {
        let pair = try TwoStores()
        var store: KeyValueStore? = try KeyValueStore(pair.engines[0])
        let changes = try XCTUnwrap(store).externalChanges
        let values = try XCTUnwrap(store).values(forKey: "k")
        store = nil
        for await _ in changes {}
        for await _ in values {}
    }
}
