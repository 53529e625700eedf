import FerryTestSupport
import Foundation
import XCTest

/// What a command said, and how it ended.
struct Outcome {
    var status: Int32
    var output: String
    var errors: String

    /// The JSON object on standard output.
    func json(file: StaticString = #filePath, line: UInt = #line) throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(with: Data(output.utf8))
        return try XCTUnwrap(object as? [String: Any], file: file, line: line)
    }
}

/// A temporary folder with databases and a container, and the built command as a process.
final class Workshop {
    let folder: URL

    static let music = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE genre(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE song(
            id INTEGER PRIMARY KEY, title TEXT NOT NULL, artist_id INTEGER REFERENCES artist(id) ON DELETE SET NULL);
        CREATE TABLE song_genre(
            song_id INTEGER NOT NULL REFERENCES song(id) ON DELETE CASCADE,
            genre_id INTEGER NOT NULL REFERENCES genre(id), PRIMARY KEY(song_id, genre_id)) WITHOUT ROWID;
        CREATE TABLE note(text TEXT);
        INSERT INTO artist VALUES (1, 'Ada'), (2, 'Bo');
        INSERT INTO genre VALUES (1, 'Rock'), (2, 'Jazz');
        INSERT INTO song VALUES (1, 'One', 1), (2, 'Two', 1), (3, 'Three', 2);
        INSERT INTO song_genre VALUES (1, 1), (2, 2);
        INSERT INTO note VALUES ('stays');
        """

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("ferry-command-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }  // a temporary folder

    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    // MARK: Processes

    /// The command's binary: it lies beside the tests' own, which on macOS is inside of a bundle.
    static let binary: String = {
        var place = Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
        if let bundle = Bundle.allBundles.first(where: { $0.bundlePath.hasSuffix(".xctest") && $0 != Bundle.main }) {
            place = bundle.bundleURL
        }
        return place.deletingLastPathComponent().appendingPathComponent("ferry").path
    }()

    /// A process in the workshop's folder; not started.
    func process(_ arguments: [String], environment: [String: String] = [:]) -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.currentDirectoryURL = folder
        // Keys of tests are never among those of the account that runs them.
        process.environment = ProcessInfo.processInfo.environment.merging(["FERRY_KEYS": path("keys")]) { $1 }
            .merging(environment) { $1 }
        return process
    }

    @discardableResult
    func run(
        _ arguments: [String], input: String = "", environment: [String: String] = [:]
    ) throws -> Outcome {
        let process = process(arguments, environment: environment)
        // Files rather than pipes: neither can fill up while the other is read.
        let output = path("out-\(UUID().uuidString)")
        let errors = path("err-\(UUID().uuidString)")
        let source = path("in-\(UUID().uuidString)")
        for (file, content) in [(output, ""), (errors, ""), (source, input)] {
            try content.write(toFile: file, atomically: false, encoding: .utf8)
        }
        defer { for file in [output, errors, source] { try? FileManager.default.removeItem(atPath: file) } }
        process.standardOutput = try XCTUnwrap(FileHandle(forWritingAtPath: output))
        process.standardError = try XCTUnwrap(FileHandle(forWritingAtPath: errors))
        process.standardInput = try XCTUnwrap(FileHandle(forReadingAtPath: source))
        try process.run()
        process.waitUntilExit()
        return Outcome(
            status: process.terminationStatus, output: try String(contentsOfFile: output, encoding: .utf8),
            errors: try String(contentsOfFile: errors, encoding: .utf8))
    }

    @discardableResult
    func ferry(_ arguments: String..., environment: [String: String] = [:]) throws -> Outcome {
        try run([Self.binary] + arguments, environment: environment)
    }

    /// Runs the command on a terminal of its own, which takes the place of its outputs.
    func onTerminal(_ arguments: [String], environment: [String: String] = [:]) throws -> Outcome {
        try run(
            [
                "python3", "-c",
                "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))", Self.binary,
            ] + arguments, environment: environment)
    }

    /// Runs the command with a storage's keys, and expects a status.
    @discardableResult
    func ferry(
        over storage: StrictStorage, _ arguments: String..., status: Int32 = 0, file: StaticString = #filePath,
        line: UInt = #line
    ) throws -> Outcome {
        let outcome = try run([Self.binary] + arguments, environment: storage.environment)
        XCTAssertEqual(outcome.status, status, outcome.output + outcome.errors, file: file, line: line)
        return outcome
    }

    /// Runs the command and expects it to succeed.
    @discardableResult
    func succeed(_ arguments: String..., file: StaticString = #filePath, line: UInt = #line) throws -> Outcome {
        let outcome = try run([Self.binary] + arguments)
        XCTAssertEqual(outcome.status, 0, outcome.output + outcome.errors, file: file, line: line)
        return outcome
    }

    /// Runs the command twice, with and without `--json`, and expects one clear sentence and a status.
    func fail(
        _ arguments: String..., status: Int32, code: String, mentioning words: String = "",
        file: StaticString = #filePath, line: UInt = #line
    ) throws {
        let plain = try run([Self.binary] + arguments)
        XCTAssertEqual(plain.status, status, plain.output + plain.errors, file: file, line: line)
        XCTAssertTrue(plain.errors.hasPrefix("ferry: "), plain.errors, file: file, line: line)
        XCTAssertEqual(plain.errors.split(separator: "\n").count, 1, plain.errors, file: file, line: line)
        XCTAssertEqual(plain.output, "", file: file, line: line)
        let scripted = try run([Self.binary] + arguments + ["--json"])
        XCTAssertEqual(scripted.status, status, scripted.output, file: file, line: line)
        let error = try XCTUnwrap(scripted.json()["error"] as? [String: Any], file: file, line: line)
        XCTAssertEqual(error["code"] as? String, code, file: file, line: line)
        let message = try XCTUnwrap(error["message"] as? String, file: file, line: line)
        XCTAssertTrue(words.isEmpty || message.contains(words), message, file: file, line: line)
    }

    /// Runs SQL in the `sqlite3` shell.
    @discardableResult
    func sql(_ database: String, _ script: String) throws -> String {
        let outcome = try run(
            ["sqlite3", "-bail", path(database)], input: ".timeout 10000\nPRAGMA foreign_keys=ON;\n" + script)
        if outcome.status != 0 { throw Problem(text: "sqlite3 says: \(outcome.errors)") }
        return outcome.output
    }

    struct Problem: Error { var text: String }

    /// Every row of the app's tables, as SQL.
    func rows(_ database: String) throws -> String {
        let names = try sql(
            database, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'ferry%' ORDER BY 1")
        return try sql(
            database,
            ".mode insert\n" + names.split(separator: "\n").map { "SELECT '\($0)', * FROM \"\($0)\";" }.joined())
    }

    // MARK: Beginnings

    /// Where the recovery code of the sealed container is.
    var recovery: String { path("recovery") }

    /// A database with music and its container.
    /// - Parameter isOpen: whether everybody with the folder can read the container. Without it, as `init` makes it.
    func begin(isOpen: Bool = false) throws {
        try sql("a.sqlite", Self.music)
        let sealing = isOpen ? ["--open"] : ["--recovery-to", recovery]
        let made = try run([Self.binary, "init", "a.sqlite", "shared", "--name", "laptop"] + sealing)
        XCTAssertEqual(made.status, 0, made.output + made.errors)
    }

    /// A second device.
    func beginTwo(isOpen: Bool = false) throws {
        try begin(isOpen: isOpen)
        try join("b.sqlite", "--name", "phone")
        try succeed("sync", "a.sqlite")
    }

    /// Joins the container, a sealed one by the recovery code, and expects that to succeed.
    @discardableResult
    func join(
        _ database: String, _ options: String..., file: StaticString = #filePath, line: UInt = #line
    ) throws -> Outcome {
        let isSealed = FileManager.default.fileExists(atPath: recovery)
        let outcome = try run(
            [Self.binary, "join", database, "shared"] + options + (isSealed ? ["--recovery", "-"] : []),
            input: isSealed ? String(contentsOfFile: recovery, encoding: .utf8) : "")
        XCTAssertEqual(outcome.status, 0, outcome.output + outcome.errors, file: file, line: line)
        return outcome
    }

    /// The container's files whose names end so.
    func files(_ container: String = "shared", suffix: String) throws -> [URL] {
        let found = FileManager.default.enumerator(
            at: folder.appendingPathComponent(container), includingPropertiesForKeys: nil)
        return (found?.allObjects as? [URL] ?? []).filter { $0.lastPathComponent.hasSuffix(suffix) }
            .sorted { $0.path < $1.path }
    }

    func change(_ file: URL, _ body: (inout Data) -> Void) throws {
        var data = try Data(contentsOf: file)
        body(&data)
        try data.write(to: file)
    }
}
