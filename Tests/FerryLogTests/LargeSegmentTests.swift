import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryLog

/// Segments that stand for more than they hold: many values that are alike, and contents that stand often.
final class LargeSegmentTests: XCTestCase {
    private func decode(
        _ bytes: [UInt8], valuesAtOnce: Int = SegmentLimits.valuesAtOnce, fewValues: Int = BlockValues.few
    ) throws -> (header: SegmentHeader, changesets: [Changeset]) {
        try SegmentDecoder.decode(
            bytes, container: Samples.container, device: Samples.device, valuesAtOnce: valuesAtOnce,
            fewValues: fewValues)
    }

    private func encode(_ changesets: [Changeset], tail: Checksum? = nil) throws -> [UInt8] {
        try SegmentEncoder.encode(changesets, container: Samples.container, previous: nil, tail: tail).bytes
    }

    // MARK: Values

    func testValuesThatAreReadWhenTheyAreAskedForAreTheSameAndAreWrittenTheSame() throws {
        let samples = [Samples.everything(), Samples.payloads()] + (UInt64(1)...12).map { Samples.random(seed: $0) }
        for (number, sample) in samples.enumerated() {
            let bytes = try encode(sample)
            for atOnce in [1, 2, 7, 64, 1000] {
                let (header, changesets) = try decode(bytes, valuesAtOnce: atOnce)
                let isLate = header.valueCount > atOnce
                for table in changesets.flatMap(\.tables) where !table.operations.isEmpty {
                    XCTAssertEqual(table.source != nil, isLate)
                    XCTAssert(!isLate || table.values.isEmpty)
                }
                assertSame(sample, changesets, "sample \(number), \(atOnce) at once")
                XCTAssertEqual(try encode(changesets), bytes, "sample \(number), \(atOnce) at once")
            }
        }
    }

    func testValuesThatAreMadeOfTheirColumnsAreTheSameAndAreWrittenTheSame() throws {
        let samples = [Samples.everything(), Samples.payloads()] + (UInt64(1)...12).map { Samples.random(seed: $0) }
        for (number, sample) in samples.enumerated() {
            let bytes = try encode(sample)
            for few in [0, 1, 7, 64] {
                let (_, changesets) = try decode(bytes, fewValues: few)
                for table in changesets.flatMap(\.tables) {
                    XCTAssertEqual(table.source != nil, table.valueCount > few)
                    XCTAssert(table.source == nil || table.values.isEmpty)
                }
                assertSame(sample, changesets, "sample \(number), \(few) are few")
                XCTAssertEqual(try encode(changesets), bytes, "sample \(number), \(few) are few")
            }
        }
    }

    func testSchemasAreReadWithoutTheLastChangesetsTables() throws {
        for sample in [Samples.everything()] + (UInt64(1)...5).map({ Samples.random(seed: $0) }) {
            let bytes = try encode(sample)
            let (header, changesets) = try SegmentDecoder.decodeSchemas(
                bytes, container: Samples.container, device: Samples.device)
            XCTAssertEqual(header.lastSequence, sample.last?.sequence)
            XCTAssertEqual(changesets.map(\.sequence), sample.map(\.sequence))
            XCTAssertEqual(changesets.map(\.time), sample.map(\.time))
            XCTAssertEqual(changesets.map(\.schema), sample.map(\.schema))
            XCTAssertEqual(changesets.last?.tables.count, 0)
        }
    }

    /// Of a long body its beginning is enough, where the schema is in it.
    func testTheSchemaOfALongSegmentIsRead() throws {
        for names in [3, 20_000] {
            var chance = Chance(seed: UInt64(names))
            var changeset = try XCTUnwrap(Samples.everything().first { $0.schema != nil })
            let schema = try XCTUnwrap(changeset.schema)
            let operations = (0..<20_000).map { place in
                ObjectOperation(
                    object: ObjectID(high: UInt64(place), low: chance.next()), kind: .insert, time: changeset.time,
                    shape: 0,
                    firstValue: place)
            }
            // Many columns that nothing is in: their names stand before the schema.
            changeset.tables = [
                TableChanges(
                    name: "long", identity: .key(["id"]), columns: (0..<names).map { "column \($0)" }, shapes: [[0]],
                    operations: operations, values: operations.map { .text("\($0.object)") })
            ]
            let bytes = try SegmentEncoder.encode([changeset], container: Samples.container, previous: nil).bytes
            XCTAssertGreaterThan(try SegmentDecoder.header(bytes).bodyBytes, 256 << 10)
            let (_, read) = try SegmentDecoder.decodeSchemas(
                bytes, container: Samples.container, device: Samples.device)
            XCTAssertEqual(read.map(\.schema), [schema])
            XCTAssertEqual(read.first?.tables.count, 0)
            // Damage is found all the same.
            var damaged = bytes
            damaged[bytes.count - 40] ^= 1
            XCTAssertThrowsError(
                try SegmentDecoder.decodeSchemas(damaged, container: Samples.container, device: Samples.device))
        }
    }

