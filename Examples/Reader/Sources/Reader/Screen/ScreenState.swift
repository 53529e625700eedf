import ReaderStore

/// What happens to the screen.
enum ScreenEvent: Sendable {
    case key(Key)
    case resized(ScreenSize)
    case feeds([Feed])
    /// Another list, or the same one after somebody wrote.
    /// - selectedRow: where the article that was selected is now.
    case listed(count: Int, sections: [ArticleListing.Section], selectedRow: Int?)
    case rows([Int: ArticleLine])
    case opened(Article)
    case status(String)
    case refreshing(Bool)
}

/// What the screen asks for. Everything else is in the state.
enum ScreenEffect: Equatable, Sendable {
    case list(ArticleQuery)
    case loadRows(Range<Int>)
    case open(Int64)
    case set(ReadingState.Mark, Bool, Int64)
    case refresh
    case quit
}

struct ScreenSize: Equatable, Sendable {
    var columns: Int
    var rows: Int
}

/// The full-screen mode as a value: events go in, effects come out, and `ScreenRenderer` shows it. It knows no terminal, no
/// database and no clock.
struct ScreenState: Equatable, Sendable {
    enum Pane: Equatable, Sendable { case feeds, articles, article }

    struct OpenArticle: Equatable, Sendable {
        var article: Article
        var lines: [String]
        var top = 0
    }

    var size: ScreenSize
    private(set) var pane = Pane.articles
    private(set) var feeds: [Feed] = []
    /// In the list of feeds; 0 is all feeds.
    private(set) var feedRow = 0
    private(set) var listing = ArticleListing()
    private(set) var selectedRow = 0
    /// The line at the top of the list.
    private(set) var top = 0
    private(set) var article: OpenArticle?
    private(set) var query: ArticleQuery
    /// The words that are being typed after `/`.
    private(set) var typing: String?
    private(set) var status = ""
    private(set) var isRefreshing = false

    init(size: ScreenSize, query: ArticleQuery) {
        self.size = size
        self.query = query
    }

    // MARK: Places

    /// Lines between the heading and the status line.
    var bodyHeight: Int { max(size.rows - 2, 0) }

    var selected: ArticleLine? { listing.rows[selectedRow] }

    /// The feed at the top of the list of feeds, which scrolls by itself.
    var feedTop: Int { max(0, min(feedRow - bodyHeight / 2, feeds.count + 1 - bodyHeight)) }

    var textWidth: Int { max(min(size.columns - 2, 90), 20) }

    // MARK: Events

    mutating func handle(_ event: ScreenEvent) -> [ScreenEffect] {
        switch event {
        case .key(let key):
            // What was told has been seen; the keys are shown again.
            if !isRefreshing { status = "" }
            return handle(key)
        case .resized(let size):
            self.size = size
            if let article { open(article.article, top: article.top) }
            return scrollToSelection()
        case .feeds(let feeds): return take(feeds)
        case .listed(let count, let sections, let row):
            listing = ArticleListing(count: count, sections: sections)
            selectedRow = max(0, min(row ?? selectedRow, count - 1))
            return scrollToSelection()
        case .rows(let rows):
            listing.rows = rows.filter { $0.key < listing.count }
            return []
        case .opened(let article):
            open(article, top: self.article?.article.id == article.id ? self.article?.top ?? 0 : 0)
            pane = .article
            return []
        case .status(let text):
            status = text
            return []
        case .refreshing(let isRefreshing):
            self.isRefreshing = isRefreshing
            return []
        }
    }

    private mutating func take(_ new: [Feed]) -> [ScreenEffect] {
        let chosen = feedRow > 0 && feedRow <= feeds.count ? feeds[feedRow - 1].id : nil
        feeds = new
        feedRow = chosen.flatMap { id in new.firstIndex { $0.id == id } }.map { $0 + 1 } ?? 0
        if let feed = query.feed, !new.contains(where: { $0.id == feed }) {
            query.feed = nil
            return [.list(query)]
        }
        return []
    }

    private mutating func open(_ article: Article, top: Int) {
        // An article's own JSON that cannot be read takes its enclosures from the text, no more.
        let lines = (try? ArticleText.lines(article, width: textWidth)) ?? PlainLine.wrapped(article.text, textWidth)
        self.article = OpenArticle(article: article, lines: lines, top: max(0, min(top, lines.count - 1)))
    }

    // MARK: Keys

    private mutating func handle(_ key: Key) -> [ScreenEffect] {
        if key == .interrupt { return [.quit] }
        if typing != nil { return type(key) }
        switch key {
        case .character("q"): return [.quit]
        case .character("u"):
            query.unreadOnly.toggle()
            return list()
        case .character("R"): return isRefreshing ? [] : [.refresh]
        case .character("r"): return mark(.read)
        case .character("s"): return mark(.starred)
        case .character("/"):
            typing = query.search ?? ""
            leaveArticle()
            return []
        default: break
        }
        switch pane {
        case .feeds: return handleInFeeds(key)
        case .articles: return handleInArticles(key)
        case .article: return handleInArticle(key)
        }
    }

