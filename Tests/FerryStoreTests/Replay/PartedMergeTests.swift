import FerryCore
import FerrySQL
import XCTest

@testable import FerryStore

/// Merges whose objects are settled in parts, and what makes room for them in memory.
final class PartedMergeTests: XCTestCase {
    private static let pairs = TestSchema(
        name: "pairs", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE, x TEXT);")
    private static let family = TestSchema(
        name: "family",
        sql: """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p ON DELETE CASCADE, name TEXT, UNIQUE(p, name));
            """)
    private static let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) "

    private func devices(_ schema: TestSchema, seedsAtOnce: Int) throws -> [TestDevice] {
        let devices = try [TestDevice(1, schema), TestDevice(2, schema, hoursAhead: 1)]
        for device in devices { device.store.seedsAtOnce.withLock { $0 = seedsAtOnce } }
        return devices
    }

    private func merge(_ devices: [TestDevice]) throws {
        for device in devices { try device.flush() }
        try devices[0].receive(devices[1])
        try devices[1].receive(devices[0])
        for device in devices { XCTAssertTrue(try device.store.verify(deep: true).isSound) }
    }

    func testRowsThatBecomeOneInPairsDoSoInAnyParts() throws {
        for seedsAtOnce in [1, 7, 49, 50, 1000] {
            let devices = try devices(Self.pairs, seedsAtOnce: seedsAtOnce)
            try devices[0].run(Self.numbers + "INSERT INTO t SELECT i, 'name ' || i, 'first' FROM n")
            try devices[1].run(Self.numbers + "INSERT INTO t SELECT i + 7, 'name ' || i, 'second' FROM n")
            try merge(devices)
            for device in devices {
                XCTAssertEqual(
                    try device.query("SELECT count(*), count(DISTINCT name), min(x), max(x) FROM t"),
                    ["50|50|second|second"], "in parts of \(seedsAtOnce)")
            }
        }
    }

    /// A part that concerns all others is settled with them.
    func testChildrenOfParentsThatBecomeOneDoSoInAnyParts() throws {
        for seedsAtOnce in [1, 7, 1000] {
            let devices = try devices(Self.family, seedsAtOnce: seedsAtOnce)
            for (number, device) in devices.enumerated() {
                try device.run("INSERT INTO p VALUES (\(number + 1), 'parent')")
                try device.run(Self.numbers + "INSERT INTO c(p, name) SELECT \(number + 1), 'name ' || i FROM n")
            }
            try merge(devices)
            for device in devices {
                XCTAssertEqual(
                    try device.query("SELECT count(*), count(DISTINCT name), count(DISTINCT p) FROM c"), ["50|50|1"],
                    "in parts of \(seedsAtOnce)")
                XCTAssertEqual(try device.query("PRAGMA foreign_key_check"), [])
            }
        }
    }

    func testThePageCacheHasItsSizeAgain() throws {
        let device = try TestDevice(1, Self.pairs)
        try device.run("PRAGMA cache_size = -50000")
        try device.store.write { connection in
            let cache = PageCache(connection)
            let meanwhile = try cache.restoring {
                try cache.shrink()
                try cache.shrink()
                return try connection.count("PRAGMA cache_size")
            }
            XCTAssertEqual(meanwhile, -PageCache.leastKiB)
            XCTAssertEqual(try connection.count("PRAGMA cache_size"), -50_000)
            XCTAssertThrowsError(
                try cache.restoring {
                    try cache.shrink()
                    throw FerryError(.busy, "It fails.")
                })
            XCTAssertEqual(try connection.count("PRAGMA cache_size"), -50_000)
            // An app's own small one stays.
            try connection.execute("PRAGMA cache_size = 100")
            XCTAssertEqual(
                try cache.restoring {
                    try cache.shrink()
                    return try connection.count("PRAGMA cache_size")
                }, 100)
        }
    }

    func testKeyHoldersForgetAndRemember() {
        var holders: KeyHolders = [:]
        let (one, other) = (ObjectID(high: 1, low: 1), ObjectID(high: 2, low: 2))
        for key in [FieldValue.integer(5), .text("five")] {
            XCTAssertNil(holders[key])
            holders[key] = nil
            XCTAssertNil(holders[key])
            holders[key] = (one, false)
            holders[key] = (other, true)
            XCTAssertEqual(holders[key]?.object, other)
            XCTAssertEqual(holders[key]?.isGone, true)
            holders[key] = nil
            XCTAssertNil(holders[key])
            holders[key] = (one, false)
            XCTAssertEqual(holders[key]?.object, one)
        }
    }
}
