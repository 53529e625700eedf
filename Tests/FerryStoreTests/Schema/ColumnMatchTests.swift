import XCTest

@testable import FerryStore

/// Which columns of a table made anew hold which former values.
final class ColumnMatchTests: XCTestCase {
    private func hash(_ column: Int, _ value: String) -> UInt64 {
        "\(column):\(value)".utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    /// - Parameters:
    ///   - former: the values of each row by the former columns.
    ///   - present: the values of each row by the present columns.
    ///   - conversions: the former values that a present value may stand for.
    private func proven(
        _ named: [Int?], _ former: [[String]], _ present: [[String]], movable: Set<Int>? = nil,
        conversions: [String: [String]] = [:]
    ) -> [Int?]? {
        let samples = zip(former, present).map { old, new in
            ColumnMatch.Sample(
                sum: old.enumerated().reduce(0) { $0 &+ hash($1.offset, $1.element) },
                shares: named.indices.map { column in
                    new.map { value in ([value] + (conversions[value] ?? [])).map { hash(column, $0) } }
                },
                dropped: named.indices.map { column in ["", "0"].map { hash(column, $0) } },
                isUsual: new.map { $0.isEmpty || $0 == "0" })
        }
        return ColumnMatch(
            named: named, presentCount: present.first?.count ?? 0, movable: movable ?? Set(named.indices), samples
        ).proven()
    }

    func testAColumnHasAnotherName() {
        XCTAssertEqual(proven([nil, 1], [["one", "1"], ["two", "2"]], [["one", "1"], ["two", "2"]]), [0, 1])
        XCTAssertEqual(proven([nil], [["one"], ["two"]], [["", "one"], ["", "two"]]), [1])
    }

    func testAFormerNameHasAnotherColumn() {
        XCTAssertEqual(
            proven([0, 1], [["one", "1"], ["two", "2"]], [["new", "1", "one"], ["new", "2", "two"]]), [2, 1])
        XCTAssertEqual(
            proven([0, nil], [["one", "x"], ["two", "y"]], [["x", "one"], ["y", "two"]]), [1, 0])
    }

    func testColumnsThatKeepTheirValuesKeepTheirNames() {
        XCTAssertNil(proven([0], [["one"], ["two"]], [["one", "one"], ["two", "two"]]))
        XCTAssertNil(proven([0], [["one"], ["two"]], [["ONE", ""], ["TWO", ""]]))
    }

    func testADroppedColumnAndANewOneAreNotOne() {
        XCTAssertNil(proven([0, nil], [["one", "x"], ["two", ""]], [["one", ""], ["two", ""]]))
        XCTAssertNil(
            proven([0, nil], [["one", ""], ["two", ""]], [["one", ""], ["two", ""]]), "usual values say nothing")
        XCTAssertNil(proven([nil], [["x"]], [["x"]], movable: []))
        XCTAssertNil(proven([nil], [], []))
    }

    func testAFewRowsThatSomebodyWroteDisproveNothing() {
        let former = (0..<20).map { ["name \($0)"] }
        var present = former
        present[7] = ["written"]
        XCTAssertEqual(proven([nil], former, present), [0])
        for row in 0..<5 { present[row] = ["written too"] }
        XCTAssertNil(proven([nil], former, present))
    }

    func testAnotherColumnMayBeConvertedInTheSameMigration() {
        let former = [["one", "1"], ["two", "2"]]
        let present = [["one", "1.0"], ["two", "2.0"]]
        XCTAssertNil(proven([nil, 1], former, present))
        XCTAssertEqual(proven([nil, 1], former, present, conversions: ["1.0": ["1"], "2.0": ["2"]]), [0, 1])
    }

    func testAnotherColumnWithoutContentMayBeDroppedInTheSameMigration() {
        XCTAssertEqual(
            proven([nil, nil], [["", "one"], ["0", "two"]], [["new", "one"], ["new", "two"]]), [nil, 1])
        XCTAssertNil(proven([nil, nil], [["x", "one"], ["y", "two"]], [["new", "one"], ["new", "two"]]))
        XCTAssertNil(proven([nil], [[""], [""]], [[], []]), "nothing moved")
    }
}
