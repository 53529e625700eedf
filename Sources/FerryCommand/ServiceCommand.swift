import ArgumentParser
import Ferry
import Foundation

/// `ferry service`.
struct ServiceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "service",
        abstract: "Let the system run `ferry watch` for a database, from login on.",
        usage: "ferry service <database> install | remove | status [<options>]",
        discussion: """
            On Linux a user unit of systemd, in ~/.config/systemd/user; on macOS an agent of launchd, which is not tested. The \
            service begins with the login, and again where it fails. `loginctl enable-linger` lets it begin with the computer.

            Examples:
              ferry service music.sqlite install
              ferry service music.sqlite status
              ferry service music.sqlite remove
              journalctl --user -u 'ferry-music*' -f
            """,
        subcommands: [ServiceInstall.self, ServiceRemove.self, ServiceStatus.self],
        defaultSubcommand: ServiceStatus.self)

    /// The service of a database.
    fileprivate static func control(_ argument: DatabaseArgument, metrics: String? = nil) throws -> ServiceControl {
        var unit = ServiceUnit(
            database: absolute(argument.database), program: try program(), metrics: metrics.map(absolute))
        unit.environment = variables(ProcessInfo.processInfo.environment, home: NSHomeDirectory())
        return ServiceControl(unit)
    }

    /// The variables without which the service would look for keys and places otherwise than this command. The service runs in another
    /// directory, so paths are absolute.
    /// - Parameter home: the home directory that the service manager gives the service.
    static func variables(_ present: [String: String], home: String) -> [String: String] {
        var taken: [String: String] = [:]
        for name in ["FERRY_KEYS", "RCLONE_CONFIG"] {
            if let path = present[name], !path.isEmpty { taken[name] = absolute(path) }
        }
        // A relative one means nothing (XDG Base Directory Specification).
        if let path = present["XDG_DATA_HOME"], path.hasPrefix("/") { taken["XDG_DATA_HOME"] = path }
        taken["AWS_PROFILE"] = present["AWS_PROFILE"]
        if homeDirectory(present) != home { taken["HOME"] = homeDirectory(present) }
        return taken
    }

    private static func absolute(_ path: String) -> String {
        URL(fileURLWithPath: (path as NSString).expandingTildeInPath).standardizedFileURL.path
    }

    /// This program's own file.
    private static func program() throws -> String {
        guard let file = Bundle.main.executableURL?.path else {
            throw FerryError(.internalInconsistency, "The place of this program is unknown. Please report it.")
        }
        return file
    }
}

/// `ferry service … install`.
struct ServiceInstall: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "install", abstract: "Write the service, and start it now and with every login.",
        usage: """
            ferry service <database> install [--metrics <file>] [--no-start]
            [<options>]
            """,
        discussion: """
            A service that is there already is replaced. It runs this very program: install Ferry where it stays before. The \
            variables FERRY_KEYS, XDG_DATA_HOME, AWS_PROFILE and RCLONE_CONFIG are taken along, and HOME where the account has \
            another one.

            JSON: {"unit", "file", "isInstalled", "isActive", "isEnabled"}; the last two are absent where no service manager answers.

            Examples:
              ferry service music.sqlite install
              ferry service music.sqlite install --metrics /var/lib/node_exporter/music.prom

            Exit status 74 where the service is written and cannot be started.
            """)

    @OptionGroup var argument: DatabaseArgument

    @Option(
        help: ArgumentHelp("Keep figures for Prometheus in this file, which ends in .prom.", valueName: "file"),
        completion: .file(extensions: ["prom"]))
    var metrics: String?

    @Flag(help: "Only write the service.")
    var noStart = false

    @OptionGroup var output: OutputOptions

    func validate() throws { try WatchCommand.checkMetrics(metrics) }

    func perform(_ console: Console) throws {
        // A service without a watchable database would only fail again and again.
        _ = try Replica(path: argument.database)
        let state = try ServiceCommand.control(argument, metrics: metrics).install(isStarting: !noStart)
        if console.isJSON { return try console.emit(state) }
        try console.say(
            noStart
                ? "Wrote the service \(state.unit)."
                : console.style.green("The service \(state.unit) runs") + ", and begins with every login.")
        console.detail(state.file)
        #if !os(macOS)
        if noStart { console.hint("`systemctl --user enable --now \(state.unit)` starts it.") }
        #endif
    }
}

/// `ferry service … remove`.
struct ServiceRemove: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Stop the service, and remove it.",
        usage: "ferry service <database> remove [<options>]",
        discussion: """
            The database belongs to its container as before; `ferry sync` and `ferry watch` go on with it.

            JSON: as install.

            Example:
              ferry service music.sqlite remove

            Exit status 1 where there is no such service.
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let state = try ServiceCommand.control(argument).remove()
        if console.isJSON { return try console.emit(state) }
        try console.say("The service \(state.unit) is stopped and removed.")
    }
}

/// `ferry service … status`.
struct ServiceStatus: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Say whether the service is there and runs; without a sub-verb, too.",
        usage: "ferry service <database> [status] [<options>]",
        discussion: """
            JSON: as install.

            Example:
              ferry service music.sqlite status

            Exit status 1 where there is no such service, 69 where it is there and does not run.
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let state = try ServiceCommand.control(argument).state()
        if console.isJSON {
            try console.emit(state)
        } else {
            try console.answer(sentence(state, console.style))
            console.detail(state.file)
        }
        if !state.isInstalled { throw ExitCode(ExitStatus.nothingFound.rawValue) }
        if state.isActive != true { throw ExitCode(ExitStatus.unavailable.rawValue) }
    }

    private func sentence(_ state: ServiceControl.State, _ style: Style) -> String {
        if !state.isInstalled { return "There is no service for this database." }
        let login = state.isEnabled.map {
            $0 ? ", and begins with every login." : ", and does not begin with the login."
        }
        switch state.isActive {
        case true?: return style.green("The service \(state.unit) runs") + (login ?? ".")
        case false?: return style.yellow("The service \(state.unit) does not run") + (login ?? ".")
        case nil: return style.yellow("The service \(state.unit) is written, and no service manager answers.")
        }
    }
}
