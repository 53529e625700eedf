import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryLog

final class SegmentRoundTripTests: XCTestCase {
    private func roundTrip(_ changesets: [Changeset], _ message: String = "") throws {
        let segment = try SegmentEncoder.encode(changesets, container: Samples.container, previous: nil)
        let (header, decoded) = try SegmentDecoder.decode(
            segment.bytes, container: Samples.container, device: Samples.device)
        assertSame(decoded, changesets, message)
        XCTAssertEqual(header.operationCount, changesets.reduce(0) { $0 + $1.operationCount })
        let again = try SegmentEncoder.encode(decoded, container: Samples.container, previous: nil)
        XCTAssertEqual(again.bytes, segment.bytes, "the decoded changesets encode differently; \(message)")
    }

    private func changeset(_ tables: [TableChanges], sequence: UInt64 = 1) -> Changeset {
        Changeset(
            device: Samples.device, sequence: sequence, time: Samples.start, context: VersionVector(), tables: tables)
    }

    func testEveryKindOfContentComesBack() throws { try roundTrip(Samples.everything()) }

    func testAChangesetWithoutTablesComesBack() throws { try roundTrip([changeset([])]) }

    func testAnIntegerKeyThatMovedComesBack() throws {
        let table = TableChanges(
            name: "song", identity: .surrogateBy("no"), columns: ["id"], shapes: [], operations: [])
        try roundTrip([changeset([table])])
        let schema = SchemaRecord(
            userVersion: 0, applicationID: 0, statements: [],
            tracked: [TrackedTableRecord(name: "song", identity: .surrogateBy("no"))])
        var telling = changeset([])
        telling.schema = schema
        try roundTrip([telling])
    }

    func testThePastOfTablesComesBack() throws {
        for references in [[], [UndeclaredReference(table: "song", column: "album", parent: "album")]] {
            var telling = changeset([])
            telling.schema = SchemaRecord(
                userVersion: 0, applicationID: 0, statements: [],
                tracked: [
                    TrackedTableRecord(name: "album", identity: .surrogate),
                    TrackedTableRecord(name: "song", identity: .surrogate, localName: "track"),
                    TrackedTableRecord(
                        name: "tag", identity: .key(["name", "kind"]), keyCollations: ["BINARY", "NOCASE"]),
                    TrackedTableRecord(
                        name: "place", identity: .key(["name"]), localName: "city", keyCollations: ["RTRIM"]),
                    TrackedTableRecord(
                        name: "genre", identity: .declared(["name", "kind"]), identityColumns: ["label", ""]),
                    TrackedTableRecord(
                        name: "list", identity: .surrogate,
                        renamedColumns: [
                            .init(name: "name (2)", localName: "name"), .init(name: "name", localName: "title"),
                        ]),
                ], references: references)
            try roundTrip([telling])
        }
    }

    func testRandomChangesetsComeBack() throws {
        for seed in UInt64(1)...300 { try roundTrip(Samples.random(seed: seed), "seed \(seed)") }
    }

    func testManySmallChangesetsComeBackAndShareTheirNamesAndPrefixes() throws {
        let changesets = (1...2000).map { sequence in
            changeset(
                [
                    TableChanges(
                        name: "song", identity: .surrogate, columns: ["title", "artist", "rank"], shapes: [[2]],
                        operations: [
                            ObjectOperation(
                                object: ObjectID(high: 1, low: UInt64(sequence % 50)), kind: .update,
                                time: Samples.start, shape: 0, firstValue: 0)
                        ], values: [.integer(Int64(sequence))])
                ], sequence: UInt64(sequence))
        }
        try roundTrip(changesets)
        let segment = try SegmentEncoder.encode(changesets, container: Samples.container, previous: nil)
        XCTAssertLessThan(segment.bytes.count, 2000 * 12)
    }

    func testABlobOfMegabytesComesBack() throws {
        var generator = Chance(seed: 4)
        let values: [FieldValue] = [
            .blob(generator.bytes(3 << 20)), .text(ArraySlice(repeatElement(65, count: 4 << 20))),
        ]
        let operation = ObjectOperation(
            object: generator.id(), kind: .insert, time: .zero, key: .text("key"), shape: 0, firstValue: 0)
        let table = TableChanges(
            name: "file", identity: .surrogate, columns: ["content", "other"], shapes: [[0, 1]],
            operations: [operation], values: values)
        let segment = try SegmentEncoder.encode([changeset([table])], container: Samples.container, previous: nil)
        let decoded = try SegmentDecoder.decode(segment.bytes, container: Samples.container, device: Samples.device).1
        XCTAssertEqual(decoded[0].tables[0].values, values)
    }

    func testNamesThatLookAlikeAndDifferInTheirBytesStayApart() throws {
        let columns = ["caf\u{e9}", "cafe\u{301}"]
        let table = TableChanges(name: "t", identity: .key(columns), columns: columns)
        let segment = try SegmentEncoder.encode([changeset([table])], container: Samples.container, previous: nil)
        let decoded = try SegmentDecoder.decode(segment.bytes, container: Samples.container, device: Samples.device).1
        XCTAssertEqual(decoded[0].tables[0].columns.map { Array($0.utf8) }, columns.map { Array($0.utf8) })
    }

    func testValuesThatLieInAnotherOrderAreFound() throws {
        let operations = [5, 0].enumerated().map { index, first in
            ObjectOperation(
                object: ObjectID(high: 1, low: UInt64(index)), kind: .insert, time: .zero, shape: 0, firstValue: first)
        }
        let table = TableChanges(
            name: "t", identity: .surrogate, columns: ["a", "b"], shapes: [[0, 1]], operations: operations,
            values: [.integer(3), .integer(4), .null, .null, .null, .integer(1), .integer(2)])
        let segment = try SegmentEncoder.encode([changeset([table])], container: Samples.container, previous: nil)
        let decoded = try SegmentDecoder.decode(segment.bytes, container: Samples.container, device: Samples.device).1
        XCTAssertEqual(decoded[0].tables[0].values, [.integer(1), .integer(2), .integer(3), .integer(4)])
    }

