import FerryCore
import FerryUI
import Foundation
import XCTest

/// Who may ask the page's site anything, and who may ask for data.
final class PageGateTests: XCTestCase {
    private let token = AccessToken(SystemRandom())
    private var gate: PageGate {
        PageGate(names: ["127.0.0.1", "localhost"], port: 8377, isEverywhere: false, token: token)
    }

    private func request(
        _ method: String = "GET", _ target: String = "/api/overview", _ headers: [String: String] = [:],
        body: String = ""
    ) -> PageRequest {
        var all = ["host": "127.0.0.1:8377", "authorization": "Bearer \(token.text)"]
        all.merge(headers) { $1 }
        return PageRequest(
            method: method, target: target, headers: all.filter { !$0.value.isEmpty }.mapValues { [$0] },
            body: Data(body.utf8))
    }

    func testTheOwnPageMayAsk() {
        XCTAssertNil(gate.refusal(request()))
        XCTAssertNil(gate.refusalOfData(request()))
        XCTAssertNil(gate.refusal(request(with: ["host": "LOCALHOST:8377", "origin": "http://localhost:8377"])))
        XCTAssertNil(gate.refusal(request(with: ["sec-fetch-site": "same-origin"])))
    }

    private func request(with headers: [String: String]) -> PageRequest { request("GET", "/api/overview", headers) }

    func testANameOfAnotherSiteIsRefused() {
        for host in [
            "evil.example:8377", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8377.evil.example", "", "10.0.0.1:8377",
        ] {
            XCTAssertEqual(gate.refusal(request(with: ["host": host]))?.status, 403, host)
        }
        var twice = request()
        twice.headers["host"] = ["127.0.0.1:8377", "evil.example"]
        XCTAssertEqual(gate.refusal(twice)?.status, 403)
    }

    func testARequestOfAnotherSiteIsRefused() {
        for origin in [
            "http://evil.example", "null", "https://127.0.0.1:8377", "http://127.0.0.1:8378", "http://localhost:8377",
        ] {
            XCTAssertEqual(gate.refusal(request(with: ["origin": origin]))?.status, 403, origin)
        }
        for site in ["cross-site", "same-site"] {
            XCTAssertEqual(gate.refusal(request(with: ["sec-fetch-site": site]))?.status, 403, site)
        }
    }

    func testALinkOfAnotherSiteMayOpenThePage() {
        let headers = ["sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"]
        XCTAssertNil(gate.refusal(request("GET", "/", headers)))
        XCTAssertEqual(gate.refusal(request("POST", "/", headers))?.status, 403)
    }

    func testWithoutTheTokenThereIsNoData() {
        for header in [
            "", "Bearer ", token.text, "bearer \(token.text)", "Bearer \(token.text)0",
            "Bearer \(token.text.dropLast())",
            "Bearer \(String(repeating: "0", count: 64))", "Basic \(token.text)",
        ] {
            XCTAssertEqual(gate.refusalOfData(request(with: ["authorization": header]))?.status, 401, header)
        }
    }

    func testAnActSaysWhereItComesFromAndIsJSON() {
        let own = ["origin": "http://127.0.0.1:8377", "content-type": "application/json"]
        XCTAssertNil(gate.refusalOfData(request("POST", "/api/resolve", own)))
        XCTAssertEqual(
            gate.refusalOfData(request("POST", "/api/resolve", ["content-type": "application/json"]))?.status, 403)
        XCTAssertEqual(
            gate.refusalOfData(request("POST", "/api/resolve", ["origin": "http://127.0.0.1:8377"]))?.status, 415)
        XCTAssertEqual(
            gate.refusalOfData(request("POST", "/api/resolve", own.merging(["content-type": "text/plain"]) { $1 }))?
                .status,
            415)
    }

    func testLongRequestsAreRefused() {
        XCTAssertEqual(
            gate.refusal(request("GET", "/" + String(repeating: "a", count: PageGate.maximumTarget)))?.status, 414)
        let long = String(repeating: "a", count: PageGate.maximumBody + 1)
        XCTAssertEqual(gate.refusal(request("POST", "/api/resolve", [:], body: long))?.status, 413)
        XCTAssertEqual(gate.refusal(request(with: ["content-length": "99999999"]))?.status, 413)
        XCTAssertEqual(gate.refusal(request(with: ["transfer-encoding": "chunked"]))?.status, 413)
    }

    func testAPageOnAllAddressesAnswersToAddressesAndNotToOtherNames() {
        let open = PageGate(names: ["study"], port: 8377, isEverywhere: true, token: token)
        for host in ["study:8377", "192.168.1.20:8377", "[fe80::1]:8377"] {
            XCTAssertNil(open.refusal(request(with: ["host": host])), host)
        }
        for host in ["evil.example:8377", "192.168.1.20:80", "fe80::1", "1.2.3.4.evil.example:8377"] {
            XCTAssertEqual(open.refusal(request(with: ["host": host]))?.status, 403, host)
        }
    }

    func testTokensAreLongAndDiffer() {
        XCTAssertEqual(token.text.count, 64)
        XCTAssertNotEqual(token, AccessToken(SystemRandom()))
    }

    func testAddressesToListenOn() {
        XCTAssertEqual(ListenAddress("127.0.0.1")?.isLoopback, true)
        XCTAssertEqual(ListenAddress("[::1]")?.isLoopback, true)
        XCTAssertEqual(ListenAddress("192.168.1.20")?.isLoopback, false)
        XCTAssertEqual(ListenAddress("::")?.isEverywhere, true)
        XCTAssertEqual(ListenAddress("fe80::1")?.host, "[fe80::1]")
        for text in ["", "localhost", "1.2.3", "1.2.3.4.5", "[1.2.3.4]", "::g", "0.0.0.0:80"] {
            XCTAssertNil(ListenAddress(text), text)
        }
    }
}
