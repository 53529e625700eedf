import ArgumentParser
import Ferry
import FerryDocuments

/// `ferry documents verify`.
struct DocumentsVerify: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check that the container has the bytes of all documents and attachments.",
        usage: "ferry documents <database> verify [--contents] [<options>]",
        discussion: """
            Looks at the name and the length of each pack. With --contents it reads every byte and proves it, which takes as long as \
            reading all packs. Exit status 65 where something is missing or damaged.

            Examples:
              ferry documents music.sqlite verify
              ferry documents music.sqlite verify --contents
            """)

    @OptionGroup var argument: DatabaseArgument
    @Flag(help: "Read every byte, and prove it.") var contents = false
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        let report = try ProgressBar.during(console) { try replica.verifyContents(isDeep: contents, progress: $0) }
        if console.isJSON {
            try console.emit(report)
        } else {
            let depth = contents ? "every byte was read" : "names and lengths were looked at"
            try console.say(
                "\(Wording.count(report.contents, "content")) in \(Wording.count(report.packs, "pack")), "
                    + "\(Wording.bytes(report.bytes)); \(depth) (\(Wording.duration(milliseconds: report.durationMilliseconds)))."
            )
            for problem in report.problems {
                console.warn("\(Wording.oneLine(problem.reason, limit: 200)) (\(problem.file))", isReason: true)
            }
        }
        if !report.problems.isEmpty { throw ExitCode(ExitStatus(.verificationFailed).rawValue) }
    }
}