    func testTheSameChangesetsGiveTheSameBytes() throws {
        for seed in UInt64(1)...20 {
            let first = try SegmentEncoder.encode(
                Samples.random(seed: seed), container: Samples.container, previous: nil)
            let second = try SegmentEncoder.encode(
                Samples.random(seed: seed), container: Samples.container, previous: nil)
            XCTAssertEqual(first.bytes, second.bytes)
        }
    }

    func testTheHeaderSaysWhatTheSegmentIs() throws {
        let previous = Checksum(high: 8, low: 9)
        let segment = try SegmentEncoder.encode(
            Samples.everything(), container: Samples.container, previous: previous)
        let header = try SegmentDecoder.header(segment.bytes)
        XCTAssertEqual(header.container, Samples.container)
        XCTAssertEqual(header.device, Samples.device)
        XCTAssertEqual([header.firstSequence, header.lastSequence], [7, 8])
        XCTAssertEqual(header.lastTime, Samples.everything()[1].time)
        XCTAssertEqual(header.previous, previous)
        XCTAssertEqual(header.checksum, segment.checksum)
        XCTAssertEqual(header.checksum.bytes, Array(segment.bytes.suffix(16)))
        XCTAssertEqual([header.operationCount, header.valueCount], [5, 11])
    }

    func testSegmentsRolledUpIntoOneStandInTheirPlaceInTheChain() throws {
        for seed in UInt64(1)...40 {
            let changesets = Samples.random(seed: seed)
            var previous: Checksum? = Checksum(high: seed, low: 1)
            var parts: [Segment] = []
            for changeset in changesets {
                let part = try SegmentEncoder.encode([changeset], container: Samples.container, previous: previous)
                previous = part.chainEnd
                parts.append(part)
            }
            let whole = try SegmentEncoder.encode(
                changesets, container: Samples.container, previous: parts[0].previous, tail: previous)
            let (header, decoded) = try SegmentDecoder.decode(
                whole.bytes, container: Samples.container, device: Samples.device)
            assertSame(decoded, changesets, "seed \(seed)")
            XCTAssertEqual(header.previous, Checksum(high: seed, low: 1))
            XCTAssertEqual(header.chainEnd, parts.last?.checksum)
            XCTAssertEqual(whole.chainEnd, header.chainEnd)
            XCTAssertNotEqual(header.checksum, header.chainEnd)
            XCTAssertEqual(header.checksum.bytes, Array(whole.bytes.suffix(16)))
            // Rolled up again: the chain's end stays.
            let again = try SegmentEncoder.encode(
                decoded, container: Samples.container, previous: header.previous, tail: header.chainEnd)
            XCTAssertEqual(again.bytes, whole.bytes)
        }
    }

    func testASchemaTravelsWithItsUndeclaredReferences() throws {
        var changesets = Samples.everything()
        changesets[0].schema?.references = [
            UndeclaredReference(table: "track", column: "album_id", parent: "album"),
            UndeclaredReference(table: "song", column: "Naïve", parent: "song"),
        ]
        let segment = try SegmentEncoder.encode(changesets, container: Samples.container, previous: nil)
        let decoded = try SegmentDecoder.decode(segment.bytes, container: Samples.container, device: Samples.device).1
        assertSame(changesets, decoded)
        XCTAssertEqual(decoded[0].schema?.references.count, 2)
    }

    func testASchemaTravelsWithTheRowsOfMigrationTools() throws {
        var changesets = Samples.everything()
        changesets[0].schema = Samples.schemaWithBookkeeping
        let segment = try SegmentEncoder.encode(changesets, container: Samples.container, previous: nil)
        let decoded = try SegmentDecoder.decode(segment.bytes, container: Samples.container, device: Samples.device).1
        assertSame(changesets, decoded)
        XCTAssertEqual(decoded[0].schema?.bookkeeping, Samples.schemaWithBookkeeping.bookkeeping)
    }

    func testASchemaHoldsNoMoreRowsOfMigrationToolsThanAReaderTakes() throws {
        func encode(_ rows: [[FieldValue]]) throws -> [UInt8] {
            var changesets = Samples.everything()
            changesets[0].schema?.bookkeeping = [BookkeepingRows(table: "t", columns: ["v"], rows: rows)]
            return try SegmentEncoder.encode(changesets, container: Samples.container, previous: nil).bytes
        }
        assertThrows(.limitExceeded) { _ = try encode(Array(repeating: [.null], count: 100_001)) }
        assertThrows(.internalInconsistency) { _ = try encode([[.reference(ObjectID(high: 1, low: 1))]]) }
        let large = Array(repeating: FieldValue.text(String(repeating: "x", count: 1 << 19)), count: 3).map { [$0] }
        assertThrows(.damagedFile) {
            _ = try SegmentDecoder.decode(encode(large), container: Samples.container, device: Samples.device)
        }
        XCTAssertNoThrow(
            try SegmentDecoder.decode(
                encode(Array(large.prefix(2))), container: Samples.container, device: Samples.device))
    }

    /// Later versions of Ferry may say more of a schema.
    func testASchemaOfALaterFormAsksForANewerFerry() throws {
        for bytes in [[UInt8(5)], [255]] {
            var reader = ByteReader(bytes)
            assertThrows(.formatTooNew) { _ = try SchemaEncoding.readForm(from: &reader) }
        }
    }
}
