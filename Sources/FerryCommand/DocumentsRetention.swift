import ArgumentParser
import Ferry
import FerryDocuments

/// `ferry documents retention`.
struct DocumentsRetention: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "retention",
        abstract: "Say how long former versions and deleted documents stay.",
        usage: """
            ferry documents <database> retention [--days <days> | --forever]
            [<options>]
            """,
        discussion: """
            A former version stays for a day. Then the last one of each day stays as long as the trash keeps a deleted \
            document: thirty days where nobody says otherwise. Current versions and those of a conflict stay for ever. \
            The choice holds on all devices. Without an option it is printed.

            Examples:
              ferry documents music.sqlite retention
              ferry documents music.sqlite retention --days 365
              ferry documents music.sqlite retention --forever
            """)

    @OptionGroup var argument: DatabaseArgument
    @Option(help: "Keep former versions and the trash for so many days.") var days: Int?
    @Flag(help: "Keep former versions and the trash for ever.") var forever = false
    @OptionGroup var output: OutputOptions

    private struct Report: Encodable {
        /// Absent: for ever.
        var days: Int?
    }

    func perform(_ console: Console) throws {
        if days != nil && forever { throw FerryError(.invalidArgument, "Choose --days or --forever.") }
        let documents = try argument.documents()
        if days != nil || forever { try documents.setRetention(days: forever ? nil : days) }
        let present = try documents.retention().days
        if console.isJSON { return try console.emit(Report(days: present)) }
        try console.answer(
            present.map { "Former versions and deleted documents stay for \(Wording.count($0, "day", "days"))." }
                ?? "Former versions and deleted documents stay for ever.")
    }
}
