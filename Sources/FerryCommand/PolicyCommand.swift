import ArgumentParser
import Ferry

/// `ferry policy`.
struct PolicyCommand: DatabaseCommand {
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

            JSON: {"policies": [{"target", "policy", "applied"}]}, as they are afterwards; set adds "set", the number \
            of policies given, remove "removed", the number of those that were set.

            Examples:
              ferry policy music.sqlite
              ferry policy music.sqlite set song.plays counter song.rating max
              ferry policy music.sqlite set song deleteWins
              ferry policy music.sqlite set 'index:song(isrc)' hideLoser
              ferry policy music.sqlite remove song.plays
            """)

    enum Verb: String, CaseIterable, ExpressibleByArgument {
        case list, set, remove
    }

    @OptionGroup var argument: DatabaseArgument

    @Argument(help: "list, set or remove.")
    var verb = Verb.list

    @Argument(help: ArgumentHelp("What it is about; for set each with its policy.", valueName: "what"))
    var words: [String] = []

    @OptionGroup var output: OutputOptions

    func validate() throws {
        switch verb {
        case .list:
            if let word = words.first { throw ValidationError("list takes no “\(word)”.") }
        case .set:
            if words.isEmpty || !words.count.isMultiple(of: 2) {
                throw ValidationError("Say what and which policy, as in: set song.plays counter")
            }
            _ = try settings
        case .remove:
            if words.isEmpty { throw ValidationError("Say of what, as in: remove song.plays") }
            _ = try words.map(target)
        }
    }

    private var settings: [PolicySetting] {
        get throws {
            try stride(from: 0, to: words.count, by: 2).map { PolicySetting(try target(words[$0]), words[$0 + 1]) }
        }
    }

    private func target(_ word: String) throws -> PolicyTarget {
        guard let target = PolicyTarget(text: word) else {
            throw ValidationError(
                "“\(word)” names no table (song), column (song.plays) or index (index:song_isrc). Check the spelling.")
        }
        return target
    }

    private struct Report: Encodable {
        struct Policy: Encodable {
            var target: String
            var policy: String
            var applied: Bool
        }

        var policies: [Policy]
        var set: Int?
        var removed: Int?
    }

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        var report = Report(policies: [])
        switch verb {
        case .list: break
        case .set:
            let settings = try settings
            try replica.setPolicies(settings)
            report.set = settings.count
        case .remove: report.removed = try replica.removePolicies(words.map(target))
        }
        let policies = try replica.policies()
        if console.isJSON {
            report.policies = policies.map { .init(target: $0.target, policy: $0.word, applied: $0.isApplied) }
            return try console.emit(report)
        }
        if let set = report.set { try console.say("Set \(Wording.count(set, "policy", "policies")).") }
        if let removed = report.removed {
            try console.say("Took off \(Wording.count(removed, "policy", "policies")).")
        }
        if verb == .list { try list(policies, console) } else { tell(policies, console) }
    }

    private func list(_ policies: [StoredPolicy], _ console: Console) throws {
        if policies.isEmpty { return try console.say("No policy is set: the last writer wins everywhere.") }
        var table = TextTable("Of", "Policy", "")
        for policy in policies { table.add(policy.target, policy.word, policy.isApplied ? "" : "not known here") }
        for line in table.lines(console.style) { try console.answer(line) }
    }

    private func tell(_ policies: [StoredPolicy], _ console: Console) {
        for policy in policies where !policy.isApplied {
            console.warn(
                "The policy “\(policy.word)” of “\(policy.target)” is not known here: what others change in that table "
                    + "waits for the app that knows it.")
        }
        console.hint("`ferry sync \(Wording.shellWord(argument.database))` tells the other devices.")
    }
}
