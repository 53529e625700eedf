import FerryCore
import XCTest

@testable import FerryStore

/// Insertions that a device without memory of the deletion takes for new rows: the deletion is written again behind them.
final class RepeatedDeletionTests: XCTestCase {
    private static let notes = TestSchema(
        name: "notes", sql: "CREATE TABLE note(code TEXT PRIMARY KEY NOT NULL, text TEXT);")

    private func devices(_ count: Int) throws -> [TestDevice] {
        try (1...count).map { try TestDevice($0, Self.notes) }
    }

    /// All devices replay everything, and know that the others did.
    private func exchange(_ devices: [TestDevice]) throws {
        for device in devices { try device.flush() }
        for _ in 0..<3 {
            for device in devices {
                device.clock.now += 1000
                for other in devices { try device.receive(other) }
            }
        }
    }

    private func assertAlike(_ devices: [TestDevice], _ rows: [String], line: UInt = #line) throws {
        let expected = try devices[0].store.statePosition()
        for device in devices {
            XCTAssertEqual(
                try device.query("SELECT code, text FROM note ORDER BY 1"), rows, "device \(device.id.low)", line: line)
            let position = try device.store.statePosition()
            XCTAssertEqual(position.vector, expected.vector, "device \(device.id.low)", line: line)
            XCTAssertEqual(position.digests, expected.digests, "device \(device.id.low)", line: line)
        }
    }

    /// The first device forgets a deletion, and writes the insertion of a lost branch again. The deletion's author still
    /// knows the deletion.
    func testADeletionIsRepeatedWhereADeviceInsertsTheForgottenRowAgain() throws {
        let all = try devices(3)
        try all[2].run("INSERT INTO note VALUES ('a', '1'), ('b', '2')")
        try exchange(all)
        try all[1].run("DELETE FROM note WHERE code = 'a'")
        try exchange(all)
        XCTAssertEqual(try all[0].collectTombstones(all), 1)
        _ = try all[0].store.mergeBranches(all[2].log, of: all[2].id, after: .none, encode: all[0].encode)
        XCTAssertEqual(try all[0].query("SELECT count(*) FROM note"), ["2"])
        let sent = all[1].log.count
        try all[1].receive(all[0])
        XCTAssertEqual(all[1].log.count, sent + 1)
        try exchange(all)
        try assertAlike(all, ["b|2"])
    }

    /// A device deletes a row and forgets the deletion, while nobody counts a device that inserted the same row before. The insertion
    /// of the second device lost to the first device's later one.
    func testADeletionIsRepeatedBehindAnInsertionUnknownToTheAuthor() throws {
        let all = try devices(2)
        try all[1].run("INSERT INTO note VALUES ('a', 'second')")
        try all[1].flush()
        all[0].clock.now += 60_000
        try all[0].run("INSERT INTO note VALUES ('a', 'first')")
        try all[0].flush()
        try all[0].run("DELETE FROM note")
        try all[0].flush()
        XCTAssertEqual(try all[0].collectTombstones([all[0]]), 1)
        all[1].clock.now += 120_000
        try all[1].receive(all[0])
        try exchange(all)
        try assertAlike(all, [])
    }

    /// The insertion is known to the author of the deletion: nothing is written again.
    func testNothingIsRepeatedWhereTheAuthorKnewTheInsertion() throws {
        let all = try devices(2)
        try all[1].run("INSERT INTO note VALUES ('a', '1')")
        try exchange(all)
        try all[0].run("DELETE FROM note")
        try exchange(all)
        XCTAssertEqual(all.map { $0.log.map(\.operationCount).reduce(0, +) }, [1, 1])
        try assertAlike(all, [])
    }
}
