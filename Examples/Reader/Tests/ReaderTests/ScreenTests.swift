import XCTest

@testable import Reader
@testable import ReaderStore

final class ScreenTests: XCTestCase {
    private func articles(_ ids: ClosedRange<Int64>) -> [ArticleLine] { ids.map { TestScreen.article($0) } }

    func testFeedsAreOnTheLeftAndArticlesOnTheRight() {
        let list = [
            TestScreen.article(1, section: "2026-11-22"), TestScreen.article(2, read: true, section: "2026-11-22"),
            TestScreen.article(3, read: true, starred: true, section: "2026-11-21"),
        ]
        let screen = TestScreen(columns: 82, rows: 9, articles: list, group: .day)
        XCTAssertEqual(
            screen.lines,
            [
                " Reader · All feeds · 3 articles",
                " All feeds               2 │ 2026-11-22",
                " Music                   2 │ •  Article 1                                   Music",
                " News                      │    Article 2                                   Music",
                "                           │ 2026-11-21",
                "                           │  ★ Article 3                                   Music",
                "                           │",
                "                           │",
                "j/k move  Enter open  r read  s star  u unread only  / search  R refresh  q quit",
            ])
        XCTAssertEqual(screen.highlighted?.hasPrefix("•  Article 1"), true)
    }

    func testEveryLineIsAsWideAsTheScreen() {
        for columns in [20, 35, 59, 60, 61, 100, 200] {
            for rows in [4, 5, 12] {
                var screen = TestScreen(columns: columns, rows: rows, articles: articles(1...30), group: .day)
                for _ in 0..<3 {
                    let lines = ScreenRenderer.lines(screen.state)
                    XCTAssertEqual(lines.count, rows)
                    for line in lines { XCTAssertEqual(PlainLine.width(line.text), columns, "\(line.text)") }
                    screen.press(.character("G"), .left)
                }
            }
        }
    }

    func testAScreenThatIsTooSmallSaysSo() {
        XCTAssertTrue(TestScreen(articles: articles(1...1)).lines[0].contains("· 1 article"))
        XCTAssertFalse(TestScreen(articles: articles(1...1)).lines[0].contains("1 articles"))
        let screen = TestScreen(columns: 15, rows: 3, articles: articles(1...3))
        XCTAssertEqual(screen.lines, ["too small", "", ""])
    }

    func testTheListScrollsWithTheSelection() {
        var screen = TestScreen(rows: 7, articles: articles(1...30))
        screen.press(.character("j"), .down, .down)
        XCTAssertEqual(screen.state.selected?.id, 4)
        XCTAssertEqual(screen.state.top, 0)
        screen.press(.pageDown)
        XCTAssertEqual(screen.state.selected?.id, 9)
        XCTAssertEqual(screen.state.top, 4)
        screen.press(.end, .down)
        XCTAssertEqual(screen.state.selected?.id, 30)
        XCTAssertTrue(screen.lines[5].contains("Article 30"))
        screen.press(.home, .up)
        XCTAssertEqual(screen.state.selected?.id, 1)
        XCTAssertTrue(screen.lines[1].contains("Article 1"))
    }

    func testRowsOnTheScreenAreAskedForAndNoOthers() {
        var screen = TestScreen(rows: 7, articles: articles(1...1000))
        XCTAssertEqual(screen.effects, [.loadRows(0..<5)])
        screen.effects = []
        screen.press(.end)
        XCTAssertEqual(screen.effects, [.loadRows(995..<1000)])
        XCTAssertEqual(screen.state.listing.rows.count, 5)
    }

    func testTheSelectedArticleStaysSelectedWhereverItGoes() {
        var screen = TestScreen(articles: articles(10...20))
        screen.press(.down, .down)
        XCTAssertEqual(screen.state.selected?.id, 12)
        screen.articles = articles(1...20)
        screen.relist()
        XCTAssertEqual(screen.state.selected?.id, 12)
        screen.articles.removeAll { $0.id == 12 }
        screen.relist()
        XCTAssertEqual(screen.state.selectedRow, 11, "where it is gone, the one that took its place")
        screen.articles = []
        screen.relist()
        XCTAssertNil(screen.state.selected)
        XCTAssertTrue(screen.lines.contains { $0.contains("No articles yet") })
    }

    func testReadAndStarTurnRound() {
        var screen = TestScreen(articles: [TestScreen.article(1), TestScreen.article(2, read: true, starred: true)])
        screen.type("rs")
        screen.press(.down)
        screen.type("rs")
        XCTAssertEqual(
            screen.takeEffects(),
            [.set(.read, true, 1), .set(.starred, true, 1), .set(.read, false, 2), .set(.starred, false, 2)])
    }

    func testOpeningAnArticleMarksItAsReadOnce() {
        var screen = TestScreen(articles: [TestScreen.article(1), TestScreen.article(2, read: true)])
        screen.press(.enter)
        XCTAssertEqual(screen.takeEffects(), [.set(.read, true, 1), .open(1)])
        screen.press(.down, .right)
        XCTAssertEqual(screen.takeEffects(), [.open(2)])
    }

