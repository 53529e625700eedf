import FerryCore
import XCTest

final class BytesTests: XCTestCase {
    func testWhatIsWrittenIsReadBack() throws {
        var writer = ByteWriter()
        let integers: [Int64] = [0, 1, -1, 63, -64, 300, .max, .min]
        for integer in integers { writer.writeZigzag(integer) }
        writer.write32(0x0102_0304)
        writer.write64(.max)
        writer.writeVarint(.max)
        writer.writeCounted("grüße")
        let values: [FieldValue] = [
            .null, .integer(-7), .real(-0.0), .real(.infinity), .text(ArraySlice([0, 0xff, 0x41])), .blob([]),
            .reference(ObjectID(high: 3, low: 4)),
        ]
        for value in values { writer.write(value) }
        var reader = ByteReader(writer.bytes)
        for integer in integers { XCTAssertEqual(try reader.readZigzag(), integer) }
        XCTAssertEqual(try reader.read32(), 0x0102_0304)
        XCTAssertEqual(try reader.read64(), .max)
        XCTAssertEqual(try reader.readVarint(), .max)
        XCTAssertEqual(try reader.readString(), "grüße")
        for value in values { XCTAssertEqual(try reader.readValue(), value) }
        XCTAssertTrue(reader.isAtEnd)
    }

    func testEveryCutOffIsAnErrorAndNoCrash() {
        var writer = ByteWriter()
        writer.write(.text("some text"))
        for count in 0..<writer.count {
            var reader = ByteReader(Array(writer.bytes.prefix(count)))
            XCTAssertThrowsError(try reader.readValue()) { error in
                XCTAssertEqual((error as? FerryError)?.code, .damagedFile)
            }
        }
    }

    func testACountBeyondTheEndAllocatesNothing() {
        var writer = ByteWriter()
        writer.writeVarint(1 << 60)
        var reader = ByteReader(writer.bytes)
        XCTAssertThrowsError(try reader.readCounted())
        var tooLong = ByteReader(Array(repeating: 0xff, count: 11))
        XCTAssertThrowsError(try tooLong.readVarint())
        var unknownTag = ByteReader([9])
        XCTAssertThrowsError(try unknownTag.readValue())
        var notUTF8 = ByteReader([1, 0xff])
        XCTAssertThrowsError(try notUTF8.readString())
    }

    func testIDsKeepTheirBytesAndTheirOrder() throws {
        let id = try XCTUnwrap(ObjectID("00112233-4455-6677-8899-AABBCCDDEEFF"))
        XCTAssertEqual(id.description, "00112233-4455-6677-8899-aabbccddeeff")
        XCTAssertEqual(ObjectID(bytes: id.bytes), id)
        XCTAssertEqual(ObjectID(id.hex), id)
        XCTAssertNil(ObjectID("0011"))
        XCTAssertNil(ObjectID(bytes: [1, 2, 3]))
        XCTAssertLessThan(ObjectID(high: 1, low: .max), ObjectID(high: 2, low: 0))
        XCTAssertTrue(ObjectID(high: 1, low: .max).bytes.lexicographicallyPrecedes(ObjectID(high: 2, low: 0).bytes))
    }

    /// RFC 9562, appendix A.4: version 5 of `www.example.com` in the DNS namespace.
    func testAHashIsTheNameBasedUUIDThatTheStandardSays() throws {
        let namespace = try XCTUnwrap(UniqueID<NamespaceKind>("6ba7b810-9dad-11d1-80b4-00c04fd430c8"))
        let id: ObjectID = ContentHash.hash(Array("www.example.com".utf8), in: namespace)
        XCTAssertEqual(id.description, "2ed6657d-e927-568b-95e1-2665a8aea6a2")
    }

    func testATrailerIsTheChecksumOfWhatComesBefore() {
        let content = Array("content".utf8)
        let checksum = ContentHash.checksum(content)
        var file = content + checksum.bytes
        XCTAssertEqual(ContentHash.verifiedTrailer(of: file), checksum)
        file[0] ^= 1
        XCTAssertNil(ContentHash.verifiedTrailer(of: file))
        XCTAssertNil(ContentHash.verifiedTrailer(of: [1, 2, 3]))
    }

    func testValuesAreTheSameOnlyInTheSameRepresentation() {
        XCTAssertNotEqual(FieldValue.integer(1), .real(1))
        XCTAssertNotEqual(FieldValue.real(0.0), .real(-0.0))
        XCTAssertNotEqual(FieldValue.text("a"), .blob(ArraySlice("a".utf8)))
        XCTAssertEqual(FieldValue.real(.nan), .real(.nan))
        XCTAssertLessThan(FieldValue.null, .integer(.min))
        XCTAssertLessThan(FieldValue.integer(2), .integer(10))
    }
}
