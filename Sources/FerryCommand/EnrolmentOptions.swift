import ArgumentParser
import Ferry
import FerrySeal
import Foundation

/// The options of `join` and `enrol` for the way into a sealed container.
struct EnrolmentOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Read the code of an invitation from standard input.", valueName: "-"))
    var code: String?

    @Option(help: ArgumentHelp("Read the code of an invitation from a file.", valueName: "file"))
    var codeFile: String?

    @Option(
        help: ArgumentHelp("Read the recovery code from standard input: no other device is needed.", valueName: "-"))
    var recovery: String?

    @Flag(help: "With --recovery: remove all other devices, as after a theft.")
    var removeOthers = false

    @Flag(help: "Do not wait to be let in: end with status 75, and go on when run again.")
    var noWait = false

    func validate() throws {
        // The message does not repeat the typed text: the text may be a code.
        for (name, value) in [("code", code), ("recovery", recovery)] where value != nil && value != "-" {
            throw ValidationError(
                "--\(name) takes no code but “-”, for standard input: other users of this computer see arguments.")
        }
        if [code, codeFile, recovery].compactMap({ $0 }).count > 1 {
            throw ValidationError("--code, --code-file and --recovery contradict each other. Choose one.")
        }
        if removeOthers && recovery == nil { throw ValidationError("--remove-others goes with --recovery.") }
    }

    /// The work after a device was let in: with `--remove-others` all remaining devices go.
    /// - Parameter way: from `enrolment`.
    func finish(_ replica: Replica?, _ way: Enrolment.Way?, _ console: Console) throws {
        guard removeOthers, case .recovery(let code)? = way, let replica else { return }
        let report = try replica.removeOthers(recovery: code)
        try console.say("\(Wording.count(report.removed.count, "other device is", "other devices are")) removed.")
    }

    /// Whether there is an option only for joining a container.
    var isForJoining: Bool { code != nil || codeFile != nil || removeOthers || noWait }

    /// Reads the recovery code, if `--recovery` is said.
    func recoveryCode() throws -> SecretCode? {
        if recovery == nil { return nil }
        SecretInput.protectMemory()
        return try SecretCode(parsing: SecretInput.line(prompt: "Recovery code: "), as: .recovery)
    }

    /// The chosen way; `nil` without a choice.
    private func way(_ console: Console) throws -> Enrolment.Way? {
        SecretInput.protectMemory()
        if let code = try recoveryCode() { return .recovery(code) }
        let text: String
        if code != nil {
            text = try SecretInput.line(prompt: "Code: ")
        } else if let codeFile {
            text = try SecretInput.file(codeFile, console)
        } else if let told = ProcessInfo.processInfo.environment["FERRY_CODE"], !told.isEmpty {
            text = told
        } else {
            return nil
        }
        return .code(try SecretCode(parsing: text, as: .invitation))
    }

    /// Asks a sealed container for admission, and waits for the answer.
    /// - Returns: the enrolment and the chosen way; `nil` for an open container.
    /// - Throws: `enrolmentPending` with `--no-wait`.
    func enrolment(in folder: String, _ console: Console) throws -> (Enrolment, Enrolment.Way?)? {
        guard try Enrolment.isNeeded(containerPath: folder) else { return nil }
        let way = try way(console)
        // Without a way an earlier enrolment may have been let in meanwhile. Nobody knows whether an earlier code still works, so there
        // are words beside that.
        let answered = way == nil ? try Enrolment.answered(containerPath: folder) : nil
        var enrolment = try answered ?? Enrolment.begin(containerPath: folder, by: way ?? .words)
        // From here on a signal ends the wait, and the begun enrolment can be continued.
        let wait = ContainerWait()
        let signals = TerminationSignals { wait.stop() }
        defer { signals.cancel() }
        var isTold = false
        let words = try wait.until(milliseconds: noWait ? 0 : nil, places: enrolment.placesOfMembers) { () -> String? in
            if way == nil, let other = try Enrolment.answered(containerPath: folder), other.device != enrolment.device {
                try enrolment.cancel()
                enrolment = other
            }
            switch try enrolment.state() {
            case .admitted(_, let words): return words
            case .waiting(let words):
                // Nobody could read the words while this waits.
                if let words, console.isJSON { try Self.endPending(words, enrolment.pendingFailure(), console) }
                if !isTold {
                    try tell(words, isByCode: enrolment.isByCode, console)
                    if !noWait, let clock = try enrolment.clockWarning() { console.warn(clock) }
                }
                isTold = true
                return nil
            }
        }
        guard let words else { throw try enrolment.pendingFailure() }
        // Only `ferry approve` shows words. A code proves both sides to each other, and the recovery code needs no other screen.
        let comparison = " The other screen shows the same three words: \(console.style.bold(words))"
        try console.say("Let in." + (enrolment.isByWords ? comparison : ""))
        return (enrolment, way)
    }

    /// What a dry run of a join needs in a sealed container: an enrolment in which somebody has let the device in already, or the
    /// recovery code. A dry run lets no device in.
    func rehearsal(in folder: String) throws -> (enrolment: Enrolment?, recovery: SecretCode?) {
        guard try Enrolment.isNeeded(containerPath: folder) else { return (nil, nil) }
        if let code = try recoveryCode() { return (nil, code) }
        if let answered = try Enrolment.answered(containerPath: folder) { return (answered, nil) }
        throw FerryError(
            .keyMissing,
            "The container is sealed, and a dry run lets no device in: an invitation's code works once. Run it with --recovery -, or "
                + "join without --dry-run.", path: folder)
    }

    private struct PendingReport: Encodable {
        let error: FailureReport.Detail
        let words: String
    }

    /// Gives the words to a script. The script runs the command again once the device is let in.
    private static func endPending(_ words: String, _ failure: FerryError, _ console: Console) throws -> Never {
        try console.emit(PendingReport(error: FailureReport(failure).error, words: words))
        throw ExitCode(ExitStatus(failure.code).rawValue)
    }

    private func tell(_ words: String?, isByCode: Bool, _ console: Console) throws {
        if let words {
            try console.answer("The container is sealed. Type these words on a device that is a member:")
            try console.answer("    " + console.style.bold(words))
            try console.answer("  ferry approve <database> '<the words>'")
            try console.say("Or let it show a code, `ferry invite <database>`, and join here with --code -.")
        }
        if isByCode, !noWait { try console.say(Enrolment.patience) }
        try console.say(
            "Waiting to be let in. Ctrl-C does no harm: run the same command again, and it goes on.")
    }
}
