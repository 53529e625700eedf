import Foundation
import XCTest

@testable import Reader
@testable import ReaderStore

/// A screen without a terminal: keys go in, and it is looked at as text. Lists come from `articles`, as they would from the
/// database.
struct TestScreen {
    var state: ScreenState
    var articles: [ArticleLine]
    var effects: [ScreenEffect] = []

    init(
        columns: Int = 80, rows: Int = 10, articles: [ArticleLine], feeds: [Feed]? = nil,
        group: ArticleQuery.Group = .none
    ) {
        var query = ArticleQuery()
        query.group = group
        state = ScreenState(size: ScreenSize(columns: columns, rows: rows), query: query)
        self.articles = articles
        send(.feeds(feeds ?? [Self.feed(1, "Music", 2), Self.feed(2, "News", 0)]))
        relist()
    }

    static func feed(_ id: Int64, _ title: String, _ unread: Int) -> Feed {
        Feed(id: id, url: "https://example.org/\(id)", title: title, articles: 5, unread: unread)
    }

    static func article(_ id: Int64, read: Bool = false, starred: Bool = false, section: String = "") -> ArticleLine {
        ArticleLine(
            id: id, mark: "m\(id)", title: "Article \(id)", feedID: 1, feed: "Music", isRead: read, isStarred: starred,
            section: section)
    }

    /// The event, and then what it asks for, as far as rows go.
    mutating func send(_ event: ScreenEvent) {
        for effect in state.handle(event) {
            effects.append(effect)
            if case .loadRows(let rows) = effect {
                let pairs = rows.map { ($0, articles[$0]) }
                send(.rows(Dictionary(uniqueKeysWithValues: pairs)))
            }
        }
    }

    /// Delivers the list anew, as after a write.
    mutating func relist() {
        var sections: [ArticleListing.Section] = []
        for (row, article) in articles.enumerated() {
            if sections.last?.name == article.section, let last = sections.last {
                sections[sections.count - 1].rows = last.rows.lowerBound..<row + 1
            } else {
                sections.append(.init(name: article.section, rows: row..<row + 1))
            }
        }
        let selected = state.selected?.id
        let row = articles.firstIndex { $0.id == selected }
        send(.listed(count: articles.count, sections: sections, selectedRow: row))
    }

    mutating func press(_ keys: Key...) { for key in keys { send(.key(key)) } }

    mutating func type(_ text: String) { for character in text { send(.key(.character(character))) } }

    /// What the keys asked for since the last call, but for rows.
    mutating func takeEffects() -> [ScreenEffect] {
        defer { effects = [] }
        return effects.filter { if case .loadRows = $0 { false } else { true } }
    }

    var lines: [String] {
        ScreenRenderer.lines(state).map { line in
            var text = line.text
            while text.last == " " { text.removeLast() }
            return text
        }
    }

    /// The text of the line that stands out.
    var highlighted: String? {
        let lines = ScreenRenderer.lines(state).dropFirst()
        return lines.flatMap(\.pieces).first { $0.look == .reverse }?.text.trimmingCharacters(in: .whitespaces)
    }
}
