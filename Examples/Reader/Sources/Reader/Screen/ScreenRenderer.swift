import ReaderStore

/// A line of the screen: pieces of text with their looks, together as wide as the screen.
struct ScreenLine: Equatable, Sendable {
    enum Look: Equatable, Sendable { case plain, bold, dim, reverse }

    struct Piece: Equatable, Sendable {
        var text: String
        var look: Look
    }

    var pieces: [Piece] = []

    init(_ text: String = "", _ look: Look = .plain) { add(text, look) }

    mutating func add(_ text: String, _ look: Look = .plain) {
        if !text.isEmpty { pieces.append(Piece(text: text, look: look)) }
    }

    var text: String { pieces.map(\.text).joined() }
}

/// Shows a `ScreenState`: a pure function from the state to lines.
struct ScreenRenderer {
    /// Below that many columns there is room for one pane.
    static let columnsForTwoPanes = 60
    static let smallest = ScreenSize(columns: 20, rows: 4)

    let state: ScreenState
    private var columns: Int { state.size.columns }

    /// As many lines as the screen has.
    static func lines(_ state: ScreenState) -> [ScreenLine] { ScreenRenderer(state: state).lines() }

    private func lines() -> [ScreenLine] {
        if columns < Self.smallest.columns || state.size.rows < Self.smallest.rows {
            let message = [ScreenLine(PlainLine.fitted("too small", columns))]
            return (message + Array(repeating: ScreenLine(), count: max(state.size.rows - 1, 0))).suffix(
                state.size.rows)
        }
        return [heading()] + body() + [statusLine()]
    }

    // MARK: Heading and status

    private func heading() -> ScreenLine {
        var words = ["Reader"]
        if let article = state.article {
            words.append(article.article.feed)
            if article.article.isStarred { words.append("★") }
            if !article.article.isRead { words.append("unread") }
        } else {
            words.append(state.feeds.first { $0.id == state.query.feed }?.name ?? "All feeds")
            words.append(state.listing.count == 1 ? "1 article" : "\(state.listing.count) articles")
            if state.query.unreadOnly { words.append("unread only") }
            if let search = state.query.search { words.append("“\(search)”") }
        }
        return ScreenLine(fitted(" " + words.joined(separator: " · "), columns), .reverse)
    }

    private func statusLine() -> ScreenLine {
        if let typing = state.typing { return ScreenLine(fitted("/\(typing)▏", columns)) }
        let keys =
            switch state.pane {
            case .feeds: "j/k move  Enter articles  u unread only  R refresh  / search  q quit"
            case .articles: "j/k move  Enter open  r read  s star  u unread only  / search  R refresh  q quit"
            case .article: "j/k scroll  h back  r read  s star  q quit"
            }
        return ScreenLine(fitted(state.status.isEmpty ? keys : state.status, columns), .dim)
    }

    // MARK: Body

    private func body() -> [ScreenLine] {
        if let article = state.article { return articleLines(article) }
        let height = state.bodyHeight
        guard columns >= Self.columnsForTwoPanes else {
            return (0..<height).map { state.pane == .feeds ? feedLine($0, columns) : articleLine($0, columns) }
        }
        let left = min(30, columns / 3)
        return (0..<height).map { number in
            var line = feedLine(number, left)
            line.add("│", .dim)
            line.pieces += articleLine(number, columns - left - 1).pieces
            return line
        }
    }

    private func articleLines(_ open: ScreenState.OpenArticle) -> [ScreenLine] {
        (0..<state.bodyHeight).map { number in
            let index = open.top + number
            let text = index < open.lines.count ? open.lines[index] : ""
            return ScreenLine(fitted(" " + text, columns), index == 0 ? .bold : .plain)
        }
    }

    private func feedLine(_ number: Int, _ width: Int) -> ScreenLine {
        let row = state.feedTop + number
        guard row <= state.feeds.count else { return ScreenLine(fitted("", width)) }
        let unread: Int
        let name: String
        if row == 0 {
            (name, unread) = ("All feeds", state.feeds.reduce(0) { $0 + $1.unread })
        } else {
            let feed = state.feeds[row - 1]
            (name, unread) = ((feed.problem == nil ? "" : "! ") + feed.name, feed.unread)
        }
        let count = unread == 0 ? "" : " \(unread)"
        let text = " " + fitted(name, width - 2 - count.count) + count + " "
        let isSelected = row == state.feedRow
        if isSelected && state.pane == .feeds { return ScreenLine(text, .reverse) }
        return ScreenLine(text, isSelected ? .bold : unread == 0 ? .dim : .plain)
    }

    private func articleLine(_ number: Int, _ width: Int) -> ScreenLine {
        switch state.listing.line(state.top + number) {
        case nil:
            let isEmptyList = state.listing.count == 0 && number == 1
            return ScreenLine(fitted(isEmptyList ? "  \(emptyText)" : "", width), .dim)
        case .heading(let name): return ScreenLine(fitted(" " + name, width), .bold)
        case .row(let row):
            guard let article = state.listing.rows[row] else { return ScreenLine(fitted("   …", width), .dim) }
            let marks = (article.isRead ? " " : "•") + (article.isStarred ? "★" : " ")
            let title = " \(marks) \(article.title ?? "(no title)")"
            let feed = state.query.feed == nil && state.query.group != .feed && width >= 50 ? article.feed : ""
            let feedWidth = feed.isEmpty ? 0 : min(PlainLine.width(feed), width / 4) + 2
            let shown = fitted(title, width - feedWidth)
            let origin = feedWidth == 0 ? "" : " " + fitted(feed, feedWidth - 2) + " "
            if row == state.selectedRow && state.pane == .articles { return ScreenLine(shown + origin, .reverse) }
            var line = ScreenLine(shown, article.isRead ? .plain : .bold)
            line.add(origin, .dim)
            return line
        }
    }

    private var emptyText: String {
        if state.query.search != nil { return "Nothing found. Esc ends the search." }
        if state.feeds.isEmpty { return "No feeds yet: quit and run `reader add ADDRESS`." }
        return state.query.unreadOnly ? "Nothing unread." : "No articles yet: R fetches them."
    }

    private func fitted(_ text: String, _ width: Int) -> String { PlainLine.fitted(PlainLine.safe(text), width) }
}
