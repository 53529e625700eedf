import Foundation
import XCTest

@testable import ReaderStore

final class OPMLTests: ReaderTestCase {
    func testWhatIsWrittenIsReadAgain() throws {
        let document = OPMLDocument(
            title: "Mine & \"yours\"",
            entries: [
                .init(url: "https://example.org/feed?a=1&b=2", title: "A <b>", site: "https://example.org/"),
                .init(url: "https://example.com/atom", folder: "News"),
                .init(url: "https://example.net/x", title: "Ünïcode\n2", folder: "Music / New & old"),
            ])
        XCTAssertEqual(try OPMLDocument(Data(document.xml.utf8), name: "list"), document)
        XCTAssertTrue(OPMLDocument.isLikely(Data(document.xml.utf8)))
    }

    func testOutlinesOfOtherReadersAreTakenAsTheyCome() throws {
        let text = """
            <OPML version="1.1"><head><title>x</title></head><body>
            <outline title="Folder"><outline type="rss" text="One" XMLURL=" https://example.org/1 "/>
            <outline text="Deeper"><outline xmlUrl="https://example.org/2"/></outline></outline>
            <outline text="An empty folder"/></body></OPML>
            """
        let entries = try OPMLDocument(Data(text.utf8), name: "list").entries
        XCTAssertEqual(entries.map(\.url), ["https://example.org/1", "https://example.org/2"])
        XCTAssertEqual(entries.map(\.title), ["One", nil])
        XCTAssertEqual(entries.map(\.folder), ["Folder", "Folder / Deeper"])
    }

    func testWhatIsNoOPMLIsRefusedInOneLine() throws {
        for text in ["", "no xml", "<rss/>", "<opml><body><outline", rss([1])] {
            XCTAssertThrowsError(try OPMLDocument(Data(text.utf8), name: "list.opml")) { error in
                XCTAssertEqual((error as? ReaderError)?.code, .badData)
                XCTAssertTrue("\(error)".hasPrefix("list.opml"), "\(error)")
                XCTAssertFalse("\(error)".contains("\n"))
            }
        }
    }

    func testSubscriptionsGoFromOneReaderToAnotherByOPML() throws {
        let laptop = try firstDevice()
        try laptop.subscribe([
            .init(url: "https://example.org/1", title: "One", site: "https://example.org/", folder: "News"),
            .init(url: "https://example.org/2"),
        ])
        let other = try Library(path: path("other"))
        _ = try other.create(folder: path("other-shared"), name: "other", sharesArticles: false, sealing: .open)
        let document = try OPMLDocument(Data(laptop.subscriptions().xml.utf8), name: "list")
        XCTAssertEqual(try other.subscribe(document.entries).count, 2)
        XCTAssertEqual(try other.subscribe(document.entries).count, 0, "what is there already stays as it is")
        XCTAssertEqual(try other.subscriptions(), try laptop.subscriptions())
    }
}
