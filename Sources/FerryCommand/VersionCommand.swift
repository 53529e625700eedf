import ArgumentParser
import Ferry

/// `ferry version`.
struct VersionCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "version",
        abstract: "Say which Ferry this is.",
        discussion: """
            `ferry --version` prints the number alone.

            JSON: {"version"}

            Example:
              ferry version
            """)

    @OptionGroup var output: OutputOptions

    private struct Report: Encodable {
        var version: String
    }

    func perform(_ console: Console) throws {
        let report = Report(version: FerryVersion.current)
        if console.isJSON { return try console.emit(report) }
        try console.answer("ferry \(report.version)")
    }
}
