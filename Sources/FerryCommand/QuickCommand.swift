import ArgumentParser
import Ferry

/// The commands of `RootCommand` as the parser reads them in half the time: without a look, twice, for a request of a completion script.
/// The parser makes none where a command belongs to another one.
struct QuickCommand: ParsableCommand {
    static let configuration = {
        var configuration = RootCommand.configuration
        configuration._superCommandName = "ferry"
        return configuration
    }()

    /// Parses the words of a command line. What is no command of Ferry's, such as a request for help, and what is refused, is read again
    /// as `RootCommand`: the words about that name the right commands.
    static func parse(_ words: [String]) throws -> any ParsableCommand {
        // An error here comes again below.
        if let command = try? parseAsRoot(words), command is any DatabaseCommand { return command }
        return try RootCommand.parseAsRoot(words)
    }
}
