import FerrySchema
import XCTest

@testable import FerryStore

/// Expressions of indexes and generated columns, in a form that a statement understands which knows the table by an alias, on a
/// connection that takes no text in double quotes.
final class SchemaExpressionTests: XCTestCase {
    private func index(_ rest: String) -> IndexText {
        IndexText("CREATE UNIQUE INDEX \"the (index)\" ON t\(rest)", columns: ["id", "Name", "a \"b\"", "st"])
    }

    func testAConditionLosesTheNameOfTheTable() {
        for (text, expected) in [
            ("t.st = 0", "st = 0"), ("\"t\".st=0 AND [t] . \"Name\" > 1.5", "st=0 AND \"Name\" > 1.5"),
            ("main.t.st IS NOT NULL", "st IS NOT NULL"), ("t.\"a \"\"b\"\"\"=.5", "\"a \"\"b\"\"\"=.5"),
            ("`t`.`Name` GLOB 'a.b' -- t.st\n OR 't'.st IN (1,2)", "`Name` GLOB 'a.b' -- t.st\n OR st IN (1,2)"),
            (
                "st > 1e-5 AND st <> x'00' AND st < 1. AND st AND .5",
                "st > 1e-5 AND st <> x'00' AND st < 1. AND st AND .5"
            ),
        ] {
            XCTAssertEqual(index("(st) WHERE \(text)").condition, expected)
        }
    }

    func testANameInDoubleQuotesThatNoColumnHasIsAText() {
        for (text, expected) in [
            ("st = \"active\"", "st = 'active'"), ("\"NAME\" = \"it's\"", "\"NAME\" = 'it''s'"),
            ("st IN (\"a\"\"b\", \"a \"\"b\"\"\", \"rowid\")", "st IN ('a\"b', \"a \"\"b\"\"\", \"rowid\")"),
            ("\"lower\"(st) = \"x\" COLLATE \"nocase\"", "\"lower\"(st) = 'x' COLLATE \"nocase\""),
            ("CAST(st AS \"text\") = [st]", "CAST(st AS \"text\") = [st]"),
        ] {
            XCTAssertEqual(index("(st) WHERE \(text)").condition, expected)
            XCTAssertEqual(index("(id, (\(text)) DESC)").terms, ["id", "(\(expected))"])
        }
        XCTAssertEqual(
            IndexText.generatedColumns("CREATE TABLE t(a, g AS (a || \"!\"), h AS (\"a\"))", columns: ["a", "g", "h"]),
            ["g": "a || '!'", "h": "\"a\""])
    }
}
