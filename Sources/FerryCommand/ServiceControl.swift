import Ferry
import FerryContainer
import Foundation

/// Installs, removes and asks after a service by the tool of the system: `systemctl --user`, or `launchctl` on macOS.
///
/// The code for macOS follows Apple's manual pages, and is not tested.
struct ServiceControl {
    /// The system's answer about a service.
    struct State: Encodable, Equatable {
        /// The unit's name, and the file with the unit's text.
        var unit: String
        var file: String
        var isInstalled: Bool
        /// Whether the service runs now, and begins with the login; `nil` without an answer of the system.
        var isActive: Bool?
        var isEnabled: Bool?
    }

    let unit: ServiceUnit
    private let environment: [String: String]
    private let files = PosixFileSystem()

    init(_ unit: ServiceUnit, environment: [String: String] = ProcessInfo.processInfo.environment) {
        self.unit = unit
        self.environment = environment
    }

    private var home: String { homeDirectory(environment) }

    #if os(macOS)
    private var directory: String { home + "/Library/LaunchAgents" }
    private var fileName: String { unit.name + ".plist" }
    private var text: String { unit.launchdText }
    private var domain: String { "gui/\(getuid())" }
    #else
    private var directory: String {
        let configuration = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        return (configuration ?? home + "/.config") + "/systemd/user"
    }
    private var fileName: String { unit.name + ".service" }
    private var text: String { unit.systemdText }
    #endif

    var file: String { directory + "/" + fileName }

    // MARK: Verbs

    /// Writes the file and starts the service, now and with every login. An existing service is replaced.
    /// - Parameter isStarting: false: only write the file.
    /// - Throws: `inputOutput` where the file cannot be written, or where the system does not start the service.
    func install(isStarting: Bool) throws -> State {
        try makeDirectory(directory)
        let temporary = file + ".tmp-\(ProcessInfo.processInfo.processIdentifier)"
        _ = try files.removeFile(at: temporary)
        try files.write(Array(text.utf8), toNewFileAt: temporary)
        try files.rename(temporary, to: file)
        if !isStarting { return try state() }
        #if os(macOS)
        _ = run(["launchctl", "bootout", domain, file])  // stops a former service; may fail without harm
        try demand(["launchctl", "bootstrap", domain, file])
        #else
        try demand(["systemctl", "--user", "daemon-reload"])
        try demand(["systemctl", "--user", "enable", fileName])
        // Takes up a changed text, too.
        try demand(["systemctl", "--user", "restart", fileName])
        #endif
        return try state()
    }

    /// Stops the service and removes the service's file.
    /// - Throws: `nothingFound` where there is none; `inputOutput`.
    func remove() throws -> State {
        guard try isInstalled() else { throw notInstalled }
        #if os(macOS)
        _ = run(["launchctl", "bootout", domain, file])  // a stopped service is removed all the same
        #else
        // Where no systemd answers, none runs the service.
        _ = run(["systemctl", "--user", "disable", "--now", fileName])
        #endif
        _ = try files.removeFile(at: file)
        #if !os(macOS)
        _ = run(["systemctl", "--user", "daemon-reload"])
        #endif
        return try state()
    }

    /// Asks after the service.
    func state() throws -> State {
        var state = State(unit: unit.name, file: file, isInstalled: try isInstalled())
        #if os(macOS)
        let answer = run(["launchctl", "print", "\(domain)/\(unit.name)"])
        if answer.status != Self.noSuchProgram {
            state.isActive = answer.status == 0 && answer.output.contains("state = running")
            state.isEnabled = answer.status == 0
        }
        #else
        let active = run(["systemctl", "--user", "is-active", fileName])
        if Self.isAnswer(active.output) {
            state.isActive = active.status == 0
            state.isEnabled = run(["systemctl", "--user", "is-enabled", fileName]).status == 0
        }
        #endif
        return state
    }

    private func isInstalled() throws -> Bool { try files.item(at: file) != .missing }

    private var notInstalled: FerryError {
        FerryError(
            .nothingFound,
            "There is no service for this database. `ferry service \(Wording.shellWord(unit.database)) install` makes one.",
            path: file)
    }

    // MARK: The system's tool

    /// env(1)'s status for a missing program.
    private static let noSuchProgram: Int32 = 127

    /// systemctl(1) answers `is-active` with a word. Without a manager, systemctl writes to standard error alone.
    private static func isAnswer(_ output: String) -> Bool {
        !output.trimmingCharacters(in: .whitespacesAndNewlines).isEmpty
    }

    private func demand(_ arguments: [String]) throws {
        let answer = run(arguments)
        if answer.status == 0 { return }
        let reason =
            answer.status == Self.noSuchProgram
            ? "\(arguments[0]) is not there"
            : Wording.oneLine(answer.errors.trimmingCharacters(in: .whitespacesAndNewlines), limit: 300)
        throw FerryError(
            .inputOutput,
            "The service was written to \(file), and does not run: \(reason). Where no service manager of the user runs, as in a "
                + "container, let something else start `\(commandLine)`.",
            path: file)
    }

    private var commandLine: String {
        ([unit.program] + unit.arguments).map(Wording.shellWord).joined(separator: " ")
    }

    /// Runs a program found by `PATH`.
    private func run(_ arguments: [String]) -> (status: Int32, output: String, errors: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.environment = environment
        let (output, errors) = (Pipe(), Pipe())
        (process.standardOutput, process.standardError) = (output, errors)
        process.standardInput = FileHandle.nullDevice
        do { try process.run() } catch { return (Self.noSuchProgram, "", "\(error.systemWords)") }
        // The tools say a few lines, less than a pipe holds.
        let said = output.fileHandleForReading.readDataToEndOfFile()
        let complained = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (
            process.terminationStatus, String(decoding: said, as: UTF8.self),
            String(decoding: complained, as: UTF8.self)
        )
    }

    private func makeDirectory(_ path: String) throws {
        if try files.item(at: path) != .missing { return }
        try makeDirectory((path as NSString).deletingLastPathComponent)
        _ = try files.createDirectory(at: path)
    }
}
