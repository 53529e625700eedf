import Foundation
import XCTest

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Secrets on a terminal: prompts without echo, and the recovery code, which is shown once. A pseudo-terminal stands for the person's.
final class TerminalTests: XCTestCase {
    private let proquint = "[bdfghjklmnprstvz][aiou][bdfghjklmnprstvz][aiou][bdfghjklmnprstvz]"

    private func keys(_ workshop: Workshop, _ computer: String) -> [String: String] {
        ["FERRY_KEYS": workshop.path("keys-\(computer)")]
    }

    /// The only line that has nine words.
    private func code(in text: String, file: StaticString = #filePath, line: UInt = #line) throws -> String {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
        let colors = try Regex("\u{1b}\\[[0-9;]*m")
        let plain = lines.map { $0.replacing(colors, with: "") }
        let found = try plain.filter { try Regex("^\(proquint)( \(proquint)){8}$").wholeMatch(in: $0) != nil }
        XCTAssertEqual(found.count, 1, text, file: file, line: line)
        return try XCTUnwrap(found.first, file: file, line: line)
    }

    private func founded() throws -> (workshop: Workshop, recovery: String) {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        let terminal = try Terminal()
        let process = workshop.process(
            [Workshop.binary, "init", "a.sqlite", "shared", "--name", "laptop"],
            environment: keys(workshop, "laptop"))
        let told = try terminal.run(process)
        XCTAssertEqual(process.terminationStatus, 0, told)
        XCTAssertTrue(told.contains("shown once"), told)
        return (workshop, try code(in: told))
    }

    func testTheRecoveryCodeIsShownOnceAndIsTheRightOne() throws {
        let (workshop, recovery) = try founded()
        let terminal = try Terminal()
        let process = workshop.process(
            [Workshop.binary, "keys", "a.sqlite", "check-recovery"], environment: keys(workshop, "laptop"))
        let told = try terminal.run(process, answering: "Recovery code: ", with: recovery + "\n")
        XCTAssertEqual(process.terminationStatus, 0, told)
        XCTAssertFalse(told.contains(recovery), "the terminal shows what was typed: \(told)")
        XCTAssertTrue(terminal.echoes, "the terminal was left without echo")
        // Nothing keeps the code, so nothing shows it again.
        for arguments in [["keys", "a.sqlite"], ["status", "a.sqlite"], ["doctor", "a.sqlite"]] {
            let again = try Terminal().run(
                workshop.process([Workshop.binary] + arguments, environment: keys(workshop, "laptop")))
            XCTAssertFalse(again.contains(recovery), again)
        }
    }

    func testANarrowTerminalBreaksNoWord() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        try workshop.succeed("init", "a.sqlite", "shared", "--open", "--name", "the laptop in the kitchen")
        try workshop.succeed("join", "b.sqlite", "shared", "--name", "phone")
        for (database, title) in [("a.sqlite", "One"), ("b.sqlite", "Two"), ("a.sqlite", "Three and some more words")] {
            try workshop.sql(database, "UPDATE song SET title = '\(title)' WHERE id = 1;")
            if title == "Two" { continue }
            try workshop.succeed("sync", "b.sqlite")
            try workshop.succeed("sync", "a.sqlite")
        }
        try workshop.sql("b.sqlite", "UPDATE song SET title = 'Four' WHERE id = 1;")
        try workshop.succeed("sync", "b.sqlite")
        let colors = try Regex("\u{1b}\\[[0-9;]*m")
        for arguments in [["status"], ["doctor"], ["conflicts"], ["devices"], ["verify", "--deep"]] {
            let all = [Workshop.binary, arguments[0], "b.sqlite"] + arguments.dropFirst()
            let told = try Terminal(columns: 40).run(workshop.process(all)).replacing(colors, with: "")
            let lines = told.split(whereSeparator: \.isNewline).map(String.init)
            XCTAssertFalse(lines.isEmpty)
            for line in lines where line.count > 40 {
                // A word that is too long, such as a path, stays whole.
                let words = line.split(separator: " ")
                XCTAssertTrue(words.count == 1 || words.contains { $0.count > 20 }, "\(arguments): \(line)")
            }
        }
    }

    func testACodeIsTypedAtAPromptWithoutEcho() throws {
        let (workshop, _) = try founded()
        let invited = try Terminal().run(
            workshop.process(
                [Workshop.binary, "invite", "a.sqlite", "--no-wait"], environment: keys(workshop, "laptop")))
        let words = try code(in: invited)
        let terminal = try Terminal()
        let process = workshop.process(
            [Workshop.binary, "join", "b.sqlite", "shared", "--code", "-", "--no-wait"],
            environment: keys(workshop, "phone"))
        let told = try terminal.run(process, answering: "Code: ", with: words.uppercased() + "\n")
        XCTAssertEqual(process.terminationStatus, 75, told)
        XCTAssertFalse(told.lowercased().contains(words), told)
        XCTAssertTrue(terminal.echoes)
        // A wrong code says so, and shows nothing of itself.
        let wrong = words.split(separator: " ").reversed().joined(separator: " ")
        let again = workshop.process(
            [Workshop.binary, "join", "c.sqlite", "shared", "--code", "-"], environment: keys(workshop, "tablet"))
        let refused = try terminal.run(again, answering: "Code: ", with: wrong + "\n")
        XCTAssertEqual(again.terminationStatus, 77, refused)
        XCTAssertFalse(refused.contains(wrong), refused)
    }

    func testTheSixWordsOfANewcomerAreShown() throws {
        let (workshop, _) = try founded()
        let process = workshop.process(
            [Workshop.binary, "join", "b.sqlite", "shared", "--no-wait"], environment: keys(workshop, "phone"))
        let told = try Terminal().run(process)
        XCTAssertEqual(process.terminationStatus, 75, told)
        let plain = told.replacing(try Regex("\u{1b}\\[[0-9;]*m"), with: "")
        XCTAssertNotNil(try Regex("(?m)^ {4}\(proquint)( \(proquint)){5}\\s*$").firstMatch(in: plain), plain)
    }

    func testASignalAtAPromptGivesTheEchoBack() throws {
        let (workshop, _) = try founded()
        for number in [SIGINT, SIGTERM] {
            let terminal = try Terminal()
            let process = workshop.process(
                [Workshop.binary, "join", "b.sqlite", "shared", "--code", "-"], environment: keys(workshop, "phone"))
            try terminal.start(process)
            XCTAssertTrue(try terminal.read(until: "Code: ").hasSuffix("Code: "))
            try terminal.waitForEcho(false)
            kill(process.processIdentifier, number)
            process.waitUntilExit()
            XCTAssertEqual(process.terminationReason, .uncaughtSignal)
            XCTAssertEqual(process.terminationStatus, number)
            XCTAssertTrue(terminal.echoes, "the terminal was left without echo")
        }
    }
}

