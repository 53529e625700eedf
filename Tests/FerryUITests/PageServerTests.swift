import FerryCore
import FerryUI
import Foundation
import XCTest

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The page over HTTP, on a free port of this computer: bytes are sent and received as they are.
final class PageServerTests: XCTestCase {
    private let token = AccessToken(SystemRandom())
    private let events = EventHub()

    /// Runs `body` with a served page.
    private func serving(_ body: (UInt16) async throws -> Void) async throws {
        let server = try PageServer(address: .loopback, port: 0)
        server.start(
            PageSite(
                gate: PageGate(names: ["127.0.0.1"], port: server.port, isEverywhere: false, token: token),
                source: EchoSource(), events: events, isReadOnly: false))
        do {
            try await body(server.port)
        } catch {
            await server.stop()
            throw error
        }
        events.end()
        await server.stop()
    }

    private func head(_ method: String, _ target: String, _ port: UInt16, more: [String] = []) -> String {
        ([
            "\(method) \(target) HTTP/1.1", "Host: 127.0.0.1:\(port)", "Authorization: Bearer \(token.text)",
            "Connection: close",
        ] + more).joined(separator: "\r\n") + "\r\n\r\n"
    }

    func testAnAnswerHasTheProtectiveHeaders() async throws {
        try await serving { port in
            let answer = try Connection(port).exchange(self.head("GET", "/", port))
            XCTAssertTrue(answer.hasPrefix("HTTP/1.1 200 OK\r\n"), answer)
            for line in [
                "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer", "Cache-Control: no-store",
                "X-Frame-Options: DENY", "Content-Security-Policy: default-src 'none'; script-src 'self'",
                "Content-Type: text/html; charset=utf-8",
            ] {
                XCTAssertTrue(answer.contains(line), "\(line) in \(answer.prefix(900))")
            }
            XCTAssertFalse(answer.lowercased().contains("set-cookie"))
            XCTAssertFalse(answer.contains("unsafe-inline"))
            XCTAssertFalse(answer.contains("Access-Control-Allow"))
        }
    }

    func testAQuestionAndAnActOverHTTP() async throws {
        try await serving { port in
            let question = try Connection(port).exchange(self.head("GET", "/api/rows?table=a%20b", port))
            XCTAssertTrue(
                question.hasSuffix("\"\(PageQuestion.rows(table: "a b", after: nil, search: ""))\""), question)
            let body = #"{"numbers":[1]}"#
            let headers = [
                "Origin: http://127.0.0.1:\(port)", "Content-Type: application/json",
                "Content-Length: \(body.utf8.count)",
            ]
            let act = try Connection(port).exchange(self.head("POST", "/api/resolve", port, more: headers) + body)
            XCTAssertTrue(act.hasPrefix("HTTP/1.1 200"), act)
        }
    }

