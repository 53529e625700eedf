import Foundation
import XCTest

/// One database under two names: a symbolic link leads to it.
final class LinkedDatabaseTests: XCTestCase {
    private func link(_ workshop: Workshop, _ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: workshop.path(name), withDestinationPath: target)
    }

    private func names(_ workshop: Workshop) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: workshop.folder.path).filter { $0.contains("-ferry") }
            .sorted()
    }

    func testEveryFileBesideTheDatabaseHasTheRealName() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try link(workshop, "link.sqlite", to: "a.sqlite")
        try Data(repeating: 7, count: 50_000).write(to: URL(filePath: workshop.path("letter.txt")))
        try workshop.succeed("documents", "link.sqlite", "add", "letter.txt")
        try workshop.succeed("sync", "link.sqlite")
        XCTAssertEqual(try names(workshop).filter { $0.hasPrefix("link") }, [])
        try FileManager.default.removeItem(atPath: workshop.path("link.sqlite"))
        try workshop.succeed("documents", "a.sqlite", "get", "letter.txt", "-o", "got")
        try workshop.succeed("sync", "b.sqlite")
        try workshop.succeed("documents", "b.sqlite", "get", "letter.txt", "-o", "got there")
        for name in ["got", "got there"] {
            XCTAssertTrue(
                FileManager.default.contentsEqual(atPath: workshop.path(name), andPath: workshop.path("letter.txt")))
        }
    }

    func testBytesThatLieBesideALinkAreTakenAlong() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try link(workshop, "link.sqlite", to: "a.sqlite")
        try Data(repeating: 7, count: 50_000).write(to: URL(filePath: workshop.path("letter.txt")))
        try workshop.succeed("documents", "a.sqlite", "add", "letter.txt")
        // Earlier versions kept them there.
        try FileManager.default.moveItem(
            atPath: workshop.path("a.sqlite-ferry-content"), toPath: workshop.path("link.sqlite-ferry-content"))
        try workshop.succeed("sync", "link.sqlite")
        XCTAssertFalse(try names(workshop).contains("link.sqlite-ferry-content"))
        try workshop.succeed("sync", "b.sqlite")
        try workshop.succeed("documents", "b.sqlite", "get", "letter.txt", "-o", "got")
    }

    func testLeavingAndJoiningByALink() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try link(workshop, "link.sqlite", to: "b.sqlite")
        let left = try workshop.succeed("leave", "link.sqlite")
        XCTAssertTrue(left.output.contains("b.sqlite-ferry-keys says which rows"), left.output)
        XCTAssertEqual(try names(workshop).filter { !$0.hasPrefix("a.") }, ["b.sqlite-ferry-keys"])
        // Earlier versions wrote the file beside the link.
        try FileManager.default.moveItem(
            atPath: workshop.path("b.sqlite-ferry-keys"), toPath: workshop.path("link.sqlite-ferry-keys"))
        try workshop.succeed("join", "link.sqlite", "shared", "--match", "keys", "--name", "again")
        XCTAssertEqual(try names(workshop).filter { $0.hasSuffix("-ferry-keys") }, [])
        try workshop.succeed("sync", "a.sqlite")
        for name in ["a.sqlite", "b.sqlite"] {
            XCTAssertEqual(try workshop.sql(name, "SELECT name FROM artist ORDER BY name"), "Ada\nBo\n", name)
        }
    }

    // MARK: Places that lie in each other

    func testAMovedDatabaseInsideTheFolderIsNamed() throws {
        let workshop = try Workshop()
        try workshop.begin()
        try FileManager.default.moveItem(
            atPath: workshop.path("a.sqlite"), toPath: workshop.path("shared/a.sqlite"))
        try workshop.fail(
            "sync", "shared/a.sqlite", status: 64, code: "invalidArgument", mentioning: "lies inside the container")
        let doctor = try workshop.ferry("doctor", "shared/a.sqlite")
        XCTAssertEqual(doctor.status, 65)
        XCTAssertTrue(doctor.output.contains("lies inside the container's folder"), doctor.output)
        let status = try workshop.ferry("status", "shared/a.sqlite", "--check")
        XCTAssertTrue(status.output.contains("lies inside the container's folder"), status.output)
        XCTAssertTrue(
            try workshop.ferry("status", "shared/a.sqlite").output.contains("This device cannot sync."), status.output)
    }

    func testNoContainerIsMadeOrCarriedIntoAContainer() throws {
        let workshop = try Workshop()
        try workshop.begin()
        try workshop.sql("n.sqlite", "CREATE TABLE t(id INTEGER PRIMARY KEY)")
        try link(workshop, "link", to: "shared")
        let before = try FileManager.default.subpathsOfDirectory(atPath: workshop.path("shared")).sorted()
        let refused = [
            ["carry", "shared", "shared/devices"], ["carry", "shared", "link/sub"], ["carry", "shared/sub", "shared"],
            ["init", "n.sqlite", "shared/sub", "--open"], ["init", "n.sqlite", "link/sub/deeper", "--no-recovery"],
            ["export", "a.sqlite", "link/x.ferry"], ["export", "a.sqlite", "shared/x.ferry"],
            ["documents", "a.sqlite", "mirror", "shared/mirror"], ["documents", "a.sqlite", "mirror", "link/mirror"],
        ]
        for arguments in refused {
            let outcome = try workshop.run([Workshop.binary] + arguments)
            XCTAssertEqual(outcome.status, 64, "\(arguments): \(outcome.output)\(outcome.errors)")
        }
        XCTAssertEqual(
            try FileManager.default.subpathsOfDirectory(atPath: workshop.path("shared")).sorted(), before)
    }

    /// A file of this name of another program's is no container.
    func testAContainerIsMadeBelowAForeignContainerFile() throws {
        let workshop = try Workshop()
        try workshop.sql("n.sqlite", "CREATE TABLE t(id INTEGER PRIMARY KEY)")
        try "{}".write(toFile: workshop.path("container.json"), atomically: false, encoding: .utf8)
        try workshop.succeed("init", "n.sqlite", "shared", "--open")
    }

    func testNothingIsMadeWhereTheRecoveryCodeCannotBeKept() throws {
        let workshop = try Workshop()
        try workshop.sql("n.sqlite", "CREATE TABLE t(id INTEGER PRIMARY KEY)")
        let codes: [(String, Int32)] = [("none/code", 74), ("shared/code", 77)]
        for (file, status) in codes {
            let outcome = try workshop.ferry("init", "n.sqlite", "shared", "--recovery-to", file)
            XCTAssertEqual(outcome.status, status, outcome.errors)
            XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("shared")), file)
        }
    }
}
