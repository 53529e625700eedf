import Foundation
import XCTest

/// `ferry documents`, verb by verb, as scripts and people use it.
final class DocumentsCommandTests: XCTestCase {
    func testAMirrorGoesOnAfterItsDatabaseWasRestoredInItsPlace() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        func write(_ text: String, _ name: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: workshop.path("M/" + name)))
        }
        try workshop.succeed("documents", "a.sqlite", "mirror", "M")
        try write("one", "f")
        try workshop.succeed("sync", "a.sqlite")
        try workshop.sql("a.sqlite", ".backup \(workshop.path("backup.sqlite"))")
        try write("two", "f")
        try workshop.succeed("sync", "a.sqlite")
        for suffix in ["", "-wal", "-shm"]
        where FileManager.default.fileExists(atPath: workshop.path("a.sqlite" + suffix)) {
            try FileManager.default.removeItem(atPath: workshop.path("a.sqlite" + suffix))
        }
        try FileManager.default.copyItem(atPath: workshop.path("backup.sqlite"), toPath: workshop.path("a.sqlite"))
        try workshop.succeed("sync", "a.sqlite")
        try write("new", "g")
        try workshop.succeed("sync", "a.sqlite")
        let check = try workshop.ferry("status", "a.sqlite", "--check")
        XCTAssertFalse(check.output.contains("mirror"), check.output)
        XCTAssertEqual(try workshop.succeed("documents", "a.sqlite", "get", "g", "-o", "-").output, "new")
        // A copy in another place is another database.
        try FileManager.default.copyItem(atPath: workshop.path("backup.sqlite"), toPath: workshop.path("copy.sqlite"))
        try workshop.succeed("sync", "copy.sqlite")
        let copy = try workshop.succeed("sync", "copy.sqlite")
        XCTAssertTrue(copy.errors.contains("the mirror of another database"), copy.errors)
    }

    private func write(_ workshop: Workshop, _ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: workshop.path(name)))
    }

    private func read(_ workshop: Workshop, _ name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(fileURLWithPath: workshop.path(name))), as: UTF8.self)
    }

    private func list(_ workshop: Workshop, _ database: String, _ more: String...) throws -> [[String: Any]] {
        let outcome = try workshop.run([Workshop.binary, "documents", "list", database, "--json"] + more)
        XCTAssertEqual(outcome.status, 0, outcome.output + outcome.errors)
        return try XCTUnwrap(outcome.json()["documents"] as? [[String: Any]])
    }

    private func paths(_ workshop: Workshop, _ database: String, _ more: String...) throws -> [String] {
        let outcome = try workshop.run([Workshop.binary, "documents", "list", database, "--json"] + more)
        let documents = try XCTUnwrap(outcome.json()["documents"] as? [[String: Any]])
        return documents.compactMap { $0["path"] as? String }
    }

    private func syncAll(_ workshop: Workshop) throws {
        for database in ["a.sqlite", "b.sqlite", "a.sqlite", "b.sqlite"] { try workshop.succeed("sync", database) }
    }

    /// Two databases, whose first has a document.
    private func two(_ text: String = "one") throws -> Workshop {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try write(workshop, "notes.md", text)
        try workshop.succeed("documents", "add", "a.sqlite", "notes.md", "--to", "Scores/")
        try syncAll(workshop)
        return workshop
    }

    // MARK: Adding and looking

    /// The packs that wait lie beside the database, under its former name.
    func testADatabaseThatIsRenamedBeforeItsDocumentsAreSentSendsThem() throws {
        for place in ["music.sqlite", "elsewhere/music.sqlite"] {
            let workshop = try Workshop()
            try workshop.beginTwo(isOpen: true)
            for name in ["one", "two"] {
                try Data(repeating: UInt8(ascii: "x"), count: 70_000 + name.count)
                    .write(to: URL(fileURLWithPath: workshop.path(name)))
            }
            try workshop.succeed("documents", "a.sqlite", "add", "one")
            try FileManager.default.createDirectory(
                atPath: workshop.path("elsewhere"), withIntermediateDirectories: false)
            for suffix in ["", "-wal", "-shm"]
            where FileManager.default.fileExists(atPath: workshop.path("a.sqlite" + suffix)) {
                try FileManager.default.moveItem(
                    atPath: workshop.path("a.sqlite" + suffix), toPath: workshop.path(place + suffix))
            }
            try workshop.succeed("documents", place, "add", "two")
            try workshop.succeed("sync", place)
            try workshop.succeed("sync", "b.sqlite")
            for name in ["one", "two"] {
                try workshop.succeed("documents", "b.sqlite", "get", name, "-o", "got-" + name)
                XCTAssertEqual(
                    try Data(contentsOf: URL(fileURLWithPath: workshop.path("got-" + name))),
                    try Data(contentsOf: URL(fileURLWithPath: workshop.path(name))))
            }
        }
    }

    /// A copy takes nothing from the original.
    func testACopyLeavesTheOriginalsPacks() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try Data(repeating: 7, count: 70_000).write(to: URL(fileURLWithPath: workshop.path("one")))
        try workshop.succeed("documents", "a.sqlite", "add", "one")
        try workshop.sql("a.sqlite", ".backup \(workshop.path("copy.sqlite"))")
        try workshop.succeed("sync", "copy.sqlite")
        try workshop.succeed("sync", "a.sqlite")
        try workshop.succeed("sync", "b.sqlite")
        try workshop.succeed("documents", "b.sqlite", "get", "one", "-o", "got")
    }

    func testNamesThatAreNotUTF8AreToldAndDeleteNothing() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        for name in ["Ma", "Mb"] {
            try FileManager.default.createDirectory(
                atPath: workshop.path(name), withIntermediateDirectories: false)
        }
        try workshop.succeed("documents", "a.sqlite", "mirror", "Ma")
        try workshop.succeed("documents", "b.sqlite", "mirror", "Mb")
        func shell(_ script: String) throws {
            XCTAssertEqual(try workshop.run(["bash", "-c", script]).status, 0, script)
        }
        try shell(
            "echo x > Ma/ok.txt; echo y > Ma/soon.txt; mkdir Ma/sub; echo z > Ma/sub/in.txt; touch -d '1 minute ago' Ma/*.txt Ma/sub/*"
        )
        try workshop.succeed("sync", "a.sqlite")
        try workshop.succeed("sync", "b.sqlite")
        try shell("mv Ma/soon.txt $'Ma/so\\xf6n.txt'; mv Ma/sub $'Ma/s\\xfcb'")
        // A second look, after what is gone for a moment only.
        let clock = Date()
        var outcome = try workshop.succeed("sync", "a.sqlite")
        while Date().timeIntervalSince(clock) < 2.5 { outcome = try workshop.succeed("sync", "a.sqlite") }
        try workshop.succeed("sync", "b.sqlite")
        XCTAssertTrue((outcome.output + outcome.errors).contains("not UTF-8"), outcome.output + outcome.errors)
        for path in ["Mb/soon.txt", "Mb/sub/in.txt", "Ma/soon.txt", "Ma/sub/in.txt"] {
            XCTAssertTrue(FileManager.default.fileExists(atPath: workshop.path(path)), path)
        }
        for arguments in [["status", "a.sqlite"], ["doctor", "a.sqlite"], ["documents", "a.sqlite", "mirror"]] {
            let told = try workshop.run([Workshop.binary] + arguments)
            XCTAssertTrue((told.output + told.errors).contains("not UTF-8"), "\(arguments): \(told.output)")
        }
    }

    /// A file of another account, and a folder: everything else goes on, and both go on once they are readable.
    func testWhatCannotBeReadInAMirrorIsToldAndDeletesNothing() throws {
        let workshop = try Workshop()
        // The system refuses the administrator nothing.
        let isAdministrator = geteuid() == 0
        if isAdministrator, try workshop.run(["setpriv", "--version"]).status != 0 { throw XCTSkip("no setpriv here") }
        try workshop.beginTwo(isOpen: true)
        func shell(_ script: String) throws {
            let outcome = try workshop.run(["bash", "-c", script])
            XCTAssertEqual(outcome.status, 0, script + outcome.errors)
        }
        let old = "find Ma Mb -type f -not -path '*/.ferry-mirror/*' -exec touch -d '1 minute ago' {} +"
        try shell("mkdir Ma Mb; if [ $(id -u) = 0 ]; then chown -R nobody \"$PWD\"; fi")
        func ferry(_ arguments: String...) throws -> Outcome {
            let account = isAdministrator ? ["setpriv", "--reuid", "nobody", "--clear-groups"] : []
            return try workshop.run(account + [Workshop.binary] + arguments)
        }
        XCTAssertEqual(try ferry("version").status, 0, "the command cannot be run by another account")
        func sync() throws {
            for _ in 0..<2 { for name in ["a.sqlite", "b.sqlite"] { _ = try ferry("sync", name) } }
        }
        for (database, mirror) in [("a.sqlite", "Ma"), ("b.sqlite", "Mb")] {
            let made = try ferry("documents", database, "mirror", mirror)
            XCTAssertEqual(made.status, 0, made.errors)
        }
        try shell(
            "mkdir Ma/sub; echo 1 >Ma/doc; for n in $(seq 30); do echo $n >Ma/sub/$n; done; chown -R --reference=Ma Ma/*; \(old)"
        )
        try sync()
        XCTAssertEqual(try String(contentsOfFile: workshop.path("Mb/sub/7"), encoding: .utf8), "7\n")
        try shell(
            """
            echo only copy >Ma/mine; echo other >Ma/other; chown --reference=Ma Ma/*; \(old); chmod 000 Ma/mine Ma/doc Ma/sub
            echo newer >Mb/doc; echo new >Mb/sub/new; echo newer >Mb/sub/7; \(old.replacing("Ma Mb", with: "Mb"))
            """)
        let clock = Date()
        repeat { try sync() } while Date().timeIntervalSince(clock) < 2.5
        // What is readable goes on.
        XCTAssertEqual(try String(contentsOfFile: workshop.path("Mb/other"), encoding: .utf8), "other\n")
        for name in (1...30).map({ "Mb/sub/\($0)" }) {
            XCTAssertTrue(FileManager.default.fileExists(atPath: workshop.path(name)), name)
        }
        for arguments in [
            ["sync", "a.sqlite"], ["status", "a.sqlite"], ["status", "a.sqlite", "--check"], ["doctor", "a.sqlite"],
            ["documents", "a.sqlite", "list"], ["documents", "a.sqlite", "mirror"], ["status", "a.sqlite", "--json"],
            ["documents", "a.sqlite", "list", "--json"],
        ] {
            let account = isAdministrator ? ["setpriv", "--reuid", "nobody", "--clear-groups"] : []
            let outcome = try workshop.run(account + [Workshop.binary] + arguments)
            let text = outcome.output + outcome.errors
            for name in ["mine", "doc", "sub"] {
                XCTAssertTrue(
                    text.contains("“\(name)”") || text.contains("\"\(name)\"") || text.contains(" \(name): it cannot"),
                    "\(arguments), \(name): \(text)")
            }
            XCTAssertTrue(text.contains("cannot be"), "\(arguments): \(text)")
        }
        XCTAssertEqual(try ferry("status", "a.sqlite", "--check").status, 69)
        try shell("chmod 644 Ma/mine Ma/doc; chmod 755 Ma/sub")
        let again = Date()
        repeat { try sync() } while Date().timeIntervalSince(again) < 1
        XCTAssertEqual(try String(contentsOfFile: workshop.path("Ma/doc"), encoding: .utf8), "newer\n")
        XCTAssertEqual(try String(contentsOfFile: workshop.path("Ma/sub/7"), encoding: .utf8), "newer\n")
        XCTAssertEqual(try String(contentsOfFile: workshop.path("Ma/sub/new"), encoding: .utf8), "new\n")
        XCTAssertEqual(try String(contentsOfFile: workshop.path("Mb/mine"), encoding: .utf8), "only copy\n")
        XCTAssertEqual(try ferry("status", "a.sqlite", "--check").status, 0)
        XCTAssertEqual(
            try workshop.run(["diff", "-r", "-x", ".ferry-mirror", "Ma", "Mb"]).output, "")
    }

    func testACheckTellsOfAMirrorThatRests() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try FileManager.default.createDirectory(atPath: workshop.path("Ma"), withIntermediateDirectories: false)
        try workshop.succeed("documents", "a.sqlite", "mirror", "Ma")
        try workshop.succeed("sync", "b.sqlite")
        try workshop.succeed("sync", "a.sqlite")
        XCTAssertEqual(try workshop.ferry("status", "a.sqlite", "--check").status, 0)
        try FileManager.default.moveItem(atPath: workshop.path("Ma"), toPath: workshop.path("away"))
        _ = try workshop.ferry("sync", "a.sqlite")
        let check = try workshop.ferry("status", "a.sqlite", "--check", "--json")
        XCTAssertEqual(check.status, 69)
        let concerns = try XCTUnwrap(check.json()["concerns"] as? [[String: Any]])
        XCTAssertEqual(concerns.map { $0["kind"] as? String }, ["mirrorRests"])
    }

    func testADirectoryThatCannotBeAMirrorIsNone() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        // Root may write everywhere else.
        try XCTSkipIf(!FileManager.default.fileExists(atPath: "/proc/self"), "this system has no /proc")
        let refused = try workshop.ferry("documents", "a.sqlite", "mirror", "/proc")
        XCTAssertEqual(refused.status, 74, refused.errors)
        XCTAssertEqual(try workshop.succeed("sync", "a.sqlite").errors, "")
        XCTAssertEqual(try workshop.ferry("status", "a.sqlite", "--check").status, 0)
        let list = try workshop.succeed("documents", "a.sqlite", "mirror", "--json").json()
        XCTAssertEqual((list["mirrors"] as? [Any])?.count, 0)
    }

    func testAWatchTellsOfAMirrorThatIsAwayAndOfNoLackOfWatches() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try FileManager.default.createDirectory(atPath: workshop.path("Ma"), withIntermediateDirectories: false)
        try Data("text".utf8).write(to: URL(fileURLWithPath: workshop.path("Ma/file")))
        try workshop.succeed("documents", "a.sqlite", "mirror", "Ma")
        try workshop.succeed("sync", "a.sqlite")
        let watch = try Watch(workshop, arguments: ["watch", "a.sqlite"], hasWarnings: true)
        func lines(until word: String) -> [String] {
            var lines: [String] = []
            while let line = watch.line() {
                lines.append(line)
                if line.contains(word) { return lines }
            }
            XCTFail("no \(word) in \(lines)")
            return lines
        }
        _ = lines(until: "Nothing new.")
        try FileManager.default.removeItem(atPath: workshop.path("Ma"))
        _ = lines(until: "the mirror rests")
        watch.send(SIGTERM)
        let rest = lines(until: "Ended.")
        XCTAssertFalse(rest.contains { $0.contains("watches left") }, "\(rest)")
        XCTAssertEqual(watch.wait(), 0)
    }

    func testAFolderThatIsSetBackGetsTheDocumentsAgain() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try FileManager.default.copyItem(atPath: workshop.path("shared"), toPath: workshop.path("older"))
        try Data((0..<90_000).map { UInt8(truncatingIfNeeded: $0 * $0 >> 3) })
            .write(to: URL(fileURLWithPath: workshop.path("one")))
        try workshop.succeed("documents", "a.sqlite", "add", "one")
        try workshop.succeed("sync", "a.sqlite")
        try FileManager.default.removeItem(atPath: workshop.path("shared"))
        try FileManager.default.moveItem(atPath: workshop.path("older"), toPath: workshop.path("shared"))
        for _ in 0..<2 { for name in ["a.sqlite", "b.sqlite"] { _ = try workshop.ferry("sync", name) } }
        try workshop.succeed("documents", "b.sqlite", "get", "one", "-o", "got")
        XCTAssertEqual(
            try Data(contentsOf: URL(fileURLWithPath: workshop.path("got"))),
            try Data(contentsOf: URL(fileURLWithPath: workshop.path("one"))))
    }

    func testAMirrorIsNeitherTheWholeDiskNorAnotherMirrorsOwnFolder() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try workshop.fail("documents", "a.sqlite", "mirror", "/", status: 64, code: "invalidArgument")
        try FileManager.default.createDirectory(
            atPath: workshop.path("M/photos/.ferry-mirror"), withIntermediateDirectories: true)
        try Data("marker".utf8).write(to: URL(fileURLWithPath: workshop.path("M/photos/.ferry-mirror/marker")))
        try workshop.succeed("documents", "a.sqlite", "mirror", "M")
        try workshop.succeed("sync", "a.sqlite")
        let list = try workshop.succeed("documents", "a.sqlite", "list", "--json").output
        XCTAssertTrue(list.contains("photos"), list)
        XCTAssertFalse(list.contains("marker"), list)
    }

    func testRivalsAreWrittenWhereADatabaseLeavesAndWhereAFileBecomesADatabase() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        func write(_ text: String, to name: String) throws {
            try text.write(toFile: workshop.path(name), atomically: false, encoding: .utf8)
        }
        try write("base", to: "n.txt")
        try workshop.succeed("documents", "a.sqlite", "add", "n.txt")
        func settle() throws {
            for _ in 0..<2 { for name in ["a.sqlite", "b.sqlite"] { try workshop.succeed("sync", name) } }
        }
        try settle()
        for (name, database) in [("text of a", "a.sqlite"), ("text of b", "b.sqlite")] {
            try write(name, to: "new")
            try workshop.succeed("documents", database, "put", "new", "n.txt")
        }
        try settle()
        try workshop.succeed("export", "a.sqlite", "all.ferry")
        try workshop.succeed("export", "a.sqlite", "rows.ferry", "--without-documents")
        try workshop.succeed("leave", "b.sqlite", "--documents", "left")
        try workshop.succeed("import", "look.sqlite", "all.ferry", "--documents", "imported")
        for folder in ["left", "imported"] {
            let names = try FileManager.default.contentsOfDirectory(atPath: workshop.path(folder))
            XCTAssertEqual(names.count, 2, "\(folder): \(names)")
            XCTAssertTrue(names.contains("n.txt"), "\(names)")
            let texts = try names.map {
                try String(contentsOfFile: workshop.path(folder + "/" + $0), encoding: .utf8)
            }
            XCTAssertEqual(Set(texts), ["text of a", "text of b"], folder)
        }
        // Without bytes in the file the database is made all the same.
        let told = try workshop.succeed("import", "bare.sqlite", "rows.ferry", "--documents", "bare")
        XCTAssertEqual(try workshop.sql("bare.sqlite", "SELECT count(*) FROM artist"), "2\n")
        XCTAssertFalse((told.output + told.errors).contains("Name the container"), told.errors)
    }

    func testADirectoryIsNoNewVersion() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try FileManager.default.createDirectory(atPath: workshop.path("Papers"), withIntermediateDirectories: false)
        try workshop.fail(
            "documents", "a.sqlite", "put", "Papers", "P", status: 64, code: "invalidArgument",
            mentioning: "add the whole directory")
        try FileManager.default.createSymbolicLink(
            atPath: workshop.path("link"), withDestinationPath: workshop.path("a.sqlite"))
        try workshop.fail(
            "documents", "a.sqlite", "put", "link", "P", status: 64, code: "invalidArgument",
            mentioning: "no regular file")
    }

    func testDocumentsAreAddedListedAndGot() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        XCTAssertTrue(try workshop.succeed("documents", "list", "a.sqlite").output.contains("no documents"))
        try write(workshop, "notes.md", "one")
        let added = try workshop.succeed("documents", "add", "a.sqlite", "notes.md", "--to", "Scores/", "--json").json()
        let first = try XCTUnwrap((added["documents"] as? [[String: Any]])?.first)
        XCTAssertEqual(first["path"] as? String, "Scores/notes.md")
        XCTAssertEqual(first["bytes"] as? Int, 3)
        XCTAssertNotNil(first["version"] as? String)
        XCTAssertEqual(added["newBytes"] as? Int, 0, "what fits into its row needs no pack")
        XCTAssertTrue(
            try workshop.succeed("documents", "add", "a.sqlite", "notes.md", "--to", "Scores/").errors.isEmpty)
        try syncAll(workshop)
        let entries = try list(workshop, "b.sqlite")
        XCTAssertEqual(entries.map { $0["path"] as? String }, ["Scores", "Scores/notes.md"])
        XCTAssertEqual(entries.map { $0["kind"] as? String }, ["folder", "file"])
        XCTAssertEqual(entries[1]["bytes"] as? Int, 3)
        XCTAssertEqual(entries[1]["state"] as? String, "here")
        XCTAssertEqual(entries[1]["rivals"] as? Int, 0)
        XCTAssertEqual(entries[1]["isDeleted"] as? Bool, false)
        let table = try workshop.succeed("documents", "list", "b.sqlite", "Scores").output
        XCTAssertTrue(table.contains("Scores/notes.md"), table)
        XCTAssertTrue(table.contains("here"), table)
        XCTAssertEqual(try workshop.succeed("documents", "get", "b.sqlite", "Scores/notes.md", "-o", "-").output, "one")
        let got = try workshop.succeed("documents", "get", "b.sqlite", "Scores/notes.md", "-o", "out.md", "--json")
            .json()
        XCTAssertEqual(got["bytes"] as? Int, 3)
        XCTAssertEqual(got["file"] as? String, "out.md")
        XCTAssertEqual(try read(workshop, "out.md"), "one")
        try workshop.fail(
            "documents", "get", "b.sqlite", "Scores/notes.md", "-o", "out.md", status: 73, code: "nameTaken")
        try workshop.succeed("documents", "get", "b.sqlite", "Scores/notes.md", "-o", "out.md", "--force")
    }

    func testADirectoryIsAddedWithItsFilesTimesAndModes() throws {
        let workshop = try Workshop()
        try workshop.begin()
        let files = FileManager.default
        try files.createDirectory(atPath: workshop.path("tree/inner"), withIntermediateDirectories: true)
        try write(workshop, "tree/run.sh", "#!/bin/sh\n")
        try write(workshop, "tree/inner/b", "b")
        try write(workshop, "tree/.DS_Store", "litter")
        let time = Date(timeIntervalSince1970: 1_500_000_000)
        try files.setAttributes(
            [.posixPermissions: 0o755, .modificationDate: time], ofItemAtPath: workshop.path("tree/run.sh"))
        try files.createSymbolicLink(atPath: workshop.path("tree/link"), withDestinationPath: "run.sh")
        let outcome = try workshop.succeed("documents", "add", "a.sqlite", "tree")
        XCTAssertTrue(outcome.errors.contains("tree/link"), outcome.errors)
        XCTAssertEqual(try paths(workshop, "a.sqlite"), ["tree", "tree/inner", "tree/inner/b", "tree/run.sh"])
        try workshop.succeed("documents", "get", "a.sqlite", "tree/run.sh", "-o", "again.sh")
        let attributes = try files.attributesOfItem(atPath: workshop.path("again.sh"))
        XCTAssertEqual((attributes[.posixPermissions] as? Int).map { $0 & 0o100 }, 0o100)
        XCTAssertEqual(attributes[.modificationDate] as? Date, time)
    }

    func testOddNamesGoThere() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        let names = [
            "with space.md", "-o", "--json", "a\nb", "tab\there", "quote'\"", "Ünïcödé 🎻", ".hidden", "a:b", "CON",
            "dot.",
            String(repeating: "x", count: 255), "*?[x]", "$(true)", "back\\slash", "\u{1B}[31mred",
        ]
        for (index, name) in names.enumerated() {
            try write(workshop, "source", "text \(index)")
            try workshop.succeed("documents", "put", "a.sqlite", "source", "Odd/" + name)
        }
        try syncAll(workshop)
        XCTAssertEqual(Set(try paths(workshop, "b.sqlite", "Odd")), Set(names.map { "Odd/" + $0 }))
        for (index, name) in names.enumerated() {
            XCTAssertEqual(
                try workshop.succeed("documents", "get", "b.sqlite", "Odd/" + name, "-o", "-").output, "text \(index)",
                name)
        }
        let table = try workshop.succeed("documents", "list", "b.sqlite").output
        XCTAssertFalse(table.contains("\u{1B}[31m"), "a name steers the terminal")
        XCTAssertEqual(table.split(separator: "\n").count, names.count + 3, table)
    }

    func testNamesThatNobodyCanHaveAreRefused() throws {
        let workshop = try Workshop()
        try workshop.begin()
        try write(workshop, "source", "text")
        for name in ["..", "a/../b", ".", String(repeating: "x", count: 256), "/", ""] {
            try workshop.fail(
                "documents", "put", "a.sqlite", "source", name, status: 64, code: "invalidArgument")
        }
        XCTAssertEqual(try paths(workshop, "a.sqlite"), [])
    }

    func testWhatIsNotThereIsNamed() throws {
        let workshop = try two()
        for verb in [
            ["get", "a.sqlite", "none"], ["versions", "a.sqlite", "none"], ["remove", "a.sqlite", "none"],
            ["move", "a.sqlite", "none", "b"], ["put-back", "a.sqlite", "none"], ["list", "a.sqlite", "none"],
            ["fetch", "a.sqlite", "none"], ["evict", "a.sqlite", "none"], ["pin", "a.sqlite", "none"],
            ["settle", "a.sqlite", "none", "--both"], ["add", "a.sqlite", "none"], ["put", "a.sqlite", "none", "x"],
            ["settle", "a.sqlite", "Scores/notes.md", "--both"],
            ["get", "a.sqlite", "Scores/notes.md", "--version", "9"],
            ["attachments", "a.sqlite", "--remove", "song.title"],
        ] {
            let plain = try workshop.run([Workshop.binary, "documents"] + verb)
            XCTAssertEqual(plain.status, 1, "\(verb): \(plain.output)\(plain.errors)")
            XCTAssertTrue(plain.errors.hasPrefix("ferry: "), "\(verb): \(plain.errors)")
            let json = try workshop.run([Workshop.binary, "documents"] + verb + ["--json"])
            XCTAssertEqual(json.status, 1, "\(verb)")
            XCTAssertEqual((try json.json()["error"] as? [String: Any])?["code"] as? String, "nothingFound", "\(verb)")
        }
    }

    func testADatabaseOfNoContainerHasNoDocuments() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        try write(workshop, "f", "x")
        try workshop.fail("documents", "add", "a.sqlite", "f", status: 65, code: "notTracked")
        try workshop.fail("documents", "list", "a.sqlite", status: 65, code: "notTracked")
        try workshop.fail("documents", "list", "none.sqlite", status: 66, code: "databaseMissing")
    }

    func testAnAppsOwnTableIsNamed() throws {
        let workshop = try Workshop()
        try workshop.begin()
        try workshop.sql("a.sqlite", "CREATE TABLE ferry_document(x TEXT)")
        try write(workshop, "f", "x")
        try workshop.fail(
            "documents", "add", "a.sqlite", "f", status: 65, code: "unsupportedTable", mentioning: "ferry_document")
    }

    // MARK: Changing

    func testDocumentsMoveGoAndComeBack() throws {
        let workshop = try two()
        let made = try workshop.succeed("documents", "folder", "a.sqlite", "Archive/2026", "--json").json()
        XCTAssertEqual(made["path"] as? String, "Archive/2026")
        let moved = try workshop.succeed(
            "documents", "move", "a.sqlite", "Scores/notes.md", "Archive/2026", "--json"
        ).json()
        XCTAssertEqual(moved["path"] as? String, "Archive/2026/notes.md")
        try workshop.succeed("documents", "move", "a.sqlite", "Archive/2026/notes.md", "renamed.md")
        try syncAll(workshop)
        XCTAssertEqual(try paths(workshop, "b.sqlite"), ["Archive", "Archive/2026", "Scores", "renamed.md"])
        let removed = try workshop.succeed("documents", "remove", "b.sqlite", "Archive", "--json").json()
        XCTAssertEqual(removed["count"] as? Int, 2)
        try workshop.succeed("documents", "remove", "b.sqlite", "renamed.md")
        try syncAll(workshop)
        XCTAssertEqual(try paths(workshop, "a.sqlite"), ["Scores"])
        let trash = try list(workshop, "a.sqlite", "--deleted")
        XCTAssertEqual(Set(trash.compactMap { $0["path"] as? String }), ["Archive", "Archive/2026", "renamed.md"])
        XCTAssertTrue(trash.allSatisfy { $0["isDeleted"] as? Bool == true })
        let back = try workshop.succeed("documents", "put-back", "a.sqlite", "renamed.md", "--json").json()
        XCTAssertEqual(back["count"] as? Int, 1)
        XCTAssertEqual(try workshop.succeed("documents", "get", "a.sqlite", "renamed.md", "-o", "-").output, "one")
        try workshop.fail(
            "documents", "move", "a.sqlite", "renamed.md", "Scores/../x", status: 64, code: "invalidArgument")
        try workshop.fail("documents", "move", "a.sqlite", "Scores", "renamed.md", status: 73, code: "nameTaken")
    }

    /// Documents of the same path, deleted one after the other, are told apart, and each comes back.
    func testTheTrashTellsDocumentsOfOnePathApart() throws {
        let workshop = try two()
        for text in ["first", "the second"] {
            try write(workshop, "draft", text)
            try workshop.succeed("documents", "put", "a.sqlite", "draft", "draft.md")
            try workshop.succeed("documents", "remove", "a.sqlite", "draft.md")
        }
        for verb in ["get", "versions"] {
            try workshop.fail(
                "documents", verb, "a.sqlite", "draft.md", status: 1, code: "nothingFound",
                mentioning: "2 of that path are in the trash")
        }
        let trash = try list(workshop, "a.sqlite", "--deleted").filter { $0["path"] as? String == "draft.md" }
        XCTAssertEqual(Set(trash.compactMap { $0["bytes"] as? Int }), [5, 10])
        let listing = try workshop.succeed("documents", "list", "a.sqlite", "--deleted").output
        let first = try XCTUnwrap(trash.first { $0["bytes"] as? Int == 5 }?["id"] as? String)
        for entry in trash {
            let id = try XCTUnwrap(entry["id"] as? String)
            XCTAssertTrue(listing.contains(id.prefix(8)), listing)
        }
        try workshop.fail(
            "documents", "put-back", "a.sqlite", "draft.md", "--id", "zz", status: 1, code: "nothingFound")
        try workshop.succeed("documents", "put-back", "a.sqlite", "draft.md", "--id", String(first.prefix(8)))
        XCTAssertEqual(try workshop.succeed("documents", "get", "a.sqlite", "draft.md", "-o", "-").output, "first")
        try workshop.succeed("documents", "remove", "a.sqlite", "draft.md")
        let back = try workshop.succeed("documents", "put-back", "a.sqlite", "draft.md")
        XCTAssertTrue(back.errors.contains("1 more of this path"), back.errors)
        XCTAssertEqual(try workshop.succeed("documents", "get", "a.sqlite", "draft.md", "-o", "-").output, "first")
    }

    func testVersionsConflictsAndSettling() throws {
        let workshop = try two()
        for (database, text) in [("a.sqlite", "by a"), ("b.sqlite", "by b")] {
            try write(workshop, "edit", text)
            try workshop.succeed("documents", "put", database, "edit", "Scores/notes.md")
        }
        XCTAssertEqual(
            try workshop.succeed("documents", "conflicts", "a.sqlite", "--json").json()["total"] as? Int, 0)
        try syncAll(workshop)
        for database in ["a.sqlite", "b.sqlite"] {
            let found = try workshop.succeed("documents", "conflicts", database, "--json").json()
            XCTAssertEqual(found["total"] as? Int, 1)
            let conflicts = try XCTUnwrap(found["conflicts"] as? [[String: Any]])
            XCTAssertEqual(conflicts[0]["path"] as? String, "Scores/notes.md")
            XCTAssertEqual((conflicts[0]["versions"] as? [[String: Any]])?.count, 2)
            XCTAssertEqual(try list(workshop, database, "--conflicts").first?["rivals"] as? Int, 1)
        }
        let found = try workshop.succeed("documents", "versions", "a.sqlite", "Scores/notes.md", "--json").json()
        let versions = try XCTUnwrap(found["versions"] as? [[String: Any]])
        XCTAssertEqual(versions.map { $0["number"] as? Int }, [1, 2, 3])
        XCTAssertEqual(versions.map { $0["isCurrent"] as? Bool }, [true, false, false])
        XCTAssertEqual(versions.map { $0["isRival"] as? Bool }, [false, true, false])
        XCTAssertTrue(
            try workshop.succeed("documents", "versions", "a.sqlite", "Scores/notes.md").output.contains("rival"))
        let texts = try (1...3).map {
            try workshop.succeed(
                "documents", "get", "b.sqlite", "Scores/notes.md", "--version", "\($0)", "-o", "-"
            ).output
        }
        XCTAssertEqual(Set(texts[0...1]), ["by a", "by b"])
        XCTAssertEqual(texts[2], "one")
        XCTAssertEqual(
            try workshop.ferry("documents", "settle", "a.sqlite", "Scores/notes.md").status, 64, "without a way")
        try workshop.fail(
            "documents", "settle", "a.sqlite", "Scores/notes.md", "--keep", "7", status: 1, code: "nothingFound")
        try workshop.succeed("documents", "settle", "a.sqlite", "Scores/notes.md", "--keep", "2")
        try syncAll(workshop)
        for database in ["a.sqlite", "b.sqlite"] {
            XCTAssertEqual(
                try workshop.succeed("documents", "get", database, "Scores/notes.md", "-o", "-").output, texts[1])
            XCTAssertTrue(try list(workshop, database, "--conflicts").isEmpty)
        }
    }

    func testAConflictIsSettledByBothAndByAFile() throws {
        let workshop = try two()
        for round in ["--both", "--with"] {
            for (database, text) in [("a.sqlite", "by a"), ("b.sqlite", "by b")] {
                try write(workshop, "edit", round + text)
                try workshop.succeed("documents", "put", database, "edit", "Scores/notes.md")
            }
            try syncAll(workshop)
            if round == "--both" {
                let settled = try workshop.succeed(
                    "documents", "settle", "b.sqlite", "Scores/notes.md", "--both", "--json"
                ).json()
                XCTAssertNotNil(settled["version"] as? String)
            } else {
                try write(workshop, "merged", "merged")
                try workshop.succeed("documents", "settle", "b.sqlite", "Scores/notes.md", "--with", "merged")
            }
            try syncAll(workshop)
            XCTAssertTrue(try list(workshop, "a.sqlite", "--conflicts").isEmpty)
        }
        XCTAssertEqual(
            try workshop.succeed("documents", "get", "a.sqlite", "Scores/notes.md", "-o", "-").output, "merged")
        let all = try paths(workshop, "a.sqlite", "Scores")
        XCTAssertEqual(all.count, 2)
        XCTAssertTrue(all.contains { $0.hasPrefix("Scores/notes (") && $0.hasSuffix(").md") }, "\(all)")
    }

    // MARK: Room

    /// Two databases, and a document above what the second one fetches by itself.
    private func large() throws -> Workshop {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.succeed("documents", "keep", "b.sqlite", "--fetch", "on-request")
        let bytes = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }
        try Data(bytes).write(to: URL(fileURLWithPath: workshop.path("large")))
        let added = try workshop.succeed("documents", "add", "a.sqlite", "large", "--json").json()
        XCTAssertGreaterThan(try XCTUnwrap(added["newBytes"] as? Int), 0)
        try syncAll(workshop)
        return workshop
    }

    private func pack(_ workshop: Workshop) throws -> String {
        try XCTUnwrap(workshop.files(suffix: ".pack").first).path
    }

    func testDocumentsAreFetchedPinnedAndEvicted() throws {
        let workshop = try large()
        XCTAssertEqual(try list(workshop, "b.sqlite").first?["state"] as? String, "inContainer")
        XCTAssertEqual(try paths(workshop, "b.sqlite", "--state", "here"), [])
        let fetched = try workshop.succeed("documents", "fetch", "b.sqlite", "/", "--json").json()
        XCTAssertEqual(fetched["count"] as? Int, 1)
        XCTAssertEqual(fetched["bytes"] as? Int, 20_000)
        XCTAssertEqual((fetched["unfetched"] as? [Any])?.count, 0)
        XCTAssertEqual(try paths(workshop, "b.sqlite", "--state", "here"), ["large"])
        let evicted = try workshop.succeed("documents", "evict", "b.sqlite", "large", "--json").json()
        XCTAssertEqual(evicted["count"] as? Int, 1)
        XCTAssertEqual(try paths(workshop, "b.sqlite", "--state", "inContainer"), ["large"])
        let pinned = try workshop.succeed("documents", "pin", "b.sqlite", "large", "--json").json()
        XCTAssertEqual(pinned["pinned"] as? Bool, true)
        try syncAll(workshop)
        XCTAssertEqual(try paths(workshop, "b.sqlite", "--state", "here"), ["large"])
        let refused = try workshop.succeed("documents", "evict", "b.sqlite", "large", "--json").json()
        XCTAssertEqual(refused["count"] as? Int, 0)
        XCTAssertEqual((refused["unfetched"] as? [[String: Any]])?.first?["path"] as? String, "large")
        try workshop.succeed("documents", "unpin", "b.sqlite", "large")
        XCTAssertEqual(
            try workshop.succeed("documents", "evict", "b.sqlite", "large", "--json").json()["count"] as? Int, 1)
    }

    func testWhatThisDeviceKeepsIsSaidAndRead() throws {
        let workshop = try Workshop()
        try workshop.begin()
        var kept = try workshop.succeed("documents", "keep", "a.sqlite", "--json").json()
        XCTAssertEqual(kept["fetchBytes"] as? Int, 16 << 20)
        try workshop.succeed(
            "documents", "keep", "a.sqlite", "--fetch", "1.5MB", "--most", "all", "--leave-free", "4096")
        kept = try workshop.succeed("documents", "keep", "a.sqlite", "--json").json()
        XCTAssertEqual(kept["fetchBytes"] as? Int, 1_500_000)
        XCTAssertNil(kept["keepBytes"])
        XCTAssertEqual(kept["leaveFreeBytes"] as? Int, 4096)
        for size in ["much", "-5", "1.2.3", "5XB", "99999999999999999999GB", "all of it", "\u{0663}MB"] {
            try workshop.fail(
                "documents", "keep", "a.sqlite", "--most=" + size, status: 64, code: "invalidArgument")
        }
        try workshop.fail(
            "documents", "keep", "a.sqlite", "--leave-free", "all", status: 64, code: "invalidArgument")
    }

    func testABackupHasTheBytesOfDocuments() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        let bytes = Data((0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 11) })
        try bytes.write(to: URL(fileURLWithPath: workshop.path("large")))
        try Data("short".utf8).write(to: URL(fileURLWithPath: workshop.path("small")))
        try workshop.succeed("documents", "a.sqlite", "add", "large", "small", "--to", "Scores/")
        let report = try workshop.succeed("export", "a.sqlite", "backup.ferry", "--json").json()
        XCTAssertEqual(report["contents"] as? Int, 1)
        XCTAssertEqual(report["contentBytes"] as? Int, 40_000)
        try workshop.fail(
            "import", "look.sqlite", "backup.ferry", status: 65, code: "documentsPresent", mentioning: "--documents DIR"
        )
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("look.sqlite")))
        try workshop.succeed("import", "look.sqlite", "backup.ferry", "--documents", "papers")
        XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: workshop.path("papers/Scores/large"))), bytes)
        XCTAssertEqual(
            try String(contentsOfFile: workshop.path("papers/Scores/small"), encoding: .utf8), "short")
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("look.sqlite-ferry-content")))
        try workshop.succeed("import", "other.sqlite", "backup.ferry", "--discard-documents")
        try workshop.fail(
            "import", "b.sqlite", "backup.ferry", "--discard-documents", status: 64, code: "invalidArgument")
        XCTAssertNil(
            try workshop.succeed("export", "a.sqlite", "rows.ferry", "--without-documents", "--json").json()["contents"]
        )
    }

    func testAnExportWarnsOfBytesThatItLacksAlone() throws {
        let workshop = try Workshop()
        try workshop.begin()
        try Data("short".utf8).write(to: URL(fileURLWithPath: workshop.path("small")))
        try workshop.succeed("documents", "a.sqlite", "add", "small")
        for options in [[], ["--without-documents"]] {
            let told = try workshop.run([Workshop.binary, "export", "a.sqlite", "rows.ferry"] + options)
            XCTAssertEqual(told.status, 0, told.errors)
            XCTAssertFalse(told.errors.contains("above 4 kB"), told.errors)
        }
        try Data(repeating: 7, count: 40_000).write(to: URL(fileURLWithPath: workshop.path("large")))
        try workshop.succeed("documents", "a.sqlite", "add", "large")
        let whole = try workshop.succeed("export", "a.sqlite", "rows.ferry")
        XCTAssertFalse(whole.errors.contains("above 4 kB"), whole.errors)
        let rows = try workshop.succeed("export", "a.sqlite", "rows.ferry", "--without-documents")
        XCTAssertTrue(rows.errors.contains("above 4 kB (40 kB in all)"), rows.errors)
    }

    func testHowLongVersionsStayIsOneChoiceForAllDevices() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        func days(_ database: String) throws -> Int? {
            try workshop.succeed("documents", database, "retention", "--json").json()["days"] as? Int
        }
        XCTAssertEqual(try days("a.sqlite"), 30)
        XCTAssertEqual(
            try workshop.succeed("documents", "a.sqlite", "retention", "--days", "1").output,
            "Former versions and deleted documents stay for 1 day.\n")
        for database in ["a.sqlite", "b.sqlite"] { try workshop.succeed("sync", database) }
        XCTAssertEqual(try days("b.sqlite"), 1)
        try workshop.succeed("documents", "b.sqlite", "retention", "--forever")
        for database in ["b.sqlite", "a.sqlite"] { try workshop.succeed("sync", database) }
        XCTAssertNil(try days("a.sqlite"))
        for days in ["0", "-3", "36501", "9223372036854775807"] {
            try workshop.fail(
                "documents", "a.sqlite", "retention", "--days=" + days, status: 64, code: "invalidArgument")
        }
        try workshop.fail(
            "documents", "a.sqlite", "retention", "--days", "3", "--forever", status: 64, code: "invalidArgument")
        // What a newer Ferry or a stranger may write keeps everything.
        _ = try workshop.sql("a.sqlite", "UPDATE ferry_document_setting SET value = 'a fortnight'")
        XCTAssertNil(try days("a.sqlite"))
    }

    func testAPackThatIsMissingIsToldByAllVerbs() throws {
        let workshop = try large()
        try workshop.succeed("documents", "fetch", "a.sqlite", "/")
        let path = try pack(workshop)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        try FileManager.default.removeItem(atPath: path)
        let fetch = try workshop.ferry("documents", "fetch", "b.sqlite", "/", "--json")
        XCTAssertEqual(fetch.status, 75)
        let waiting = try XCTUnwrap((fetch.json()["unfetched"] as? [[String: Any]])?.first)
        XCTAssertEqual(waiting["path"] as? String, "large")
        XCTAssertEqual(waiting["code"] as? String, "fileNotThereYet")
        XCTAssertEqual(waiting["file"] as? String, path)
        XCTAssertEqual(try workshop.ferry("documents", "fetch", "b.sqlite", "/").status, 75)
        try workshop.fail("documents", "get", "b.sqlite", "large", "-o", "x", status: 75, code: "contentNotHere")
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("x")))
        let entry = try XCTUnwrap(list(workshop, "b.sqlite", "--state", "waiting").first)
        XCTAssertEqual(entry["file"] as? String, path)
        XCTAssertNotNil(entry["reason"] as? String)
        XCTAssertNotNil(entry["sinceMilliseconds"] as? Int)
        let verified = try workshop.ferry("documents", "verify", "b.sqlite", "--json")
        XCTAssertEqual(verified.status, 65)
        XCTAssertEqual((try verified.json()["problems"] as? [[String: Any]])?.first?["code"] as? String, "missing")
        XCTAssertEqual(try workshop.ferry("documents", "verify", "b.sqlite").status, 65)
        let status = try workshop.succeed("status", "b.sqlite", "--json").json()
        XCTAssertEqual((status["documents"] as? [String: Any])?["waiting"] as? Int, 1)
        // Damage is told as well.
        var damaged = bytes
        damaged[damaged.count / 2] ^= 1
        try damaged.write(to: URL(fileURLWithPath: path))
        XCTAssertEqual(try workshop.ferry("documents", "verify", "b.sqlite").status, 0)
        XCTAssertEqual(try workshop.ferry("documents", "verify", "b.sqlite", "--contents").status, 65)
        try bytes.write(to: URL(fileURLWithPath: path))
        let sound = try workshop.succeed("documents", "verify", "b.sqlite", "--contents", "--json").json()
        XCTAssertEqual(sound["packs"] as? Int, 1)
        XCTAssertEqual((sound["problems"] as? [Any])?.count, 0)
        XCTAssertEqual(try workshop.succeed("documents", "get", "b.sqlite", "large", "-o", "x").status, 0)
        XCTAssertEqual(
            try Data(contentsOf: URL(fileURLWithPath: workshop.path("x"))),
            try Data(contentsOf: URL(fileURLWithPath: workshop.path("large"))))
    }

    func testDoctorMendsALostPack() throws {
        let workshop = try large()
        try workshop.succeed("documents", "fetch", "a.sqlite", "/")
        try FileManager.default.removeItem(atPath: try pack(workshop))
        let found = try workshop.ferry("doctor", "a.sqlite", "--json")
        XCTAssertTrue(found.output.contains("not in the container"), found.output)
        _ = try workshop.ferry("doctor", "a.sqlite", "--repair")
        try syncAll(workshop)
        XCTAssertEqual(try workshop.ferry("documents", "verify", "b.sqlite", "--contents").status, 0)
        XCTAssertEqual(try workshop.ferry("documents", "get", "b.sqlite", "large", "-o", "x").status, 0)
    }

    func testDoctorMendsADamagedPack() throws {
        let workshop = try large()
        try workshop.succeed("documents", "fetch", "a.sqlite", "/")
        let path = try pack(workshop)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[bytes.count / 2] ^= 1
        try FileManager.default.removeItem(atPath: path)
        try bytes.write(to: URL(fileURLWithPath: path))
        let found = try workshop.ferry("doctor", "b.sqlite")
        XCTAssertEqual(found.status, 65)
        XCTAssertTrue(found.output.contains("1 pack is damaged.") && found.output.contains(path), found.output)
        XCTAssertEqual(try workshop.ferry("doctor", "a.sqlite").status, 65)
        let repaired = try workshop.succeed("doctor", "a.sqlite", "--repair")
        XCTAssertTrue(repaired.output.contains("repaired  this device: 1 pack is damaged."), repaired.output)
        try syncAll(workshop)
        XCTAssertEqual(try workshop.ferry("documents", "verify", "b.sqlite", "--contents").status, 0)
        XCTAssertEqual(try workshop.ferry("documents", "get", "b.sqlite", "large", "-o", "x").status, 0)
    }

    private func whole(_ workshop: Workshop, _ database: String) throws -> String {
        let root = workshop.path(database + "-ferry-content/whole")
        let name = try FileManager.default.subpathsOfDirectory(atPath: root).first { $0.contains("/") }
        return root + "/" + (try XCTUnwrap(name))
    }

    private func damage(_ path: String) throws {
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[bytes.count / 2] ^= 1
        try FileManager.default.removeItem(atPath: path)
        try bytes.write(to: URL(fileURLWithPath: path))
    }

    private func bytes(_ workshop: Workshop, _ name: String) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: workshop.path(name)))
    }

    func testDamagedBytesBesideTheDatabaseCountAsMissing() throws {
        let workshop = try large()
        let sound = try bytes(workshop, "large")
        func damageAndExpect(_ way: String, _ body: () throws -> Data) throws {
            try damage(try whole(workshop, "a.sqlite"))
            XCTAssertTrue(try body() == sound, way)
        }
        try damageAndExpect("get") {
            try workshop.succeed("documents", "get", "a.sqlite", "large", "-o", "got")
            return try bytes(workshop, "got")
        }
        try damageAndExpect("mirror") {
            try workshop.succeed("documents", "a.sqlite", "mirror", "M")
            return try bytes(workshop, "M/large")
        }
        try damage(try whole(workshop, "a.sqlite"))
        let verified = try workshop.ferry("documents", "verify", "a.sqlite", "--contents")
        XCTAssertEqual(verified.status, 65)
        XCTAssertTrue(
            verified.errors.contains("The bytes of “large” beside the database are damaged."), verified.errors)
        let found = try workshop.ferry("doctor", "a.sqlite")
        XCTAssertTrue(found.output.contains("The bytes of “large” beside the database are damaged."), found.output)
        try workshop.succeed("doctor", "a.sqlite", "--repair")
        XCTAssertTrue(try Data(contentsOf: URL(fileURLWithPath: whole(workshop, "a.sqlite"))) == sound)
        XCTAssertEqual(try workshop.ferry("documents", "verify", "a.sqlite", "--contents").status, 0)
        // Without sound bytes anywhere nothing is handed out.
        try workshop.succeed("documents", "a.sqlite", "mirror", "M", "--stop")
        try damage(try whole(workshop, "a.sqlite"))
        try FileManager.default.removeItem(atPath: try pack(workshop))
        XCTAssertNotEqual(try workshop.ferry("documents", "get", "a.sqlite", "large", "-o", "none").status, 0)
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("none")))
        XCTAssertNotEqual(try list(workshop, "a.sqlite").first?["state"] as? String, "here")
    }

    /// A document above the limit of an automatic fetch, saved in a mirror.
    private func largeInMirror() throws -> Workshop {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try workshop.succeed("documents", "keep", "a.sqlite", "--fetch", "1kB")
        try workshop.succeed("documents", "a.sqlite", "mirror", "M")
        let bytes = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }
        try Data(bytes).write(to: URL(fileURLWithPath: workshop.path("M/large")))
        try syncAll(workshop)
        return workshop
    }

    func testAFileSavedInAMirrorIsHereWhateverItsSize() throws {
        let workshop = try largeInMirror()
        XCTAssertEqual(try list(workshop, "a.sqlite").first?["state"] as? String, "here")
        XCTAssertTrue(try workshop.succeed("status", "a.sqlite").output.contains("50 kB of 50 kB here"))
        // A stick takes all bytes along while the folder is away.
        try FileManager.default.moveItem(atPath: workshop.path("shared"), toPath: workshop.path("away"))
        let report = try workshop.succeed("export", "a.sqlite", "stick.ferry", "--json").json()
        XCTAssertEqual(report["contents"] as? Int, 1)
        try workshop.succeed("import", "new.sqlite", "stick.ferry", "--documents", "out")
        XCTAssertTrue(try bytes(workshop, "out/large") == bytes(workshop, "M/large"))
        XCTAssertEqual(
            try FileManager.default.contentsOfDirectory(atPath: workshop.path("a.sqlite-ferry-content/pending")), [])
        try FileManager.default.removeItem(atPath: try whole(workshop, "a.sqlite"))
        try workshop.succeed("documents", "a.sqlite", "mirror", "M", "--stop")
        let refused = try workshop.ferry("export", "a.sqlite", "stick.ferry")
        XCTAssertEqual(refused.status, 75)
        XCTAssertTrue(refused.errors.contains("bytes of “large” lie there alone"), refused.errors)
    }

    func testDoctorPacksAgainWhatAMirrorHas() throws {
        let workshop = try largeInMirror()
        try workshop.succeed("documents", "evict", "a.sqlite", "large")
        for file in try workshop.files(suffix: ".pack") { try FileManager.default.removeItem(at: file) }
        try workshop.succeed("documents", "get", "a.sqlite", "large", "-o", "got")
        XCTAssertTrue(try bytes(workshop, "got") == bytes(workshop, "M/large"))
        try FileManager.default.removeItem(atPath: try whole(workshop, "a.sqlite"))
        try workshop.succeed("doctor", "a.sqlite", "--repair")
        try syncAll(workshop)
        try workshop.succeed("documents", "get", "b.sqlite", "large", "-o", "gotb")
        XCTAssertTrue(try bytes(workshop, "gotb") == bytes(workshop, "M/large"))
    }

    func testCheckNamesDocumentsThatDoNotArrive() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<50_000).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
        try Data(bytes).write(to: URL(fileURLWithPath: workshop.path("large")))
        try workshop.succeed("documents", "add", "a.sqlite", "large")
        try workshop.succeed("sync", "a.sqlite")
        let path = try pack(workshop)
        let sound = try Data(contentsOf: URL(fileURLWithPath: path))
        try damage(path)
        try workshop.succeed("sync", "b.sqlite")
        let damaged = try workshop.ferry("status", "b.sqlite", "--check")
        XCTAssertEqual(damaged.status, 65)
        XCTAssertTrue(damaged.output.contains("damage: 1 content is still to come: the pack"), damaged.output)
        XCTAssertTrue(try workshop.succeed("status", "b.sqlite").output.contains("is damaged"))
        try FileManager.default.removeItem(atPath: path)
        try workshop.succeed("sync", "b.sqlite")
        let missing = try workshop.ferry("status", "b.sqlite", "--check")
        XCTAssertEqual(missing.status, 75)
        XCTAssertTrue(missing.output.contains("late: 1 content is still to come"), missing.output)
        try sound.write(to: URL(fileURLWithPath: path))
        try syncAll(workshop)
        XCTAssertEqual(try workshop.ferry("status", "b.sqlite", "--check").status, 0)
    }

    func testACopyOfADatabaseLeavesTheMirrorAlone() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.succeed("documents", "a.sqlite", "mirror", "M")
        try write(workshop, "M/f", "one")
        try workshop.succeed("sync", "a.sqlite")
        try FileManager.default.copyItem(atPath: workshop.path("a.sqlite"), toPath: workshop.path("copy.sqlite"))
        try write(workshop, "M/g", "two")
        for _ in 0..<2 {
            let sync = try workshop.succeed("sync", "copy.sqlite")
            XCTAssertTrue(sync.errors.contains("the mirror of another database, or of a copy"), sync.errors)
        }
        XCTAssertEqual(try paths(workshop, "copy.sqlite"), ["f"])
        XCTAssertEqual(try workshop.ferry("documents", "copy.sqlite", "mirror", "M").status, 69)
        let own = try workshop.succeed("sync", "a.sqlite")
        XCTAssertFalse(own.errors.contains("mirror"), own.errors)
        XCTAssertEqual(try paths(workshop, "a.sqlite"), ["f", "g"])
        // A copy takes the directory over when somebody says so, before its first sync as well.
        try FileManager.default.copyItem(atPath: workshop.path("a.sqlite"), toPath: workshop.path("heir.sqlite"))
        XCTAssertEqual(try workshop.ferry("documents", "heir.sqlite", "mirror", "M").status, 69)
        try workshop.succeed("documents", "heir.sqlite", "mirror", "M", "--adopt")
        for _ in 0..<2 {
            let sync = try workshop.succeed("sync", "heir.sqlite")
            XCTAssertFalse(sync.errors.contains("mirror"), sync.errors)
        }
        let rests = try workshop.succeed("sync", "a.sqlite")
        XCTAssertTrue(rests.errors.contains("the mirror of another database, or of a copy"), rests.errors)
    }

    func testAMirrorThatRestsIsInTheJSONOfItsPassAndOfASync() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.succeed("documents", "a.sqlite", "mirror", "M")
        for number in 0..<30 { try write(workshop, "M/f\(number)", "\(number)") }
        try workshop.succeed("sync", "a.sqlite")
        for number in 0..<30 { try FileManager.default.removeItem(atPath: workshop.path("M/f\(number)")) }
        try workshop.succeed("sync", "a.sqlite")
        let held = try workshop.ferry("documents", "a.sqlite", "mirror", "M", "--json")
        XCTAssertEqual(held.status, 65)
        XCTAssertEqual((try held.json()["error"] as? [String: Any])?["code"] as? String, "deletionsHeld")
        let page = try JSONPage()
        XCTAssertEqual(page.differences(try held.json(), chapter: "documents mirror"), [])
        let sync = try workshop.succeed("sync", "a.sqlite", "--json").json()
        XCTAssertEqual((sync["mirrors"] as? [[String: Any]])?.first?["gone"] as? Int, 30)
        XCTAssertEqual(page.differences(sync, chapter: "sync"), [])
    }

    // MARK: Attachments

    func testColumnsAreDeclaredListedAndWithdrawn() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("a.sqlite", "CREATE TABLE photo(id INTEGER PRIMARY KEY, image BLOB)")
        let added = try workshop.succeed(
            "documents", "a.sqlite", "attachments", "--add", "photo.image", "--json"
        ).json()
        XCTAssertEqual(added["columns"] as? [String], ["photo.image"])
        try syncAll(workshop)
        let listed = try workshop.succeed("documents", "b.sqlite", "attachments", "--json").json()
        XCTAssertEqual(listed["columns"] as? [String], ["photo.image"])
        for column in ["photo", "photo.none", "none.image", "ferry_content.id", "a.b.c", "."] {
            try workshop.fail(
                "documents", "a.sqlite", "attachments", "--add", column, status: 64, code: "invalidArgument")
        }
        try workshop.succeed("documents", "b.sqlite", "attachments", "--remove", "photo.image")
        try syncAll(workshop)
        XCTAssertTrue(
            try workshop.succeed("documents", "a.sqlite", "attachments").output.contains("No column"))
    }

    // MARK: Mirrors

    func testAMirrorIsKeptInStepBySync() throws {
        let workshop = try two()
        XCTAssertTrue(
            try workshop.succeed("documents", "a.sqlite", "mirror").output.contains("no mirror on this device"))
        XCTAssertTrue(try workshop.succeed("documents", "a.sqlite", "mirror", "A").output.contains("wrote 2 files"))
        XCTAssertEqual(try read(workshop, "A/Scores/notes.md"), "one")
        try workshop.succeed("documents", "b.sqlite", "mirror", "B")
        try write(workshop, "B/Scores/notes.md", "two")
        try write(workshop, "B/new.md", "new")
        try syncAll(workshop)
        XCTAssertEqual(try read(workshop, "A/Scores/notes.md"), "two")
        XCTAssertEqual(try read(workshop, "A/new.md"), "new")
        let report = try workshop.succeed("documents", "a.sqlite", "mirror", "A", "--json").json()
        XCTAssertEqual(report["taken"] as? Int, 0)
        XCTAssertEqual(report["written"] as? Int, 0)
        try workshop.fail(
            "documents", "b.sqlite", "mirror", "A", status: 69, code: "mirrorMissing", mentioning: "--adopt")
        try workshop.fail("documents", "a.sqlite", "mirror", "C", "--stop", status: 1, code: "nothingFound")
        for wrong in [["--stop"], ["A", "--stop", "--bring-back"], ["A", "--prefer", "me"]] {
            XCTAssertEqual(
                try workshop.run([Workshop.binary, "documents", "a.sqlite", "mirror"] + wrong).status, 64, "\(wrong)")
        }
        try workshop.succeed("documents", "a.sqlite", "mirror", "A", "--stop")
        XCTAssertEqual(try read(workshop, "A/new.md"), "new")
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("A/.ferry-mirror")))
    }

    func testALinkInThePlaceOfADocumentIsTold() throws {
        let workshop = try two()
        try workshop.succeed("documents", "a.sqlite", "mirror", "A")
        try FileManager.default.createSymbolicLink(
            atPath: workshop.path("A/g"), withDestinationPath: workshop.path("outside"))
        try write(workshop, "g", "one")
        try workshop.succeed("documents", "add", "b.sqlite", "g")
        try syncAll(workshop)
        let words = "1 document is not written into \(workshop.path("A")): a link stands at “g”."
        for command in [["sync", "a.sqlite"], ["status", "a.sqlite"], ["documents", "a.sqlite", "list"]] {
            let told = try workshop.run([Workshop.binary] + command)
            XCTAssertTrue(told.errors.contains(words), "\(command): \(told.errors)")
        }
        let doctor = try workshop.succeed("doctor", "a.sqlite")
        XCTAssertTrue(doctor.output.contains("warning  mirror: " + words), doctor.output)
        XCTAssertTrue(doctor.output.contains("1 mirror"), doctor.output)
        let list = try workshop.succeed("documents", "a.sqlite", "mirror").output
        XCTAssertTrue(list.contains("  not written: g: a link stands in its place; move that away"), list)
        let status = try workshop.succeed("status", "a.sqlite", "--json").json()
        let mirror = try XCTUnwrap((status["mirrors"] as? [[String: Any]])?.first)
        XCTAssertEqual(mirror["directory"] as? String, workshop.path("A"))
        XCTAssertEqual(mirror["blocked"] as? Int, 1)
        XCTAssertEqual((mirror["left"] as? [[String: String]])?.first?["path"], "g")
        let listed = try workshop.succeed("documents", "a.sqlite", "list", "--json").json()["mirrors"]
        XCTAssertEqual(((listed as? [[String: Any]])?.first?["left"] as? [[String: String]])?.first?["path"], "g")
        XCTAssertNil(try workshop.succeed("documents", "b.sqlite", "list", "--json").json()["mirrors"])
        XCTAssertNil(try workshop.succeed("status", "b.sqlite", "--json").json()["mirrors"])
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("outside")))
        try FileManager.default.removeItem(atPath: workshop.path("A/g"))
        try workshop.succeed("sync", "a.sqlite")
        XCTAssertEqual(try read(workshop, "A/g"), "one")
        XCTAssertFalse(try workshop.succeed("status", "a.sqlite").errors.contains("not written"))
        XCTAssertFalse(try workshop.succeed("doctor", "a.sqlite").output.contains("not written"))
        // A directory that is away.
        try FileManager.default.moveItem(atPath: workshop.path("A"), toPath: workshop.path("Away"))
        let away = try workshop.succeed("doctor", "a.sqlite").output
        XCTAssertTrue(away.contains("warning  mirror: There is no directory at"), away)
    }

    func testAnEmptiedMirrorAsks() throws {
        let workshop = try two()
        for number in 0..<25 { try write(workshop, "n\(number)", "\(number)") }
        try workshop.succeed("documents", "a.sqlite", "mirror", "A")
        for number in 0..<25 { try write(workshop, "A/n\(number)", "\(number)") }
        try workshop.succeed("documents", "a.sqlite", "mirror", "A")
        for number in 0..<25 { try FileManager.default.removeItem(atPath: workshop.path("A/n\(number)")) }
        let held = try workshop.ferry("documents", "a.sqlite", "mirror", "A", "--json")
        XCTAssertEqual(held.status, 65)
        XCTAssertEqual(try held.json()["gone"] as? Int, 25)
        let synced = try workshop.ferry("sync", "a.sqlite")
        XCTAssertEqual(synced.status, 0)
        XCTAssertTrue(synced.errors.contains("--confirm-deletions"), synced.errors)
        XCTAssertTrue(try workshop.ferry("status", "a.sqlite").errors.contains("25 files are gone"))
        XCTAssertEqual(try list(workshop, "a.sqlite").count, 27)
        try workshop.succeed("documents", "a.sqlite", "mirror", "A", "--bring-back")
        XCTAssertEqual(try read(workshop, "A/n7"), "7")
        for number in 0..<25 { try FileManager.default.removeItem(atPath: workshop.path("A/n\(number)")) }
        try workshop.succeed("documents", "a.sqlite", "mirror", "A", "--confirm-deletions")
        XCTAssertEqual(try list(workshop, "a.sqlite").count, 2)
    }

    func testWhoPrefersASideGetsIt() throws {
        for (side, text) in [("disk", "mine"), ("documents", "one")] {
            let workshop = try two()
            try FileManager.default.createDirectory(
                atPath: workshop.path("A/Scores"), withIntermediateDirectories: true)
            try write(workshop, "A/Scores/notes.md", "mine")
            try workshop.succeed("documents", "a.sqlite", "mirror", "A", "--prefer", side)
            XCTAssertEqual(try read(workshop, "A/Scores/notes.md"), text)
            XCTAssertTrue(try workshop.succeed("documents", "a.sqlite", "conflicts").output.contains("No document"))
            let versions = try workshop.succeed("documents", "a.sqlite", "versions", "Scores/notes.md", "--json").json()
            XCTAssertGreaterThan((versions["versions"] as? [Any])?.count ?? 0, 1, "the other side is in the past")
        }
    }

    func testAWatchKeepsAMirrorInStep() throws {
        let workshop = try two()
        try workshop.succeed("documents", "a.sqlite", "mirror", "A")
        try workshop.succeed("documents", "b.sqlite", "mirror", "B")
        let watch = try Watch(workshop, "a.sqlite")
        _ = watch.event { $0["event"] as? String == "synced" }
        try write(workshop, "A/Scores/notes.md", "by hand")
        let event = watch.event { $0["event"] as? String == "mirrored" && $0["taken"] as? Int == 1 }
        XCTAssertEqual(
            event?["directory"] as? String, URL(fileURLWithPath: workshop.path("A")).resolvingSymlinksInPath().path)
        _ = watch.event {
            $0["event"] as? String == "synced" && ($0["published"] as? [String: Any])?["changes"] as? Int ?? 0 > 0
        }
        try workshop.succeed("sync", "b.sqlite")
        XCTAssertEqual(try read(workshop, "B/Scores/notes.md"), "by hand")
        try write(workshop, "B/Scores/other.md", "from b")
        try workshop.succeed("sync", "b.sqlite")
        _ = watch.event { $0["event"] as? String == "mirrored" && $0["written"] as? Int == 1 }
        XCTAssertEqual(try read(workshop, "A/Scores/other.md"), "from b")
        watch.send(SIGTERM)
        XCTAssertEqual(watch.wait(), 0)
    }

    // MARK: Leaving and carrying away

    func testLeavingAsksWhatBecomesOfDocuments() throws {
        let workshop = try two()
        try workshop.fail("leave", "b.sqlite", status: 65, code: "documentsPresent", mentioning: "--documents")
        try write(workshop, "in-the-way", "x")
        XCTAssertEqual(try workshop.ferry("leave", "b.sqlite", "--documents", "x", "--discard-documents").status, 64)
        try workshop.succeed("leave", "b.sqlite", "--documents", "out")
        XCTAssertEqual(try read(workshop, "out/Scores/notes.md"), "one")
        XCTAssertFalse(try workshop.sql("b.sqlite", "SELECT name FROM sqlite_schema").contains("ferry_"))
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("b.sqlite-ferry-content")))
        XCTAssertEqual(try workshop.succeed("documents", "get", "a.sqlite", "Scores/notes.md", "-o", "-").output, "one")
    }

    /// A photo whose image is a content that no document has, and one whose image is a document's.
    private func attached() throws -> (workshop: Workshop, ids: [String]) {
        let workshop = try two()
        try workshop.sql("a.sqlite", "CREATE TABLE photo(id INTEGER PRIMARY KEY, image BLOB)")
        try workshop.succeed("documents", "a.sqlite", "attachments", "--add", "photo.image")
        try write(workshop, "picture", String(repeating: "picture ", count: 2000))
        try workshop.succeed("documents", "add", "a.sqlite", "picture")
        let documents = try workshop.succeed("documents", "a.sqlite", "list", "--json").json()["documents"]
        let ids = try ["picture", "Scores/notes.md"].map { path in
            try XCTUnwrap(
                (documents as? [[String: Any]])?.first { $0["path"] as? String == path }?["content"] as? String)
        }
        for id in ids { try workshop.sql("a.sqlite", "INSERT INTO photo(image) VALUES (x'\(id)')") }
        try workshop.succeed("documents", "a.sqlite", "remove", "picture")
        try syncAll(workshop)
        return (workshop, ids)
    }

    func testLeavingWritesAttachments() throws {
        let (workshop, ids) = try attached()
        try workshop.fail(
            "leave", "a.sqlite", status: 65, code: "documentsPresent", mentioning: "1 document and 2 attachments")
        let left = try workshop.succeed("leave", "a.sqlite", "--documents", "out", "--json").json()
        let written = try XCTUnwrap(left["writtenDocuments"] as? [String: Any])
        XCTAssertEqual(written["documents"] as? Int, 1)
        XCTAssertEqual(written["attachments"] as? Int, 2)
        XCTAssertEqual(written["attachmentsDirectory"] as? String, "out/Attachments")
        XCTAssertEqual(try read(workshop, "out/Scores/notes.md"), "one")
        let texts = [String(repeating: "picture ", count: 2000), "one"]
        let names = try workshop.sql("a.sqlite", "SELECT hex(image) FROM photo ORDER BY id")
            .split(separator: "\n").map(String.init)
        XCTAssertEqual(names.map { $0.lowercased() }, ids.map { $0.lowercased() })
        for (name, text) in zip(names, texts) {
            XCTAssertEqual(try read(workshop, "out/Attachments/" + name), text)
        }
    }

    func testLeavingWithoutAttachmentsSaysWhatIsGone() throws {
        let (workshop, _) = try attached()
        let left = try workshop.succeed("leave", "a.sqlite", "--discard-documents")
        XCTAssertTrue(left.errors.contains("The bytes of 2 attachments are not on this device any more"), left.errors)
        XCTAssertEqual(
            try workshop.sql("a.sqlite", "SELECT count(*) FROM photo").trimmingCharacters(in: .newlines), "2")
    }

    func testAPlainDatabaseOfAFileHasItsAttachmentsWritten() throws {
        let (workshop, ids) = try attached()
        try workshop.succeed("documents", "a.sqlite", "remove", "Scores")
        try workshop.succeed("export", "a.sqlite", "all.ferry")
        try workshop.fail(
            "import", "plain.sqlite", "all.ferry", status: 65, code: "documentsPresent", mentioning: "2 attachments")
        try workshop.succeed("import", "plain.sqlite", "all.ferry", "--documents", "papers")
        XCTAssertEqual(try read(workshop, "papers/Attachments/" + ids[1].uppercased()), "one")
    }

    func testLeavingWithDocumentsWritesIntoNoFullDirectory() throws {
        let workshop = try two()
        try FileManager.default.createDirectory(atPath: workshop.path("full"), withIntermediateDirectories: false)
        try write(workshop, "full/mine", "mine")
        try workshop.fail("leave", "b.sqlite", "--documents", "full", status: 73, code: "nameTaken")
        XCTAssertEqual(try read(workshop, "full/mine"), "mine")
        XCTAssertEqual(try paths(workshop, "b.sqlite"), ["Scores", "Scores/notes.md"], "the database has not left")
        try workshop.succeed("leave", "b.sqlite", "--discard-documents")
    }

    func testExportSaysWhatIsNotInTheFile() throws {
        let workshop = try large()
        var outcome = try workshop.succeed("export", "a.sqlite", "all.ferry")
        XCTAssertTrue(outcome.output.contains("1 document or attachment is in it"), outcome.output + outcome.errors)
        outcome = try workshop.succeed("export", "a.sqlite", "all.ferry", "--without-documents")
        XCTAssertTrue(outcome.errors.contains("not the bytes"), outcome.output + outcome.errors)
        let plain = try workshop.succeed("import", "plain.sqlite", "all.ferry", "--discard-documents")
        XCTAssertFalse(
            try workshop.sql("plain.sqlite", "SELECT name FROM sqlite_schema").contains("ferry_"), plain.output)
    }

    // MARK: Forged rows

    func testForgedTimesAndSizesAreShownAndStopNothing() throws {
        let workshop = try two()
        try workshop.sql(
            "a.sqlite",
            """
            INSERT INTO ferry_content VALUES (x'a0000000000000000000000000000001', 9223372036854775807, x'0100', NULL);
            INSERT INTO ferry_content VALUES (x'a0000000000000000000000000000002', 9223372036854775807, x'0100', NULL);
            INSERT INTO ferry_document VALUES (x'f0000000000000000000000000000001', NULL, 'early', 0, NULL);
            INSERT INTO ferry_document VALUES (x'f0000000000000000000000000000002', NULL, 'late', 0, NULL);
            INSERT INTO ferry_version VALUES (x'f1000000000000000000000000000001', x'f0000000000000000000000000000001',
                x'a0000000000000000000000000000001', NULL, 0, -9223372036854775808, NULL, -9223372036854775808, 0);
            INSERT INTO ferry_version VALUES (x'f1000000000000000000000000000002', x'f0000000000000000000000000000002',
                x'a0000000000000000000000000000002', NULL, 0, 9223372036854775807, NULL, 9223372036854775807, 0);
            """)
        try syncAll(workshop)
        for database in ["a.sqlite", "b.sqlite"] {
            XCTAssertEqual(try paths(workshop, database), ["Scores", "Scores/notes.md", "early", "late"])
            for arguments in [
                ["documents", "list", database], ["documents", "versions", database, "early"],
                ["documents", "versions", database, "late"], ["status", database],
                ["documents", "fetch", database, "Scores"], ["documents", "remove", database, "early"],
                ["documents", "list", database, "--deleted"], ["documents", "put-back", database, "early"],
            ] {
                let outcome = try workshop.run([Workshop.binary] + arguments)
                XCTAssertEqual(outcome.status, 0, "\(arguments): \(outcome.output)\(outcome.errors)")
            }
            for arguments in [
                ["documents", "get", database, "early", "-o", "-"], ["documents", "fetch", database, "/"],
                ["documents", "verify", database], ["doctor", database], ["leave", database],
            ] {
                let outcome = try workshop.run([Workshop.binary] + arguments)
                XCTAssertTrue((0..<100).contains(outcome.status), "\(arguments): \(outcome.status) \(outcome.errors)")
            }
            try syncAll(workshop)
        }
    }
}