    func testValuesAreFoundInAnyOrderOfTheOperations() throws {
        for seed in Seeds(defaultCount: 20).all {
            var chance = Chance(seed: seed)
            let bytes = try encode(Samples.random(seed: seed))
            let whole = try decode(bytes).changesets.flatMap(\.tables)
            let late =
                try
                (chance.below(2) == 0
                ? decode(bytes, valuesAtOnce: chance.below(40) + 1) : decode(bytes, fewValues: chance.below(40)))
                .changesets.flatMap(\.tables)
            for (whole, late) in zip(whole, late) where !whole.operations.isEmpty {
                for _ in 0..<200 {
                    let place = chance.below(whole.operations.count)
                    XCTAssertEqual(
                        Array(whole.values(of: whole.operations[place])),
                        Array(late.values(of: late.operations[place])),
                        "seed \(seed)")
                }
            }
        }
    }

    /// The body of a segment of one changeset in which all of `rows` rows of a table were inserted, every column written
    /// by `column`.
    private func body(
        rows: Int, columns: Int, keys: (inout ByteWriter) -> Void, column: (inout ByteWriter) -> Void
    ) -> [UInt8] {
        var writer = ByteWriter()
        let names = ["t"] + (0..<columns).map { "c\($0)" }
        writer.writeVarint(UInt64(names.count))
        for name in names { writer.writeCounted(Array(name.utf8)) }
        writer.writeVarint(0)  // no devices
        writer.writeVarint(1)  // one prefix
        for _ in 0..<12 { writer.write(7) }
        for number in [1, 0, 0, columns] { writer.writeVarint(UInt64(number)) }  // a layout of the table 0, surrogate
        for name in 1...columns { writer.writeVarint(UInt64(name)) }
        writer.writeVarint(Samples.start.rawValue)
        for _ in 0..<2 { writer.writeVarint(0) }  // no context, no schema
        for number in [1, 0, 1, columns] { writer.writeVarint(UInt64(number)) }  // one table, one shape
        for _ in 0..<columns { writer.writeVarint(0) }
        for number in [rows, 1, rows, 0, 2, 1, rows, 0, 0, 0, rows] { writer.writeVarint(UInt64(number)) }
        keys(&writer)
        for _ in 0..<columns { column(&writer) }
        return writer.bytes
    }

    private func file(_ body: [UInt8], rows: Int, columns: Int) throws -> [UInt8] {
        let stored = try XCTUnwrap(Compression.compress(body))
        let header = SegmentHeader(
            container: Samples.container, device: Samples.device, firstSequence: 1, lastSequence: 1,
            lastTime: Samples.start, checksum: Checksum(high: 0, low: 0), bodyBytes: body.count, operationCount: rows,
            valueCount: rows * columns, codec: .zlib, storedBytes: stored.count)
        return SegmentEncoder.assemble(header, stored: stored).bytes
    }

    private func withoutKeys(_ rows: Int) -> (inout ByteWriter) -> Void {
        { writer in for number in [8, rows] { writer.writeVarint(UInt64(number)) } }
    }

    func testAFewHundredBytesThatStandForAsManyValuesAsMayBeLeaveThemInTheFile() throws {
        let (rows, columns) = (1 << 18, 1 << 7)
        XCTAssertEqual(rows * columns, SegmentLimits.values)
        let body = body(rows: rows, columns: columns, keys: withoutKeys(rows)) { writer in
            for number in [0, rows] { writer.writeVarint(UInt64(number)) }  // a run of NULL
        }
        let bytes = try file(body, rows: rows, columns: columns)
        XCTAssertLessThan(bytes.count, 1000)
        let table = try decode(bytes).changesets[0].tables[0]
        XCTAssertEqual(table.operations.count, rows)
        XCTAssertEqual(table.valueCount, SegmentLimits.values)
        XCTAssertTrue(table.values.isEmpty)
        for operation in [table.operations[rows - 1], table.operations[0]] {
            XCTAssertEqual(Array(table.values(of: operation)), Array(repeating: .null, count: columns))
        }
        // One more is damage, and nothing is made of it.
        assertThrows(.damagedFile) { _ = try decode(file(body, rows: rows, columns: columns + 1)) }
    }

