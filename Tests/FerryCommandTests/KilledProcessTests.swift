import Foundation
import XCTest

/// The command is killed by the operating system at calls that write, as `strace` injects it: what is left is a database
/// and a container with which the next command does the rest.
final class KilledProcessTests: XCTestCase {
    private static let calls = [
        "write", "pwrite64", "fsync", "fdatasync", "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir",
        "mkdirat", "link", "linkat", "ftruncate",
    ]

    /// At how many calls one command is killed; all of them under `make crash`.
    private static let maximumPoints = Int(ProcessInfo.processInfo.environment["FERRY_CRASH_POINTS"] ?? "") ?? 2

    /// `strace`, where it may trace: some containers forbid it.
    private func strace(_ shop: Workshop, _ options: [String], _ command: [String]) throws -> Outcome {
        try shop.run(
            ["strace", "-f", "-qq", "-o", shop.path("trace"), "-e", "signal=none"] + options
                + [Workshop.binary] + command)
    }

    private func skipUnlessPermitted() throws {
        let shop = try Workshop()
        let trial = try shop.run(["strace", "-f", "-qq", "-o", shop.path("trace"), "true"])
        if trial.status != 0 {
            print("KilledProcessTests: skipped, because strace is not installed or not permitted: \(trial.errors)")
            throw XCTSkip("strace is not installed or not permitted: \(trial.errors)")
        }
    }

