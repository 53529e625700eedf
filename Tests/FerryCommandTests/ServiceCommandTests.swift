import XCTest

/// `ferry service`, with a `systemctl` that notes what it is asked.
final class ServiceCommandTests: XCTestCase {
    #if os(Linux)
    /// Runs the command where `systemctl` is a script.
    private func ferry(
        _ workshop: Workshop, _ arguments: String..., systemctl: String = "echo active"
    ) throws -> Outcome {
        let tools = workshop.path("tools")
        try FileManager.default.createDirectory(atPath: tools, withIntermediateDirectories: true)
        let script = "#!/bin/sh\necho \"$*\" >> '\(workshop.path("asked"))'\n\(systemctl)\n"
        try script.write(toFile: tools + "/systemctl", atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: tools + "/systemctl")
        return try workshop.run(
            [Workshop.binary] + arguments,
            environment: [
                "PATH": tools + ":/usr/bin:/bin", "HOME": workshop.path("home"), "XDG_CONFIG_HOME": "",
            ])
    }

    func testAServiceIsInstalledAskedAfterAndRemoved() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        let page = try JSONPage()
        let installed = try ferry(
            workshop, "service", "a.sqlite", "install", "--metrics", "a.prom", "--json")
        XCTAssertEqual(installed.status, 0, installed.output + installed.errors)
        XCTAssertEqual(page.differences(try installed.json(), chapter: "service"), [])
        let unit = try XCTUnwrap(installed.json()["unit"] as? String)
        let file = workshop.path("home/.config/systemd/user/\(unit).service")
        XCTAssertEqual(try installed.json()["file"] as? String, file)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let folder = URL(fileURLWithPath: workshop.folder.path).resolvingSymlinksInPath().path
        XCTAssertTrue(text.contains("\"watch\" \"\(folder)/a.sqlite\" \"--metrics\" \"\(folder)/a.prom\""), text)
        XCTAssertTrue(text.contains("Environment=\"FERRY_KEYS=\(workshop.path("keys"))\""), text)
        let status = try ferry(workshop, "service", "a.sqlite")
        XCTAssertEqual(status.status, 0, status.errors)
        XCTAssertEqual(status.output, "The service \(unit) runs, and begins with every login.\n")
        let removed = try ferry(workshop, "service", "a.sqlite", "remove")
        XCTAssertEqual(removed.output, "The service \(unit) is stopped and removed.\n")
        XCTAssertFalse(FileManager.default.fileExists(atPath: file))
        XCTAssertEqual(try ferry(workshop, "service", "a.sqlite", "remove").status, 1)
        XCTAssertEqual(try ferry(workshop, "service", "a.sqlite", "status").status, 1)
        let asked = try String(contentsOfFile: workshop.path("asked"), encoding: .utf8).split(separator: "\n")
        XCTAssertEqual(
            asked.prefix(3).map(String.init),
            ["--user daemon-reload", "--user enable \(unit).service", "--user restart \(unit).service"])
        XCTAssertTrue(asked.contains("--user disable --now \(unit).service"), "\(asked)")
    }

    func testSystemdFindsNothingWrongWithAUnit() throws {
        let workshop = try Workshop()
        guard try workshop.run(["sh", "-c", "command -v systemd-analyze"]).status == 0 else {
            throw XCTSkip("systemd-analyze is not there.")
        }
        let name = "100% \"ours\" $x.sqlite"
        try workshop.sql(name, Workshop.music)
        try workshop.succeed("init", name, "shared", "--open")
        let installed = try ferry(workshop, "service", name, "install", "--no-start", "--json")
        let file = try XCTUnwrap(installed.json()["file"] as? String)
        let verified = try workshop.run(
            ["systemd-analyze", "verify", "--user", file], environment: ["XDG_RUNTIME_DIR": workshop.folder.path])
        XCTAssertEqual(verified.status, 0, verified.errors)
        XCTAssertEqual(verified.errors, "")
    }

    func testWithoutAServiceManagerItSaysWhatIsTrueAndWhatToDo() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        let failing = "echo 'Failed to connect to bus: No medium found' >&2; exit 1"
        let outcome = try ferry(workshop, "service", "a.sqlite", "install", systemctl: failing)
        XCTAssertEqual(outcome.status, 74)
        XCTAssertTrue(outcome.errors.contains("and does not run: Failed to connect to bus"), outcome.errors)
        XCTAssertTrue(outcome.errors.contains("let something else start `"), outcome.errors)
        let status = try ferry(workshop, "service", "a.sqlite", "status", systemctl: failing)
        XCTAssertEqual(status.status, 69)
        XCTAssertTrue(status.output.contains("no service manager answers"), status.output)
        XCTAssertEqual(
            try ferry(workshop, "service", "a.sqlite", "install", "--no-start", systemctl: failing).status, 0)
        XCTAssertEqual(try ferry(workshop, "service", "a.sqlite", "remove", systemctl: failing).status, 0)
    }

    func testAServiceThatDoesNotRunIsTold() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        let dead = "case \"$2\" in is-active) echo inactive; exit 3;; is-enabled) echo disabled; exit 1;; esac"
        XCTAssertEqual(try ferry(workshop, "service", "a.sqlite", "install", systemctl: dead).status, 0)
        let status = try ferry(workshop, "service", "a.sqlite", systemctl: dead)
        XCTAssertEqual(status.status, 69)
        XCTAssertTrue(status.output.contains("does not run, and does not begin with the login."), status.output)
    }

    func testADatabaseThatCannotBeWatchedGetsNoService() throws {
        let workshop = try Workshop()
        try workshop.sql("plain.sqlite", Workshop.music)
        XCTAssertEqual(try ferry(workshop, "service", "plain.sqlite", "install").status, 65)
        XCTAssertEqual(try ferry(workshop, "service", "none.sqlite", "install").status, 66)
        XCTAssertEqual(try ferry(workshop, "service", "plain.sqlite", "install", "--metrics", "x.txt").status, 64)
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("home")))
    }
    #endif
}
