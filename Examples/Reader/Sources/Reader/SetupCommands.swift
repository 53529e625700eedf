import ArgumentParser
import Ferry
import ReaderStore

/// `reader init`.
struct InitCommand: ReaderCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Make the folder that your devices share; this is the first device.",
        discussion: """
            The folder's parent must exist. Without --articles each device fetches articles for itself, and only \
            subscriptions, what was read and starred, and settings travel. That is decided once, for all devices.

            Exit status 73 where the folder is taken or the database has one already, 69 where the parent is not there.
            """)

    @Argument(help: "The folder, inside of one that your syncer carries.", completion: .directory)
    var folder: String

    @Option(help: "What this device is called on the others. Without it, the computer's name.")
    var name: String?

    @Flag(help: "Articles travel too: what one device fetched the others have, though a feed shows it no more.")
    var articles = false

    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws {
        let report = try library.create(folder: folder, name: name, sharesArticles: articles)
        if output.isJSON { return try output.emit(report) }
        try output.say(
            """
            Made the folder \(report.path). This device is called \(report.device.name).
            Add feeds with `reader add ADDRESS`. On each other device, once the folder has arrived there:
              reader join <path of the folder there>
            """)
    }
}

/// `reader join`.
struct JoinCommand: ReaderCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Join the folder that another device made.",
        discussion: """
            Subscriptions that this database has already merge with those of the others.

            Exit status 69 where the folder is not there or holds nothing yet, 73 where the database has a folder already.
            """)

    @Argument(help: "The folder, as it arrived here.", completion: .directory)
    var folder: String

    @Option(help: "What this device is called on the others. Without it, the computer's name.")
    var name: String?

    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws {
        let report = try library.join(folder: folder, name: name)
        if output.isJSON { return try output.emit(report) }
        let feeds = try library.feeds().count
        try output.say(
            """
            Joined \(report.path). This device is called \(report.device.name).
            \(feeds == 1 ? "1 feed" : "\(feeds) feeds"). Fetch articles with `reader refresh`, and read with `reader`.
            """)
        for device in report.waiting { output.warn("\(device.device): \(device.reason)") }
    }
}

/// `reader sync`.
struct SyncCommand: ReaderCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Send what is new here and take up what is new elsewhere, once.",
        discussion: """
            The full-screen mode does this by itself all the time. Nothing is lost where the folder is away: it goes out \
            later. Exit status 69 then.
            """)

    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws {
        let report = try await library.engine().sync()
        if output.isJSON { return try output.emit(report) }
        try output.say(SyncWording.line(report))
        for device in report.waiting { output.warn("\(device.device): \(device.reason)") }
    }
}

enum SyncWording {
    static func line(_ report: SyncReport) -> String {
        report.hasNews
            ? "Sent \(report.published.changes), received \(report.replayed.changes)." : "Nothing new."
    }
}
