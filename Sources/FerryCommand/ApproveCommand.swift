import ArgumentParser
import Ferry

/// `ferry approve`.
struct ApproveCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "approve",
        abstract: "Let in the device whose screen shows these words.",
        usage: """
            ferry approve <database> [<words>...] [<options>]
            """,
        discussion: """
            A device that joins a sealed container without a code shows six words. They bind this device to that one: type them \
            from the other screen, and let nobody in whose words you have not seen there. Without words it lists who asks. \
            Both screens then show the same three words.

            JSON: {"asking": [{"words", "askedMilliseconds"}], "admitted": [ID]}, "admitted" the device that was let in.

            Examples:
              ferry approve music.sqlite
              ferry approve music.sqlite zagud zarug ziguj zirul zogun zorur
            """)

    @OptionGroup var argument: DatabaseArgument

    @Argument(help: "The six words that the other device shows.")
    var words: [String] = []

    @OptionGroup var output: OutputOptions

    private struct Report: Encodable {
        struct Claim: Encodable {
            var words: String
            var askedMilliseconds: Int64
        }

        var asking: [Claim]
        var admitted: [String]?
    }

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        if words.isEmpty {
            let claims = try replica.claims().map {
                Report.Claim(words: $0.words, askedMilliseconds: Int64(clamping: $0.milliseconds))
            }
            if console.isJSON { return try console.emit(Report(asking: claims)) }
            let now = ReplicaEnvironment.live.clock.milliseconds()
            for claim in try replica.lateClaims() { console.warn(LateClaim.sentence(claim, now: now)) }
            let byCode = try replica.codeClaims()
            for claim in byCode { console.warn(claim.problem + " " + claim.advice) }
            if claims.isEmpty {
                return try console.answer(
                    byCode.isEmpty ? "No device asks to be let in." : "No device asks to be let in by words.")
            }
            try console.answer("Asking to be let in; let nobody in whose words you have not seen on its own screen:")
            for claim in claims {
                let age = Wording.age(sinceMilliseconds: claim.askedMilliseconds, now: now)
                try console.answer("    \(claim.words)  (\(age))")
            }
            return
        }
        let (device, answer) = try replica.approve(words: words.joined(separator: " "))
        // The published head tells the newcomer that the folder is no older than this sync.
        _ = try replica.sync()
        if console.isJSON {
            return try console.emit(Report(asking: [], admitted: [device.description]))
        }
        try console.say("Let in. The other screen shows the same three words: \(console.style.bold(answer))")
    }
}
