import Foundation
import XCTest

/// `ferry init` knows a store of Core Data's by its tables.
final class CoreDataStoreTests: XCTestCase {
    private static let entities = """
        CREATE TABLE ZFOLDER(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
        CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZFOLDER INTEGER, ZTEXT VARCHAR);
        CREATE INDEX ZNOTE_ZFOLDER_INDEX ON ZNOTE(ZFOLDER);
        CREATE TABLE ZTAG(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
        CREATE TABLE Z_2TAGS(Z_2NOTES INTEGER, Z_4TAGS INTEGER, PRIMARY KEY(Z_2NOTES, Z_4TAGS));
        """
    private static let keys = """
        CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
        CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
        CREATE TABLE Z_MODELCACHE(Z_CONTENT BLOB);
        INSERT INTO Z_PRIMARYKEY VALUES (1, 'Folder', 0, 0), (2, 'Note', 0, 0), (3, 'Checklist', 2, 0), (4, 'Tag', 0, 0);
        """

    private static func store(_ id: String) -> String {
        entities + keys + "INSERT INTO Z_METADATA VALUES (1, '\(id)', x'00'); INSERT INTO Z_MODELCACHE VALUES (x'01');"
    }

    private func advice(_ report: [String: Any]) throws -> (triggers: [String], references: [String]) {
        let advice = try XCTUnwrap(report["coreData"] as? [String: [String]])
        XCTAssertEqual(advice["staying"], ["Z_METADATA", "Z_MODELCACHE", "Z_PRIMARYKEY"])
        let hints = try XCTUnwrap(report["hints"] as? [[String: String]])
        return (
            try XCTUnwrap(advice["triggers"]),
            hints.map { "\($0["table"] ?? "").\($0["column"] ?? "")=\($0["parent"] ?? "")" }
        )
    }

    func testCoreDatasOwnTablesStayAndTheAdviceIsSaid() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Self.store("a"))
        let output = try workshop.succeed("init", "a.sqlite", "shared", "--open", "--name", "laptop").output
        for words in [
            "store of Core Data's", "counts the keys that Core Data gives out", "describes this file for Core Data",
            "CREATE TRIGGER \"ZFOLDER_max\"", "--reference ZNOTE.ZFOLDER=ZFOLDER", "--reference Z_2TAGS.Z_4TAGS=ZTAG",
        ] {
            XCTAssertTrue(output.contains(words), words + " is not in " + output)
        }
    }

    /// What init advises, followed: links and the highest keys are right on both devices.
    func testAStoreByTheAdviceIsRightOnBothDevices() throws {
        let workshop = try Workshop()
        try workshop.sql("try.sqlite", Self.store("try"))
        let advised = try advice(try workshop.succeed("init", "try.sqlite", "tried", "--open", "--json").json())
        XCTAssertEqual(
            advised.references, ["ZNOTE.ZFOLDER=ZFOLDER", "Z_2TAGS.Z_2NOTES=ZNOTE", "Z_2TAGS.Z_4TAGS=ZTAG"])
        for device in ["a", "b"] {
            try workshop.sql("\(device).sqlite", Self.store(device) + advised.triggers.joined(separator: "\n"))
        }
        let options = advised.references.flatMap { ["--reference", $0] }
        let report = try workshop.run(
            [Workshop.binary, "init", "a.sqlite", "shared", "--open", "--name", "laptop", "--json"] + options
        ).json()
        XCTAssertEqual(try advice(report).triggers, [])
        XCTAssertEqual(try advice(report).references, [])
        try workshop.succeed("join", "b.sqlite", "shared", "--name", "phone")
        for device in ["a", "b"] {
            try workshop.sql(
                "\(device).sqlite",
                """
                INSERT INTO ZFOLDER VALUES (1, 1, 1, 'folder of \(device)');
                INSERT INTO ZNOTE VALUES (1, 3, 1, 1, 'note of \(device)');
                INSERT INTO ZTAG VALUES (1, 4, 1, 'tag of \(device)'); INSERT INTO Z_2TAGS VALUES (1, 1);
                """)
        }
        for device in ["a", "b", "a"] { try workshop.succeed("sync", "\(device).sqlite") }
        for device in ["a", "b"] {
            let database = "\(device).sqlite"
            XCTAssertEqual(
                try workshop.sql(
                    database,
                    """
                    SELECT ZTEXT, ZFOLDER.ZNAME, ZTAG.ZNAME FROM ZNOTE JOIN ZFOLDER ON ZFOLDER.Z_PK = ZFOLDER
                    JOIN Z_2TAGS ON Z_2NOTES = ZNOTE.Z_PK JOIN ZTAG ON ZTAG.Z_PK = Z_4TAGS ORDER BY 1
                    """), "note of a|folder of a|tag of a\nnote of b|folder of b|tag of b\n")
            // A checklist's key comes out of the notes'.
            XCTAssertEqual(
                try workshop.sql(database, "SELECT Z_ENT, Z_MAX >= 2 FROM Z_PRIMARYKEY"), "1|1\n2|1\n3|1\n4|1\n")
            XCTAssertEqual(try workshop.sql(database, "SELECT Z_UUID FROM Z_METADATA"), device + "\n")
        }
    }

    /// A table of such a name in an app of another kind is the app's.
    func testTablesOfTheseNamesInOtherDatabasesTravel() throws {
        let workshop = try Workshop()
        try workshop.sql(
            "a.sqlite", "CREATE TABLE Z_METADATA(k TEXT PRIMARY KEY, v); CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY)")
        let report = try workshop.succeed("init", "a.sqlite", "shared", "--open", "--json").json()
        XCTAssertNil(report["coreData"])
        XCTAssertEqual((report["tables"] as? [[String: Any]])?.map { $0["name"] as? String }, ["Z_METADATA", "ZNOTE"])
    }

    func testACountOfKeysCannotBeMadeToTravel() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Self.store("a"))
        try workshop.fail(
            "init", "a.sqlite", "shared", "--open", "--tables", "ZNOTE,Z_PRIMARYKEY", status: 65,
            code: "unsupportedTable",
            mentioning: "counts the keys")
    }
}