    /// Whatever shapes operations have, no more values are handed out at once than may be.
    func testAWindowHoldsNoMoreValuesThanItMay() throws {
        let rows = 64
        let object = { (row: Int) in ObjectID(high: 1, low: UInt64(row)) }
        for shapes in [[[0, 1, 2, 3, 4, 5, 6, 7], []], [[0], [1, 2]], [[0, 1, 2, 3, 4, 5, 6, 7]]] {
            var table = TableChanges(
                name: "t", identity: .surrogate, columns: (0..<8).map { "c\($0)" }, shapes: shapes)
            for row in 0..<rows {
                let shape = row * shapes.count / rows
                table.operations.append(
                    ObjectOperation(
                        object: object(row), kind: .update, time: Samples.start, shape: shape,
                        firstValue: table.values.count))
                for column in shapes[shape] { table.values.append(.integer(Int64(row * 100 + column))) }
            }
            let changeset = Changeset(
                device: Samples.device, sequence: 1, time: Samples.start, context: VersionVector(), tables: [table])
            for atOnce in [1, 8, 40, 100] {
                let late = try decode(encode([changeset]), valuesAtOnce: atOnce).changesets[0].tables[0]
                var most = 0
                for operation in late.operations {
                    let values = late.values(of: operation)
                    XCTAssertEqual(Array(values), Array(table.values(of: operation)))
                    most = max(most, (late.source as? BlockValues)?.valuesInMemory ?? 0)
                }
                XCTAssertLessThanOrEqual(most, atOnce)
                if atOnce >= 40, table.values.count > atOnce { XCTAssertGreaterThan(most, 0) }
            }
        }
    }

    // MARK: Contents

    private let megabyte = Array(repeating: UInt8(ascii: "x"), count: 1 << 20)

    /// Insertions of rows that all hold the same megabyte.
    private func equalRows(_ count: Int) -> Changeset {
        let table = TableChanges(
            name: "t", identity: .surrogate, columns: ["a"], shapes: [[0]],
            operations: (0..<count).map {
                ObjectOperation(
                    object: ObjectID(high: 1, low: UInt64($0)), kind: .insert, time: Samples.start, shape: 0,
                    firstValue: $0)
            }, values: Array(repeating: .text(megabyte[...]), count: count))
        return Changeset(
            device: Samples.device, sequence: 1, time: Samples.start, context: VersionVector(), tables: [table])
    }

    func testAsManyContentsAsMayBeAreWrittenAndReadAndMoreAreRefused() throws {
        let most = SegmentLimits.contentBytes >> 20
        let bytes = try encode([equalRows(most)])
        XCTAssertLessThan(bytes.count, 8192)
        let (header, changesets) = try decode(bytes)
        XCTAssertEqual(header.contentBytes, SegmentLimits.contentBytes)
        XCTAssertEqual(changesets[0].operationCount, most)
        assertThrows(.limitExceeded) { _ = try encode([equalRows(most + 1)]) }
    }

    func testAForeignSegmentWithMoreContentsIsDamaged() throws {
        let most = SegmentLimits.contentBytes >> 20
        for (rows, isRefused) in [(most, false), (most + 1, true)] {
            let body = body(rows: rows, columns: 1, keys: withoutKeys(rows)) { writer in
                // A run of texts; a dictionary of one content, of a megabyte; every index is 0.
                for number in [3, rows, 1, 1, 0, 2 << 20] { writer.writeVarint(UInt64(number)) }
                writer.write(contentsOf: megabyte)
                for number in [0, 0] { writer.writeVarint(UInt64(number)) }
            }
            let bytes = try file(body, rows: rows, columns: 1)
            XCTAssertLessThan(bytes.count, 8192)
            if isRefused {
                assertThrows(.damagedFile) { _ = try decode(bytes) }
                do {
                    let lines = try IndependentReader.lines(of: bytes)
                    XCTAssertNil(lines, "it is read")
                } catch let refusal as IndependentReader.Refusal {
                    XCTAssert(refusal.output.contains("too many bytes of texts"), refusal.output)
                }
            } else {
                XCTAssertEqual(try decode(bytes).header.contentBytes, SegmentLimits.contentBytes)
            }
        }
    }

    func testKeysAreContentsToo() throws {
        var changeset = equalRows(3)
        for index in 0..<3 { changeset.tables[0].operations[index].key = .text("four") }
        XCTAssertEqual(try decode(encode([changeset])).header.contentBytes, 3 << 20 | 12)
    }

    func testSegmentsWithMoreContentsTogetherThanAWriterPlansStayApart() throws {
        let planned = SegmentLimits.plannedContentBytes >> 20
        let tail = Checksum(high: 1, low: 2)
        XCTAssertNoThrow(try encode([equalRows(planned)], tail: tail))
        assertThrows(.limitExceeded) { _ = try encode([equalRows(planned + 1)], tail: tail) }
        // Nobody can divide a changeset: it is written, and read, as long as it is alone.
        XCTAssertEqual(
            try decode(encode([equalRows(planned + 1)])).header.contentBytes,
            SegmentLimits.plannedContentBytes + (1 << 20))
    }
}
