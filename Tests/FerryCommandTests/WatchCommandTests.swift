import XCTest

final class WatchCommandTests: XCTestCase {
    func testWatchSendsReceivesAndEndsCleanlyOnEitherSignal() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        let laptop = try Watch(workshop, "a.sqlite")
        let phone = try Watch(workshop, "b.sqlite")
        XCTAssertNotNil(laptop.event { $0["event"] as? String == "started" })
        XCTAssertNotNil(laptop.event { $0["event"] as? String == "synced" })
        XCTAssertNotNil(phone.event { $0["event"] as? String == "synced" })
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'heard' WHERE id = 1")
        XCTAssertNotNil(laptop.event { ($0["published"] as? [String: Int])?["changes"] == 1 })
        let received = phone.event { ($0["replayed"] as? [String: Int])?["changes"] == 1 }
        XCTAssertEqual(received?["conflicts"] as? Int, 0)
        XCTAssertEqual(try workshop.sql("b.sqlite", "SELECT name FROM artist WHERE id = 1"), "heard\n")
        laptop.send(SIGINT)
        phone.send(SIGTERM)
        XCTAssertNotNil(laptop.event { $0["event"] as? String == "stopped" })
        XCTAssertNotNil(phone.event { $0["event"] as? String == "stopped" })
        XCTAssertEqual(laptop.wait(), 0)
        XCTAssertEqual(phone.wait(), 0)
    }

    func testWatchGoesOnWhenTheFolderIsBack() throws {
        let workshop = try Workshop()
        try workshop.begin()
        let watch = try Watch(workshop, "a.sqlite")
        XCTAssertNotNil(watch.event { $0["event"] as? String == "synced" })
        try FileManager.default.moveItem(atPath: workshop.path("shared"), toPath: workshop.path("away"))
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x' WHERE id = 1")
        let failed = watch.event { $0["event"] as? String == "failed" }
        XCTAssertEqual((failed?["error"] as? [String: String])?["code"], "containerMissing")
        try FileManager.default.moveItem(atPath: workshop.path("away"), toPath: workshop.path("shared"))
        XCTAssertNotNil(watch.event { ($0["published"] as? [String: Int])?["changes"] == 1 })
        watch.send(SIGTERM)
        XCTAssertEqual(watch.wait(), 0)
    }

    func testWatchSpeaksToPeopleToo() throws {
        let workshop = try Workshop()
        try workshop.begin()
        let watch = try Watch(workshop, "a.sqlite", isJSON: false)
        XCTAssertTrue(watch.line()?.hasPrefix("Keeping a.sqlite in step with ") ?? false)
        XCTAssertTrue(watch.line()?.hasSuffix("Nothing new.") ?? false)
        watch.send(SIGINT)
        XCTAssertTrue(watch.line()?.hasSuffix("Ended.") ?? false)
        XCTAssertEqual(watch.wait(), 0)
    }

    func testWhatGoesWithoutAChangeIsNotTold() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        let laptop = try Watch(workshop, "a.sqlite", isJSON: false)
        XCTAssertTrue(laptop.line()?.hasPrefix("Keeping a.sqlite in step with ") ?? false)
        XCTAssertTrue(laptop.line()?.hasSuffix("Nothing new.") ?? false)
        let phone = try Watch(workshop, "b.sqlite")
        try workshop.sql("a.sqlite", "ALTER TABLE artist ADD COLUMN motto TEXT")
        let schema = phone.event { ($0["replayed"] as? [String: Int])?["segments"] == 1 }
        XCTAssertEqual((schema?["replayed"] as? [String: Int])?["changes"], 0)
        try workshop.sql("a.sqlite", "UPDATE artist SET motto = 'so it is' WHERE id = 1")
        XCTAssertTrue(laptop.line()?.hasSuffix("Sent 1 change.") ?? false)
        for watch in [laptop, phone] { watch.send(SIGTERM) }
        for watch in [laptop, phone] { XCTAssertEqual(watch.wait(), 0) }
    }

    func testWhileAProgramCommitsAllTheTimePassesKeepADistance() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        let watch = try Watch(workshop, "a.sqlite")
        XCTAssertNotNil(watch.event { $0["event"] as? String == "synced" })
        for number in 0..<60 {
            try workshop.sql("a.sqlite", "INSERT INTO artist(name) VALUES ('\(number)')")
        }
        var (passes, changes) = (0, 0)
        _ = watch.event { event in
            let sent = (event["published"] as? [String: Int])?["changes"] ?? 0
            (passes, changes) = (passes + (sent > 0 ? 1 : 0), changes + sent)
            return changes == 60
        }
        XCTAssertEqual(changes, 60)
        // `PassSpacingTests` has the times.
        XCTAssertLessThan(passes, 60)
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x' WHERE id = 1")
        XCTAssertNotNil(watch.event { ($0["published"] as? [String: Int])?["changes"] == 1 })
        watch.send(SIGTERM)
        XCTAssertEqual(watch.wait(), 0)
    }

    /// None that comes after the first line is lost, also where the computer is busy with many that begin.
    func testASignalThatComesAtOnceEndsIt() throws {
        let workshop = try Workshop()
        try workshop.begin()
        let watches = try (0..<8).map { _ in try Watch(workshop, "a.sqlite") }
        for watch in watches {
            XCTAssertNotNil(watch.line())
            watch.send(SIGTERM)
        }
        for watch in watches { XCTAssertEqual(watch.wait(), 0) }
    }

    func testTheSecondWatchFollowsAndTakesOverWhenTheFirstIsKilled() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        let first = try Watch(workshop, "a.sqlite")
        XCTAssertNotNil(first.event { $0["event"] as? String == "synced" })
        let second = try Watch(workshop, "a.sqlite")
        let people = try Watch(workshop, "a.sqlite", isJSON: false)
        XCTAssertNotNil(second.event { $0["event"] as? String == "following" })
        XCTAssertTrue(people.line()?.hasPrefix("Keeping a.sqlite in step") ?? false)
        XCTAssertTrue(people.line()?.contains("Another process keeps this database in step already.") ?? false)
        // Of two that follow either may take over; one is left.
        people.send(SIGTERM)
        XCTAssertEqual(people.wait(), 0)
        // The one that leads does the work; the others, and an explicit sync, do not disturb it.
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'heard' WHERE id = 1")
        XCTAssertNotNil(first.event { ($0["published"] as? [String: Int])?["changes"] == 1 })
        try workshop.succeed("sync", "a.sqlite")
        XCTAssertEqual(second.event { $0["event"] as? String != "following" }?["event"] as? String, "databaseChanged")
        let start = ContinuousClock.now
        first.send(SIGKILL)
        XCTAssertNil(first.wait())
        let seconds = second.event { $0["event"] as? String == "leading" || $0["event"] as? String == "stopped" }
        XCTAssertEqual(seconds?["event"] as? String, "leading")
        XCTAssertLessThan(start.duration(to: .now), .seconds(3))
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'again' WHERE id = 1")
        XCTAssertNotNil(second.event { ($0["published"] as? [String: Int])?["changes"] == 1 })
        second.send(SIGTERM)
        XCTAssertEqual(second.wait(), 0)
        try workshop.succeed("sync", "b.sqlite")
        XCTAssertEqual(try workshop.sql("b.sqlite", "SELECT name FROM artist WHERE id = 1"), "again\n")
    }

    /// A service may have no output, and a log may lie on a full disk.
    func testAWatchNeedsNoOutput() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        let phone = try Watch(workshop, "b.sqlite")
        XCTAssertNotNil(phone.event { $0["event"] as? String == "synced" })
        let outputs = ["&-"] + (FileManager.default.fileExists(atPath: "/dev/full") ? ["/dev/full"] : [])
        for (number, output) in outputs.enumerated() {
            let errors = workshop.path("errors\(number)")
            let watch = workshop.process([
                "sh", "-c", "exec \"$0\" watch a.sqlite >\(output) 2>\(errors)", Workshop.binary,
            ])
            try watch.run()
            for change in 1...2 {
                try workshop.sql("a.sqlite", "UPDATE artist SET name = '\(number) \(change)' WHERE id = 1")
                XCTAssertNotNil(phone.event { ($0["replayed"] as? [String: Int])?["changes"] == 1 }, output)
            }
            kill(watch.processIdentifier, SIGTERM)
            watch.waitUntilExit()
            XCTAssertEqual(watch.terminationStatus, 0, output)
            XCTAssertEqual(watch.terminationReason, .exit, output)
            let told = try String(contentsOfFile: errors, encoding: .utf8).split(separator: "\n")
            XCTAssertEqual(told.count, 1, "\(told)")
            XCTAssertTrue(told.first?.hasSuffix("The work goes on without it.") ?? false, "\(told)")
        }
        phone.send(SIGTERM)
        XCTAssertEqual(phone.wait(), 0)
    }

    func testWatchRefusesWhatSyncRefuses() throws {
        let workshop = try Workshop()
        try workshop.fail("watch", "none.sqlite", status: 66, code: "databaseMissing")
        try workshop.sql("a.sqlite", Workshop.music)
        try workshop.fail("watch", "a.sqlite", status: 65, code: "notTracked")
    }
}

