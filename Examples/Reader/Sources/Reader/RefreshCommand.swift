import ArgumentParser
import Feeds
import Ferry
import ReaderStore

/// `reader refresh`.
struct RefreshCommand: ReaderCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh",
        abstract: "Fetch feeds, several at once, and tell one line about each.",
        discussion: """
            Without names all feeds are fetched but those whose servers asked to be left alone for now. It takes up first \
            what other devices sent, and sends what is new in the end.

            Exit status 69 where a feed could not be fetched or read to its end; all others were.
            """)

    @OptionGroup var named: FeedArguments

    @Flag(help: "Fetch also feeds whose servers asked to be left alone for now.")
    var force = false

    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws {
        struct Report: Encodable {
            struct Line: Encodable {
                var feed: String
                var url: String
                var new: Int
                var changed: Int
                var problem: String?
                var code: String?
                var movedTo: String?
            }
            var feeds: [Line]
        }
        let engine = try library.engine()
        await Self.sync(engine, output)
        let feeds = try named.feeds.isEmpty ? library.feeds() : named.feeds.map(library.feed)
        if feeds.isEmpty { try output.say("No feeds yet. Add one with `reader add ADDRESS`.") }
        let refresher = try Refresher(library)
        let results = try await refresher.refresh(
            feeds, isForced: force || !named.feeds.isEmpty,
            finished: { result in
                // Where nobody reads any more, the work is done all the same.
                try? output.say(result.line)
            })
        await Self.sync(engine, output)
        if output.isJSON {
            try output.emit(
                Report(
                    feeds: results.map { result in
                        .init(
                            feed: result.feed.name, url: result.feed.url, new: result.counts.new,
                            changed: result.counts.changed, problem: result.error?.message,
                            code: result.error?.code.rawValue, movedTo: result.movedTo)
                    }))
        }
        if results.contains(where: { $0.error != nil }) { throw ExitCode(ExitStatus.unavailable.rawValue) }
    }
}
