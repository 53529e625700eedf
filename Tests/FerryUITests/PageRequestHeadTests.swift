import FerryUI
import XCTest

final class PageRequestHeadTests: XCTestCase {
    private func head(_ text: String) -> PageRequestHead? { PageRequestHead(Array(text.utf8)) }

    func testAHeadIsReadAsItWasSent() {
        let read = head(
            "GET /api/rows?table=a HTTP/1.1\r\nHost: 127.0.0.1:1\r\nX-Two:  1 \r\nx-two:2\r\nEmpty:\r\n\r\n")
        XCTAssertEqual(read?.method, "GET")
        XCTAssertEqual(read?.target, "/api/rows?table=a")
        XCTAssertEqual(read?.headers, ["host": ["127.0.0.1:1"], "x-two": ["1", "2"], "empty": [""]])
        XCTAssertEqual(read?.bodyLength, 0)
    }

    func testWhatIsNotPlainlyARequestIsNone() {
        for text in [
            "", "\r\n\r\n", "GET / HTTP/1.1\r\n", "GET /\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "GET / HTTP/2\r\n\r\n",
            "get / HTTP/1.1\r\n\r\n", "G\u{e9}T / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost\r\n\r\n",
            "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "GET / HTTP/1.1\r\n: a\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
            "GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\rC: d\r\n\r\n",
            "GET /\u{0} HTTP/1.1\r\n\r\n", "GET / HTTP/1.1 \r\n\r\n",
            "GET / HTTP/1.1\r\n" + String(repeating: "A: b\r\n", count: 101) + "\r\n",
        ] {
            XCTAssertNil(head(text), text.debugDescription)
        }
    }

    func testTheLengthOfABodyIsToldPlainlyOrNotAtAll() {
        func length(_ lines: String) -> Int? { head("POST / HTTP/1.1\r\n" + lines + "\r\n")?.bodyLength }
        XCTAssertEqual(length("Content-Length: 12\r\n"), 12)
        for lines in [
            "Content-Length: -1\r\n", "Content-Length: +1\r\n", "Content-Length: 1, 1\r\n", "Content-Length: \r\n",
            "Content-Length: 1\r\nContent-Length: 1\r\n", "Transfer-Encoding: chunked\r\n",
            "Content-Length: 99999999999999999999\r\n",
        ] {
            XCTAssertNil(length(lines), lines.debugDescription)
        }
    }

    func testTheEndIsFoundHoweverTheBytesArrive() {
        let bytes = Array("GET / HTTP/1.1\r\nA: b\r\n\r\nrest".utf8)
        for cut in 1..<bytes.count {
            let first = PageRequestHead.end(in: Array(bytes[..<cut]), from: -3)
            let found = first ?? PageRequestHead.end(in: bytes, from: cut - 3)
            XCTAssertEqual(found, bytes.count - 4, "\(cut)")
        }
        XCTAssertNil(PageRequestHead.end(in: [13, 10, 13], from: 0))
    }
}
