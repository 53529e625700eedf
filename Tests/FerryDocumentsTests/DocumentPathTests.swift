import FerryCore
import FerryDocuments
import XCTest

final class DocumentPathTests: XCTestCase {
    func testAPathHasTheNamesBetweenItsSlashes() throws {
        XCTAssertEqual(try DocumentPath("Scores/Trio.pdf").names, ["Scores", "Trio.pdf"])
        XCTAssertEqual(try DocumentPath("/Scores//Trio.pdf/").names, ["Scores", "Trio.pdf"])
        XCTAssertEqual(try DocumentPath("/"), .top)
        XCTAssertEqual(try DocumentPath("Scores/Trio.pdf").description, "Scores/Trio.pdf")
        XCTAssertEqual(DocumentPath.top.description, "/")
        XCTAssertEqual(try DocumentPath("a/b").folder?.names, ["a"])
        XCTAssertNil(DocumentPath.top.folder)
        XCTAssertNil(DocumentPath.top.name)
        XCTAssertEqual(try DocumentPath.top.appending("ä").appending("b").names, ["ä", "b"])
    }

    func testNamesStayAsTheyWereWritten() throws {
        let path = try DocumentPath("U\u{308}bung/Trio")
        XCTAssertEqual(Array(path.names[0].unicodeScalars).count, 6)
        XCTAssertEqual(path, try DocumentPath("Übung/Trio"), "equal in composed form")
    }

    func testASlashWithAnAccentPartsNames() throws {
        XCTAssertEqual(try DocumentPath("a/\u{301}b").names, ["a", "\u{301}b"])
    }

    func testImpossiblePathsAreRefused() {
        for text in ["", ".", "..", "a/../b", "a/.", "a\0b", "x/" + String(repeating: "y", count: 256)] {
            XCTAssertThrowsError(try DocumentPath(text), text) {
                XCTAssertEqual(($0 as? FerryError)?.code, .invalidArgument, text)
            }
        }
        XCTAssertThrowsError(try DocumentPath(names: ["a/b"]))
        XCTAssertThrowsError(try DocumentPath(String(repeating: "a/", count: 1025))) {
            XCTAssertEqual(($0 as? FerryError)?.code, .limitExceeded)
        }
    }
}
