import XCTest

@testable import FerryRemote

/// The four examples of "Signature Calculations for the Authorization Header" in the Amazon S3 API reference.
final class S3SignatureTests: XCTestCase {
    private let signature = S3Signature(
        S3Credentials(accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        region: "us-east-1", milliseconds: 1_369_353_600_000)

    private func sign(
        _ method: String, _ path: String, _ query: [(String, String)] = [], _ others: [(String, String)] = [],
        body: String = ""
    ) -> String {
        let hash = S3Signature.hash(Array(body.utf8))
        let headers = [
            ("host", "examplebucket.s3.amazonaws.com"), ("x-amz-content-sha256", hash),
            ("x-amz-date", signature.timestamp),
        ]
        let text = signature.authorization(
            S3Signature.Signed(
                method: method, path: path, query: query.map { (name: $0.0, value: $0.1) },
                headers: (others + headers).map { (name: $0.0, value: $0.1) }, bodyHash: hash))
        XCTAssertTrue(
            text.hasPrefix("AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"))
        return text.split(separator: "=").last.map(String.init) ?? ""
    }

    func testReadingAPart() {
        XCTAssertEqual(
            sign("GET", "/test.txt", [], [("range", "bytes=0-9")]),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    }

    func testWriting() {
        XCTAssertEqual(
            sign(
                "PUT", "/test%24file.text", [],
                [("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
                body: "Welcome to Amazon S3."),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
    }

    func testAQueryWithoutAValue() {
        XCTAssertEqual(
            sign("GET", "/", [("lifecycle", "")]), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
    }

    func testAListing() {
        XCTAssertEqual(
            sign("GET", "/", [("prefix", "J"), ("max-keys", "2")]),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
    }

    func testTimesAreWrittenInUTC() {
        XCTAssertEqual(S3Signature.timestamp(0), "19700101T000000Z")
        XCTAssertEqual(S3Signature.timestamp(951_782_399_999), "20000228T235959Z")
        XCTAssertEqual(S3Signature.timestamp(951_782_400_000), "20000229T000000Z")
        XCTAssertEqual(S3Signature.timestamp(1_709_251_199_000), "20240229T235959Z")
        XCTAssertEqual(S3Signature.timestamp(4_107_542_400_000), "21000301T000000Z")
    }

    func testDatesAreRead() {
        XCTAssertEqual(HTTPDate.milliseconds(header: "Fri, 24 May 2013 00:00:00 GMT"), 1_369_353_600_000)
        XCTAssertEqual(HTTPDate.milliseconds(header: "Thu, 29 Feb 2024 23:59:59 GMT"), 1_709_251_199_000)
        XCTAssertEqual(HTTPDate.milliseconds(iso: "2013-05-24T00:00:00Z"), 1_369_353_600_000)
        XCTAssertEqual(HTTPDate.milliseconds(iso: "2024-02-29T23:59:59.123Z"), 1_709_251_199_000)
        for text in [
            "", "yesterday", "Fri, 24 May 2013 00:00:00", "Fri, 99 May 2013 00:00:00 GMT", "Fri, 24 Mai 2013 0:0:0 GMT",
        ] {
            XCTAssertNil(HTTPDate.milliseconds(header: text), text)
        }
        for days in stride(from: Int64(0), to: 60_000, by: 17) {
            let parts = HTTPDate.parts(days * 86_400_000 + 3_661_000)
            func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
            let text = "\(parts.year)-\(two(parts.month))-\(two(parts.day))T01:01:01Z"
            XCTAssertEqual(HTTPDate.milliseconds(iso: text), days * 86_400_000 + 3_661_000, text)
        }
    }
}
