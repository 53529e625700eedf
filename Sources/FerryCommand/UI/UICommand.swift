import ArgumentParser
import Dispatch
import Ferry
import FerryUI
import Foundation

/// `ferry ui`.
struct UICommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "ui",
        abstract: "Look at a database in the browser.",
        usage: "ferry ui <database> [--port <port>] [--no-open] [--read-only] [<options>]",
        discussion: """
            A page on this computer: devices and what waits, conflicts, rows and their past, rows that are not shown as \
            written, and the container. It shows news by itself. Nothing is loaded from elsewhere, and nothing is sent elsewhere.

            The printed address has a token, new with every start. Without it the page shows nothing, and does nothing. \
            With it a person can settle conflicts, and bring back values and rows; not so with --read-only.

            It may run beside `ferry watch`, apps and other programs, and holds no lock while nobody asks. Ctrl-C ends it.

            For a computer elsewhere, let ssh carry the port: `ssh -L 8377:127.0.0.1:8377 host`. --listen opens the page to \
            the network instead, where what it sends is not encrypted.

            JSON: {"address", "port", "readOnly"}

            Examples:
              ferry ui music.sqlite
              ferry ui music.sqlite --port 8377 --no-open --read-only
            """)

    @OptionGroup var argument: DatabaseArgument

    @Option(help: "The port; a free one if left out.")
    var port: UInt16?

    @Flag(help: "Print the address, and open no browser.")
    var noOpen = false

    @Flag(help: "Show everything, and change nothing.")
    var readOnly = false

    @Option(help: ArgumentHelp("Listen on this IP address, in place of this computer alone.", valueName: "address"))
    var listen: String?

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if let listen, ListenAddress(listen) == nil {
            throw ValidationError("--listen takes an IP address, like 192.168.1.20; not \"\(listen)\".")
        }
        if port == 0 { throw ValidationError("--port is 1 to 65535. Leave it out for a free one.") }
    }

    private struct Report: Encodable {
        var address: String
        var port: UInt16
        var readOnly: Bool
    }

    func perform(_ console: Console) throws {
        let database = OpenDatabase(path: argument.database)
        // An unreadable database is reported before a page begins.
        try database.performAndWait { _ in }
        let events = EventHub()
        let watch = PageWatch(database, events)
        let answers = PageAnswers(database, isReadOnly: readOnly) { events.announce() }
        let signals = TerminationSignals { watch.stop() }
        let page = try RunningPage(listenAddress, port: port ?? 0, answers, events, isReadOnly: readOnly)
        defer { page.stop() }
        try tell(page, console)
        let opening = noOpen || console.isJSON ? nil : BrowserOpening(page.address)
        defer { opening?.end() }
        watch.run()
        signals.cancel()
    }

    private var listenAddress: ListenAddress { listen.flatMap { ListenAddress($0) } ?? .loopback }

    private func tell(_ page: RunningPage, _ console: Console) throws {
        if console.isJSON {
            try console.emit(Report(address: page.address, port: page.port, readOnly: readOnly))
        } else {
            try console.answer(page.address)
        }
        if !listenAddress.isLoopback {
            console.warn(
                "The page listens on \(listenAddress.text), where others may reach it, and what it sends is not encrypted. Whoever has "
                    + "the address reads the database\(readOnly ? "" : " and can change it").")
        }
        let place = listenAddress.isLoopback ? " of this computer" : ""
        console.hint("Open the address in a browser\(place). Ctrl-C ends the page.")
    }
}

/// A page during serving.
private final class RunningPage: Sendable {
    let address: String
    let port: UInt16
    private let server: PageServer
    private let events: EventHub

    init(
        _ listen: ListenAddress, port wanted: UInt16, _ answers: PageAnswers, _ events: EventHub, isReadOnly: Bool
    ) throws {
        let token = AccessToken(SystemRandom())
        let host = listen.isEverywhere ? ProcessInfo.processInfo.hostName : listen.host
        let names = [host] + (listen.isLoopback || listen.isEverywhere ? ["127.0.0.1", "localhost", "[::1]"] : [])
        let server = try PageServer(address: listen, port: wanted)
        port = server.port
        address = "http://\(host):\(port)/#token=\(token.text)"
        let gate = PageGate(names: names, port: port, isEverywhere: listen.isEverywhere, token: token)
        server.start(PageSite(gate: gate, source: answers, events: events, isReadOnly: isReadOnly))
        self.server = server
        self.events = events
    }

    /// Ends all answers, and the listening. Waits for the end, on a thread without any of this work.
    func stop() {
        events.end()
        let isOver = DispatchSemaphore(value: 0)
        Task { [server] in
            await server.stop()
            isOver.signal()
        }
        isOver.wait()
    }
}
