import FerryCore
import FerryReferenceModel
import XCTest

@testable import FerryStore

/// The rules are given a region in parts. A row whose state has changed, and whose part comes later, still shows its former
/// reference.
final class ProjectionInPartsTests: XCTestCase {
    /// What the clocks of the four devices showed at each line, in milliseconds after the first.
    private static let times: [[Int64]] = [
        [500, 3_600_001, 3_600_501, 3_601_000], [1500, 3_600_501, 3_600_501, 3_601_500],
        [2000, 3_601_001, 3_601_501, 3_602_500], [2000, 3_601_001, 3_601_501, 3_602_500],
        [3000, 3_602_001, 3_603_001, 3_603_500], [3000, 3_602_001, 3_603_001, 3_603_500],
        [3500, 3_602_001, 3_604_001, 3_604_000], [3500, 3_602_501, 3_604_001, 3_605_000],
        [3500, 3_602_501, 3_604_001, 3_605_000], [3500, 3_603_001, 3_604_001, 3_605_500],
        [4000, 3_604_001, 3_605_001, 3_606_500], [5000, 3_604_013, 3_606_001, 3_607_000],
        [5500, 3_605_013, 3_606_501, 3_608_000], [5500, 3_606_013, 3_606_501, 3_609_000],
        [5500, 3_606_013, 3_606_501, 3_609_000], [5500, 3_606_013, 3_606_501, 3_609_000],
        [5500, 3_606_013, 3_606_501, 3_609_000], [6500, 3_607_013, 3_606_507, 3_609_500],
        [7000, 3_608_013, 3_606_507, 3_610_500], [8000, 3_608_513, 3_606_507, 3_611_000],
        [10000, 3_609_513, 3_607_007, 3_612_500], [11000, 3_610_513, 3_608_007, 3_613_000],
        [13000, 3_611_513, 3_610_007, 3_615_500], [13500, 3_614_017, 3_611_507, 3_617_000],
    ]

    /// A deleted stock stays for a remark. The remark then refers to another stock that comes in the same changeset. The
    /// deleted stock is solved before the remark, and is to be solved with the remark.
    func testADeletedRowIsLetGoByARowOfALaterPart() throws {
        let schema = try XCTUnwrap(TestSchema.retainedLinks.first { $0.name == "a row for each" })
        let story = #"""
            1: INSERT INTO "product"("title", "name") VALUES ('d', 'b')
            2: INSERT INTO "remark"("text") VALUES (NULL) ON CONFLICT DO NOTHING
            1: INSERT OR IGNORE INTO "stock"("product", "amount") VALUES (1, 2)
            1: INSERT INTO "product"("id", "title", "name") VALUES (4, 'a', NULL) ON CONFLICT DO NOTHING
            1: INSERT INTO "remark"("id", "product", "text") VALUES (2, 1, 'd')
            1: UPDATE OR IGNORE "product" SET "name" = 'a' WHERE "id" = 4
            3: INSERT OR REPLACE INTO "remark"("text") VALUES ('b')
            2: INSERT OR IGNORE INTO "remark"("text") VALUES ('d'); INSERT INTO "product"("id", "title", "name") VALUES (3, 'A', 'A') ON CONFLICT DO NOTHING
            2: INSERT OR REPLACE INTO "stock"("product", "amount") VALUES (3, 2); DELETE FROM "remark" WHERE "id" = 1
            4: pass 1 3 2
            2: pass 1 4 4 3
            1: DELETE FROM "remark" WHERE "id" = 2
            1: pass 2
            1: INSERT INTO "remark"("product", "text") VALUES (1, 'c') ON CONFLICT DO NOTHING; INSERT INTO "remark"("product", "text") VALUES (1, 'A')
            1: pass 2 4
            4: pass 2 1 1
            3: pass 1 1 2 2 4 4 1
            4: INSERT OR REPLACE INTO "product"("id", "name") VALUES (4, 'A')
            2: UPDATE "product" SET "title" = 'c', "name" = 'A' WHERE "id" = 3
            4: pass 
            3: INSERT INTO "stock"("product", "amount") VALUES (4, 4)
            1: UPDATE OR REPLACE "remark" SET "product" = 3 WHERE "id" = 2
            3: UPDATE "product" SET "title" = 'd', "name" = NULL WHERE "id" = 4; UPDATE OR IGNORE "remark" SET "product" = 4 WHERE "id" = 4
            1: pass 2 4
            """#
        let lines = try XCTUnwrap(HistoryScript.lines(of: story.split(separator: "\n").map(String.init)))
        var script = try HistoryScript(
            schema: schema, oracle: Oracle(schema, policies: ModelPolicies(deleteWins: ["remark"])), devices: 4,
            deleteWins: "remark", pace: 0)
        script.times = Self.times.map { $0.map { 1_700_000_000_000 + $0 } }
        script.captureSteps = [0, 1, 1, 0]
        XCTAssertNil(script.failure(of: lines))
    }
}
