import FerryCore
import FerryEngine
import FerryStore
import Foundation
import XCTest

@testable import FerryKeyValue

final class StoredCountersTests: XCTestCase {
    func testConcurrentAdditionsAddUp() throws {
        let trio = try TwoStores(count: 3)
        for round in 1...3 {
            for (index, store) in trio.stores.enumerated() {
                for _ in 0...index { try store.increment("c", by: Int64(index + 1)) }
            }
            if round < 3 { _ = try trio.engines[round].replica.sync() }
        }
        try trio.settle()
        // Three rounds of 1·1, 2·2 and 3·3.
        for store in trio.stores { XCTAssertEqual(try store.counter("c"), 42) }
        XCTAssertEqual(try trio.second.increment("c", by: -2), 40)
        XCTAssertEqual(try trio.second.counterNames(), ["c"])
        XCTAssertEqual(try trio.first.counter("unknown"), 0)
    }

    func testDeliveringAgainAddsNothing() throws {
        let pair = try TwoStores()
        try pair.first.increment("c", by: 5)
        try pair.settle()
        try pair.first.increment("c", by: 5)
        try pair.settle()
        // A device that joins late replays everything, in one batch; syncing again finds nothing.
        let late = try Replica.join(
            databasePath: pair.databasePath(9), containerPath: pair.folder.appendingPathComponent("container").path,
            name: "late")
        let store = try KeyValueStore(try XCTUnwrap(late.replica).store)
        for _ in 0..<3 {
            _ = try late.replica?.sync()
            try pair.settle()
        }
        XCTAssertEqual(try store.counter("c"), 10)
        XCTAssertEqual(try store.increment("c"), 11)
        XCTAssertEqual(try pair.second.counter("c"), 10)
    }

    func testACounterStaysWithinSixtyFourBits() throws {
        let pair = try TwoStores()
        try pair.first.increment("c", by: .max)
        assertFails(.limitExceeded) { try pair.first.increment("c") }
        XCTAssertEqual(try pair.first.counter("c"), .max)
        try pair.second.increment("c", by: 10)
        try pair.settle()
        // Neither knew of the other: the sum is cut off where it is read, and comes back.
        XCTAssertEqual(try pair.second.counter("c"), .max)
        assertFails(.limitExceeded) { try pair.second.increment("c") }
        try pair.second.increment("c", by: -20)
        XCTAssertEqual(try pair.second.counter("c"), .max - 10)
    }
}
