import ArgumentParser
import Ferry

/// `ferry policy`.
struct PolicyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Say how concurrent writes to a table, an index or a column merge.",
        usage: """
            ferry policy <database> [list | set <what> <policy> ... |
            remove <what> ...] [<options>]
            """,
        discussion: """
            Without a policy the last writer wins, field by field; an update brings back a row that somebody deleted \
            meanwhile; and rows with the same UNIQUE value become one. A policy is part of the data: it travels with \
            the next sync and holds on every device.

            For a table (song):
              deleteWins        only inserting it again brings a deleted row back
            For a UNIQUE index (index:song_isrc, or index:song(isrc)):
              hideLoser         the oldest row is shown, the others are hidden
            For a column (song.plays):
              counter           what everybody adds is summed
              max, min          the greatest or the least value wins; NULL is none
              set               a JSON array, whose elements merge one by one
              firstWriterWins   the earliest of concurrent writes wins
              hook:NAME         a function of the app's; only the app can sync it
              lastWriterWins    as without a policy

            Examples:
              ferry policy music.sqlite
              ferry policy music.sqlite set song.plays counter song.rating max
              ferry policy music.sqlite set song deleteWins
              ferry policy music.sqlite set 'index:song(isrc)' hideLoser
              ferry policy music.sqlite remove song.plays
            """,
        subcommands: [PolicyListing.self, PolicySet.self, PolicyRemove.self], defaultSubcommand: PolicyListing.self)
}

/// `ferry policy … list`.
struct PolicyListing: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Show the policies; without a sub-verb, too.",
        usage: "ferry policy <database> [list] [<options>]",
        discussion: """
            JSON: {"policies": [{"target", "policy", "applied"}]}

            Example:
              ferry policy music.sqlite
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let policies = try Replica(path: argument.database).policies()
        if console.isJSON { return try console.emit(PolicyJSON(policies)) }
        if policies.isEmpty { return try console.say("No policy is set: the last writer wins everywhere.") }
        var table = TextTable("Of", "Policy", "")
        for policy in policies { table.add(policy.target, policy.word, policy.isApplied ? "" : "not known here") }
        for line in table.lines(console.style) { try console.answer(line) }
    }
}

/// `ferry policy … set`.
struct PolicySet: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Set policies of tables, indexes and columns.",
        usage: "ferry policy <database> set <what> <policy> ... [<options>]",
        discussion: """
            Each thing is followed by its policy; `ferry policy --help` lists them.

            JSON: as list, as the policies are afterwards, and "changed", the number of policies given.

            Examples:
              ferry policy music.sqlite set song.plays counter song.rating max
              ferry policy music.sqlite set song deleteWins
            """)

    @OptionGroup var argument: DatabaseArgument
    @Argument(help: ArgumentHelp("What it is about, each with its policy.", valueName: "what")) var words: [String]
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if !words.count.isMultiple(of: 2) {
            throw ValidationError("Say what and which policy, as in: set song.plays counter")
        }
        _ = try settings
    }

    private var settings: [PolicySetting] {
        get throws {
            try stride(from: 0, to: words.count, by: 2).map {
                PolicySetting(try PolicyCommand.target(words[$0]), words[$0 + 1])
            }
        }
    }

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        let settings = try settings
        try replica.setPolicies(settings)
        let policies = try replica.policies()
        if console.isJSON { return try console.emit(PolicyJSON(policies, changed: settings.count)) }
        try console.say("Set \(Wording.count(settings.count, "policy", "policies")).")
        PolicyCommand.tell(policies, argument, console)
    }
}

/// `ferry policy … remove`.
struct PolicyRemove: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Take policies off: the last writer wins again.",
        usage: "ferry policy <database> remove <what> ... [<options>]",
        discussion: """
            JSON: as list, as the policies are afterwards, and "changed", the number of those that were set.

            Example:
              ferry policy music.sqlite remove song.plays
            """)

    @OptionGroup var argument: DatabaseArgument
    @Argument(help: ArgumentHelp("Tables, indexes or columns.", valueName: "what")) var words: [String]
    @OptionGroup var output: OutputOptions

    func validate() throws { _ = try words.map(PolicyCommand.target) }

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        let removed = try replica.removePolicies(words.map(PolicyCommand.target))
        let policies = try replica.policies()
        if console.isJSON { return try console.emit(PolicyJSON(policies, changed: removed)) }
        try console.say("Took off \(Wording.count(removed, "policy", "policies")).")
        PolicyCommand.tell(policies, argument, console)
    }
}

/// The JSON report of every `ferry policy`.
private struct PolicyJSON: Encodable {
    struct Policy: Encodable {
        var target: String
        var policy: String
        var applied: Bool
    }

    var policies: [Policy]
    var changed: Int?

    init(_ policies: [StoredPolicy], changed: Int? = nil) {
        self.policies = policies.map { Policy(target: $0.target, policy: $0.word, applied: $0.isApplied) }
        self.changed = changed
    }
}

extension PolicyCommand {
    fileprivate static func target(_ word: String) throws -> PolicyTarget {
        guard let target = PolicyTarget(text: word) else {
            throw ValidationError(
                "“\(word)” names no table (song), column (song.plays) or index (index:song_isrc). Check the spelling.")
        }
        return target
    }

    fileprivate static func tell(_ policies: [StoredPolicy], _ argument: DatabaseArgument, _ console: Console) {
        for policy in policies where !policy.isApplied {
            console.warn(
                "The policy “\(policy.word)” of “\(policy.target)” is not known here: what others change in that table "
                    + "waits for the app that knows it.")
        }
        console.hint("`ferry sync \(Wording.shellWord(argument.database))` tells the other devices.")
    }
}
