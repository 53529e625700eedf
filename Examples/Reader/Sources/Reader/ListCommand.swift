import ArgumentParser
import Foundation
import ReaderStore

extension ArticleQuery.Sort: ExpressibleByArgument {}
extension ArticleQuery.Group: ExpressibleByArgument {}

/// Which articles a command is about.
struct ArticleSelection: ParsableArguments {
    @Option(help: "Only this feed: its number, its address, or a part of its title.")
    var feed: String?

    @Option(help: "Only this category.")
    var category: String?

    @Option(help: "Only articles with these words in title or text.")
    var search: String?

    func query(_ library: Library) throws -> ArticleQuery {
        var query = ArticleQuery()
        query.feed = try feed.map { try library.feed($0).id }
        query.category = category
        query.search = search
        return query
    }
}

/// `reader list`.
struct ListCommand: ReaderCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List articles.",
        discussion: """
            Each line begins with the article's number on this device, a dot where it is unread, and a star where you \
            starred it.

            Examples:
              reader list --unread --group day
              reader list --feed example --search "string quartet"
            """)

    @OptionGroup var selection: ArticleSelection

    @Flag(help: "Only unread articles.")
    var unread = false

    @Flag(help: "Only starred articles.")
    var starred = false

    @Option(help: ArgumentHelp("The order.", valueName: "newest|oldest|title"))
    var sort: ArticleQuery.Sort = .newest

    @Option(help: ArgumentHelp("What divides the list.", valueName: "none|day|feed"))
    var group: ArticleQuery.Group = .none

    @Option(help: "How many at most; 0 is all.")
    var limit = 50

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if limit < 0 { throw ValidationError("--limit cannot be negative.") }
    }

    func perform(_ library: Library, _ output: Output) async throws {
        struct Report: Encodable { var articles: [ArticleLine] }
        try library.requireSetUp()
        var query = try selection.query(library)
        (query.unreadOnly, query.starredOnly, query.sort, query.group) = (unread, starred, sort, group)
        query.limit = limit == 0 ? nil : limit
        let articles = try library.articles(query)
        if output.isJSON { return try output.emit(Report(articles: articles)) }
        var section = ""
        for article in articles {
            if article.section != section { try output.say(article.section) }
            section = article.section
            let marks = (article.isRead ? " " : "•") + (article.isStarred ? "★" : " ")
            let feed = group == .feed || selection.feed != nil ? "" : "  (\(article.feed))"
            try output.say(
                "\(PlainLine.fitted("\(article.id)", 6)) \(marks) \(Wording.day(article.time))  "
                    + "\(article.title ?? "(no title)")\(feed)")
        }
        if articles.count == query.limit { try output.say("(the first \(limit); --limit 0 shows all)") }
    }
}

enum Wording {
    /// `2026-11-22` by the local clock, or as many spaces.
    static func day(_ time: Int64?) -> String {
        time.map { String(Self.time($0).prefix(10)) } ?? String(repeating: " ", count: 10)
    }

    /// `2026-11-22 18:30`, by the local clock.
    static func time(_ time: Int64) -> String {
        let parts = Calendar.current.dateComponents(
            [.year, .month, .day, .hour, .minute], from: Date(timeIntervalSince1970: Double(time)))
        return String(
            format: "%04d-%02d-%02d %02d:%02d", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0, parts.hour ?? 0,
            parts.minute ?? 0)
    }
}

/// `reader show`.
struct ShowCommand: ReaderCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show an article as plain text.",
        discussion: "It stays unread; `reader read` marks it.")

    @Argument(help: "The article's number, as `reader list` shows it.")
    var article: Int64

    @Option(help: "The width of the text in columns.")
    var width = 80

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if width < 20 { throw ValidationError("--width is at least 20.") }
    }

    func perform(_ library: Library, _ output: Output) async throws {
        struct Report: Encodable {
            var article: Article
            var text: String
        }
        try library.requireSetUp()
        let article = try library.article(article)
        if output.isJSON { return try output.emit(Report(article: article, text: article.text)) }
        try output.say(try ArticleText.lines(article, width: width).joined(separator: "\n"))
    }
}

/// An article as lines of text.
enum ArticleText {
    static func lines(_ article: Article, width: Int) throws -> [String] {
        var facts = [article.feed]
        if let author = article.author { facts.append(author) }
        if let time = article.published ?? article.updated { facts.append(Wording.time(time)) }
        var lines = PlainLine.wrapped(article.title ?? "(no title)", width)
        lines += PlainLine.wrapped(facts.joined(separator: " · "), width)
        if let categories = article.categories { lines += PlainLine.wrapped("in \(categories)", width) }
        if let link = article.link { lines += PlainLine.wrapped(link, width) }
        for enclosure in try article.enclosures() { lines += PlainLine.wrapped("with \(enclosure.url)", width) }
        return lines + [""] + PlainLine.wrapped(article.text, width)
    }
}
