import FerryCore
import XCTest

@testable import FerryStore

/// A row that is deleted and inserted again while another device adds to what it was: every order in which the changes
/// arrive gives the same rows and digests.
final class ReinsertedCounterTests: XCTestCase {
    private static let schema = TestSchema(
        name: "picks",
        sql: "CREATE TABLE pick(code TEXT PRIMARY KEY NOT NULL, plays INTEGER, rank INTEGER, tags TEXT, owner TEXT);")

    /// A database without the counter.
    private static let narrow = TestSchema(
        name: "narrow",
        sql: "CREATE TABLE pick(code TEXT PRIMARY KEY NOT NULL, rank INTEGER, tags TEXT, owner TEXT);")

    private let all = "SELECT * FROM pick ORDER BY code"

    private struct Authors {
        let a: TestDevice
        let b: TestDevice
        /// What both know, and what each writes without knowing of the other.
        let known: [Changeset]
        let news: [[Changeset]]
    }

    /// Two devices that know of one row, and then write at the given minutes.
    /// - Parameter isNarrow: the first one does not have the counter.
    private func authors(
        _ first: [(minute: Int64, sql: String)], _ second: [(minute: Int64, sql: String)], isNarrow: Bool = false
    ) throws -> Authors {
        let (a, b) = (try TestDevice(1, isNarrow ? Self.narrow : Self.schema), try TestDevice(2, Self.schema))
        try b.store.setPolicies([
            PolicySetting(table: "pick", column: "plays", .counter),
            PolicySetting(table: "pick", column: "rank", .max), PolicySetting(table: "pick", column: "tags", .set),
            PolicySetting(table: "pick", column: "owner", .firstWriterWins),
        ])
        try b.run("INSERT INTO pick VALUES ('p', 10, 5, '[\"x\"]', 'a')")
        try b.flush()
        try a.receive(b)
        a.clock.now = b.clock.now
        let start = a.clock.now
        let known = a.log + b.log
        let counts = [a.log.count, b.log.count]
        for (device, statements) in [(a, first), (b, second)] {
            for (minute, sql) in statements {
                device.clock.now = start + minute * 60_000
                // The triggers take the time from SQLite; it lies in the past, so the clock's counts.
                try device.run(sql)
                try device.run("UPDATE ferry_pending SET at = \(Self.julianDay(device.clock.now))")
                try device.flush()
            }
        }
        return Authors(
            a: a, b: b, known: known, news: [Array(a.log[counts[0]...]), Array(b.log[counts[1]...])])
    }

    /// A time as SQLite's `julianday` has it.
    private static func julianDay(_ milliseconds: Int64) -> Double { Double(milliseconds) / 86_400_000 + 2_440_587.5 }

    /// All orders in which two logs can arrive.
    private func orders(_ left: ArraySlice<Changeset>, _ right: ArraySlice<Changeset>) -> [[Changeset]] {
        guard let first = left.first, let other = right.first else { return [Array(left) + Array(right)] }
        return orders(left.dropFirst(), right).map { [first] + $0 }
            + orders(left, right.dropFirst()).map { [other] + $0 }
    }

    private func assertEveryOrderAgrees(_ authors: Authors, _ story: String, line: UInt = #line) throws {
        var devices = authors.a.schema.name == Self.schema.name ? [authors.a, authors.b] : [authors.b]
        for order in orders(authors.news[0][...], authors.news[1][...]) {
            for isOneBatch in [true, false] {
                let observer = try TestDevice(devices.count + 3, Self.schema)
                try observer.pass(authors.known)
                for part in isOneBatch ? [order] : order.map({ [$0] }) { try observer.pass(part) }
                devices.append(observer)
            }
        }
        try authors.a.receive(authors.b)
        try authors.b.receive(authors.a)
        let (rows, digests) = (try authors.b.query(all), try authors.b.store.statePosition().digests)
        for device in devices {
            XCTAssertEqual(try device.query(all), rows, "device \(device.id.low), \(story)", line: line)
            XCTAssertEqual(
                try device.store.statePosition().digests, digests, "device \(device.id.low), \(story)", line: line)
        }
        // One whose row was there before, and one to which all came at once.
        for device in devices.prefix(3) {
            XCTAssertEqual(try device.store.verify(deep: true).differences, [], story, line: line)
        }
    }

    func testEveryOrderOfADeletionAnInsertionAndAnAdditionGivesTheSame() throws {
        let changes = [
            "UPDATE pick SET plays = plays + 5", "UPDATE pick SET plays = 70, rank = 1, tags = NULL, owner = 'c'",
            "UPDATE pick SET plays = plays + 5, rank = 9, tags = '[\"x\",\"z\"]', owner = 'd'",
        ]
        for isNarrow in [false, true] {
            for change in changes {
                for minute: Int64 in [1, 3, 5, 7] {
                    let first = [
                        (minute: Int64(2), sql: "DELETE FROM pick"),
                        (minute: 4, sql: "INSERT INTO pick(code, rank, tags, owner) VALUES ('p', 2, '[\"y\"]', 'b')"),
                        (minute: 6, sql: "UPDATE pick SET rank = 3"),
                    ]
                    try assertEveryOrderAgrees(
                        authors(first, [(minute: minute, sql: change)], isNarrow: isNarrow), "\(change) at \(minute)")
                }
            }
        }
    }

    func testEveryOrderOfTwoAdditionsBesideItGivesTheSame() throws {
        for minutes in [(Int64(1), Int64(3)), (3, 5), (1, 7)] {
            let first = [
                (minute: Int64(2), sql: "DELETE FROM pick"),
                (minute: 4, sql: "INSERT INTO pick VALUES ('p', 1, 2, NULL, 'b')"),
                (minute: 6, sql: "DELETE FROM pick"), (minute: 6, sql: "INSERT INTO pick(code) VALUES ('p')"),
            ]
            let second = [
                (minute: minutes.0, sql: "UPDATE pick SET plays = plays + 5, tags = '[\"x\",\"z\"]'"),
                (minute: minutes.1, sql: "UPDATE pick SET plays = plays + 7, rank = 20"),
            ]
            try assertEveryOrderAgrees(authors(first, second), "\(minutes)")
        }
    }
}
