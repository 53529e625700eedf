import ArgumentParser
import Ferry

/// `ferry kv add`.
struct KeyValueAdd: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add members to a set.",
        usage: "ferry kv <database> add <set> <members> ... [<options>]",
        discussion: """
            Example:
              ferry kv music.sqlite add favourites song-17 song-18
            """)

    private struct Report: Encodable {
        var set: String
        var added: Int
    }

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var members: SetMembersArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let added = try argument.keyValueStore().add(contentsOf: members.members, toSet: members.set)
        if console.isJSON { return try console.emit(Report(set: members.set, added: added)) }
        try console.say("Added \(Wording.count(added, "new member")) to \(Wording.oneLine(members.set)).")
    }
}

/// `ferry kv discard`.
struct KeyValueDiscard: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard", abstract: "Take members out of a set.",
        usage: "ferry kv <database> discard <set> <members> ... [<options>]",
        discussion: """
            Example:
              ferry kv music.sqlite discard favourites song-17
            """)

    private struct Report: Encodable {
        var set: String
        var discarded: Int
    }

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var members: SetMembersArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let discarded = try argument.keyValueStore().discard(contentsOf: members.members, fromSet: members.set)
        if console.isJSON { return try console.emit(Report(set: members.set, discarded: discarded)) }
        try console.say("Took \(Wording.count(discarded, "member")) out of \(Wording.oneLine(members.set)).")
    }
}

/// `ferry kv members`.
struct KeyValueMembers: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "members", abstract: "List the members of a set, one per line.",
        usage: "ferry kv <database> members <set> [<options>]",
        discussion: """
            Example:
              ferry kv music.sqlite members favourites
            """)

    private struct Report: Encodable {
        var set: String
        var elements: [String]
    }

    @OptionGroup var argument: DatabaseArgument
    @Argument(help: "The set.") var set: String
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let members = try argument.keyValueStore().members(ofSet: set).sorted()
        if console.isJSON { return try console.emit(Report(set: set, elements: members)) }
        for member in members { try console.value(member) }
    }
}

/// A set and some members of the set.
struct SetMembersArgument: ParsableArguments {
    @Argument(help: "The set.") var set: String
    @Argument(help: "Its members.") var members: [String]
}
