import Dispatch
import Ferry
import Foundation
import GRDB
import ReaderStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The full-screen mode at work: one stream of events, one state, and what the state asks for done beside it.
///
/// Lists are `LiveResults`: they tell what is different whenever this reader, another process or another device wrote, and
/// fetch the rows that are on the screen.
@MainActor
final class ScreenLoop {
    private enum Input: Sendable {
        case screen(ScreenEvent)
        case delivery(LiveDelivery<ArticleLine>, list: Int)
        case rows([Int: ArticleLine], of: Int)
        case end
    }

    private let library: Library
    private let engine: SyncEngine
    private let reading: ReadingState
    private let inputs: AsyncStream<Input>
    private let continuation: AsyncStream<Input>.Continuation
    private var state: ScreenState
    private var tasks: [Task<Void, Never>] = []
    private var refresh: Task<Void, Never>?
    /// The list that is shown, and its number: what comes of an earlier one is late and goes nowhere.
    private var list: Task<Void, Never>?
    private var listNumber = 0
    private var delivery: LiveDelivery<ArticleLine>?
    private var deliveryNumber = 0

    init(_ library: Library) throws {
        self.library = library
        engine = try library.engine()
        reading = try ReadingState(library, engine)
        (inputs, continuation) = AsyncStream.makeStream()
        var query = ArticleQuery()
        query.group = ArticleQuery.Group(rawValue: try Setting.group.value(reading)) ?? .day
        query.unreadOnly = try Setting.unreadOnly.value(reading) == "yes"
        state = ScreenState(size: RawTerminal.size(), query: query)
    }

    /// Runs until the person quits, or a signal says so.
    /// - Returns: why what was done last could not be sent yet, if so.
    func run() async throws -> (any Error)? {
        let terminal = try RawTerminal()
        defer { terminal.restore() }
        let signals = Self.followSignals(continuation)
        defer { for signal in signals { signal.cancel() } }
        let continuation = continuation
        terminal.readKeys { continuation.yield(.screen(.key($0))) }
        try followFeeds()
        followEngine()
        perform([.list(state.query)])
        terminal.show(ScreenRenderer.lines(state), size: state.size)
        for await input in inputs {
            if take(input) { break }
            terminal.show(ScreenRenderer.lines(state), size: state.size)
        }
        terminal.restore()
        await end()
        do {
            // What was read last goes out before the program ends.
            _ = try await engine.sync()
            return nil
        } catch {
            return error
        }
    }

    private func end() async {
        refresh?.cancel()
        list?.cancel()
        for task in tasks { task.cancel() }
        await refresh?.value
        await engine.stop()
    }

    /// - Returns: whether it is the end.
    private func take(_ input: Input) -> Bool {
        switch input {
        case .end: return true
        case .screen(let event): return perform(state.handle(event))
        case .delivery(let delivery, let number):
            guard number == listNumber else { return false }
            self.delivery = delivery
            deliveryNumber += 1
            let row = state.selected.flatMap { delivery.row(of: .integer($0.id)) }
            let sections = delivery.sections.map { ArticleListing.Section(name: $0.name, rows: $0.rows) }
            let shown = state.listing.rows
            let effects = state.handle(.listed(count: delivery.count, sections: sections, selectedRow: row))
            // Until the rows are there, those that were on the screen stay, so that it does not flicker.
            if state.listing.rows.isEmpty { _ = state.handle(.rows(shown)) }
            return perform(effects)
        case .rows(let rows, let number):
            if number == deliveryNumber { _ = state.handle(.rows(rows)) }
            return false
        }
    }

    // MARK: Effects

    @discardableResult
    private func perform(_ effects: [ScreenEffect]) -> Bool {
        for effect in effects {
            switch effect {
            case .list(let query): show(query)
            case .loadRows(let rows): load(rows)
            case .open(let id): attempt { .opened(try self.library.article(id)) }
            case .set(let mark, let isSet, let id):
                attempt {
                    try self.reading.set(mark, isSet, [id])
                    return nil
                }
            case .refresh: startRefresh()
            case .quit: return true
            }
        }
        return false
    }