/// A watching process whose lines are read as they come. Ended by force after a minute, so that a test fails rather
/// than hangs.
final class Watch {
    private let process: Process
    private let output = Pipe()
    private var buffer = Data()

    convenience init(
        _ workshop: Workshop, _ database: String, isJSON: Bool = true, environment: [String: String] = [:]
    ) throws {
        try self.init(
            workshop, arguments: ["watch", database] + (isJSON ? ["--json"] : []), environment: environment)
    }

    /// Starts a command that stays.
    /// - Parameter hasWarnings: true: lines of standard error come among the others.
    init(
        _ workshop: Workshop, program: String = Workshop.binary, arguments: [String],
        environment: [String: String] = [:], hasWarnings: Bool = false
    ) throws {
        // Not through `env`, so that the signals reach the command itself.
        process = workshop.process([], environment: environment)
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = hasWarnings ? output : FileHandle.nullDevice
        try process.run()
        let identifier = process.processIdentifier
        let timer = DispatchWorkItem { kill(identifier, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + 60, execute: timer)
        self.timer = timer
    }

    private let timer: DispatchWorkItem

    deinit {
        timer.cancel()
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// The next line; `nil` at the end.
    func line() -> String? {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: buffer[..<end], as: UTF8.self)
                buffer = Data(buffer[(end + 1)...])
                return line
            }
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { return nil }
            buffer.append(more)
        }
    }

    /// The next line that fulfils a condition; `nil` where none comes.
    func line(_ condition: (String) -> Bool) -> String? {
        while let line = line() { if condition(line) { return line } }
        return nil
    }

    /// The next event that fulfils a condition; `nil` where none comes.
    func event(_ condition: ([String: Any]) -> Bool) -> [String: Any]? {
        while let line = line() {
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8))
            if let event = object as? [String: Any], condition(event) { return event }
        }
        return nil
    }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Waits for the end.
    /// - Returns: the exit status; `nil` where a signal ended it.
    func wait() -> Int32? {
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : nil
    }
}
