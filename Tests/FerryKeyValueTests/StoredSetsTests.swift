import FerryCore
import FerryEngine
import FerryStore
import Foundation
import XCTest

@testable import FerryKeyValue

final class StoredSetsTests: XCTestCase {
    func testConcurrentAdditionsOfDifferentMembersBothSurvive() throws {
        let pair = try TwoStores()
        XCTAssertTrue(try pair.first.add("a", toSet: "s"))
        XCTAssertFalse(try pair.first.add("a", toSet: "s"))
        XCTAssertEqual(try pair.second.add(contentsOf: ["b", "c", "a", ""], toSet: "s"), 4)
        try pair.second.add("x", toSet: "other")
        try pair.settle()
        for store in pair.stores {
            XCTAssertEqual(try store.members(ofSet: "s"), ["a", "b", "c", ""])
            XCTAssertEqual(try store.count(ofSet: "s"), 4)
            XCTAssertTrue(try store.contains("b", inSet: "s"))
            XCTAssertFalse(try store.contains("b", inSet: "other"))
            XCTAssertEqual(try store.setNames(), ["s", "other"])
            XCTAssertEqual(try store.members(ofSet: "unknown"), [])
        }
    }

    func testOfAdditionAndDiscardTheLaterCounts() throws {
        let pair = try TwoStores()
        try pair.first.add(contentsOf: ["stays", "goes"], toSet: "s")
        try pair.settle()
        // Discarded here, then discarded and added again there.
        try pair.first.discard("stays", fromSet: "s")
        pair.waitForALaterMillisecond()
        try pair.second.discard("stays", fromSet: "s")
        try pair.second.add("stays", toSet: "s")
        // Added again here, and then discarded there.
        try pair.first.discard("goes", fromSet: "s")
        try pair.first.add("goes", toSet: "s")
        pair.waitForALaterMillisecond()
        XCTAssertTrue(try pair.second.discard("goes", fromSet: "s"))
        try pair.settle()
        for store in pair.stores { XCTAssertEqual(try store.members(ofSet: "s"), ["stays"]) }
        XCTAssertFalse(try pair.first.discard("goes", fromSet: "s"))
    }

    func testAHundredThousandMembersAreAddedAtOnceAndTravel() throws {
        let pair = try TwoStores()
        let members = (0..<100_000).map { "https://example.org/articles/\($0)" }
        let start = ContinuousClock.now
        XCTAssertEqual(try pair.first.add(contentsOf: members, toSet: "read"), members.count)
        let added = ContinuousClock.now
        try pair.first.add("one more", toSet: "read")
        let addedOne = ContinuousClock.now
        try pair.settle()
        print(
            "100,000 members: added in \(start.duration(to: added)), one more in \(added.duration(to: addedOne)), "
                + "in step after \(addedOne.duration(to: .now))")
        XCTAssertEqual(try pair.second.count(ofSet: "read"), members.count + 1)
        XCTAssertEqual(try pair.second.members(ofSet: "read"), Set(members + ["one more"]))
    }

    func testBeyondALimitNothingIsAdded() throws {
        var limits = KeyValueLimits()
        limits.members = 3
        limits.memberBytes = 5
        let pair = try TwoStores(limits: limits)
        let store = pair.first
        try store.add(contentsOf: ["a", "b"], toSet: "s")
        assertFails(.limitExceeded, naming: "members") { try store.add(contentsOf: ["c", "d"], toSet: "s") }
        assertFails(.limitExceeded, naming: "memberBytes") { try store.add(contentsOf: ["c", "123456"], toSet: "s") }
        XCTAssertEqual(try store.members(ofSet: "s"), ["a", "b"])
        XCTAssertEqual(try store.add(contentsOf: ["c", "a"], toSet: "s"), 1)
        // Another process makes room, which a remembered count must not hide.
        let other = try KeyValueStore(Store(path: pair.databasePath(0)), limits: limits)
        try other.discard(contentsOf: ["a", "b"], fromSet: "s")
        XCTAssertEqual(try store.add(contentsOf: ["x", "y"], toSet: "s"), 2)
        assertFails(.limitExceeded, naming: "members") { try store.add("z", toSet: "s") }
        // And so does another device.
        try pair.settle()
        try pair.second.discard("x", fromSet: "s")
        try pair.settle()
        try store.add("z", toSet: "s")
    }
}
