import XCTest

/// Help, usage, colours, and saying more or less.
final class OutputTests: XCTestCase {
    func testHelpTeaches() throws {
        let workshop = try Workshop()
        let outcome = try workshop.succeed("--help")
        for word in ["ferry init", "ferry join", "ferry watch", "Exit status", "init ", "leave ", "kv "] {
            XCTAssertTrue(outcome.output.contains(word), word)
        }
        for command in [
            "init", "join", "relocate", "leave", "sync", "watch", "compact", "devices", "export", "import", "status",
            "log",
            "history",
            "verify", "doctor", "conflicts", "restore", "policy", "alter", "kv", "invite", "approve", "enrol", "keys",
            "seal", "version", "documents",
        ] {
            let help = try workshop.succeed(command, "--help").output
            XCTAssertTrue(help.contains("ferry \(command)"), help)
            XCTAssertTrue(help.contains("Example"), help)
            XCTAssertTrue(help.split(separator: "\n").allSatisfy { $0.count <= 80 }, help)
        }
        for (verb, subVerbs) in [
            ("kv", ["set", "get", "remove", "list", "add", "discard", "members", "increment", "counter"]),
            ("devices", ["list", "rename", "retire", "remove"]), ("policy", ["list", "set", "remove"]),
            ("keys", ["list", "rotate", "renew", "check-recovery"]),
            ("conflicts", ["list", "show", "resolve", "restore"]),
            (
                "documents",
                [
                    "list", "add", "put", "get", "folder", "move", "remove", "put-back", "versions", "conflicts",
                    "settle", "retention",
                    "fetch", "evict", "pin", "unpin", "keep", "verify", "attachments",
                ]
            ),
        ] {
            for subVerb in subVerbs {
                let help = try workshop.succeed(verb, "music.sqlite", subVerb, "--help").output
                XCTAssertEqual(try workshop.succeed(verb, subVerb, "--help").output, help)
                let isDefault = subVerb == "list"
                XCTAssertTrue(help.contains("ferry \(verb) <database> \(isDefault ? "[list]" : subVerb)"), help)
                XCTAssertTrue(help.contains("Example"), help)
                XCTAssertTrue(help.split(separator: "\n").allSatisfy { $0.count <= 80 }, help)
            }
        }
    }

    func testTheVersionIsTold() throws {
        let workshop = try Workshop()
        let number = try workshop.succeed("--version").output
        XCTAssertEqual(try workshop.succeed("version").output, "ferry " + number)
        XCTAssertEqual(
            try workshop.succeed("version", "--json").json()["version"] as? String,
            number.trimmingCharacters(in: .newlines))
    }

    func testCompletionsAreMadeForEveryShell() throws {
        let workshop = try Workshop()
        for shell in ["bash", "zsh", "fish"] {
            let script = try workshop.succeed("--generate-completion-script", shell).output
            XCTAssertTrue(script.contains("dry-run"), shell)
        }
    }

    func testWrongUsageIs64AndAnObjectWithJSON() throws {
        let workshop = try Workshop()
        XCTAssertEqual(try workshop.ferry("dance").status, 64)
        XCTAssertEqual(try workshop.ferry("sync").status, 64)
        XCTAssertEqual(try workshop.ferry("sync", "a", "--loud").status, 64)
        XCTAssertEqual(try workshop.ferry("sync", "a", "--quiet", "--verbose").status, 64)
        let outcome = try workshop.ferry("sync", "--json")
        XCTAssertEqual(outcome.status, 64)
        XCTAssertEqual((try outcome.json()["error"] as? [String: String])?["code"], "invalidArgument")
        XCTAssertEqual(outcome.errors, "")
    }

    func testQuietSaysNothing() throws {
        let workshop = try Workshop()
        for name in ["a.sqlite", "c.sqlite"] { try workshop.sql(name, Workshop.music) }
        for arguments in [
            ["init", "a.sqlite", "shared", "--open"], ["join", "b.sqlite", "shared"], ["sync", "a.sqlite"],
            ["init", "c.sqlite", "sealed", "--no-recovery"], ["sync", "c.sqlite"],
        ] {
            let outcome = try workshop.run([Workshop.binary] + arguments + ["--quiet"])
            XCTAssertEqual(outcome.status, 0)
            XCTAssertEqual(outcome.output + outcome.errors, "")
        }
    }

    func testVerboseTellsIdentifiers() throws {
        let workshop = try Workshop()
        try workshop.begin()
        let id = try XCTUnwrap(
            (workshop.succeed("status", "a.sqlite", "--json").json()["device"] as? [String: String])?["id"])
        XCTAssertFalse(try workshop.succeed("status", "a.sqlite").output.contains(id))
        XCTAssertTrue(try workshop.succeed("status", "a.sqlite", "--verbose").output.contains(id))
    }

    func testAPipeGetsNoColours() throws {
        let workshop = try Workshop()
        try workshop.begin()
        XCTAssertFalse(
            try workshop.ferry("status", "a.sqlite", environment: ["TERM": "xterm"]).output.contains("\u{1B}"))
    }

