import ArgumentParser
import ReaderStore

/// `reader screen`, and `reader` alone.
struct ScreenCommand: ReaderCommand {
    static let configuration = CommandConfiguration(
        commandName: "screen",
        abstract: "Read on the whole screen; this is what `reader` alone does.",
        discussion: """
            Feeds are on the left, articles on the right. It stays in step with your other devices while it is open: what \
            they read disappears here.

            j k, arrows, PageUp, PageDown, g G   move
            Enter, l    open (and mark as read)     h, Esc   back
            r           read or unread              s        star or no star
            u           unread articles only        /        search
            R           fetch new articles          q        quit
            """)

    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws {
        if output.isJSON { throw ReaderError(.usage, "the full-screen mode writes no JSON; `reader list --json` does") }
        if let error = try await ScreenLoop(library).run() {
            output.warn("what you did last is safe here and not sent yet: \(Failure(error).message)")
        }
    }
}
