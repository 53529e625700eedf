import ArgumentParser
import Ferry

/// `ferry kv`.
struct KeyValueCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kv",
        abstract: "Small values, sets and counters that travel with the database.",
        usage: """
            ferry kv <database> [list | set <key> <value> | get <key> |
            remove <key> | add <set> <member> ... | discard <set> <member> ... |
            members <set> | increment <counter> [<by>] | counter <counter>]
            [<options>]
            """,
        discussion: """
            For what has no table: settings, a read-list, the number of unread messages. Values are whole: the last \
            writer wins. Sets merge member by member, and counters add up what every device counted.

            They lie in tables of Ferry's in the same database and go with the next `ferry sync` or `ferry watch`.

            Examples:
              ferry kv music.sqlite set theme dark
              ferry kv music.sqlite set volume 0.8 --type double
              ferry kv music.sqlite get theme
              ferry kv music.sqlite add favourites song-17 song-18
              ferry kv music.sqlite members favourites
              ferry kv music.sqlite increment plays
            """,
        groupedSubcommands: [
            CommandGroup(
                name: "Value",
                subcommands: [KeyValueSet.self, KeyValueGet.self, KeyValueRemove.self, KeyValueList.self]),
            CommandGroup(name: "Set", subcommands: [KeyValueAdd.self, KeyValueDiscard.self, KeyValueMembers.self]),
            CommandGroup(name: "Counter", subcommands: [KeyValueIncrement.self, KeyValueCounter.self]),
        ], defaultSubcommand: KeyValueList.self)
}

extension DatabaseArgument {
    /// The key-value store of the database.
    func keyValueStore() throws -> KeyValueStore { try KeyValueStore(Store(path: database)) }
}
