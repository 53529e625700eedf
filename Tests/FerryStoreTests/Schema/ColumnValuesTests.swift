import FerryCore
import FerrySchema
import FerryTestSupport
import XCTest

@testable import FerryStore

final class ColumnValuesTests: XCTestCase {
    private func assertSame(_ values: ColumnValues, _ model: [Int: FieldValue], line: UInt = #line) {
        XCTAssertEqual(values.count, model.count, line: line)
        XCTAssertEqual(values.isEmpty, model.isEmpty, line: line)
        XCTAssertEqual(values.keys, model.keys.sorted(), line: line)
        XCTAssertEqual(values.map(\.key), model.keys.sorted(), line: line)
        var passed: [Int: FieldValue] = [:]
        values.forEachColumn { passed[$0] = $1 }
        XCTAssertEqual(passed, model, line: line)
        for column in 0..<9 {
            XCTAssertEqual(values[column], model[column], line: line)
            XCTAssertEqual(values.has(column), model[column] != nil, line: line)
        }
    }

    func testTheyAreWhatWasSetHoweverManyThereAre() {
        var chance = Chance(seed: 5)
        for _ in 0..<2000 {
            var values = chance.oneIn(2) ? ColumnValues() : ColumnValues(width: 4)
            var model: [Int: FieldValue] = [:]
            for _ in 0..<chance.below(7) {
                let column = chance.below(8)
                let value: FieldValue? = chance.oneIn(3) ? nil : .integer(Int64(column * 10))
                values[column] = value
                model[column] = value
                assertSame(values, model)
            }
            let other: ColumnValues = [3: .null, 5: .integer(1)]
            assertSame(values.overlaid(with: other), model.merging([3: .null, 5: .integer(1)]) { $1 })
            assertSame(values.filter { $0.key.isMultiple(of: 2) }, model.filter { $0.key.isMultiple(of: 2) })
            assertSame(values.mapped { _ in .null }, model.mapValues { _ in .null })
            // The same values, however they came to be there.
            var copy = ColumnValues(width: 8)
            copy[7] = .null
            copy[6] = .null
            copy[7] = nil
            copy[6] = nil
            for (column, value) in model { copy[column] = value }
            XCTAssertTrue(copy == values && values == copy)
            copy[0] = model[0] == nil ? .null : nil
            XCTAssertFalse(copy == values || values == copy)
        }
    }
}
