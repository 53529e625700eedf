import FerryCore
import FerryTestSupport
import Foundation
import GRDB
import XCTest

@testable import FerryLive

/// A list that is there before it has been read.
final class LiveIndexCacheTests: XCTestCase {
    private var folder: ScratchFolder!

    override func setUpWithError() throws { folder = try ScratchFolder() }

    private func list(_ pool: DatabasePool, _ title: String = "A") throws -> LiveList {
        LiveList(
            LiveRequest { _ in Album.filter(Column("title") >= title) }, .none, try LiveConnection(pool), objects: nil)
    }

    private func pool() throws -> DatabasePool { try musicPool(in: folder) }

    func testWhatWasSavedComesBackForTheSameRequestOnly() throws {
        let cache = LiveIndexCache(file: URL(fileURLWithPath: folder.path("list")))
        let pool = try pool()
        let list = try list(pool)
        XCTAssertNil(cache.load(list))
        let index = LiveIndex(
            keys: [.integer(-1), .integer(.max), .integer(3)], hashes: [1, 2, 3],
            sections: [LiveSection(name: "ä", rows: 0..<2), LiveSection(name: "", rows: 2..<3)])
        cache.save(index, list)
        let loaded = try XCTUnwrap(cache.load(list))
        XCTAssertTrue(loaded.hasSamePlaces(as: index))
        XCTAssertNil(loaded.hashes)
        XCTAssertNil(cache.load(try self.list(pool, "B")))

        let mixed = LiveIndex(
            keys: [.values(["x".databaseValue, 1.5.databaseValue]), .values([Data([0, 255]).databaseValue])],
            hashes: [1, 2], sections: [LiveSection(name: "", rows: 0..<2)])
        cache.save(mixed, list)
        XCTAssertEqual(cache.load(list)?.keys, mixed.keys)
    }

    func testAPageDoesNotWaitForTheListToBeRead() async throws {
        let pool = try pool()
        let file = URL(fileURLWithPath: folder.path("list"))
        let reading = Reading()
        func albums() throws -> LiveResults<Album> {
            let sections = LiveSections.name { _ in
                reading.pass()
                return ""
            }
            return try LiveResults(in: pool, sections: sections, options: LiveOptions(cache: file)) { _ in
                Album.order(Column("id"))
            }
        }
        let first = try albums()
        var deliveries = first.deliveries.makeAsyncIterator()
        _ = try await deliveries.next()
        first.close()
        while try await deliveries.next() != nil {}

        reading.hold()
        let second = try albums()
        defer { reading.release() }
        var later = second.deliveries.makeAsyncIterator()
        let cached = try await later.next()
        await reading.begun()
        let records = try await XCTUnwrap(cached).records(in: 0..<3)
        XCTAssertTrue(reading.isHeld, "the page waited for the list")
        XCTAssertEqual(cached?.isFromCache, true)
        XCTAssertEqual(records.map { $0?.title }, ["Blue", "Hejira", "Pink Moon"])
    }

    func testADamagedFileIsNone() throws {
        let file = URL(fileURLWithPath: folder.path("list"))
        let cache = LiveIndexCache(file: file)
        let list = try list(pool())
        cache.save(LiveIndex(keys: [.integer(1)], hashes: [1], sections: [LiveSection(name: "", rows: 0..<1)]), list)
        let bytes = try Data(contentsOf: file)
        for count in stride(from: 0, to: bytes.count, by: 7) {
            try bytes.prefix(count).write(to: file)
            XCTAssertNil(cache.load(list), "\(count) bytes")
        }
    }

    /// The second start shows what the first one left, and then what has changed since.
    func testTheNextStartBeginsWithTheCache() async throws {
        let pool = try pool()
        let cache = URL(fileURLWithPath: folder.path("list"))
        let request: @Sendable (Database) -> QueryInterfaceRequest<Album> = { _ in Album.order(Column("title")) }
        do {
            let albums = try LiveResults(
                in: pool, sections: .column("artist"), options: LiveOptions(cache: cache), request)
            var deliveries = albums.deliveries.makeAsyncIterator()
            let first = try await deliveries.next()
            XCTAssertEqual(first?.isFromCache, false)
            albums.close()
            // When the deliveries have ended, the cache is written.
            let end = try await deliveries.next()
            XCTAssertNil(end)
        }
        try await pool.write { database in
            try database.execute(sql: "DELETE FROM album WHERE id = 2; INSERT INTO album VALUES (4, 'Amy', 'Frank')")
        }
        let albums = try LiveResults(in: pool, sections: .column("artist"), options: LiveOptions(cache: cache), request)
        var seen: [LiveDelivery<Album>] = []
        for try await delivery in albums.deliveries {
            seen.append(delivery)
            if !delivery.isFromCache { break }
        }
        // A reader that comes late gets what was read.
        if seen.count == 2 {
            XCTAssertEqual(seen[0].count, 3)
            XCTAssertEqual(seen[1].difference.changes(.deleted).map(\.key), [.integer(2)])
            XCTAssertEqual(seen[1].difference.changes(.inserted).map(\.key), [.integer(4)])
        }
        XCTAssertEqual(seen.last?.sections.map(\.name), ["Joni", "Amy", "Nick"])
    }

    /// A record that was fetched before the list was read may be another by then.
    func testWhatWasFetchedFromTheCacheCountsAsUpdated() {
        let sections = [LiveSection(name: "", rows: 0..<2)]
        let cached = LiveIndex(keys: [.integer(1), .integer(2)], hashes: nil, sections: sections)
        let read = LiveIndex(keys: [.integer(1), .integer(2)], hashes: [1, 2], sections: sections)
        XCTAssertTrue(LiveDifference(from: cached, to: read).isEmpty)
        cached.fetched.withLock { $0 = [.integer(2)] }
        XCTAssertEqual(LiveDifference(from: cached, to: read).changes.map(\.key), [.integer(2)])
    }
}

/// A reading of a list that can be held up at its first row.
private final class Reading: @unchecked Sendable {  // because what changes is only touched under the condition's lock
    private let condition = NSCondition()
    private var mayGoOn = true
    private var hasBegun: [CheckedContinuation<Void, Never>]? = []

    var isHeld: Bool { condition.withLock { !mayGoOn } }
    func hold() { condition.withLock { mayGoOn = false } }

    func release() {
        condition.withLock {
            mayGoOn = true
            condition.broadcast()
        }
    }

    func pass() {
        condition.withLock {
            if mayGoOn { return }
            for waiter in hasBegun ?? [] { waiter.resume() }
            hasBegun = nil
            // Who waits for the end of the reading gets it, and fails.
            let end = Date(timeIntervalSinceNow: 10)
            while !mayGoOn, condition.wait(until: end) {}
            mayGoOn = true
        }
    }

    func begun() async {
        await withCheckedContinuation { continuation in
            condition.withLock {
                if hasBegun == nil { continuation.resume() } else { hasBegun?.append(continuation) }
            }
        }
    }
}
