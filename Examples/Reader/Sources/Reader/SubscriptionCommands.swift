import ArgumentParser
import Feeds
import Foundation
import ReaderStore

/// `reader add`.
struct AddCommand: ReaderCommand {
    static let sendsChanges = true
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Subscribe to a feed, or to all feeds of an OPML file, and fetch them.",
        discussion: """
            A feed whose address turns out to be wrong is not subscribed to; one whose server does not answer now is.

            Examples:
              reader add https://example.org/feed.xml --folder News
              reader add subscriptions.opml
              reader add file:///home/ada/feed.xml
            """)

    @Argument(help: "The address of a feed, or an OPML file.", completion: .file())
    var addressOrFile: String

    @Option(help: "The folder to put the feed into.")
    var folder: String?

    @Option(help: "What to call the feed, instead of the title that it has.")
    var title: String?

    @Flag(help: "Do not fetch now.")
    var noFetch = false

    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws {
        try library.requireSetUp()
        if FileManager.default.fileExists(atPath: addressOrFile) {
            let document = try OPMLFile.read(addressOrFile)
            if document != nil || !addressOrFile.contains("://") {
                guard let document else {
                    throw ReaderError(
                        .badData,
                        "\(addressOrFile) is no OPML file; give a feed in a file as an address: "
                            + URL(fileURLWithPath: addressOrFile).absoluteString)
                }
                return try await OPMLFile.subscribe(to: document, fetching: !noFetch, library, output)
            }
        }
        let url = try Self.address(addressOrFile)
        let isNew = try !library.subscribe([.init(url: url, title: title, folder: folder)]).isEmpty
        guard isNew else { throw ReaderError(.existsAlready, "you are subscribed to \(url) already") }
        let feed = try library.feed(url)
        var result: FeedRefresh?
        if !noFetch { result = try await Refresher(library).refresh([feed]).first }
        if let error = result?.error, result?.counts.all == 0, !error.isTemporary {
            try library.remove(feed)
            throw error
        }
        let subscribed = try library.feed(url)
        if output.isJSON { return try output.emit(FeedReport(subscribed)) }
        try output.say("Subscribed to \(subscribed.name).")
        if let result {
            try output.say(result.line)
            if result.error != nil { try output.say("`reader remove \(feed.id)` ends the subscription.") }
        }
    }

    /// An address as people type it: without a scheme it is the web's.
    static func address(_ text: String) throws -> String {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        let address = text.contains("://") ? text : "https://" + text
        guard let url = URL(string: address), ["http", "https", "file"].contains(url.scheme?.lowercased()),
            url.isFileURL || url.host()?.isEmpty == false
        else {
            throw ReaderError(
                .usage,
                "“\(text)” is neither a file nor the address of a feed; an address looks like https://example.org/feed")
        }
        return address
    }
}

/// `reader import`.
struct ImportCommand: ReaderCommand {
    static let sendsChanges = true
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Subscribe to all feeds of an OPML file, without fetching them.",
        discussion: "Feeds that are there already stay as they are. `reader refresh` fetches the new ones.")

    @Argument(help: "The OPML file, as other readers export it.", completion: .file())
    var file: String

    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws {
        try library.requireSetUp()
        guard let document = try OPMLFile.read(file) else {
            throw ReaderError(.badData, "\(file) is not a list of feeds in OPML; export one from your other reader")
        }
        try await OPMLFile.subscribe(to: document, fetching: false, library, output)
    }
}

/// `reader export`.
struct ExportCommand: ReaderCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Write all subscriptions as OPML, for other readers.")

    @Argument(help: "The file to write; standard output without it.", completion: .file())
    var file: String?

    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws {
        struct Report: Encodable {
            var path: String?
            var feeds: Int
            var opml: String?
        }
        try library.requireSetUp()
        let document = try library.subscriptions()
        if let file {
            do {
                try Data(document.xml.utf8).write(to: URL(fileURLWithPath: file))
            } catch {
                throw ReaderError(.inputOutput, "\(file) cannot be written: \(error.localizedDescription)")
            }
            if output.isJSON { return try output.emit(Report(path: file, feeds: document.entries.count)) }
            try output.say("Wrote \(document.entries.count) subscriptions to \(file).")
        } else {
            if output.isJSON { return try output.emit(Report(feeds: document.entries.count, opml: document.xml)) }
            try output.say(String(document.xml.dropLast()))
        }
    }
}

/// `reader feeds`.
struct FeedsCommand: ReaderCommand {
    static let configuration = CommandConfiguration(
        commandName: "feeds", abstract: "List the feeds with their unread articles.")

    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws {
        struct Report: Encodable { var feeds: [FeedReport] }
        try library.requireSetUp()
        let feeds = try library.feeds()
        if output.isJSON { return try output.emit(Report(feeds: feeds.map(FeedReport.init))) }
        if feeds.isEmpty { return try output.say("No feeds yet. Add one with `reader add ADDRESS`.") }
        var folder: String?
        for feed in feeds {
            if feed.folder != folder, let name = feed.folder { try output.say("\(name):") }
            folder = feed.folder
            let number = PlainLine.fitted("\(feed.id)", 5)
            try output.say("\(number) \(feed.name)  (\(feed.unread) of \(feed.articles) unread)")
            if let problem = feed.problem { try output.say("      last time: \(problem)") }
        }
    }
}

/// `reader remove`.
struct RemoveCommand: ReaderCommand {
    static let sendsChanges = true
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "End a subscription, on all devices, and remove its articles.")

    @Argument(help: "The feed: its number, its address, or a part of its title or address that no other feed has.")
    var feed: String

    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws {
        try library.requireSetUp()
        let feed = try library.feed(feed)
        try library.remove(feed)
        if output.isJSON { return try output.emit(FeedReport(feed)) }
        try output.say("Removed \(feed.name).")
    }
}

/// A feed as `--json` tells it.
struct FeedReport: Encodable {
    var id: Int64
    var url: String
    var title: String?
    var site: String?
    var folder: String?
    var articles: Int
    var unread: Int
    var problem: String?

    init(_ feed: Feed) {
        (id, url, title, site, folder) = (feed.id, feed.url, feed.title, feed.site, feed.folder)
        (articles, unread, problem) = (feed.articles, feed.unread, feed.problem)
    }
}

enum OPMLFile {
    /// nil where the file is no OPML by its beginning.
    static func read(_ path: String) throws -> OPMLDocument? {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw ReaderError(.inputOutput, "\(path) cannot be read: \(error.localizedDescription)")
        }
        return OPMLDocument.isLikely(data) ? try OPMLDocument(data, name: path) : nil
    }

    static func subscribe(
        to document: OPMLDocument, fetching: Bool, _ library: Library, _ output: Output
    ) async throws {
        struct Report: Encodable {
            var added: Int
            var known: Int
        }
        let added = Set(try library.subscribe(document.entries))
        let report = Report(added: added.count, known: document.entries.count - added.count)
        try output.say("Subscribed to \(report.added) feeds; \(report.known) were there already.")
        if fetching {
            let feeds = try library.feeds().filter { added.contains($0.id) }
            // Where nobody reads any more, the work is done all the same.
            try await Refresher(library).refresh(feeds, finished: { try? output.say($0.line) })
        }
        if output.isJSON { try output.emit(report) }
    }
}