    /// SQLite lets nobody else write while it holds the lock of the log, and the disk takes longer than the work of most passes.
    func testNoProgramWaitsWhileASyncWaitsForTheDisk() throws {
        try skipUnlessPermitted()
        let shop = try Workshop()
        try shop.sql("a.sqlite", "PRAGMA journal_mode = WAL; CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
        try shop.ferry("init", "a.sqlite", "shared", "--open")
        // The app has the database open: a log that is made anew gets its header onto the disk under the lock.
        let (app, input, output) = (Process(), Pipe(), Pipe())
        app.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        app.arguments = ["sqlite3", shop.path("a.sqlite")]
        (app.standardInput, app.standardOutput) = (input, output)
        try app.run()
        defer { app.terminate() }
        input.fileHandleForWriting.write(Data("INSERT INTO t(x) VALUES ('one'); SELECT 'written';\n".utf8))
        XCTAssertEqual(output.fileHandleForReading.availableData, Data("written\n".utf8))
        let traced = try strace(
            shop, ["-y", "-e", "trace=fcntl,fsync,fdatasync"], ["sync", shop.path("a.sqlite")])
        XCTAssertEqual(traced.status, 0, traced.errors)
        var isLocked = false
        var (locks, synchronizations) = (0, 0)
        for line in try String(contentsOfFile: shop.path("trace"), encoding: .utf8).split(separator: "\n") {
            // The lock of writers is byte 120 of the log's index: https://www.sqlite.org/walformat.html#wal_locks
            if line.contains("a.sqlite-shm"), line.contains("l_start=120, l_len=1}") {
                isLocked = line.contains("F_WRLCK")
                if isLocked { locks += 1 }
            }
            guard line.contains("sync(") else { continue }
            XCTAssertFalse(isLocked, "\(line)")
            if line.contains("a.sqlite-wal") { synchronizations += 1 }
            if line.contains("/shared/") {
                XCTAssertGreaterThan(synchronizations, 0, "what is published is on the disk: \(line)")
            }
        }
        XCTAssertGreaterThan(locks, 1)
        XCTAssertGreaterThan(synchronizations, 0)
    }

    /// Kills a command at every call that writes, or at as many as there is time for.
    /// - Parameters:
    ///   - doneStatus: the status of the command where everything is done already; `nil`: a sync is needed then.
    ///   - rest: what everything comes to; `nil`: the rows of all databases, and the devices.
    ///   - prepare: makes `work/`, in which the command works; the container is `work/shared`. The keys are put back, too.
    private func kill(
        _ command: [String], doneStatus: Int32? = nil, rest: ((Workshop) throws -> [String])? = nil,
        prepare: (Workshop) throws -> Void,
        file: StaticString = #filePath, line: UInt = #line
    ) throws {
        try skipUnlessPermitted()
        let shop = try Workshop()
        try FileManager.default.createDirectory(atPath: shop.path("work"), withIntermediateDirectories: false)
        try prepare(shop)
        try FileManager.default.moveItem(atPath: shop.path("work"), toPath: shop.path("prepared"))
        let rest = rest ?? self.rest
        let hasKeys = FileManager.default.fileExists(atPath: shop.path("keys"))
        if hasKeys {
            try FileManager.default.moveItem(atPath: shop.path("keys"), toPath: shop.path("prepared-keys"))
        }
        func begin() throws {
            for (name, prepared) in [("work", "prepared"), ("keys", "prepared-keys")] {
                try? FileManager.default.removeItem(atPath: shop.path(name))  // not there the first time
                if name == "keys" && !hasKeys { continue }
                try FileManager.default.copyItem(atPath: shop.path(prepared), toPath: shop.path(name))
            }
        }

        try begin()
        let whole = try strace(shop, ["-e", "trace=" + Self.calls.joined(separator: ",")], command)
        XCTAssertEqual(whole.status, 0, whole.errors, file: file, line: line)
        var counts: [String: Int] = [:]
        for entry in try String(contentsOfFile: shop.path("trace"), encoding: .utf8).split(separator: "\n") {
            if let match = entry.firstMatch(of: /^\d+ +(\w+)\(/) { counts[String(match.1), default: 0] += 1 }
        }
        let expected = try rest(shop)

        var points = counts.sorted { $0.key < $1.key }.flatMap { call, count in (1...count).map { (call, $0) } }
        let total = points.count
        XCTAssertGreaterThan(total, 20, file: file, line: line)
        let stride = max(1, total / Self.maximumPoints)
        points = points.enumerated().filter { $0.offset % stride == 0 }.map(\.element)
        print("\(command.joined(separator: " ")): killed at every \(stride). of \(total) calls")
        for (call, number) in points {
            let context = "\(command[0]) killed at \(call) number \(number)"
            try begin()
            let killed = try strace(
                shop, ["-e", "trace=\(call)", "-e", "inject=\(call):signal=KILL:when=\(number)"], command)
            // Threads wake each other by writing, now more, now less often.
            XCTAssertTrue(killed.status != 0 || call == "write", "\(context): it went on", file: file, line: line)
            // What a person does: the same again, and a sync where it is said to be done already.
            let again = try shop.run([Workshop.binary] + command)
            if again.status != 0, again.status != doneStatus {
                let sync = try shop.run([Workshop.binary, "sync", command[1]])
                XCTAssertEqual(sync.status, 0, "\(context): \(again.errors)\(sync.errors)", file: file, line: line)
            }
            XCTAssertEqual(try rest(shop), expected, context, file: file, line: line)
            XCTAssertEqual(
                try shop.files("work/shared", suffix: "").filter { $0.lastPathComponent.hasPrefix(".ferry-tmp-") }, [],
                context, file: file, line: line)
        }
    }

    /// What everything comes to: the rows of all databases, and how many devices the container knows.
    private func rest(_ shop: Workshop) throws -> [String] {
        let databases = try FileManager.default.contentsOfDirectory(atPath: shop.path("work"))
            .filter { $0.hasSuffix(".sqlite") }.sorted()
        for _ in 0..<2 { for name in databases { try shop.succeed("sync", shop.path("work/" + name)) } }
        var rest = ["\(try shop.files("work/shared", suffix: "head").count) devices"]
        for name in databases {
            try shop.succeed("verify", "--deep", shop.path("work/" + name))
            rest.append(try shop.rows("work/" + name))
        }
        return rest
    }

    private func beginTwo(_ shop: Workshop) throws {
        try shop.sql("work/a.sqlite", Workshop.music)
        try shop.succeed("init", shop.path("work/a.sqlite"), shop.path("work/shared"), "--open", "--name", "laptop")
        try shop.succeed("join", shop.path("work/b.sqlite"), shop.path("work/shared"), "--name", "phone")
        try shop.succeed("sync", shop.path("work/a.sqlite"))
    }

    func testSync() throws {
        try kill(["sync", "work/a.sqlite"]) { shop in
            try beginTwo(shop)
            try shop.sql(
                "work/b.sqlite", "INSERT INTO artist VALUES (8, 'Dee'); UPDATE song SET title = 'Zwei' WHERE id = 2;")
            try shop.succeed("sync", shop.path("work/b.sqlite"))
            try shop.sql(
                "work/a.sqlite", "INSERT INTO song VALUES (9, 'Nine', 2); DELETE FROM song WHERE title = 'One';")
        }
    }

    func testInit() throws {
        try kill(["init", "work/a.sqlite", "work/shared", "--open", "--name", "laptop"]) {
            try $0.sql("work/a.sqlite", Workshop.music)
        }
    }

    func testJoin() throws {
        try kill(["join", "work/c.sqlite", "work/shared", "--name", "tablet"]) { try beginTwo($0) }
    }

    /// What `leave` leaves: a plain database without a key, and nothing of Ferry's beside it but the memory of the integer keys.
    private func restOfLeaving(_ shop: Workshop) throws -> [String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: shop.path("work"))
            .filter { $0.hasPrefix("a.sqlite-ferry") }
        let keys = try? FileManager.default.contentsOfDirectory(atPath: shop.path("keys"))  // none of an open container
        return try [
            shop.sql("work/a.sqlite", "SELECT name FROM sqlite_schema WHERE name LIKE 'ferry%'"),
            shop.rows("work/a.sqlite"),
        ] + names.sorted() + (keys ?? []).sorted()
    }

    func testLeave() throws {
        for options in [["--no-recovery"], ["--open"]] {
            try kill(["leave", "work/a.sqlite"], doneStatus: 65, rest: restOfLeaving) { shop in
                try shop.sql("work/a.sqlite", Workshop.music)
                let made = try shop.run(
                    [Workshop.binary, "init", shop.path("work/a.sqlite"), shop.path("work/shared")] + options)
                XCTAssertEqual(made.status, 0, made.errors)
            }
        }
    }

    func testImport() throws {
        try kill(["import", "work/c.sqlite", "work/backup.ferry", "--container", "work/shared"]) { shop in
            try beginTwo(shop)
            try shop.succeed("export", shop.path("work/a.sqlite"), shop.path("work/backup.ferry"))
        }
    }

    func testCompact() throws {
        try kill(["compact", "work/a.sqlite"]) { shop in
            try beginTwo(shop)
            for number in 1...18 {
                try shop.sql("work/a.sqlite", "INSERT INTO genre VALUES (NULL, 'Genre \(number)');")
                try shop.succeed("sync", shop.path("work/a.sqlite"))
            }
            try shop.succeed("sync", shop.path("work/b.sqlite"))
        }
    }
}
