import ArgumentParser
import ReaderStore

/// The settings that there are, and what each may be. They follow a person from device to device.
enum Setting: String, CaseIterable, ExpressibleByArgument {
    /// What divides the list of the full-screen mode.
    case group
    /// Whether the full-screen mode begins with unread articles only.
    case unreadOnly = "unread-only"

    var values: [String] {
        switch self {
        case .group: ["day", "feed", "none"]
        case .unreadOnly: ["no", "yes"]
        }
    }

    /// What it is where nobody set it.
    var standard: String {
        switch self {
        case .group: "day"
        case .unreadOnly: "no"
        }
    }

    func value(_ reading: ReadingState) throws -> String {
        let value = try reading.values.string(forKey: rawValue)
        return value.flatMap { values.contains($0) ? $0 : nil } ?? standard
    }
}

/// `reader set`.
struct SetCommand: ReaderCommand {
    static let sendsChanges = true
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Change a setting, on all devices.",
        discussion: """
            group day|feed|none     what divides the list of the full-screen mode
            unread-only yes|no      whether the full-screen mode begins with unread articles only
            """)

    @Argument(help: "The setting.")
    var setting: Setting

    @Argument(help: "Its value.")
    var value: String

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if !setting.values.contains(value) {
            throw ValidationError(
                "\(setting.rawValue) is one of \(setting.values.joined(separator: ", ")), not “\(value)”.")
        }
    }

    func perform(_ library: Library, _ output: Output) async throws {
        let reading = try ReadingState(library, library.engine())
        try reading.values.set(value, forKey: setting.rawValue)
        if output.isJSON { return try output.emit([setting.rawValue: value]) }
    }
}

/// `reader get`.
struct GetCommand: ReaderCommand {
    static let configuration = CommandConfiguration(commandName: "get", abstract: "Show one setting, or all.")

    @Argument(help: "The setting; without it, all.")
    var setting: Setting?

    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws {
        let reading = try ReadingState(library, library.engine())
        if let setting {
            let value = try setting.value(reading)
            return output.isJSON ? try output.emit([setting.rawValue: value]) : try output.say(value)
        }
        let pairs = try Setting.allCases.map { ($0.rawValue, try $0.value(reading)) }
        if output.isJSON { return try output.emit(Dictionary(pairs) { first, _ in first }) }
        for (name, value) in pairs { try output.say("\(name) \(value)") }
    }
}
