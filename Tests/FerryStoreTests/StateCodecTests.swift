import FerryCore
import XCTest

@testable import FerryStore

/// Bytes of the state that Ferry did not write: a damaged database is told, and nothing is made of it.
final class StateCodecTests: XCTestCase {
    private func assertDamaged(_ bytes: [UInt8], line: UInt = #line, _ decode: ([UInt8]) throws -> Void) {
        XCTAssertThrowsError(try decode(bytes), line: line) {
            XCTAssertEqual(($0 as? FerryError)?.code, .databaseCorrupt, "\($0)", line: line)
        }
    }

    func testAColumnOrDeviceThatCannotBeIsDamage() {
        let fields = { bytes in
            _ = try StateCodec.decodeFields(bytes, span: 0, inserted: nil) { _ in DeviceID(high: 0, low: 1) }
        }
        var writer = ByteWriter()
        writer.writeVarint(1 << 20)
        writer.writeVarint(0)
        assertDamaged(writer.bytes, fields)
        writer = ByteWriter()
        writer.writeVarint(0)
        writer.writeVarint(.max)
        writer.write64(0)
        assertDamaged(writer.bytes, fields)
        for column: UInt64 in [1 << 20 + 1, .max] {
            writer = ByteWriter()
            writer.writeVarint(column)
            writer.write(FieldValue.null)
            assertDamaged(writer.bytes) { _ = try StateCodec.decodeKeptAndGiven($0) }
        }
    }
}
