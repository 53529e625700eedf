import FerryContainer
import FerryCore
import FerryLog
import XCTest

@testable import FerryEngine

/// Logs whose small files stand for much: they are read in parts, and what a disk has no room for waits.
final class LargeLogTests: XCTestCase {
    private let peer = DeviceID(high: 7, low: 7)
    private let megabyte = Array(repeating: UInt8(ascii: "x"), count: 1 << 20)

    /// Publishes segments of a device of nobody's, each with insertions of rows that hold the same text.
    private func publish(_ home: MemoryHome, rows: [Int], of text: [UInt8]) throws {
        var previous: Checksum?
        for (index, count) in rows.enumerated() {
            let sequence = UInt64(index + 1)
            let time = HybridTime(milliseconds: 1_600_000_000_000 + Int64(index))
            let table = TableChanges(
                name: "item", identity: .surrogate, columns: ["name"], shapes: [[0]],
                operations: (0..<count).map {
                    ObjectOperation(
                        object: ObjectID(high: sequence, low: UInt64($0)), kind: .insert, time: time, shape: 0,
                        firstValue: $0)
                }, values: Array(repeating: .text(text[...]), count: count))
            let segment = try SegmentEncoder.encode(
                [Changeset(device: peer, sequence: sequence, time: time, context: VersionVector(), tables: [table])],
                container: home.container.id, previous: previous)
            XCTAssertLessThan(segment.bytes.count, 8192)
            let name = try SegmentName(first: sequence, last: sequence, checksum: segment.checksum)
            try home.container.publish(segment.bytes, name: name, of: peer)
            previous = segment.chainEnd
        }
    }

    private func home() throws -> MemoryHome {
        let home = try MemoryHome()
        try home.addDevice()
        return home
    }

    func testABatchEndsWhereItsContentsAreManyAndTheNextGoesOn() throws {
        let home = try home()
        try publish(home, rows: [200, 56, 1, 255, 300, 2], of: megabyte)
        XCTAssertEqual(try batches(home), [[1], [2], [3, 4], [5], [6]])
    }

    /// Two segments of which neither fills a batch are two batches where they would have more than one may have.
    func testABatchEndsBeforeASegmentThatItHasNoRoomFor() throws {
        let home = try home()
        let full = LogReader.maximumOperations
        try publish(home, rows: [1, full - 1, full / 2, full / 2 + 1, full / 2 - 1, full + 1, 1], of: [])
        XCTAssertEqual(try batches(home), [[1, 2], [3], [4, 5], [6], [7]])
    }

    /// The segments of each batch, until there is nothing more to read.
    private func batches(_ home: MemoryHome) throws -> [[UInt64]] {
        let reader = LogReader(container: try home.container, device: home.replicas[0].identity.device)
        var positions = VersionVector()
        var batches: [[UInt64]] = []
        while true {
            let batch = try reader.read(after: positions, isThorough: true)
            XCTAssertEqual(batch.problems.count, 0)
            for changeset in batch.changesets {
                positions.advance(peer, to: LogPosition(sequence: changeset.sequence, time: changeset.time))
            }
            if !batch.changesets.isEmpty { batches.append(batch.changesets.map(\.sequence)) }
            if !batch.isFull { return batches }
        }
    }

    func testWhatTheDiskHasNoRoomForWaitsAndSaysSo() throws {
        let home = try home()
        try publish(home, rows: [1, 257], of: megabyte)
        home.files.setAvailableBytes((2 * 257 << 20) - 1)
        let replica = home.replicas[0]
        for _ in 0..<2 {
            let report = try replica.sync()
            let waiting = try XCTUnwrap(report.waiting.first)
            XCTAssertEqual(waiting.code, FerryError.Code.limitExceeded.rawValue)
            XCTAssert(waiting.reason.contains("Make room for 1 GB"), waiting.reason)
        }
        // What came before it is here, and what is written here goes out.
        XCTAssertEqual(try replica.store.read { try $0.count("SELECT count(*) FROM item") }, 1)
        try home.write(0, "INSERT INTO item(name) VALUES ('own')")
        XCTAssertEqual(try replica.sync().published.changes, 1)
        home.files.setAvailableBytes(2 * 257 << 20)
        let reader = LogReader(
            container: try home.container, device: replica.identity.device, room: replica.availableBytes)
        let batch = try reader.read(after: replica.store.versionVector(), isThorough: true)
        XCTAssertEqual(batch.changesets.map(\.operationCount), [257])
        XCTAssertEqual(batch.problems.count, 0)
    }
}
