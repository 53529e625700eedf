import FerryTestSupport
import Foundation
import XCTest

@testable import FerryContainer

final class DatabaseFilesTests: XCTestCase {
    private let manager = FileManager.default

    /// A folder with a database, and its real path.
    private func folder() throws -> (scratch: ScratchFolder, root: String) {
        let scratch = try ScratchFolder()
        XCTAssertTrue(manager.createFile(atPath: scratch.path("a.sqlite"), contents: nil))
        return (scratch, realPath(scratch.path))
    }

    private func link(_ path: String, to target: String) throws {
        try manager.createSymbolicLink(atPath: path, withDestinationPath: target)
    }

    func testTheFilesAreThoseOfTheDatabaseWhateverLinksLeadToIt() throws {
        let (scratch, root) = try folder()
        try manager.createDirectory(atPath: scratch.path("other"), withIntermediateDirectories: false)
        try link(scratch.path("b.sqlite"), to: "a.sqlite")
        try link(scratch.path("other/c.sqlite"), to: "../b.sqlite")
        try link(scratch.path("folder"), to: scratch.path)
        let names = [
            "a.sqlite", "b.sqlite", "other/c.sqlite", "folder/a.sqlite", "folder/b.sqlite", "./a.sqlite",
            "other/../a.sqlite",
        ]
        for name in names {
            let files = DatabaseFiles(of: scratch.path(name))
            XCTAssertEqual(files.database, root + "/a.sqlite", name)
            for suffix in DatabaseFiles.Suffix.allCases {
                XCTAssertEqual(files.path(suffix), root + "/a.sqlite" + suffix.rawValue, name)
            }
        }
    }

    func testALinkToNothingNamesTheFileThatWillBeMade() throws {
        let (scratch, root) = try folder()
        try link(scratch.path("new"), to: "later.sqlite")
        try link(scratch.path("folder"), to: scratch.path)
        XCTAssertEqual(DatabaseFiles(of: scratch.path("new")).database, root + "/later.sqlite")
        XCTAssertEqual(DatabaseFiles(of: scratch.path("folder/x.sqlite")).database, root + "/x.sqlite")
        XCTAssertEqual(DatabaseFiles(of: scratch.path("folder/none/x.sqlite")).database, root + "/none/x.sqlite")
        // Links in a circle lead nowhere, and the search for their end ends.
        try link(scratch.path("one"), to: "two")
        try link(scratch.path("two"), to: "one")
        XCTAssertTrue(DatabaseFiles(of: scratch.path("one")).database.hasPrefix(root))
    }

    func testADatabaseInMemoryHasNoFiles() {
        let files = DatabaseFiles(of: "")
        for suffix in DatabaseFiles.Suffix.allCases {
            XCTAssertEqual(files.path(suffix), "")
            XCTAssertNil(files.pathBesideLink(suffix))
        }
    }

    func testPeopleAreShownThePathThatTheyGaveAndTheRealOneForALink() throws {
        let (scratch, root) = try folder()
        try link(scratch.path("b.sqlite"), to: "a.sqlite")
        XCTAssertEqual(DatabaseFiles(of: "a.sqlite").shownPath(.keys), "a.sqlite-ferry-keys")
        XCTAssertEqual(DatabaseFiles(of: scratch.path("b.sqlite")).shownPath(.keys), root + "/a.sqlite-ferry-keys")
        XCTAssertNil(DatabaseFiles(of: scratch.path("a.sqlite")).pathBesideLink(.content))
        XCTAssertEqual(
            DatabaseFiles(of: scratch.path("b.sqlite")).pathBesideLink(.content),
            scratch.path("b.sqlite-ferry-content"))
    }
}
