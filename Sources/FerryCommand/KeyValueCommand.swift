import ArgumentParser
import Ferry

/// `ferry kv`.
struct KeyValueCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kv",
        abstract: "Small values, sets and counters that travel with the database.",
        discussion: """
            For what has no table: settings, a read-list, the number of unread messages. Values are whole: the last \
            writer wins. Sets merge member by member, and counters add up what every device counted.

            They lie in tables of Ferry's in the same database and go with the next `ferry sync` or `ferry watch`.

            Examples:
              ferry kv set music.sqlite theme dark
              ferry kv set music.sqlite volume 0.8 --type double
              ferry kv get music.sqlite theme
              ferry kv add music.sqlite favourites song-17 song-18
              ferry kv members music.sqlite favourites
              ferry kv increment music.sqlite plays
            """,
        groupedSubcommands: [
            CommandGroup(
                name: "Value",
                subcommands: [KeyValueSet.self, KeyValueGet.self, KeyValueRemove.self, KeyValueList.self]),
            CommandGroup(name: "Set", subcommands: [KeyValueAdd.self, KeyValueDiscard.self, KeyValueMembers.self]),
            CommandGroup(name: "Counter", subcommands: [KeyValueIncrement.self, KeyValueCounter.self]),
        ])
}

extension DatabaseArgument {
    /// The key-value store of the database.
    func keyValueStore() throws -> KeyValueStore { try KeyValueStore(Store(path: database)) }
}
