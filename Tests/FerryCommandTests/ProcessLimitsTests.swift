import Foundation
import XCTest

/// Limits of a process (setrlimit(2)), as a service's unit or a shell sets them.
final class ProcessLimitsTests: XCTestCase {
    /// Runs the command under a limit of the shell's.
    private func run(_ workshop: Workshop, limit: String, _ arguments: String...) throws -> Outcome {
        try workshop.run(["bash", "-c", "ulimit \(limit); exec \"$0\" \"$@\"", Workshop.binary] + arguments)
    }

    func testALimitOfAFilesSizeIsToldAndNoSignalEndsTheCommand() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.sql("a.sqlite", "CREATE TABLE photo(id INTEGER PRIMARY KEY, bytes BLOB)")
        try workshop.succeed("sync", "a.sqlite")
        try workshop.sql("a.sqlite", "INSERT INTO photo VALUES (1, randomblob(3000000))")
        let sync = try run(workshop, limit: "-f 1000", "sync", "a.sqlite")
        XCTAssertEqual(sync.status, 74, sync.errors)
        XCTAssertTrue(sync.errors.contains("LimitFSIZE="), sync.errors)
        XCTAssertTrue(sync.errors.contains("a.sqlite"), sync.errors)
        try workshop.succeed("sync", "a.sqlite")
        let export = try run(workshop, limit: "-f 1000", "export", "a.sqlite", "out.ferry")
        XCTAssertEqual(export.status, 74, export.errors)
        XCTAssertTrue(export.errors.contains("out.ferry"), export.errors)
        XCTAssertTrue(export.errors.contains("LimitFSIZE="), export.errors)
    }

    func testADocumentWithoutRoomInAMirrorStopsNoOther() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try Data((0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }).write(
            to: URL(fileURLWithPath: workshop.path("big")))
        try Data("small".utf8).write(to: URL(fileURLWithPath: workshop.path("small")))
        for name in ["big", "small"] { try workshop.succeed("documents", "a.sqlite", "add", name) }
        try workshop.succeed("sync", "a.sqlite")
        let limited = try run(workshop, limit: "-f 3000", "documents", "a.sqlite", "mirror", "M")
        XCTAssertEqual(limited.status, 0, limited.errors)
        XCTAssertTrue((limited.output + limited.errors).contains("big: there is no room for it"), limited.errors)
        XCTAssertEqual(try String(contentsOfFile: workshop.path("M/small"), encoding: .utf8), "small")
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("M/big")))
        let sync = try run(workshop, limit: "-f 3000", "sync", "a.sqlite")
        XCTAssertEqual(sync.status, 0, sync.errors)
        XCTAssertTrue(sync.errors.contains("for big. All other documents go on"), sync.errors)
        // Once there is room the document comes.
        try workshop.succeed("sync", "a.sqlite")
        XCTAssertTrue(FileManager.default.fileExists(atPath: workshop.path("M/big")))
    }

    /// Files of a mirror that have no room beside the database, and files that have room only in packs of a few.
    func testAFileWithoutRoomBesideTheDatabaseStopsNoOther() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.succeed("documents", "a.sqlite", "mirror", "M")
        var generator = SystemRandomNumberGenerator()
        func write(_ name: String, _ count: Int) throws {
            var bytes = Data()
            while bytes.count < count { withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) } }
            try bytes.write(to: URL(fileURLWithPath: workshop.path("M/" + name)))
        }
        try write("film", 12_000_000)
        for number in 1...4 { try write("picture\(number)", 1_000_000) }
        try write("small", 16)
        let sync = try run(workshop, limit: "-f 2500", "sync", "a.sqlite")
        XCTAssertEqual(sync.status, 0, sync.errors)
        XCTAssertTrue(sync.errors.contains("no room beside the database for film, saved in"), sync.errors)
        XCTAssertFalse(sync.errors.contains("ferry-tmp"), sync.errors)
        let names = { try workshop.succeed("documents", "a.sqlite", "list").output }
        let listed = try names()
        for name in ["picture1", "picture2", "picture3", "picture4", "small"] {
            XCTAssertTrue(listed.contains(name), listed)
        }
        XCTAssertFalse(listed.contains("film"), listed)
        XCTAssertTrue(try workshop.ferry("status", "a.sqlite").errors.contains("for film"))
        XCTAssertEqual(try workshop.ferry("status", "a.sqlite", "--check").status, 69)
        let mirrors = try workshop.succeed("documents", "a.sqlite", "mirror").output
        XCTAssertTrue(mirrors.contains("film: there is no room for it beside the database"), mirrors)
        // Once there is room the file is taken.
        try workshop.succeed("sync", "a.sqlite")
        XCTAssertTrue(try names().contains("film"))
        XCTAssertFalse(try workshop.ferry("status", "a.sqlite").errors.contains("for film"))
    }

    func testTooFewOpenFilesAreToldAtOnce() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        for limit in [12, 16, 20, 24] {
            let watch = try run(workshop, limit: "-n \(limit)", "watch", "a.sqlite")
            XCTAssertEqual(watch.status, 74, watch.output + watch.errors)
            XCTAssertTrue(watch.errors.contains("LimitNOFILE="), watch.errors)
        }
    }

    func testTheSoftLimitOfOpenFilesIsRaised() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        let sync = try run(workshop, limit: "-S -n 12", "sync", "a.sqlite")
        XCTAssertEqual(sync.status, 0, sync.errors)
    }

    func testAWatchKeepsTheDatabasesThatFitAndNamesTheOthers() throws {
        let workshop = try Workshop()
        let names = (1...4).map { "\($0).sqlite" }
        for name in names {
            try workshop.sql(name, Workshop.music)
            try workshop.succeed("init", name, "shared-\(name)", "--open", "--name", "laptop")
        }
        let watch = try Watch(
            workshop, program: "/bin/bash",
            arguments: ["-c", "ulimit -n 64; exec \"$0\" \"$@\"", Workshop.binary, "watch", "--json"] + names)
        let failed = watch.event { $0["event"] as? String == "failed" }
        XCTAssertEqual(failed?["database"] as? String, "3.sqlite")
        let message = (failed?["error"] as? [String: String])?["message"] ?? ""
        XCTAssertTrue(message.contains("LimitNOFILE="), message)
        XCTAssertNotNil(watch.event { $0["event"] as? String == "synced" })
        try workshop.sql("1.sqlite", "UPDATE artist SET name = 'heard' WHERE id = 1")
        XCTAssertNotNil(watch.event { ($0["published"] as? [String: Int])?["changes"] == 1 })
        watch.send(SIGTERM)
        XCTAssertEqual(watch.wait(), 0)
    }
}
