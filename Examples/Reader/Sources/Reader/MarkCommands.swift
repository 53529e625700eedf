import ArgumentParser
import ReaderStore

/// Which articles to mark: some by their numbers, or all of a list.
struct MarkSelection: ParsableArguments {
    @Argument(help: ArgumentHelp("Articles, by their numbers in `reader list`.", valueName: "article"))
    var articles: [Int64] = []

    @Flag(help: "All articles.")
    var all = false

    @OptionGroup var selection: ArticleSelection

    func validate() throws {
        let hasSelection = selection.feed != nil || selection.category != nil || selection.search != nil
        if articles.isEmpty && !all && !hasSelection {
            throw ValidationError("Name articles by their numbers, or --all, --feed, --category or --search.")
        }
        if !articles.isEmpty && (all || hasSelection) {
            throw ValidationError("Name articles by their numbers or choose them by options, not both.")
        }
    }

    func set(_ mark: ReadingState.Mark, _ isSet: Bool, _ library: Library, _ output: Output) throws {
        struct Report: Encodable { var marked: Int }
        let reading = try ReadingState(library, library.engine())
        let count =
            try articles.isEmpty
            ? reading.set(mark, isSet, selection.query(library)) : reading.set(mark, isSet, articles)
        if output.isJSON { return try output.emit(Report(marked: count)) }
        let what =
            switch (mark, isSet) {
            case (.read, true): "read"
            case (.read, false): "unread"
            case (.starred, true): "starred"
            case (.starred, false): "no longer starred"
            }
        try output.say(count == 0 ? "Nothing to mark: it is so already." : "Marked \(count) as \(what).")
    }
}

/// `reader read`.
struct ReadCommand: ReaderCommand {
    static let sendsChanges = true
    static let configuration = CommandConfiguration(
        commandName: "read", abstract: "Mark articles as read.",
        discussion: """
            It goes to the other devices at once, or with the next sync where the folder is away.

            Examples:
              reader read 12 13
              reader read --feed example
              reader read --all
            """)

    @OptionGroup var articles: MarkSelection
    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws { try articles.set(.read, true, library, output) }
}

/// `reader unread`.
struct UnreadCommand: ReaderCommand {
    static let sendsChanges = true
    static let configuration = CommandConfiguration(commandName: "unread", abstract: "Mark articles as unread.")

    @OptionGroup var articles: MarkSelection
    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws { try articles.set(.read, false, library, output) }
}

/// `reader star`.
struct StarCommand: ReaderCommand {
    static let sendsChanges = true
    static let configuration = CommandConfiguration(commandName: "star", abstract: "Star articles.")

    @OptionGroup var articles: MarkSelection
    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws {
        try articles.set(.starred, true, library, output)
    }
}

/// `reader unstar`.
struct UnstarCommand: ReaderCommand {
    static let sendsChanges = true
    static let configuration = CommandConfiguration(commandName: "unstar", abstract: "Take stars off.")

    @OptionGroup var articles: MarkSelection
    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws {
        try articles.set(.starred, false, library, output)
    }
}
