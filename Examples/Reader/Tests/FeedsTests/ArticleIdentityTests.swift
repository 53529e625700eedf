import XCTest

@testable import Feeds

final class ArticleIdentityTests: XCTestCase {
    private func article(_ content: String, from address: String? = "https://example.org/feed") throws -> ParsedArticle
    {
        try XCTUnwrap(parse("<rss><channel><item>\(content)</item></channel></rss>", from: address).articles.first)
    }

    func testSHA256IsThatOfTheStandard() {
        let samples = [
            "": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "abc": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq":
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            String(repeating: "a", count: 1_000_000):
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
        ]
        for (text, digest) in samples { XCTAssertEqual(SHA256.hexadecimalDigest(of: Array(text.utf8)), digest) }
    }

    func testTheGUIDIsTheDeclaredOneElseTheLinkElseAHash() throws {
        let all = "<title>T</title><link> a/b </link><guid>g</guid>"
        XCTAssertEqual(try article(all).guid, "g")
        let linked = try article("<title>T</title><link> a/b </link><guid/>")
        XCTAssertEqual(linked.guid, "a/b", "as it is written, wherever it was fetched from")
        XCTAssertEqual(linked.guidSource, .link)
        XCTAssertEqual(linked.link, "https://example.org/a/b")
        let hashed = try article("<title>T</title><pubDate>D</pubDate><description>C</description>")
        XCTAssertEqual(hashed.guidSource, .hash)
        XCTAssertEqual(hashed.guid, "sha256:" + SHA256.hexadecimalDigest(of: Array("1:T1:D1:C".utf8)))
    }

    func testAHashDependsOnTitleDateAndContentAlone() throws {
        let one = "<title>T</title><pubDate>D</pubDate><description>C</description>"
        let guid = try article(one).guid
        XCTAssertEqual(try article(one + "<category>x</category>", from: "http://elsewhere.example/").guid, guid)
        XCTAssertEqual(try article("<description> C </description><title>T</title><pubDate>D</pubDate>").guid, guid)
        for other in [
            "<title>TD</title><description>C</description>", "<title>T</title><pubDate>D</pubDate>",
            "<title>T</title><pubDate>D</pubDate><description>C2</description>",
        ] { XCTAssertNotEqual(try article(other).guid, guid, other) }
    }
}
