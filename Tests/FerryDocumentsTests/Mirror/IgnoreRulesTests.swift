import FerryMirror
import XCTest

/// Which files of a mirror are nobody's documents.
final class IgnoreRulesTests: XCTestCase {
    private func ignored(_ text: String, _ paths: String...) -> [String] {
        let rules = IgnoreRules(text)
        return paths.filter {
            rules.ignores(DiskPath($0.hasSuffix("/") ? String($0.dropLast()) : $0), isFolder: $0.hasSuffix("/"))
        }
    }

    func testWhatProgramsLitterIsIgnored() {
        XCTAssertEqual(
            ignored(
                "", "a/.DS_Store", ".a.txt.swp", "a~", "~$report.docx", ".~lock.x.odt#", "x.crdownload", ".nfs0001",
                "db.sqlite-wal", "music.sqlite-ferry-content/x", ".ferry-mirror/", ".ferry-mirror/marker", "report.docx"
            ),
            [
                "a/.DS_Store", ".a.txt.swp", "a~", "~$report.docx", ".~lock.x.odt#", "x.crdownload", ".nfs0001",
                "db.sqlite-wal", "music.sqlite-ferry-content/x", ".ferry-mirror/", ".ferry-mirror/marker",
            ])
    }

    func testAPatternWithoutASlashMeansANameAnywhere() {
        XCTAssertEqual(ignored("*.o", "a.o", "x/y/b.o", "a.oo", "o"), ["a.o", "x/y/b.o"])
        XCTAssertEqual(ignored("build/", "build/", "x/build/", "build", "build/a"), ["build/", "x/build/", "build/a"])
    }

    func testASlashBindsToTheTop() {
        XCTAssertEqual(ignored("/a", "a", "x/a"), ["a"])
        XCTAssertEqual(ignored("x/*.c", "x/a.c", "y/x/a.c", "x/y/a.c"), ["x/a.c"])
    }

    func testTwoStarsMeanAnyFolders() {
        XCTAssertEqual(ignored("**/logs", "logs/", "a/b/logs/", "logs2"), ["logs/", "a/b/logs/"])
        XCTAssertEqual(ignored("a/**/b", "a/b", "a/x/y/b", "b"), ["a/b", "a/x/y/b"])
        XCTAssertEqual(ignored("a/**", "a/", "a/x", "a/x/y"), ["a/x", "a/x/y"])
    }

    func testTheLastLineDecides() {
        XCTAssertEqual(ignored("*.md\n!keep.md", "a.md", "keep.md"), ["a.md"])
        XCTAssertEqual(ignored("!*~", "a~"), [], "a person takes back what is built in")
        XCTAssertEqual(ignored("x/\n!x/a", "x/a"), ["x/a"], "what lies in an ignored folder is ignored")
    }

    func testCharactersAndComments() {
        XCTAssertEqual(ignored("# a comment\n\n[a-c]?.t[!x]\\*", "aé.ty*", "d1.ty*", "b1.tx*"), ["aé.ty*"])
        XCTAssertEqual(ignored("a[", "a[", "ab"), ["a["], "a bracket that nothing closes means itself")
        XCTAssertEqual(ignored("end \r", "end"), ["end"])
    }

    /// A pattern of many stars ends all the same.
    func testPatternsTakeLittleTime() {
        let rules = IgnoreRules(String(repeating: "*a", count: 100) + "b")
        XCTAssertFalse(rules.ignores(DiskPath(String(repeating: "a", count: 250)), isFolder: false))
        let deep = IgnoreRules(String(repeating: "**/", count: 100) + "x")
        XCTAssertFalse(
            deep.ignores(DiskPath(Array(repeating: "a", count: 200).joined(separator: "/")), isFolder: false))
    }
}
