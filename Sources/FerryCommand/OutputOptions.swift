import ArgumentParser

/// How a command speaks; every command takes these.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Write the result as one JSON object, for scripts; errors too.")
    var json = false

    @Flag(name: .shortAndLong, help: "Say nothing but what was asked for, and errors.")
    var quiet = false

    @Flag(name: .shortAndLong, help: "Say more: identifiers, paths, times.")
    var verbose = false

    func validate() throws {
        if quiet && verbose { throw ValidationError("--quiet and --verbose contradict each other. Choose one.") }
    }

    var console: Console { Console(isJSON: json, isQuiet: quiet, isVerbose: verbose) }
}
