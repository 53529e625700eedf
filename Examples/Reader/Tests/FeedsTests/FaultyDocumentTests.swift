import Feeds
import Foundation
import XCTest

final class FaultyDocumentTests: XCTestCase {
    func testACutOffFeedDeliversTheArticlesBeforeTheCut() {
        let text =
            "<rss><channel><title>T</title><item><title>1</title></item><item><title>2</title></item><item><title>3"
        for cut in 0..<14 {
            let parsed = parse(String(text.dropLast(cut)))
            XCTAssertEqual(parsed.titles, ["1", "2"], "cut by \(cut)")
            XCTAssertEqual(parsed.error?.code, .cutOff, "cut by \(cut): \(parsed.error?.message ?? "no error")")
        }
        XCTAssertEqual(parse(text).error?.message, "the feed ends in the middle of its <title>; fetch it again")
    }

    func testAFaultDeliversTheArticlesBeforeItAndNamesItsLine() {
        let parsed = parse("<rss><channel>\n<item><title>1</title></item>\n<item><title>2</item>\n</channel></rss>")
        XCTAssertEqual(parsed.titles, ["1"])
        XCTAssertEqual(parsed.error?.code, .malformed)
        XCTAssertEqual(
            parsed.error?.message,
            "the feed is not well-formed XML at line 3 (a tag that is closed but was not opened last); tell its publisher"
        )
    }

    func testWhatComesAfterTheFeedIsNotAsked() {
        XCTAssertEqual(
            parse("<rss><channel><item><title>1</title></item></channel></rss> <!-- ok --> junk").titles, ["1"])
    }

    func testMendsWhatManyFeedsDoWrong() {
        let parsed = parse(
            "\n\n <?xml version='1.0'?>\n<rss><channel><item><title>a\u{8}b & c &lt; &#2; &#150; &foo; &unfinished</title>"
                + "<link>http://a.example/?x=1&y=2</link><x:odd x:attr='1'>kept</x:odd></item></channel></rss>")
        XCTAssertNil(parsed.error)
        XCTAssertEqual(parsed.titles, ["ab & c < \u{FFFD} – &foo; &unfinished"])
        XCTAssertEqual(parsed.articles.first?.link, "http://a.example/?x=1&y=2")
        XCTAssertEqual(parsed.articles.first?.extensions.map(\.name), ["x:odd"])
        XCTAssertEqual(parsed.feed?.repairs.count, 2)
    }

    // MARK: Entities

    func testABillionLaughsEndWithAnError() {
        var entities = "<!ENTITY lol0 \"lol\">"
        for level in 1...9 {
            entities += "<!ENTITY lol\(level) \"\(String(repeating: "&lol\(level - 1);", count: 10))\">"
        }
        let parsed = parse(
            "<!DOCTYPE rss [\(entities)]><rss><channel><item><title>1</title></item><item><title>&lol9;</title></item></channel></rss>"
        )
        XCTAssertEqual(parsed.error?.code, .entities)
        XCTAssertEqual(parsed.titles, ["1"])
    }

    func testAQuadraticBlowUpEndsWithAnError() {
        let long = String(repeating: "a", count: 50_000)
        let references = String(repeating: "&a;", count: 50_000)
        let parsed = parse(
            "<!DOCTYPE rss [<!ENTITY a '\(long)'>]><rss><channel><item><title>\(references)</title></item></channel></rss>"
        )
        XCTAssertEqual(parsed.error?.code, .entities)
        let longer = String(repeating: "a", count: 100_000)
        XCTAssertEqual(
            parse("<!DOCTYPE rss [<!ENTITY a '\(longer)'>]><rss><channel/></rss>").error?.code, .entities)
    }

    func testNothingExternalIsEverRead() throws {
        let secret = FileManager.default.temporaryDirectory.appendingPathComponent("secret-\(UUID().uuidString)")
        try Data("the secret".utf8).write(to: secret)
        defer { XCTAssertNoThrow(try FileManager.default.removeItem(at: secret)) }
        for declaration in [
            "<!ENTITY x SYSTEM '\(secret.absoluteString)'>", "<!ENTITY % p SYSTEM '\(secret.absoluteString)'> %p;",
        ] {
            let parsed = parse(
                "<!DOCTYPE rss [\(declaration)]><rss><channel><item><title>&x;</title></item></channel></rss>")
            XCTAssertFalse(parsed.articles.contains { $0.title?.contains("secret") == true })
            if declaration.contains(" x ") { XCTAssertEqual(parsed.error?.code, .entities) }
        }
    }

    // MARK: Limits

    func testAnArticleLargerThanTheLimitIsAnError() {
        let long = String(repeating: "x", count: 200_000)
        let text = "<rss><channel><item><title>1</title></item><item><title>\(long)</title></item></channel></rss>"
        let parsed = parse(text, limits: .init(maximumArticleBytes: 100_000))
        XCTAssertEqual(parsed.titles, ["1"])
        XCTAssertEqual(parsed.error?.code, .tooLarge)
        XCTAssertEqual(parse(text, limits: .init(maximumBytes: 1000)).error?.code, .tooLarge)
        XCTAssertEqual(parse(text).articles.count, 2)
    }

