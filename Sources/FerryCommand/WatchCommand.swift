import ArgumentParser
import Ferry

/// `ferry watch`.
struct WatchCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(commandName: "watch", abstract: "Stay and keep in step.")
    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var output: OutputOptions
    func perform(_ console: Console) throws {}
}
