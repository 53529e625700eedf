import FerryContainer
import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryRemote

final class S3AnswerTests: XCTestCase {
    private func page(_ text: String) throws -> ObjectPage {
        try S3Answer.page(Array(text.utf8), below: "music/", of: "s3://b/music")
    }

    func testAPageIsRead() throws {
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><EncodingType>url</EncodingType>
            <IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b</NextContinuationToken>
            <Contents><Key>music/devices/a%20b+c%2Bd</Key><Size>12</Size><ETag>&quot;abc&quot;</ETag><Owner><ID>x</ID></Owner></Contents>
            <Contents><ETag>"&#x64;&#101;"</ETag><Size>0</Size><Key>music/x</Key></Contents></ListBucketResult>
            """
        XCTAssertEqual(
            try page(text),
            ObjectPage(
                objects: [
                    ListedObject(key: "devices/a b c+d", size: 12, tag: "\"abc\""),
                    ListedObject(key: "x", size: 0, tag: "\"de\""),
                ], next: "a&b"))
        let last = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
        XCTAssertEqual(try page(last), ObjectPage(objects: []))
    }

    func testWhatIsNoPageIsRefused() {
        let object = "<Contents><Key>music/x</Key><Size>1</Size><ETag>e</ETag></Contents>"
        for text in [
            "", "x", "<html></html>", "<ListBucketResult>", "<ListBucketResult></Other>",
            "<ListBucketResult><Contents><Key>music/x</Key></Contents></ListBucketResult>",
            "<ListBucketResult><Contents><Key>music/x</Key><Size>-1</Size><ETag>e</ETag></Contents></ListBucketResult>",
            "<ListBucketResult><Contents><Key>other/x</Key><Size>1</Size><ETag>e</ETag></Contents></ListBucketResult>",
            "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
            "<ListBucketResult>" + String(repeating: object, count: 1001) + "</ListBucketResult>",
            "<!DOCTYPE a [<!ENTITY b \"c\">]><ListBucketResult/>", "<ListBucketResult>&unknown;</ListBucketResult>",
            "<ListBucketResult/><ListBucketResult/>", "<ListBucketResult a></ListBucketResult>",
            String(repeating: "<a>", count: 100_000),
        ] {
            XCTAssertThrowsError(try page(text), String(text.prefix(60))) {
                XCTAssertEqual(($0 as? FerryError)?.code, .inputOutput)
            }
        }
    }

    /// Whatever bytes come, the reading ends, and says something or nothing.
    func testDamagedPagesNeverStopTheProcess() {
        let whole = Array(
            "<ListBucketResult a='b'><Contents><Key>music/x</Key><Size>1</Size><ETag>&quot;e&quot;</ETag></Contents></ListBucketResult>"
                .utf8)
        var chance = Chance(seed: 7)
        for count in 0..<whole.count { _ = XMLElement(Array(whole.prefix(count))) }
        for _ in 0..<20_000 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...4, using: &chance) {
                bytes[Int.random(in: 0..<bytes.count, using: &chance)] = UInt8.random(in: 0...255, using: &chance)
            }
            _ = try? S3Answer.page(bytes, below: "music/", of: "")
            _ = S3Answer.failure(bytes)
        }
    }

    func testErrorsAreReadAndWordsOfAStrangerAreTamed() {
        let text = "<Error><Code>NoSuch\u{1B}[31mKey</Code><Message>m</Message><Region>eu-1</Region></Error>"
        XCTAssertEqual(S3Answer.failure(Array(text.utf8)), S3Answer.Failure(code: "NoSuch[31mKey", region: "eu-1"))
        XCTAssertEqual(S3Answer.failure([]), S3Answer.Failure(code: ""))
        XCTAssertEqual(S3Answer.word(String(repeating: "x", count: 500)).count, 64)
    }

    func testVerdicts() {
        func verdict(_ status: Int, _ code: String = "", region: String? = nil, isConditional: Bool = false)
            -> S3Verdict
        {
            let tail = region.map { "<Region>\($0)</Region>" } ?? ""
            return S3Verdict(
                HTTPResponse(
                    status: status, body: code.isEmpty ? [] : Array("<Error><Code>\(code)</Code>\(tail)</Error>".utf8)),
                isConditional: isConditional)
        }
        for status in [408, 409, 429, 500, 502, 503, 504] { XCTAssertEqual(verdict(status), .again) }
        for status in [200, 204, 304, 400, 401, 403, 404, 412, 501, 507] { XCTAssertEqual(verdict(status), .answer) }
        XCTAssertEqual(verdict(501, isConditional: true), .withoutCondition)
        XCTAssertEqual(verdict(403, "RequestTimeTooSkewed"), .correction("clock"))
        for code in ["ExpiredToken", "InvalidAccessKeyId", "SignatureDoesNotMatch"] {
            XCTAssertEqual(verdict(403, code), .correction("credentials"))
        }
        XCTAssertEqual(verdict(400, "RequestTimeout"), .again)
        XCTAssertEqual(
            verdict(400, "AuthorizationHeaderMalformed", region: "eu-2"), .correction("region", region: "eu-2"))
        XCTAssertEqual(verdict(301, "PermanentRedirect", region: "eu-2"), .correction("region", region: "eu-2"))
        XCTAssertEqual(verdict(403, "AccessDenied", region: "eu-2"), .answer)
        XCTAssertEqual(
            S3Verdict(HTTPResponse(status: 301, headers: ["x-amz-bucket-region": "eu-3"]), isConditional: false),
            .correction("region", region: "eu-3"))
    }
}
