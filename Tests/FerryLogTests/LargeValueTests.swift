import FerryCore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryLog

/// Values that lie in parts, beside the file that refers to them.
final class LargeValueTests: XCTestCase {
    /// Keeps parts as a device's directory does.
    private final class Shelf {
        var files: [Checksum: [UInt8]] = [:]
        var count = 0

        func output(_ settings: LargeValueSettings = LargeValueSamples.settings) -> PartOutput {
            PartOutput(settings) { part, file in
                self.files[part.checksum] = file
                self.count += 1
            }
        }

        var source: PartSource {
            .files(
                read: { part in
                    guard let file = self.files[part.checksum] else {
                        throw FerryError(.fileNotThereYet, "A part is not there yet.")
                    }
                    return file
                }, place: { $0.checksum.hex })
        }
    }

    private func encode(
        _ changesets: [Changeset], _ shelf: Shelf, _ settings: LargeValueSettings = LargeValueSamples.settings,
        tail: Checksum? = nil
    ) throws -> [UInt8] {
        try SegmentEncoder.encode(
            changesets, container: Samples.container, previous: nil, tail: tail, parts: shelf.output(settings)
        ).bytes
    }

    private func decode(
        _ bytes: [UInt8], _ source: PartSource, valuesAtOnce: Int = SegmentLimits.valuesAtOnce,
        fewValues: Int = BlockValues.few
    ) throws -> (header: SegmentHeader, changesets: [Changeset]) {
        try SegmentDecoder.decode(
            bytes, container: Samples.container, device: Samples.device, valuesAtOnce: valuesAtOnce,
            fewValues: fewValues, parts: source)
    }

    // MARK: Segments

    func testLargeValuesLieInPartsAndComeBack() throws {
        let shelf = Shelf()
        let bytes = try encode(LargeValueSamples.changesets(), shelf)
        XCTAssertEqual(bytes[4], 4)
        for (header, changesets) in [
            try decode(bytes, shelf.source), try decode(bytes, shelf.source, valuesAtOnce: 2),
            try decode(bytes, shelf.source, fewValues: 1),
        ] {
            assertSame(changesets, LargeValueSamples.changesets())
            // 41 letters, 150 bytes that stand twice in three parts, 64 bytes.
            XCTAssertEqual(header.largeValues.map(\.count).sorted(), [41, 64, 150])
            XCTAssertEqual(header.largeValues.map(\.parts.count).sorted(), [1, 1, 3])
            XCTAssertGreaterThan(header.contentBytes, 41 + 64 + 2 * 150)
        }
        XCTAssertEqual(shelf.files.count, 5)
    }

    func testWithoutLargeValuesASegmentIsWhatItWas() throws {
        for sample in [Samples.everything(), Samples.payloads()] + (UInt64(1)...8).map({ Samples.random(seed: $0) }) {
            let plain = try SegmentEncoder.encode(sample, container: Samples.container, previous: nil).bytes
            let shelf = Shelf()
            XCTAssertEqual(try encode(sample, shelf, LargeValueSettings()), plain)
            XCTAssertTrue(shelf.files.isEmpty)
        }
    }

    func testRandomSegmentsComeBackWhateverTheThreshold() throws {
        for seed in UInt64(1)...20 {
            let sample = seed == 1 ? Samples.payloads() : Samples.random(seed: seed)
            var settings = LargeValueSettings()
            settings.threshold = Int(seed % 7)
            settings.partBytes = 1 + Int(seed % 5)
            let shelf = Shelf()
            let tail = seed.isMultiple(of: 3) ? Checksum(high: 9, low: seed) : nil
            let bytes = try encode(sample, shelf, settings, tail: tail)
            let (header, changesets) = try decode(bytes, shelf.source)
            XCTAssertEqual(header.tail, tail)
            assertSame(changesets, sample, "seed \(seed)")
            // A value that came from parts is written like any other.
            XCTAssertEqual(
                try SegmentEncoder.encode(changesets, container: Samples.container, previous: nil).bytes,
                try SegmentEncoder.encode(sample, container: Samples.container, previous: nil).bytes)
        }
    }

    func testAValueThatNoSegmentCanHoldTravels() throws {
        let value = FieldValue.blob(Array(repeating: 7, count: SegmentLimits.valueBytes + 1)[...])
        var changesets = LargeValueSamples.changesets()
        changesets[0].tables[0].values[1] = value
        XCTAssertThrowsError(
            try SegmentEncoder.encode(changesets, container: Samples.container, previous: nil)
        ) { XCTAssertEqual(($0 as? FerryError)?.code, .limitExceeded) }
        let shelf = Shelf()
        let bytes = try encode(changesets, shelf, LargeValueSettings())
        XCTAssertLessThan(bytes.count, 2000)
        // Sixteen equal parts of 8 MiB are one file, and a byte is left.
        XCTAssertEqual(shelf.files.count, 2)
        XCTAssertTrue(isSame(try decode(bytes, shelf.source).changesets[0].tables[0].values[1], value))
    }