    private mutating func type(_ key: Key) -> [ScreenEffect] {
        switch key {
        case .character(let character): typing?.append(character)
        case .backspace:
            if typing?.isEmpty ?? true { typing = nil } else { typing?.removeLast() }
        case .escape: typing = nil
        case .enter:
            query.search = typing.flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
            typing = nil
            pane = .articles
            return list()
        default: break
        }
        return []
    }

    private mutating func handleInFeeds(_ key: Key) -> [ScreenEffect] {
        switch key {
        case .character("j"), .down: return chooseFeed(feedRow + 1)
        case .character("k"), .up: return chooseFeed(feedRow - 1)
        case .pageDown: return chooseFeed(feedRow + bodyHeight)
        case .pageUp: return chooseFeed(feedRow - bodyHeight)
        case .character("g"), .home: return chooseFeed(0)
        case .character("G"), .end: return chooseFeed(feeds.count)
        case .enter, .right, .character("l"):
            pane = .articles
            return []
        default: return []
        }
    }

    private mutating func chooseFeed(_ row: Int) -> [ScreenEffect] {
        let row = max(0, min(row, feeds.count))
        if row == feedRow { return [] }
        feedRow = row
        query.feed = row == 0 ? nil : feeds[row - 1].id
        return list()
    }

    private mutating func handleInArticles(_ key: Key) -> [ScreenEffect] {
        switch key {
        case .character("j"), .down: return select(selectedRow + 1)
        case .character("k"), .up: return select(selectedRow - 1)
        case .pageDown, .character(" "): return select(selectedRow + bodyHeight)
        case .pageUp: return select(selectedRow - bodyHeight)
        case .character("g"), .home: return select(0)
        case .character("G"), .end: return select(listing.count - 1)
        case .left, .character("h"): pane = .feeds
        case .escape:
            if query.search == nil {
                pane = .feeds
            } else {
                query.search = nil
                return list()
            }
        case .enter, .right, .character("l"): return openSelected()
        default: break
        }
        return []
    }

    private func openSelected() -> [ScreenEffect] {
        guard let selected else { return [] }
        return (selected.isRead ? [] : [.set(.read, true, selected.id)]) + [.open(selected.id)]
    }

    private mutating func handleInArticle(_ key: Key) -> [ScreenEffect] {
        guard let article else { return [] }
        switch key {
        case .character("j"), .down: scrollArticle(1)
        case .character("k"), .up: scrollArticle(-1)
        case .pageDown, .character(" "): scrollArticle(bodyHeight)
        case .pageUp: scrollArticle(-bodyHeight)
        case .character("g"), .home: scrollArticle(-article.lines.count)
        case .character("G"), .end: scrollArticle(article.lines.count)
        case .left, .escape, .backspace, .character("h"), .enter: leaveArticle()
        default: break
        }
        return []
    }

    private mutating func scrollArticle(_ lines: Int) {
        guard var open = article else { return }
        open.top = max(0, min(open.top + lines, open.lines.count - bodyHeight))
        article = open
    }

    private mutating func leaveArticle() {
        if pane == .article { pane = .articles }
        article = nil
    }

    /// Turns a mark of the open or the selected article round.
    private mutating func mark(_ mark: ReadingState.Mark) -> [ScreenEffect] {
        if var open = article?.article {
            let isSet = mark == .read ? open.isRead : open.isStarred
            if mark == .read { open.isRead = !isSet } else { open.isStarred = !isSet }
            article?.article = open
            return [.set(mark, !isSet, open.id)]
        }
        guard pane == .articles, let selected else { return [] }
        return [.set(mark, !(mark == .read ? selected.isRead : selected.isStarred), selected.id)]
    }

    // MARK: The list

    private mutating func list() -> [ScreenEffect] {
        leaveArticle()
        (selectedRow, top) = (0, 0)
        return [.list(query)]
    }

    private mutating func select(_ row: Int) -> [ScreenEffect] {
        selectedRow = max(0, min(row, listing.count - 1))
        return scrollToSelection()
    }

    /// Brings the selected row onto the screen and asks for the rows that are on it.
    private mutating func scrollToSelection() -> [ScreenEffect] {
        let line = listing.line(ofRow: selectedRow)
        // The heading of the first row of a section comes along.
        let first = line > 0 && listing.line(line - 1) != .row(selectedRow - 1) ? line - 1 : line
        if first < top { top = first }
        if line >= top + bodyHeight { top = line - bodyHeight + 1 }
        top = max(0, min(top, listing.lineCount - bodyHeight))
        let wanted = listing.rows(onLines: top..<top + bodyHeight)
        return wanted.isEmpty ? [] : [.loadRows(wanted)]
    }
}