/// A pseudo-terminal.
private final class Terminal {
    struct Failure: Error { let what: String }

    private let master: Int32
    private let slave: FileHandle
    /// What no test waits for longer, in milliseconds.
    private static let patience: Int32 = 120_000

    /// - Parameter columns: 0 for a terminal that does not say.
    init(columns: UInt16 = 0) throws {
        var ends: (master: Int32, slave: Int32) = (-1, -1)
        var size = winsize(ws_row: columns == 0 ? 0 : 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard openpty(&ends.master, &ends.slave, nil, nil, &size) == 0 else {
            throw Failure(what: "no pseudo-terminal: \(String(cString: strerror(errno)))")
        }
        master = ends.master
        let descriptor = ends.slave
        slave = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    deinit { close(master) }

    /// Whether the terminal shows what is typed.
    var echoes: Bool {
        var settings = termios()
        return tcgetattr(slave.fileDescriptor, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    func start(_ process: Process) throws {
        process.standardInput = slave
        process.standardOutput = slave
        process.standardError = slave
        try process.run()
    }

    /// Runs a process to its end.
    /// - Returns: what it showed.
    func run(_ process: Process, answering prompt: String? = nil, with answer: String = "") throws -> String {
        try start(process)
        var shown = ""
        if let prompt {
            shown = try read(until: prompt)
            // The prompt is shown before the echo ends: a person is slower than that.
            try waitForEcho(false)
            _ = answer.withCString { write(master, $0, strlen($0)) }
        }
        let reader = Reader(master)
        process.waitUntilExit()
        return shown + (try reader.finish())
    }

    /// Reads what is shown, up to and including a text.
    func read(until text: String) throws -> String {
        var shown: [UInt8] = []
        while !String(decoding: shown, as: UTF8.self).contains(text) {
            guard let more = try Self.read(master, Self.patience) else {
                throw Failure(what: "not shown: \(text); shown: \(String(decoding: shown, as: UTF8.self))")
            }
            shown += more
        }
        return String(decoding: shown, as: UTF8.self)
    }

    /// Waits until the terminal echoes or does not.
    func waitForEcho(_ wanted: Bool) throws {
        for _ in 0..<Self.patience {
            if echoes == wanted { return }
            _ = poll(nil, 0, 1)
        }
        throw Failure(what: "the echo stays \(echoes)")
    }

    /// - Returns: `nil` where nothing came in time.
    fileprivate static func read(_ descriptor: Int32, _ milliseconds: Int32) throws -> [UInt8]? {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&wanted, 1, milliseconds) > 0 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = buffer.withUnsafeMutableBytes { systemRead(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { return nil }
        return Array(buffer.prefix(count))
    }

    /// Reads on another thread, so that a process never waits for a full terminal.
    private final class Reader: @unchecked Sendable {  // because `shown` is handed over by the semaphore
        private let stop: [Int32]
        private let done = DispatchSemaphore(value: 0)
        private var shown: [UInt8] = []

        init(_ master: Int32) {
            var ends: [Int32] = [-1, -1]
            _ = pipe(&ends)
            stop = ends
            let end = ends[0]
            Thread.detachNewThread { [self] in
                while true {
                    var descriptors = [
                        pollfd(fd: master, events: Int16(POLLIN), revents: 0),
                        pollfd(fd: end, events: Int16(POLLIN), revents: 0),
                    ]
                    guard poll(&descriptors, 2, Terminal.patience) > 0 else { break }
                    if descriptors[0].revents & Int16(POLLIN) != 0 {
                        guard let more = try? Terminal.read(master, 0) else { break }
                        shown += more
                    } else if descriptors[1].revents != 0 || descriptors[0].revents != 0 {
                        break
                    }
                }
                done.signal()
            }
        }

        /// What was shown until now: the process has ended.
        func finish() throws -> String {
            var byte: UInt8 = 0
            _ = write(stop[1], &byte, 1)
            done.wait()
            for end in stop { close(end) }
            return String(decoding: shown, as: UTF8.self)
        }
    }
}

private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, buffer, count)
}