    func testARowWhoseValuesAreLargeTogetherTravels() throws {
        var table = TableChanges(
            name: "photo", identity: .surrogate, columns: ["a", "b", "c"], shapes: [[0, 1, 2]],
            operations: [
                ObjectOperation(
                    object: ObjectID(high: 1, low: 1), kind: .insert, time: Samples.start, key: .integer(1), shape: 0,
                    firstValue: 0)
            ])
        // They do not get smaller by compression.
        var chance = Chance(seed: 4)
        for _ in 0..<3 {
            table.values.append(
                .blob(
                    [UInt8](unsafeUninitializedCapacity: 90 << 20) { bytes, count in
                        let words = UnsafeMutableRawBufferPointer(bytes).bindMemory(to: UInt64.self)
                        for index in words.indices { words[index] = chance.next() }
                        count = 90 << 20
                    }[...]))
        }
        let changesets = [
            Changeset(
                device: Samples.device, sequence: 1, time: Samples.start, context: VersionVector(), tables: [table])
        ]
        let shelf = Shelf()
        let bytes = try encode(changesets, shelf, LargeValueSettings())
        XCTAssertEqual(shelf.files.count, 36)
        for (read, written) in zip(try decode(bytes, shelf.source).changesets[0].tables[0].values, table.values) {
            XCTAssertTrue(isSame(read, written))
        }
    }

