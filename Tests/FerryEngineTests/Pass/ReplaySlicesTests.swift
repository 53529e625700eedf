import FerryContainer
import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// While another program writes, a batch is replayed in transactions of some 70 ms. Otherwise in one.
final class ReplaySlicesTests: XCTestCase {
    // MARK: Sizes

    private func changesets(_ sizes: [Int]) -> [Changeset] {
        let device = DeviceID(high: 1, low: 2)
        return sizes.enumerated().map { index, size in
            let sequence = UInt64(index + 1)
            let time = HybridTime(milliseconds: 1000 + Int64(sequence))
            let row = ForgedDevice.row(
                "t", .key(["k"]), key: nil, object: ObjectID(high: 3, low: 4), fields: [:], kind: .update)
            var table = row
            table.operations = Array(repeating: row.operations[0], count: size)
            return Changeset(device: device, sequence: sequence, time: time, context: VersionVector(), tables: [table])
        }
    }

    private func divided(_ sizes: [Int]) -> [[Int]] {
        let slices = ReplaySlices()
        var rest = changesets(sizes)[...]
        var found: [[Int]] = []
        while !rest.isEmpty {
            let slice = slices.next(rest)
            found.append(slice.map(\.operationCount))
            rest = rest[slice.endIndex...]
        }
        return found
    }

    func testASliceHasWholeChangesetsUpToItsSize() {
        let full = ReplaySlices.firstOperations
        XCTAssertEqual(divided([full]), [[full]])
        XCTAssertEqual(divided([full, 1]), [[full], [1]])
        XCTAssertEqual(divided([1, full - 1, 0, 1]), [[1, full - 1, 0], [1]])
        XCTAssertEqual(divided([1, full * 3, 1, 1]), [[1], [full * 3], [1, 1]])
        XCTAssertEqual(divided([0, 0]), [[0, 0]])
    }

    func testTheSizeFollowsTheTime() {
        var slices = ReplaySlices()
        slices.took(ReplaySlices.duration, operations: slices.operations)
        XCTAssertEqual(slices.operations, ReplaySlices.firstOperations)
        slices.took(ReplaySlices.duration / 4 * 3, operations: slices.operations)
        XCTAssertEqual(Double(slices.operations), Double(ReplaySlices.firstOperations) * 4 / 3, accuracy: 1)
        // One odd measurement moves the size by no more than twice.
        for _ in 0..<40 {
            let former = slices.operations
            slices.took(.seconds(3600), operations: 1)
            XCTAssertGreaterThanOrEqual(slices.operations * 2 + 1, former)
        }
        XCTAssertEqual(slices.operations, ReplaySlices.bounds.lowerBound)
        for _ in 0..<40 { slices.took(.nanoseconds(1), operations: 1_000_000_000) }
        XCTAssertEqual(slices.operations, ReplaySlices.bounds.upperBound)
        slices.took(.zero, operations: 5)
        slices.took(.seconds(1), operations: 0)
        XCTAssertEqual(slices.operations, ReplaySlices.bounds.upperBound)
    }

    // MARK: A batch

    private static let schema = """
        CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT UNIQUE, plays INTEGER);
        CREATE TABLE setting(name TEXT PRIMARY KEY NOT NULL, value);
        CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT); INSERT INTO setting VALUES ('volume', 11);
        """
    private static let rows =
        "SELECT title, plays FROM song ORDER BY 1; SELECT * FROM setting ORDER BY 1; SELECT body FROM note ORDER BY 1;"

    /// Device 1 lacks 12 changesets of device 0, of 1,000 operations each.
    private func household() throws -> Fleet {
        let fleet = try Fleet.two(Self.schema)
        for part in 0..<12 {
            try fleet.shell(
                0,
                """
                WITH RECURSIVE n(i) AS (SELECT \(part * 1000) UNION ALL SELECT i + 1 FROM n WHERE i < \(part * 1000 + 999))
                INSERT INTO song(title, plays) SELECT 'song ' || i, i FROM n
                """)
            _ = try fleet.replicas[0].sync()
        }
        return fleet
    }

    /// Writes as another program, through a connection of its own.
    private static func write(_ body: String, to path: String) {
        do {
            let store = try Store(path: path)
            try store.write { try $0.executeScript("INSERT INTO note(body) VALUES ('\(body)')") }
            try store.close()
        } catch {
            XCTFail("\(error)")
        }
    }

    /// Syncs device 1, while another program writes before each transaction of a pass, or does not.
    /// - Returns: the report, and the number of transactions.
    private func sync(_ fleet: Fleet, beside isWriting: Bool) throws -> (report: SyncReport, transactions: Int) {
        let (count, path) = (Locked(0), fleet.databasePath(1))
        let store = fleet.replicas[1].store
        store.beforeWriteLock.withLock {
            $0 = { urgency in
                guard case .pass = urgency else { return }
                let number = count.withLock {
                    $0 += 1
                    return $0
                }
                guard isWriting else { return }
                Self.write("before transaction \(number)", to: path)
            }
        }
        defer { store.beforeWriteLock.withLock { $0 = nil } }
        let hasWritten = Locked(false)
        let report = try fleet.replicas[1].sync { _ in
            // Between the reading of the logs and the first transaction.
            guard isWriting, !hasWritten.withLock({ $0 }) else { return }
            hasWritten.withLock { $0 = true }
            Self.write("at first", to: path)
        }
        return (report, count.withLock { $0 })
    }

    func testABatchIsOneTransactionWhereNobodyWrites() throws {
        let fleet = try household()
        let (report, transactions) = try sync(fleet, beside: false)
        XCTAssertEqual(report.replayed.changes, 12_000)
        // The replay, and what a sync records behind it.
        XCTAssertEqual(transactions, 2)
        try fleet.assertEqual(Self.rows)
    }

    func testABatchIsSeveralTransactionsWhileAnotherProgramWrites() throws {
        let fleet = try household()
        let (report, transactions) = try sync(fleet, beside: true)
        XCTAssertEqual(report.replayed.changes, 12_000)
        XCTAssertEqual(report.replayed.segments, 12)
        XCTAssertGreaterThan(transactions, 2)
        try fleet.settle()
        try fleet.assertEqual(Self.rows)
        let notes = try fleet.shell(0, "SELECT count(*) FROM note")
        XCTAssertGreaterThan(try XCTUnwrap(Int(notes.trimmingCharacters(in: .whitespacesAndNewlines))), transactions)
        for replica in fleet.replicas { XCTAssertEqual(try replica.verify(deep: true).differences.count, 0) }
        // What is replayed is known: nothing comes twice.
        XCTAssertEqual(try fleet.replicas[1].sync().replayed.changes, 0)
    }

    func testAForgedLogStopsAloneInSlices() throws {
        let fleet = try household()
        let evil = try ForgedDevice(fleet.containerPath)
        try evil.publish([ForgedDevice.row("note", fields: ["body": .text([0x78])])])
        let reference = FieldValue.reference(ObjectID(high: 7, low: 7))
        let name = try evil.publish([ForgedDevice.row("song", key: reference, fields: ["title": .null])])
        let (report, transactions) = try sync(fleet, beside: true)
        XCTAssertGreaterThan(transactions, 2)
        XCTAssertEqual(report.waiting.map(\.device), ["evil"])
        XCTAssertEqual(report.waiting.first?.file.map { ($0 as NSString).lastPathComponent }, name.fileName)
        try fleet.settle()
        try fleet.assertEqual(Self.rows)
        let peer = try XCTUnwrap(try fleet.replicas[1].status().devices.first { $0.name == "evil" })
        XCTAssertEqual(peer.behind, 1)
    }
}
