import Feeds
import XCTest

final class HTMLTextTests: XCTestCase {
    func testTurnsHTMLIntoText() {
        let samples = [
            "<p>One <b>two</b>\n three</p><p>four</p>": "One two three\n\nfour",
            "a<br>b<br/>c": "a\nb\nc",
            "<ul><li>x</li><li>y &amp; z</li></ul>after": "• x\n• y & z\n\nafter",
            "caf&eacute; &#233; &#xe9; &unknown; AT&T 1 < 2": "café é é &unknown; AT&T 1 < 2",
            "<script>var x = '<p>';</script>seen<style>p{}</style>": "seen",
            "<!-- hidden --> seen <a href='x>y'>link</a>": "seen link",
            "<pre>a\n  b</pre>": "a\n  b",
            "<td>1</td><td>2</td>": "1 2",
            "<": "<", "": "", "<p": "", "<a href=\"": "",
        ]
        for (html, text) in samples { XCTAssertEqual(HTMLText.plainText(html), text, html) }
        XCTAssertEqual(HTMLText.singleLine("<p>One</p><p>two</p>"), "One two")
    }

    func testTextAsHTMLIsTheSameText() {
        let text = "a < b & c > \"d\"\nnext é"
        XCTAssertEqual(HTMLText.plainText(HTMLText.html(fromPlainText: text)), text)
    }
}
