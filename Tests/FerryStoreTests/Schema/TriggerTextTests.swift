import FerrySchema
import XCTest

@testable import FerryStore

/// What is found in the text of a trigger, and what a copy of it says.
final class TriggerTextTests: XCTestCase {

    private func copy(
        of sql: String, _ refusals: TriggerText.Refusals = .leftOut, omitting: [String] = [], aborting: [String] = []
    ) throws -> String? {
        let text = try XCTUnwrap(TriggerText(sql), sql)
        return text.copy(
            named: "c", on: "t", guarding: "1",
            .init(refusals: refusals, omits: { omitting.contains($0) }, aborting: { aborting.contains($0) })
        )?.replacing("\n", with: " ")
    }

    func testStepsThatWriteToTablesWhichTravelAreLeftOut() throws {
        let sql = """
            CREATE TRIGGER "a ""b" AFTER UPDATE OF x, [y z] ON main."t" FOR EACH ROW WHEN new.begin > (SELECT 1) BEGIN
                UPDATE OR IGNORE u SET x = ';' WHERE id = new.id; -- u; travels
                INSERT INTO "log"(a) VALUES ('u');
                DELETE FROM [u]; REPLACE INTO `u` VALUES (1); INSERT OR REPLACE INTO u SELECT 1;
            END
            """
        XCTAssertEqual(
            try copy(of: sql, omitting: ["u"]),
            "CREATE TEMP TRIGGER \"c\" AFTER UPDATE OF \"x\", \"y z\" ON main.\"t\" WHEN 1 AND (new.begin > (SELECT 1)) BEGIN "
                + "INSERT INTO \"log\"(a) VALUES ('u'); END")
        XCTAssertNil(try copy(of: sql, omitting: ["u", "log"]))
    }

    func testRAISEIsNull() throws {
        let sql = """
            create trigger r before insert on t begin select case when new.x then raise(rollback, 'a;b)') end;
            insert into log values (coalesce(new.raise, Raise (fail, 'no')), raise(ignore)); end
            """
        XCTAssertEqual(
            try copy(of: sql),
            "CREATE TEMP TRIGGER \"c\" BEFORE INSERT ON main.\"t\" WHEN 1 BEGIN "
                + "insert into log values (coalesce(new.raise, NULL), NULL); END")
        XCTAssertEqual(
            try copy(of: sql, .kept)?.contains(
                "select case when new.x then RAISE(ABORT, 'a;b)') end; insert into log values "
                    + "(coalesce(new.raise, RAISE(ABORT, 'no')), RAISE(IGNORE))"), true)
        XCTAssertNil(try copy(of: "CREATE TRIGGER r BEFORE DELETE ON t BEGIN SELECT RAISE(ABORT, 'no'); END"))
    }

    func testNothingEndsTheTransaction() throws {
        let sql = """
            CREATE TRIGGER r DELETE ON t BEGIN INSERT OR ROLLBACK INTO a VALUES (1); UPDATE OR FAIL a SET x = 1;
            INSERT INTO b VALUES (1); UPDATE b SET x = 2; DELETE FROM b; INSERT OR IGNORE INTO b VALUES (3); END
            """
        XCTAssertEqual(
            try copy(of: sql, aborting: ["b"]),
            "CREATE TEMP TRIGGER \"c\" BEFORE DELETE ON main.\"t\" WHEN 1 BEGIN INSERT OR ABORT INTO a VALUES (1); "
                + "UPDATE OR ABORT a SET x = 1; INSERT OR ABORT INTO b VALUES (1); UPDATE OR ABORT b SET x = 2; "
                + "DELETE FROM b; INSERT OR IGNORE INTO b VALUES (3); END")
    }

    func testNamesMayBeWordsOfTheLanguage() throws {
        for (name, table) in [
            ("before", "t"), ("\"when\"", "main . t"), ("after", "'begin'"), ("[instead of]", "\"on\""), ("end", "end"),
        ] {
            XCTAssertEqual(
                try copy(
                    of: "CREATE TRIGGER \(name) INSERT ON \(table) WHEN new . begin BEGIN DELETE FROM \"end\"; END"),
                "CREATE TEMP TRIGGER \"c\" BEFORE INSERT ON main.\"t\" WHEN 1 AND (new . begin) BEGIN "
                    + "DELETE FROM \"end\"; END", name)
        }
        XCTAssertEqual(
            try copy(
                of: "CREATE TRIGGER v INSTEAD OF UPDATE OF begin, \"on\" ON v BEGIN DELETE FROM u; END", omitting: ["u"]
            ),
            "CREATE TEMP TRIGGER \"c\" INSTEAD OF UPDATE OF \"begin\", \"on\" ON main.\"t\" WHEN 1 BEGIN SELECT 1; END")
    }

    func testWhatIsNoTriggerIsNone() {
        for sql in [
            "", "CREATE TABLE t(x)", "CREATE TRIGGER a", "CREATE TRIGGER a BEFORE INSERT ON t WHEN 1", "create trigger",
        ] {
            XCTAssertNil(TriggerText(sql), sql)
        }
    }
}
