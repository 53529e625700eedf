import ArgumentParser
import Ferry

/// `ferry kv increment`.
struct KeyValueIncrement: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "increment", abstract: "Count up, or down by a negative number.",
        usage: "ferry kv <database> increment <counter> [<by>] [<options>]",
        discussion: """
            Prints what the counter stands at then.

            Examples:
              ferry kv music.sqlite increment plays
              ferry kv music.sqlite increment plays 10
              ferry kv music.sqlite increment plays -1
            """)

    @OptionGroup var argument: DatabaseArgument
    @Argument(help: "The counter.") var counter: String
    // A negative number looks like an unknown option.
    @Argument(parsing: .allUnrecognized, help: "By how much; 1 where it is left out.") var by: [String] = []

    private var amounts: [String] { NegativeNumber.values(by) }

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if amounts.count > 1 || amounts.contains(where: { Int64($0) == nil }) {
            throw ValidationError("Give one integer by which to count, or none.")
        }
    }

    func perform(_ console: Console) throws {
        let sum = try argument.keyValueStore().increment(counter, by: amounts.first.flatMap { Int64($0) } ?? 1)
        try CounterReport(counter: counter, value: sum).tell(console)
    }
}

/// `ferry kv counter`.
struct KeyValueCounter: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "counter", abstract: "Print what a counter stands at.",
        usage: "ferry kv <database> counter <counter> [<options>]",
        discussion: """
            A counter that nobody has counted with stands at 0.

            Example:
              ferry kv music.sqlite counter plays
            """)

    @OptionGroup var argument: DatabaseArgument
    @Argument(help: "The counter.") var counter: String
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        try CounterReport(counter: counter, value: argument.keyValueStore().counter(counter)).tell(console)
    }
}

/// A counter and its value.
private struct CounterReport: Encodable {
    var counter: String
    var value: Int64

    func tell(_ console: Console) throws {
        try console.isJSON ? console.emit(self) : console.answer("\(value)")
    }
}