    func testAnArticleIsWrappedAndScrolls() {
        var screen = TestScreen(columns: 40, rows: 8, articles: articles(1...3))
        let html = (1...20).map { "<p>Paragraph \($0) is longer than one line of this narrow screen.</p>" }.joined()
        screen.send(
            .opened(
                Article(
                    id: 1, mark: "m", title: "A title", link: "https://example.org/1", feed: "Music", author: "Ada",
                    html: html, isRead: true, isStarred: false)))
        XCTAssertEqual(
            Array(screen.lines.prefix(7)),
            [
                " Reader · Music", " A title", " Music · Ada", " https://example.org/1", "",
                " Paragraph 1 is longer than one line of",
                " this narrow screen.",
            ])
        screen.press(.character("j"))
        XCTAssertEqual(screen.lines[1], " Music · Ada")
        screen.press(.character("G"), .down)
        XCTAssertEqual(screen.lines[6], " of this narrow screen.")
        screen.send(.resized(ScreenSize(columns: 100, rows: 8)))
        XCTAssertTrue(screen.lines.contains { $0.contains("is longer than one line of this narrow screen.") })
        screen.type("s")
        XCTAssertTrue(screen.lines[0].contains("★"))
        screen.press(.escape)
        XCTAssertTrue(screen.lines[0].contains("3 articles"))
        XCTAssertEqual(screen.takeEffects(), [.set(.starred, true, 1)])
    }

    func testChoosingAFeedListsItsArticles() {
        var screen = TestScreen(articles: articles(1...3))
        screen.press(.left, .down)
        guard case .list(let query)? = screen.takeEffects().last else { return XCTFail("nothing was listed") }
        XCTAssertEqual(query.feed, 1)
        XCTAssertTrue(screen.lines[0].contains("Music"))
        screen.press(.up, .up)
        guard case .list(let all)? = screen.takeEffects().last else { return XCTFail("nothing was listed") }
        XCTAssertNil(all.feed)
    }

    func testAFeedThatAnotherDeviceRemovedIsNoLongerChosen() {
        var screen = TestScreen(articles: articles(1...3))
        screen.press(.left, .down, .down)
        XCTAssertEqual(screen.state.query.feed, 2)
        _ = screen.takeEffects()
        screen.send(.feeds([TestScreen.feed(3, "Before", 0), TestScreen.feed(2, "News", 0)]))
        XCTAssertEqual(screen.state.query.feed, 2)
        XCTAssertEqual(screen.highlighted?.hasPrefix("News"), true)
        screen.send(.feeds([TestScreen.feed(3, "Before", 0)]))
        XCTAssertNil(screen.state.query.feed)
        XCTAssertEqual(screen.highlighted?.hasPrefix("All feeds"), true)
        XCTAssertEqual(screen.takeEffects(), [.list(screen.state.query)])
    }

    func testSearching() {
        var screen = TestScreen(articles: articles(1...3))
        screen.type("/quinx")
        screen.press(.backspace)
        screen.type("tet")
        XCTAssertEqual(screen.lines.last, "/quintet▏")
        XCTAssertEqual(screen.takeEffects(), [], "letters are no commands while one types")
        screen.press(.enter)
        guard case .list(let query)? = screen.takeEffects().last else { return XCTFail("nothing was listed") }
        XCTAssertEqual(query.search, "quintet")
        XCTAssertTrue(screen.lines[0].contains("“quintet”"))
        screen.press(.escape)
        XCTAssertNil(screen.state.query.search)
        screen.type("/a")
        screen.press(.escape)
        XCTAssertNil(screen.state.typing)
    }

    func testUnreadOnlyRefreshAndQuit() {
        var screen = TestScreen(articles: articles(1...3))
        screen.type("u")
        guard case .list(let query)? = screen.takeEffects().last else { return XCTFail("nothing was listed") }
        XCTAssertTrue(query.unreadOnly)
        screen.type("R")
        screen.send(.refreshing(true))
        screen.send(.status("Music: 300 articles read …"))
        screen.type("R")
        XCTAssertEqual(screen.takeEffects(), [.refresh], "one refresh at a time")
        XCTAssertEqual(screen.lines.last, "Music: 300 articles read …")
        screen.send(.refreshing(false))
        screen.press(.down)
        XCTAssertTrue(screen.lines.last?.hasPrefix("j/k") ?? false, "what was told goes with the next key")
        screen.type("q")
        screen.press(.interrupt)
        XCTAssertEqual(screen.takeEffects(), [.quit, .quit])
    }

    /// What a feed writes into its titles must not command the terminal.
    func testControlCharactersOfFeedsDoNotReachTheTerminal() {
        var article = TestScreen.article(1)
        article.title = "a\u{1B}[2Jb\u{9B}c\u{202E}d\ne"
        let screen = TestScreen(articles: [article], feeds: [TestScreen.feed(1, "\u{1B}]0;x\u{7}", 1)])
        for line in screen.lines {
            XCTAssertFalse(line.unicodeScalars.contains { $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) }, line)
        }
        XCTAssertTrue(screen.lines[1].contains("a [2Jb cd e"))
    }
}