    /// Compares the bytes of large blobs at once.
    private func isSame(_ left: FieldValue, _ right: FieldValue) -> Bool {
        guard case .blob(let left) = left, case .blob(let right) = right, left.count == right.count else {
            return false
        }
        return left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in
                guard let first = left.baseAddress, let second = right.baseAddress else { return left.isEmpty }
                return memcmp(first, second, left.count) == 0
            }
        }
    }

    func testAValueLargerThanARowMayBeIsRefused() throws {
        var changesets = LargeValueSamples.changesets()
        changesets[0].tables[0].values[1] = .blob(
            [UInt8](unsafeUninitializedCapacity: SegmentLimits.largeValueBytes + 1) { _, count in
                count = SegmentLimits.largeValueBytes + 1
            }[...])
        XCTAssertThrowsError(try encode(changesets, Shelf(), LargeValueSettings())) {
            XCTAssertEqual(($0 as? FerryError)?.code, .limitExceeded)
        }
    }

    // MARK: What is not there, or damaged

    func testAPartThatIsNotThereYetIsToldAsSuch() throws {
        let shelf = Shelf()
        let bytes = try encode(LargeValueSamples.changesets(), shelf)
        for (checksum, file) in shelf.files {
            func fails(_ code: FerryError.Code, with damaged: [UInt8]?, line: UInt = #line) {
                shelf.files[checksum] = damaged
                XCTAssertThrowsError(try decode(bytes, shelf.source), line: line) {
                    XCTAssertEqual(($0 as? FerryError)?.code, code, "\($0)", line: line)
                    XCTAssertEqual(($0 as? FerryError)?.path, checksum.hex, line: line)
                }
                shelf.files[checksum] = file
            }
            fails(.fileNotThereYet, with: nil)
            for count in [0, 3, 4, 20, 40, file.count - 1] { fails(.fileNotThereYet, with: Array(file.prefix(count))) }
            fails(.fileNotThereYet, with: Array(repeating: 0, count: file.count))
            fails(.fileNotThereYet, with: file.dropLast(16) + Array(repeating: 0, count: 16))
            for place in [0, 5, 6, 30, 41, file.count - 1] {
                var damaged = file
                damaged[place] ^= 1
                fails(.damagedFile, with: damaged)
            }
            var newer = file
            newer[4] = 2
            fails(.formatTooNew, with: newer)
            // Another part, whole and right in itself.
            if let other = shelf.files.first(where: { $0.key != checksum }) { fails(.damagedFile, with: other.value) }
        }
    }

    func testAPartOfAnotherContainerIsForeign() throws {
        let shelf = Shelf()
        let bytes = try encode(LargeValueSamples.changesets(), shelf)
        let stranger = try PartFile.encode([1, 2, 3], container: ContainerID(high: 6, low: 6))
        for checksum in shelf.files.keys { shelf.files[checksum] = stranger.bytes }
        XCTAssertThrowsError(try decode(bytes, shelf.source)) {
            XCTAssertEqual(($0 as? FerryError)?.code, .foreignFile)
        }
    }

    func testWithoutPartsNothingIsReadByMistake() throws {
        let bytes = try encode(LargeValueSamples.changesets(), Shelf())
        XCTAssertThrowsError(
            try SegmentDecoder.decode(bytes, container: Samples.container, device: Samples.device))
        let (header, changesets) = try decode(bytes, .leftOut)
        XCTAssertEqual(header.largeValues.count, 3)
        XCTAssertEqual(changesets[0].tables[0].values[1], .null)
        XCTAssertEqual(changesets[0].tables[0].values[3], .text("small"))
        XCTAssertEqual(
            try SegmentDecoder.decodeSchemas(bytes, container: Samples.container, device: Samples.device).1.count, 1)
    }

    func testAnOlderReaderStopsAtTheVersion() throws {
        // A reader of version 3 compares the version alone: nothing behind it is looked at.
        let bytes = try encode(LargeValueSamples.changesets(), Shelf())
        XCTAssertGreaterThan(bytes[4], 3)
        var newer = bytes
        newer[4] = SegmentHeader.version + 1
        XCTAssertThrowsError(try SegmentDecoder.header(newer)) {
            XCTAssertEqual(($0 as? FerryError)?.code, .formatTooNew)
        }
    }

    func testNoBodyCrashesTheDecoder() throws {
        let shelf = Shelf()
        let segment = try encode(LargeValueSamples.changesets(), shelf)
        let header = try SegmentHeader(file: segment)
        let stored = segment[header.bodyRange]
        let body =
            header.codec == .zlib
            ? try Compression.decompress(stored, bodyLength: header.bodyBytes) : Array(stored)
        var chance = Chance(seed: 12)
        for place in body.indices {
            for _ in 0..<6 {
                var damaged = body
                damaged[place] = UInt8(truncatingIfNeeded: chance.next())
                var header = header
                // Whatever it says is read, or damage.
                do {
                    _ = try BodyDecoder.decode(damaged[...], header: &header, parts: shelf.source)
                } catch {
                    XCTAssertTrue(
                        [.damagedFile, .fileNotThereYet, .formatTooNew].contains(error.code), "\(place): \(error)")
                }
            }
        }
    }

    func testAListOfManyGigabytesBuysNoMemory() throws {
        // One part of 64 MiB, named again and again.
        var body = ByteWriter()
        for _ in 0..<4 { body.writeVarint(0) }  // no names, devices, prefixes, layouts
        body.writeVarint(1)
        body.writeVarint(17)
        for _ in 0..<17 {
            body.write(Checksum(high: 1, low: 1))
            body.writeVarint(UInt64(SegmentLimits.partBytes))
        }
        var header = try SegmentHeader(file: encode(LargeValueSamples.changesets(), Shelf()))
        XCTAssertThrowsError(
            try BodyDecoder.decode(
                body.bytes[...], header: &header,
                parts: .files(
                    read: { _ in
                        XCTFail("a part was read")
                        return []
                    }, place: { _ in nil }))
        ) { XCTAssertEqual(($0 as? FerryError)?.code, .damagedFile) }
    }

    // MARK: Snapshots

    func testChunksHaveLargeValuesInParts() throws {
        let shelf = Shelf()
        let chunk = LargeValueSamples.chunk()
        let (bytes, checksum) = try SnapshotChunkEncoder.encode(
            chunk, container: Samples.container, parts: shelf.output())
        XCTAssertEqual(bytes[4], 2)
        XCTAssertEqual(shelf.files.count, 4)
        let (read, told) = try SnapshotChunkDecoder.decode(bytes, container: Samples.container, parts: shelf.source)
        XCTAssertEqual(read, chunk)
        XCTAssertEqual(told, checksum)
        XCTAssertEqual(try SnapshotChunkDecoder.verify(bytes, container: Samples.container), checksum)
        XCTAssertThrowsError(try SnapshotChunkDecoder.decode(bytes, container: Samples.container))
        let plain = try SnapshotChunkEncoder.encode(chunk, container: Samples.container).bytes
        XCTAssertEqual(plain[4], 1)
        XCTAssertEqual(
            try SnapshotChunkEncoder.encode(
                chunk, container: Samples.container, parts: shelf.output(LargeValueSettings())
            ).bytes, plain)
    }

    func testManifestsNameTheParts() throws {
        let manifest = LargeValueSamples.manifest()
        let (bytes, checksum) = try SnapshotManifestEncoder.encode(manifest)
        XCTAssertEqual(bytes[4], 4)
        let (read, told) = try SnapshotManifestDecoder.decode(bytes, container: Samples.container)
        XCTAssertEqual(read, manifest)
        XCTAssertEqual(told, checksum)
        XCTAssertEqual(manifest.chunkBytes, 620)
        var without = manifest
        without.tables[0].chunks[0].parts = []
        XCTAssertEqual(try SnapshotManifestEncoder.encode(without).bytes[4], 1)
    }

    // MARK: Golden files

    func testGoldenFilesAreStillReadAndWritten() throws {
        let source = try Golden.source()
        let segment = try Golden.bytes("segment-v4-large-values.base64")
        let (header, changesets) = try SegmentDecoder.decode(
            segment, container: Samples.container, device: Samples.device, parts: source)
        XCTAssertEqual(header.formatVersion, 4)
        assertSame(changesets, LargeValueSamples.changesets())
        let chunk = try Golden.bytes("chunk-v2-large-values.base64")
        XCTAssertEqual(
            try SnapshotChunkDecoder.decode(chunk, container: Samples.container, parts: source).chunk,
            LargeValueSamples.chunk())
        let manifest = try Golden.bytes("manifest-v4-parts.base64")
        XCTAssertEqual(
            try SnapshotManifestDecoder.decode(manifest, container: Samples.container).manifest,
            LargeValueSamples.manifest())
    }
}