    func testAFeedThatSaysTooMuchOfItselfIsAnError() {
        let text = "<rss><channel>" + String(repeating: "<x>0123456789</x>", count: 3000) + "</channel></rss>"
        XCTAssertEqual(parse(text, limits: .init(maximumArticleBytes: 100_000)).error?.code, .tooLarge)
    }

    func testListsWithoutEndGoToTheExtensions() throws {
        let lists = (0..<3000).map {
            "<category>c\($0)</category><author>a\($0)</author><enclosure url='http://e/\($0)'/>"
        }
        let article = try XCTUnwrap(
            parse("<rss><channel><item>\(lists.joined())</item></channel></rss>").articles.first)
        XCTAssertEqual(
            [article.categories.count, article.authors.count, article.enclosures.count], [1000, 1000, 1000])
        XCTAssertEqual(article.extensions.count, 6000)
    }

    func testSeveralFeedsAreParsedAtTheSameTime() {
        let good =
            "<rss><channel>" + String(repeating: "<item><title>&eacute;</title></item>", count: 200)
            + "</channel></rss>"
        let bad = good.replacing("</channel>", with: "<a></b></channel>")
        DispatchQueue.concurrentPerform(iterations: 16) { number in
            let parsed = parse(number % 2 == 0 ? good : bad)
            XCTAssertEqual(parsed.titles, Array(repeating: "é", count: 200))
            XCTAssertEqual(parsed.error?.code, number % 2 == 0 ? nil : .malformed)
        }
    }

    func testNestingWithoutEndIsAnError() {
        let deep = String(repeating: "<a>", count: 100_000)
        XCTAssertNotNil(parse("<rss><channel><item>\(deep)").error)
    }

    // MARK: Not feeds

    func testAWebPageIsNamedWithTheFeedsItOffers() {
        let parsed = parse(
            """
            <!DOCTYPE html><html><head><title>Site</title>
            <link rel="stylesheet" href="x.css"><LINK REL='alternate feed' TYPE="application/rss+xml" title="News &amp; more" href="/rss">
            <link rel=alternate type=application/atom+xml href=https://other.example/atom>
            <link rel="alternate" hreflang="de" href="/de"></head><body>…</body></html>
            """)
        XCTAssertEqual(parsed.error?.code, .webPage)
        XCTAssertEqual(
            parsed.error?.alternates,
            [
                FeedLink(url: "https://example.org/rss", title: "News & more"),
                FeedLink(url: "https://other.example/atom"),
            ])
        XCTAssertEqual(
            parsed.error?.message,
            "this is a web page, not a feed; it offers https://example.org/rss (News & more), https://other.example/atom"
        )
        XCTAssertEqual(parse("<p>hello</p>").error?.code, .webPage)
        XCTAssertEqual(
            parse("<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><body/></html>").error?.message,
            "this is a web page, not a feed, and it names no feed; look on it for a link")
    }

    func testOtherDocumentsAreNamed() {
        XCTAssertEqual(parse("").error?.code, .empty)
        XCTAssertEqual(parse(" \n ").error?.code, .empty)
        XCTAssertEqual(parse("<!-- nothing -->").error?.code, .empty)
        XCTAssertEqual(
            parse("<opml version='2.0'><body/></opml>").error?.message,
            "this is XML, but not a feed: it begins with <opml>; check the address")
        XCTAssertEqual(
            parse("Not found\nsorry").error?.message,
            "this is not a feed but something that begins with “Not found sorry”; check the address")
        XCTAssertEqual(
            parse(bytes: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 1]).error?.code, .notAFeed)
    }

    func testAMissingFileIsOneClearError() {
        let file = URL(fileURLWithPath: "/nowhere/feed.xml")
        XCTAssertThrowsError(try FeedParser(FeedSource(file: file)).parse { _ in }) { error in
            XCTAssertEqual((error as? FeedError)?.code, .file)
        }
    }

    func testRandomBytesNeverCrash() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = Random(seed: seed)
        let text = Array(
            "<?xml version='1.0' encoding='utf-8'?><!DOCTYPE a [<!ENTITY b 'c'>]><rss><channel><item><title>é&amp;<![CDATA[x]]></title></item></channel></rss>"
                .utf8)
        let json = Array(
            #"{"version":"https://jsonfeed.org/version/1","items":[{"id":"\u00e9","tags":[1,true]}]}"#.utf8)
        for round in 0..<600 {
            var bytes = round % 2 == 0 ? text : json
            for _ in 0..<random.below(8) + 1 {
                switch random.below(3) {
                case 0: bytes[random.below(bytes.count)] = UInt8(random.below(256))
                case 1: bytes.remove(at: random.below(bytes.count))
                default: bytes.insert(UInt8(random.below(256)), at: random.below(bytes.count))
                }
            }
            let parsed = parse(bytes: bytes)
            XCTAssertTrue(parsed.feed != nil || parsed.error != nil, "seed \(seed), round \(round)")
        }
    }
}

/// Numbers that a seed reproduces (SplitMix64).
struct Random {
    private var state: UInt64
    init(seed: UInt64) { state = seed }

    mutating func below(_ count: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return Int((value ^ value >> 31) % UInt64(count))
    }
}
