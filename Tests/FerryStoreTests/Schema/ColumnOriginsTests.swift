import FerryTestSupport
import XCTest

@testable import FerrySchema

/// The columns that a trigger records, by their numbers.
final class ColumnOriginsTests: XCTestCase {
    func testNamesAreReadBesideTheirNumbers() {
        let text =
            #"CREATE TRIGGER ferry_3_delete AFTER DELETE ON "a ) b" BEGIN INSERT INTO ferry_pending("table", event, at, k0) "#
            + #"VALUES (3, 3, julianday('now'), OLD."id"); INSERT INTO ferry_old_3(sequence, c0, c2, c11) "#
            + #"VALUES (last_insert_rowid(), OLD."a, OLD.""x""", OLD."(b)", OLD."c"); END"#
        XCTAssertEqual(
            ColumnOrigins.recordedColumns(text, in: "ferry_old_3"), [0: "a, OLD.\"x\"", 2: "(b)", 11: "c"])
        XCTAssertEqual(ColumnOrigins.recordedColumns(text, in: "ferry_old_33"), [:])
    }

    func testATextWithOtherListsSaysNothing() {
        let text = "INSERT INTO ferry_old_3(sequence, c0, c2) VALUES (last_insert_rowid(), OLD.\"a\"); END"
        XCTAssertEqual(ColumnOrigins.recordedColumns(text, in: "ferry_old_3"), [:])
        XCTAssertEqual(ColumnOrigins.recordedColumns("", in: "ferry_old_3"), [:])
    }

    func testMasksNameColumnsByGroups() {
        let columns = [0, 31, 32, 70]
        let masks = ColumnMask.masks(of: columns)
        XCTAssertEqual(masks.count, 3)
        XCTAssertEqual(masks.flatMap { Array(ColumnMask.columns(of: $0)) }, columns)
    }
}