    /// Does something short, and tells a failure in the status line.
    private func attempt(_ body: () throws -> ScreenEvent?) {
        do {
            if let event = try body() { continuation.yield(.screen(event)) }
        } catch {
            continuation.yield(.screen(.status(Failure(error).message)))
        }
    }

    private func show(_ query: ArticleQuery) {
        list?.cancel()
        listNumber += 1
        let (library, continuation, number) = (library, continuation, listNumber)
        list = Task.detached {
            do {
                if query.search != nil { try library.indexForSearch() }
                let results = try LiveResults<ArticleLine>(
                    in: library.pool, key: ["id"], sections: .column("section"),
                    options: LiveOptions(pageSize: 100)
                ) { _ in query.request }
                for try await delivery in results.deliveries {
                    continuation.yield(.delivery(delivery, list: number))
                }
                results.close()
            } catch {
                continuation.yield(.screen(.status(Failure(error).message)))
            }
        }
    }

    private func load(_ rows: Range<Int>) {
        guard let delivery else { return }
        let (continuation, number) = (continuation, deliveryNumber)
        Task.detached {
            do {
                let records = try await delivery.records(in: rows)
                let pairs = zip(rows, records).compactMap { row, record in record.map { (row, $0) } }
                continuation.yield(.rows(Dictionary(pairs) { first, _ in first }, of: number))
            } catch {
                continuation.yield(.screen(.status(Failure(error).message)))
            }
        }
    }

    private func startRefresh() {
        _ = state.handle(.refreshing(true))
        let (library, continuation) = (library, continuation)
        refresh = Task.detached {
            func tell(_ text: String) { continuation.yield(.screen(.status(text))) }
            do {
                let feeds = try library.feeds()
                tell("Fetching \(feeds.count == 1 ? "1 feed" : "\(feeds.count) feeds") …")
                var done = 0
                let results = try await Refresher(library).refresh(feeds) { progress in
                    let counts = progress.counts
                    let articles = counts.all == 1 ? "1 article" : "\(counts.all) articles"
                    continuation.yield(.screen(.status("\(progress.feed.name): \(articles) read …")))
                } finished: { result in
                    done += 1
                    tell("\(done) of \(feeds.count): \(result.line)")
                }
                let new = results.reduce(0) { $0 + $1.counts.new }
                let failed = results.compactMap { result in result.error.map { "\(result.feed.name): \($0.message)" } }
                tell(
                    (new == 0 ? "Nothing new" : "\(new) new")
                        + (failed.isEmpty ? "" : "; \(failed.joined(separator: "; "))"))
            } catch is CancellationError {
                tell("")
            } catch {
                tell(Failure(error).message)
            }
            continuation.yield(.screen(.refreshing(false)))
        }
    }

    // MARK: What happens

    private func followFeeds() throws {
        let results = try LiveResults<Feed>(in: library.pool, key: ["id"]) { _ in Feed.request }
        let continuation = continuation
        tasks.append(
            Task.detached {
                do {
                    for try await delivery in results.deliveries {
                        let feeds = try await delivery.records(in: 0..<delivery.count).compactMap(\.self)
                        continuation.yield(.screen(.feeds(feeds)))
                    }
                } catch {
                    continuation.yield(.screen(.status(Failure(error).message)))
                }
            })
    }

    private func followEngine() {
        let events = engine.events
        engine.start()
        let continuation = continuation
        tasks.append(
            Task.detached {
                for await event in events {
                    switch event {
                    case .synced(let report) where report.hasNews:
                        continuation.yield(.screen(.status(SyncWording.line(report))))
                    case .failed(let error): continuation.yield(.screen(.status(error.message)))
                    default: break
                    }
                }
            })
    }

    /// Not on the main actor, since signals come on other threads.
    private nonisolated static func followSignals(
        _ continuation: AsyncStream<Input>.Continuation
    ) -> [any DispatchSourceSignal] {
        [SIGINT, SIGTERM, SIGHUP, SIGWINCH].map { number in
            // The default action would end the process before the source hears of it.
            if number != SIGWINCH { signal(number, SIG_IGN) }
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                continuation.yield(number == SIGWINCH ? .screen(.resized(RawTerminal.size())) : .end)
            }
            source.resume()
            return source
        }
    }
}