    func testForgedRequestsAreRefused() async throws {
        try await serving { port in
            let body = #"{"numbers":[1]}"#
            let cases: [(String, String)] = [
                ("403", "GET / HTTP/1.1\r\nHost: evil.example:\(port)\r\nConnection: close\r\n\r\n"),
                ("403", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n"),
                ("401", "GET /api/overview HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\r\n"),
                ("401", "GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\r\n"),
                ("403", self.head("GET", "/api/overview", port, more: ["Origin: http://evil.example"])),
                ("403", self.head("GET", "/api/overview", port, more: ["Sec-Fetch-Site: cross-site"])),
                (
                    "403",
                    self.head(
                        "POST", "/api/resolve", port, more: ["Content-Type: application/json", "Content-Length: 15"])
                        + body
                ),
                ("405", self.head("PUT", "/api/resolve", port)), ("405", self.head("GET", "/api/resolve", port)),
                ("404", self.head("GET", "/../../etc/passwd", port)),
                ("404", self.head("GET", "/%2e%2e%2fetc%2fpasswd", port)),
                ("404", self.head("GET", "//page.css", port)), ("404", self.head("GET", "/page.css%00.js", port)),
                ("414", self.head("GET", "/" + String(repeating: "x", count: 20_000), port)),
                ("414", self.head("GET", "/" + String(repeating: "x", count: 1_000_000), port)),
                ("414", self.head("GET", "/", port, more: ["X-Long: " + String(repeating: "x", count: 500_000)])),
                ("400", self.head("GET", "/", port, more: ["X : hidden"])),
                ("400", self.head("GET", "/", port, more: Array(repeating: "X: 1", count: 200))),
                ("413", self.head("POST", "/api/resolve", port, more: ["Content-Length: 1", "Content-Length: 2"])),
                ("413", self.head("POST", "/api/resolve", port, more: ["Content-Length: +1"])),
                ("403", self.head("GET", "/", port, more: ["Host: evil.example"])),
                ("400", self.head("GET", "/api/row?table=song&key=%ff%fe", port)),
                (
                    "413",
                    self.head(
                        "POST", "/api/resolve", port,
                        more: ["Origin: http://127.0.0.1:\(port)", "Content-Length: 900000"])
                ),
                (
                    "413",
                    self.head(
                        "POST", "/api/resolve", port,
                        more: ["Origin: http://127.0.0.1:\(port)", "Transfer-Encoding: chunked"])
                        + "5\r\nhello\r\n0\r\n\r\n"
                ),
            ]
            for (status, request) in cases {
                let answer = try Connection(port).exchange(request)
                XCTAssertTrue(
                    answer.hasPrefix("HTTP/1.1 \(status) "), "\(request.prefix(90)) got \(answer.prefix(200))")
                XCTAssertTrue(answer.contains("nosniff"), answer)
            }
        }
    }

    func testNonsenseEndsTheConnectionAndNothingElse() async throws {
        try await serving { port in
            for nonsense in [
                "\r\n\r\n", "GET\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            ] {
                let connection = try Connection(port)
                try connection.send(nonsense)
                connection.finish()
                _ = try connection.rest()
            }
            let answer = try Connection(port).exchange(self.head("GET", "/", port))
            XCTAssertTrue(answer.hasPrefix("HTTP/1.1 200"), answer)
        }
    }

    func testARequestThatNeverEndsKeepsNobodyElseWaiting() async throws {
        try await serving { port in
            let slow = try (0..<20).map { _ in try Connection(port) }
            for connection in slow { try connection.send("GET / HTTP/1.1\r\nHost:") }
            let answer = try Connection(port).exchange(self.head("GET", "/", port))
            XCTAssertTrue(answer.hasPrefix("HTTP/1.1 200"), answer)
        }
    }

    func testEventsArriveAsTheyHappenAndEndWithThePage() async throws {
        try await serving { port in
            let connection = try Connection(port)
            try connection.send(self.head("GET", "/api/events", port))
            let first = try connection.text(through: "data: 0\n\n")
            XCTAssertTrue(first.contains("Content-Type: text/event-stream"), first)
            self.events.announce()
            _ = try connection.text(through: "data: 1\n\n")
            self.events.end()
            _ = try connection.rest()
        }
    }

    func testAPortThatIsTakenIsTold() async throws {
        try await serving { port in
            do {
                _ = try PageServer(address: .loopback, port: port)
                XCTFail("both listen")
            } catch let error as FerryError {
                XCTAssertEqual(error.code, .inputOutput)
                XCTAssertTrue(error.message.contains("--port"), error.message)
            }
        }
    }
}

/// A connection to a port of this computer.
private final class Connection {
    private let socket: Int32
    private var received: [UInt8] = []

    struct Failure: Error { var call: String }

    init(_ port: UInt16) throws {
        #if canImport(Glibc)
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        socket = Darwin.socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        // An answer that does not come fails the test, and does not stop it.
        var time = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else { throw Failure(call: "connect") }
    }

    deinit { close(socket) }

    func exchange(_ request: String) throws -> String {
        try send(request)
        return try rest()
    }

    func send(_ text: String) throws {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            #if canImport(Glibc)
            let count = bytes.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            #else
            let count = bytes.withUnsafeBytes { Darwin.send(socket, $0.baseAddress, $0.count, 0) }
            #endif
            // The page may have refused and gone already.
            if count <= 0 { return }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Sends no more.
    func finish() { _ = shutdown(socket, Int32(SHUT_WR)) }

    private func receive() throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(socket, &buffer, buffer.count, 0)
        if count < 0 {
            // The other side ended while something was still to be read by it.
            if errno == ECONNRESET { return false }
            throw Failure(call: "recv")
        }
        received += buffer.prefix(count)
        return count > 0
    }

    /// Everything until the other side ends.
    func rest() throws -> String {
        while try receive() {}
        return String(decoding: received, as: UTF8.self)
    }

    /// Everything received so far, once it has a text.
    func text(through end: String) throws -> String {
        while !String(decoding: received, as: UTF8.self).contains(end) {
            guard try receive() else { throw Failure(call: "end of the answer") }
        }
        return String(decoding: received, as: UTF8.self)
    }
}
