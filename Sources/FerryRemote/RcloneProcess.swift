import FerryContainer
import FerryCore
import Foundation

/// A running `rclone rcd`: rclone as a server on loopback, on a port chosen by rclone, with a password known only to
/// this process.
///
/// rclone ends with this process, after any kind of end. A shell between both waits for the end of a pipe, and then
/// ends rclone by the process ID. Nothing of a location stands on a command line.
final class RcloneProcess: Sendable {
    /// The oldest sufficient version of rclone.
    static let oldestVersion = [1, 60]
    /// How long a start may take, in seconds.
    private static let startSeconds = 30.0
    /// A dead connection comes a moment before the end of rclone is known, in seconds.
    private static let endSeconds = 1.0
    /// The longest kept line of rclone's, in bytes.
    private static let maximumLineBytes = 4096
    /// Ends rclone once standard input is closed. Only rclone itself keeps standard error open, so the end of rclone is
    /// noticed.
    private static let script = """
        "$0" rcd --rc-addr 127.0.0.1:0 --rc-serve </dev/null & child=$!
        exec 2>/dev/null
        cat >/dev/null
        kill "$child"
        """

    /// `http://127.0.0.1:38301`.
    let address: String
    /// The value of the header `authorization`.
    let authorization: String
    private let input: FileHandle
    private let lines: Lines

    /// Starts rclone, and waits until rclone listens.
    /// - Parameters:
    ///   - program: found by the search path.
    ///   - variables: the environment of this process.
    /// - Throws: `containerMissing` without rclone, and for an rclone that ends at once: the message has rclone's last
    ///   line.
    init(program: String = "rclone", variables: [String: String], random: any RandomSource) throws {
        #if os(iOS)
        throw FerryError(.invalidArgument, "There is no rclone on this system. Name a folder, or s3://…")
        #else
        let password = hexString(
            (0..<4).flatMap { _ in withUnsafeBytes(of: random.next().bigEndian, Array.init) })
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", Self.script, program]
        process.environment = Self.environment(variables, password)
        let (input, errors) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        process.standardError = errors
        do {
            try process.run()
        } catch {
            throw Self.missing("\(error.systemWords)")
        }
        lines = Lines(errors.fileHandleForReading)
        self.input = input.fileHandleForWriting
        authorization = "Basic " + Data("ferry:\(password)".utf8).base64EncodedString()
        guard let address = lines.address(within: Self.startSeconds) else {
            try? self.input.close()  // rclone ends, if rclone is there
            throw Self.missing(lines.last)
        }
        self.address = address
        #endif
    }

    deinit {
        try? input.close()  // the end of this process closes the pipe as well
    }

    /// The last line of rclone's, for messages.
    var lastLine: String { lines.last }

    /// Whether rclone has ended, or ends in a moment.
    var hasEnded: Bool { lines.end(within: Self.endSeconds) }

    static func missing(_ reason: String) -> FerryError {
        if RcloneAnswer.isAboutPassword(reason) { return passwordMissing() }
        let said = RcloneAnswer.words(reason)
        return FerryError(
            .containerMissing,
            "rclone cannot be started\(said.isEmpty ? "" : " (\(said))"). Is it installed, in version "
                + "\(oldestVersion[0]).\(oldestVersion[1]) or later?",
            detail: said)
    }

    static func passwordMissing() -> FerryError {
        FerryError(
            .credentialsMissing,
            "rclone's configuration has a password. Set RCLONE_CONFIG_PASS, or RCLONE_PASSWORD_COMMAND, to the right one."
        )
    }

    /// The environment for rclone: the person's own variables, without those that would change the dialog with this
    /// process.
    static func environment(_ variables: [String: String], _ password: String) -> [String: String] {
        let ours = [
            "RCLONE_RC_", "RCLONE_LOG_", "RCLONE_SYSLOG", "RCLONE_USE_JSON_LOG", "RCLONE_VERBOSE", "RCLONE_QUIET",
        ]
        var variables = variables.filter { variable in !ours.contains { variable.key.hasPrefix($0) } }
        // With this variable, rclone 1.60 refuses S3.
        variables["AWS_CA_BUNDLE"] = nil
        variables["RCLONE_RC_USER"] = "ferry"
        variables["RCLONE_RC_PASS"] = password
        variables["RCLONE_ASK_PASSWORD"] = "false"
        return variables
    }
}

/// The lines of rclone on standard error. A thread reads the lines, so rclone never waits for a full pipe.
///
/// `@unchecked Sendable` because all fields are only used under `condition`.
private final class Lines: @unchecked Sendable {
    private let condition = NSCondition()
    private var address: String?
    private var lastLine = ""
    private var isOver = false

    init(_ handle: FileHandle) {
        Thread { [weak self] in
            var rest = ""
            while true {
                let data = handle.availableData
                if data.isEmpty { break }
                rest += String(decoding: data, as: UTF8.self)
                let parts = rest.split(separator: "\n", omittingEmptySubsequences: false)
                for part in parts.dropLast() { self?.take(String(part)) }
                rest = String((parts.last ?? "").prefix(4096))
            }
            if !rest.isEmpty { self?.take(rest) }
            self?.end()
        }.start()
    }

    var last: String {
        condition.lock()
        defer { condition.unlock() }
        return lastLine
    }

    /// Waits for rclone's line with the address; `nil` if rclone ends, or stays silent until the deadline.
    func address(within seconds: Double) -> String? {
        let end = Date(timeIntervalSinceNow: seconds)
        condition.lock()
        defer { condition.unlock() }
        while address == nil, !isOver, condition.wait(until: end) {}
        return address
    }

    /// Waits for the end of rclone.
    /// - Returns: false if rclone goes on after the deadline.
    func end(within seconds: Double) -> Bool {
        let end = Date(timeIntervalSinceNow: seconds)
        condition.lock()
        defer { condition.unlock() }
        while !isOver, condition.wait(until: end) {}
        return isOver
    }

    private func take(_ line: String) {
        condition.lock()
        defer { condition.unlock() }
        if address == nil, let found = RcloneAnswer.address(in: line) { address = found }
        if !line.isEmpty { lastLine = String(line.prefix(512)) }
        condition.broadcast()
    }

    private func end() {
        condition.lock()
        isOver = true
        condition.broadcast()
        condition.unlock()
    }
}
