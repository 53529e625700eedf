import ArgumentParser
import Ferry

/// `ferry kv`.
struct KeyValueCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "kv", abstract: "Small values, sets and counters that travel too.")
}