    func testATerminalGetsColoursUnlessSpared() throws {
        let workshop = try Workshop()
        try workshop.begin()
        func page(_ environment: [String: String]) throws -> String {
            try workshop.onTerminal(["status", "a.sqlite"], environment: environment).output
        }
        XCTAssertTrue(try page(["TERM": "xterm", "NO_COLOR": ""]).contains("\u{1B}["))
        XCTAssertFalse(try page(["TERM": "xterm", "NO_COLOR": "1"]).contains("\u{1B}["))
        XCTAssertFalse(try page(["TERM": "dumb", "NO_COLOR": ""]).contains("\u{1B}["))
    }

    func testAnOutputThatIsFullIsTold() throws {
        guard FileManager.default.fileExists(atPath: "/dev/full") else { throw XCTSkip("no /dev/full here") }
        let workshop = try Workshop()
        try workshop.begin()
        let outcome = try workshop.run(["sh", "-c", "\"$0\" status a.sqlite >/dev/full", Workshop.binary])
        XCTAssertEqual(outcome.status, 74)
        XCTAssertTrue(outcome.errors.contains("cannot be written"), outcome.errors)
        for arguments in ["--help", "--version", "sync --help", "help sync", "--generate-completion-script bash"] {
            let outcome = try workshop.run(["sh", "-c", "\"$0\" \(arguments) >/dev/full", Workshop.binary])
            XCTAssertEqual(outcome.status, 74, arguments)
            XCTAssertTrue(outcome.errors.contains("cannot be written"), outcome.errors)
        }
    }

    func testAClosedOutputIsTold() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        for arguments in ["status a.sqlite", "status a.sqlite --json", "sync a.sqlite"] {
            let outcome = try workshop.run(["sh", "-c", "\"$0\" \(arguments) >&-", Workshop.binary])
            XCTAssertEqual(outcome.status, 74, arguments)
            XCTAssertEqual(
                outcome.errors,
                "ferry: The output cannot be written: Bad file descriptor. Standard output is closed; let it lead somewhere, such as to "
                    + "/dev/null.\n")
        }
        // With all three streams closed no file of the container or of the database gets the number of a stream, and its words.
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x' WHERE id = 1")
        XCTAssertEqual(try workshop.run(["sh", "-c", "\"$0\" sync a.sqlite <&- >&- 2>&-", Workshop.binary]).status, 74)
        try workshop.succeed("sync", "a.sqlite")
        try workshop.succeed("doctor", "a.sqlite")
        try workshop.succeed("verify", "a.sqlite", "--deep")
    }

    /// Where the parent process ignores the signal of such a pipe, the command hears of it by an error.
    func testAPipeWithoutAReaderEndsTheCommandQuietly() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        let script = """
            import os, signal, subprocess, sys
            signal.signal(signal.SIGPIPE, signal.SIG_IGN if sys.argv[1] == "ignored" else signal.SIG_DFL)
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run(sys.argv[2:], stdout=writer, restore_signals=False)
            print(done.returncode)
            """
        for (disposition, status) in [("ignored", "74\n"), ("default", "-13\n")] {
            for options in [[], ["--json"]] {
                let outcome = try workshop.run(
                    ["python3", "-c", script, disposition, Workshop.binary, "log", "a.sqlite"] + options)
                XCTAssertEqual(outcome.output, status, disposition)
                XCTAssertEqual(outcome.errors, "", disposition)
            }
        }
    }

    /// The parser of arguments stops at a layout without room for a word.
    func testHelpIsShownInANarrowPane() throws {
        let workshop = try Workshop()
        for columns in ["26", "10", "1", "0", "-3", "x"] {
            for arguments in [["--help"], ["join", "--help"], ["documents", "--help"]] {
                let outcome = try workshop.run([Workshop.binary] + arguments, environment: ["COLUMNS": columns])
                XCTAssertEqual(outcome.status, 0, "\(columns): \(outcome.errors.prefix(200))")
            }
        }
    }

    /// A character of Chinese, Japanese or Korean takes two cells of a terminal.
    func testTablesAreAlignedByCells() throws {
        let workshop = try Workshop()
        try workshop.sql(
            "a.sqlite",
            """
            CREATE TABLE "日本語の表"(id INTEGER PRIMARY KEY, v); CREATE TABLE "café"(id INTEGER PRIMARY KEY);
            CREATE TABLE "cafe\u{301}s"(id INTEGER PRIMARY KEY); CREATE TABLE "🎵"(id INTEGER PRIMARY KEY);
            """)
        try workshop.succeed("init", "a.sqlite", "shared", "--open")
        let lines = try workshop.succeed("status", "a.sqlite").output.split(separator: "\n")
        func cells(_ text: Substring) -> Int {
            text.reduce(0) { $0 + ("日本語の表🎵".contains($1) ? 2 : 1) }
        }
        let places = lines.filter { $0.contains("integer key") }.compactMap { line in
            line.range(of: "integer key").map { cells(line[..<$0.lowerBound]) }
        }
        XCTAssertEqual(places.count, 4, "\(lines)")
        XCTAssertEqual(Set(places).count, 1, lines.joined(separator: "\n"))
    }
}
