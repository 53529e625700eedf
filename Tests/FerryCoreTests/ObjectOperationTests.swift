import FerryCore
import XCTest

/// A changeset has very many operations, so one is kept small, whatever its key is.
final class ObjectOperationTests: XCTestCase {
    func testAnOperationTakes48Bytes() { XCTAssertEqual(MemoryLayout<ObjectOperation>.stride, 48) }

    func testEveryKindOfKeyIsKept() {
        var operation = ObjectOperation(
            object: ObjectID(high: 1, low: 2), kind: .insert, time: HybridTime(rawValue: 3), shape: 4, firstValue: 5)
        XCTAssertNil(operation.key)
        let keys: [FieldValue] = [
            .integer(.min), .integer(7), .real(0.5), .text("key"), .blob([1, 2]), .null,
            .reference(ObjectID(high: 8, low: 9)),
        ]
        for key in keys {
            operation.key = key
            XCTAssertEqual(operation.key, key)
            let other = operation
            operation.key = nil
            XCTAssertNil(operation.key)
            XCTAssertEqual(other.key, key)
        }
        operation.shape = 1 << 20
        XCTAssertEqual(operation.shape, 1 << 20)
        XCTAssertEqual(operation.firstValue, 5)
    }
}
