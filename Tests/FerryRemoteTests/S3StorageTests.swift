import FerryContainer
import FerryCore
import XCTest

@testable import FerryRemote

/// What a storage is asked, and what becomes of its answers; without a network.
final class S3StorageTests: XCTestCase {
    private static let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

    /// Gives answers that were written down, and keeps the requests.
    private final class Script: HTTPTransport {
        typealias Answer = Result<HTTPResponse, HTTPFailure>
        private let state: Locked<(answers: [Answer], requests: [HTTPRequest])>

        init(_ answers: [Answer]) { state = Locked((answers, [])) }

        var requests: [HTTPRequest] { state.withLock { $0.requests } }

        func perform(_ request: HTTPRequest, maximumBytes: Int) throws(HTTPFailure) -> HTTPResponse {
            let answer = state.withLock { state -> Answer in
                state.requests.append(request)
                return state.answers.count > 1 ? state.answers.removeFirst() : state.answers[0]
            }
            return try answer.get()
        }
    }

    private struct Clock: WallClock {
        func milliseconds() -> Int64 { 1_369_353_600_000 }
        func milliseconds(captured: Int64) -> Int64 { captured }
    }

    private let waits = Locked<[Int]>([])
    private let asked = Locked<[Bool]>([])

    private struct Source: CredentialSource {
        let asked: Locked<[Bool]>
        func credentials(at milliseconds: Int64, isRefused: Bool) throws -> S3Credentials {
            asked.withLock { $0.append(isRefused) }
            return S3Credentials(
                accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: S3StorageTests.secret, token: "SESSION-TOKEN")
        }
    }

    private func storage(_ script: Script, _ place: String = "s3://bucket/music?endpoint=https://objects.example.net")
        throws -> S3Storage
    {
        guard case .s3(let location) = try ContainerLocation(place) else {
            throw FerryError(.internalInconsistency, place)
        }
        let waits = waits
        var surroundings = S3Storage.Surroundings()
        surroundings.clock = Clock()
        surroundings.wait = { milliseconds in waits.withLock { $0.append(milliseconds) } }
        return S3Storage(location, source: Source(asked: asked), transport: script, surroundings: surroundings)
    }

    private func ok(_ body: String = "", _ headers: [String: String] = ["etag": "\"e\""], status: Int = 200)
        -> Script.Answer
    {
        .success(HTTPResponse(status: status, headers: headers, body: Array(body.utf8)))
    }

    private func error(_ status: Int, _ code: String = "", headers: [String: String] = [:]) -> Script.Answer {
        ok(
            code.isEmpty ? "" : "<Error><Code>\(code)</Code><Message>\(Self.secret)</Message></Error>", headers,
            status: status)
    }

    private func header(_ request: HTTPRequest, _ name: String) -> String? {
        request.headers.first { $0.name == name }?.value
    }

    func testRequestsAreAddressedAndSigned() throws {
        let script = Script([ok("abc")])
        let storage = try self.storage(script)
        XCTAssertEqual(
            try storage.get("devices/a b", unless: "\"t\"", maximumBytes: 9),
            .found(bytes: Array("abc".utf8), tag: "\"e\""))
        let request = script.requests[0]
        XCTAssertEqual(request.url, "https://objects.example.net/bucket/music/devices/a%20b")
        XCTAssertEqual(header(request, "host"), "objects.example.net")
        XCTAssertEqual(header(request, "if-none-match"), "\"t\"")
        XCTAssertEqual(header(request, "x-amz-date"), "20130524T000000Z")
        XCTAssertEqual(header(request, "x-amz-security-token"), "SESSION-TOKEN")
        let authorization = try XCTUnwrap(header(request, "authorization"))
        XCTAssertTrue(
            authorization.contains(
                "SignedHeaders=host;if-none-match;x-amz-content-sha256;x-amz-date;x-amz-security-token,"))
        XCTAssertFalse(request.headers.contains { $0.name.contains("checksum") })
    }

    func testBucketsAreInTheHostAtAmazonAndInThePathElsewhere() throws {
        for (place, url) in [
            ("s3://bucket/music?region=eu-1", "https://bucket.s3.eu-1.amazonaws.com/music/x"),
            ("s3://my.bucket/music?region=eu-1", "https://s3.eu-1.amazonaws.com/my.bucket/music/x"),
            ("s3://bucket?style=path", "https://s3.us-east-1.amazonaws.com/bucket/x"),
            ("s3://bucket/m?endpoint=http://127.0.0.1:7480", "http://127.0.0.1:7480/bucket/m/x"),
            (
                "s3://bucket/m?endpoint=https://o.example.net:9000&style=virtual",
                "https://bucket.o.example.net:9000/m/x"
            ),
        ] {
            let script = Script([ok(status: 204)])
            try self.storage(script, place).delete("x")
            XCTAssertEqual(script.requests.map(\.url), [url])
        }
    }

    func testAListingAsksForEncodedKeysBelowThePrefix() throws {
        let script = Script([ok("<ListBucketResult/>")])
        _ = try self.storage(script).list("devices/a/", after: "devices/a/b c", "to+ken")
        XCTAssertEqual(
            script.requests[0].url,
            "https://objects.example.net/bucket/?continuation-token=to%2Bken&encoding-type=url&list-type=2"
                + "&prefix=music%2Fdevices%2Fa%2F&start-after=music%2Fdevices%2Fa%2Fb%20c")
    }

    func testARangeIsAskedForAndUnderstood() throws {
        let script = Script([ok("cde", status: 206)])
        XCTAssertEqual(try storage(script).get("a/b", range: 2..<5), Array("cde".utf8))
        let request = try XCTUnwrap(script.requests.first)
        XCTAssertEqual(request.headers.first { $0.name == "range" }?.value, "bytes=2-4")
        let signed = try XCTUnwrap(request.headers.first { $0.name == "authorization" }?.value)
        XCTAssertTrue(signed.contains(";range;"), "it is signed")
        // A server without ranges sends the whole; behind the end there is nothing; and no object is no object.
        XCTAssertEqual(try storage(Script([ok("abcdef")])).get("a/b", range: 2..<5), Array("cde".utf8))
        XCTAssertEqual(try storage(Script([ok("abc")])).get("a/b", range: 2..<5), Array("c".utf8))
        XCTAssertEqual(try storage(Script([ok("abc")])).get("a/b", range: 7..<9), [])
        XCTAssertEqual(try storage(Script([ok("", status: 416)])).get("a/b", range: 7..<9), [])
        XCTAssertNil(
            try storage(Script([ok("<Error><Code>NoSuchKey</Code></Error>", status: 404)])).get("a/b", range: 0..<1))
        XCTAssertThrowsError(try storage(Script([ok("", status: 403)])).get("a/b", range: 0..<1))
    }

    func testAnswersAreUnderstood() throws {
        for (answer, expected) in [
            (ok("", [:], status: 304), ObjectAnswer.same), (error(404, "NoSuchKey"), .absent), (error(404), .absent),
        ] { XCTAssertEqual(try self.storage(Script([answer])).get("x", unless: nil, maximumBytes: 9), expected) }
        XCTAssertEqual(try self.storage(Script([ok()])).put("x", [1], onlyIfAbsent: true), .written(tag: "\"e\""))
        XCTAssertEqual(
            try self.storage(Script([error(412, "PreconditionFailed")])).put("x", [1], onlyIfAbsent: true), .present)
        XCTAssertNoThrow(try self.storage(Script([error(404, "NoSuchKey")])).delete("x"))
    }

    func testWhatMaySucceedInAMomentIsAskedAgain() throws {
        let silence = Script.Answer.failure(HTTPFailure(.unreachable, "nobody answers there"))
        for trouble in [
            error(503, "SlowDown"), error(500, "InternalError"), error(429), error(400, "RequestTimeout"), silence,
        ] {
            let script = Script([trouble, trouble, trouble, trouble, ok("abc")])
            XCTAssertEqual(
                try self.storage(script).get("x", unless: nil, maximumBytes: 9),
                .found(bytes: Array("abc".utf8), tag: "\"e\""))
            XCTAssertEqual(script.requests.count, 5)
        }
        for wait in waits.withLock({ $0 }) { XCTAssertLessThanOrEqual(wait, 800) }
        waits.withLock { $0 = [] }
        let patient = Script([error(503, "SlowDown", headers: ["retry-after": "3"]), ok("abc")])
        _ = try self.storage(patient).get("x", unless: nil, maximumBytes: 9)
        XCTAssertEqual(waits.withLock { $0 }, [3000])
    }

    /// A storage that asks for an hour gets its hour, and the person gets the reason now.
    func testAttemptsPauseForHalfAMinuteAtTheLongest() throws {
        for (seconds, requests) in [("3600", 1), ("31", 1), ("20", 2), ("9223372036854775807", 1), ("10", 4)] {
            waits.withLock { $0 = [] }
            let script = Script([error(503, "SlowDown", headers: ["retry-after": seconds])])
            XCTAssertThrowsError(try self.storage(script).get("x", unless: nil, maximumBytes: 9)) { error in
                XCTAssertEqual((error as? FerryError)?.code, .containerMissing)
                XCTAssertTrue("\(error)".contains("503 SlowDown, for \(seconds) s"), "\(error)")
            }
            XCTAssertEqual(script.requests.count, requests, seconds)
            XCTAssertLessThanOrEqual(waits.withLock { $0.reduce(0, +) }, 30_000, seconds)
        }
    }

    /// A command waits for half a minute, and not for half a minute with each attempt and each request.
    func testASilentStorageIsAskedOnceMoreForAShortTime() throws {
        let silence = Script.Answer.failure(HTTPFailure(.silent, "no answer in time"))
        let script = Script([silence])
        let storage = try self.storage(script)
        for _ in 0..<2 {
            XCTAssertThrowsError(try storage.get("x", unless: nil, maximumBytes: 9)) { error in
                XCTAssertEqual((error as? FerryError)?.code, .containerMissing)
            }
        }
        XCTAssertEqual(script.requests.map(\.silenceSeconds), [30, 3, 3])
        // A single dead connection costs no command, and after an answer the storage is not silent any more.
        let dead = Script([silence, ok("abc"), ok("abc")])
        let answering = try self.storage(dead)
        for _ in 0..<2 { XCTAssertNoThrow(try answering.get("x", unless: nil, maximumBytes: 9)) }
        XCTAssertEqual(dead.requests.map(\.silenceSeconds), [30, 3, 10])
    }

    /// The storage answers otherwise: only the first object without an answer gets the whole time.
    func testObjectsWithoutAnAnswerCostTheWholeWaitOnce() throws {
        let silence = Script.Answer.failure(HTTPFailure(.silent, "no answer in time"))
        let script = Script([silence, silence, ok("{}"), silence, ok("{}"), ok("<ListBucketResult/>"), ok()])
        let storage = try self.storage(script)
        for name in ["devices/x", "devices/y"] {
            XCTAssertThrowsError(try storage.get(name, unless: nil, maximumBytes: 9))
            XCTAssertNoThrow(try storage.get(ContainerDescription.fileName, unless: nil, maximumBytes: 9))
        }
        _ = try storage.list("", after: nil, nil)
        _ = try storage.put("devices/z", [1], onlyIfAbsent: false)
        XCTAssertEqual(script.requests.map(\.silenceSeconds), [30, 3, 3, 3, 3, 30, 30])
    }

    /// After an answer a silence is about the object, most probably: a read waits for a third of the time. Writings and listings may take long.
    func testAnObjectWithoutAnAnswerCostsLessWhereTheStorageHasJustAnswered() throws {
        let silence = Script.Answer.failure(HTTPFailure(.silent, "no answer in time"))
        let script = Script([ok("<ListBucketResult/>"), ok(), silence, silence, ok("{}"), ok("<ListBucketResult/>")])
        let storage = try self.storage(script)
        _ = try storage.list("", after: nil, nil)
        _ = try storage.put("devices/z", [1], onlyIfAbsent: false)
        XCTAssertThrowsError(try storage.get("devices/x", unless: nil, maximumBytes: 9))
        XCTAssertNoThrow(try storage.get(ContainerDescription.fileName, unless: nil, maximumBytes: 9))
        _ = try storage.list("", after: nil, nil)
        XCTAssertEqual(script.requests.map(\.silenceSeconds), [30, 30, 10, 3, 3, 30])
    }

    func testAnObjectThatIsTooLongIsRefusedWhereverItsLengthIsFound() throws {
        XCTAssertThrowsError(try storage(Script([ok("0123456789")])).get("x", unless: nil, maximumBytes: 9)) {
            XCTAssertEqual(($0 as? FerryError)?.code, .limitExceeded)
        }
    }

    func testWrongCredentialsAreToldApartFromMissingRights() throws {
        for (code, part) in [
            ("SignatureDoesNotMatch", "the secret does not belong to the access key"),
            ("InvalidAccessKeyId", "does not know the access key"), ("ExpiredToken", "Sign in again"),
        ] {
            for place in ["s3://bucket/music", "s3://bucket/music?profile=work"] {
                XCTAssertThrowsError(try storage(Script([error(403, code)]), place).list("", after: nil, nil)) {
                    error in
                    let failure = error as? FerryError
                    XCTAssertEqual(failure?.code, .accessDenied)
                    XCTAssertTrue(failure?.message.contains(part) ?? false, "\(error)")
                    XCTAssertFalse(failure?.message.contains("ListBucket") ?? true, "\(error)")
                    XCTAssertEqual(failure?.message.contains("profile \"work\""), place.contains("work"), "\(error)")
                }
            }
        }
    }

    func testAClockThatIsWrongIsCorrectedForSigningOnce() throws {
        let late = "Fri, 24 May 2013 00:14:00 GMT"
        let script = Script([
            error(403, "RequestTimeTooSkewed", headers: ["date": late]), ok("abc", ["etag": "e", "date": late]),
        ])
        let storage = try self.storage(script)
        _ = try storage.get("x", unless: nil, maximumBytes: 9)
        XCTAssertEqual(script.requests.map { header($0, "x-amz-date") }, ["20130524T000000Z", "20130524T001400Z"])
        XCTAssertEqual(storage.clockOffsetMilliseconds, 840_000)
        let stubborn = Script([error(403, "RequestTimeTooSkewed", headers: ["date": late])])
        XCTAssertThrowsError(try self.storage(stubborn).get("x", unless: nil, maximumBytes: 9)) {
            XCTAssertTrue("\($0)".contains("14 minutes behind"), "\($0)")
        }
        XCTAssertEqual(stubborn.requests.count, 2)
    }

    func testEndedAndReplacedCredentialsAreAskedForAgainOnce() throws {
        for (status, code) in [(400, "ExpiredToken"), (403, "InvalidAccessKeyId"), (403, "SignatureDoesNotMatch")] {
            asked.withLock { $0 = [] }
            let script = Script([error(status, code), ok("abc")])
            _ = try self.storage(script).get("x", unless: nil, maximumBytes: 9)
            XCTAssertEqual(asked.withLock { $0 }, [false, true], code)
        }
        let stubborn = Script([error(403, "ExpiredToken")])
        XCTAssertThrowsError(try self.storage(stubborn).get("x", unless: nil, maximumBytes: 9))
        XCTAssertEqual(stubborn.requests.count, 2)
    }

    func testARegionThatTheStorageNamesIsUsedFromThenOn() throws {
        let wrong = ok(
            "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-7</Region></Error>", [:], status: 400)
        let script = Script([wrong, ok("abc")])
        let storage = try self.storage(script, "s3://bucket/music")
        for _ in 0..<2 { _ = try storage.get("x", unless: nil, maximumBytes: 9) }
        XCTAssertEqual(
            script.requests.map {
                $0.url.contains("eu-7") && (header($0, "authorization")?.contains("/eu-7/") ?? false)
            },
            [false, true, true])
    }

    func testAStorageWithoutConditionsIsWrittenToWithout() throws {
        let script = Script([error(501, "NotImplemented"), ok(), ok()])
        let storage = try self.storage(script)
        for _ in 0..<2 { XCTAssertEqual(try storage.put("x", [1], onlyIfAbsent: true), .written(tag: "\"e\"")) }
        XCTAssertEqual(script.requests.map { header($0, "if-none-match") }, ["*", nil, nil])
        XCTAssertFalse(storage.takesConditions)
    }

    func testRefusalsAreSentencesWithoutSecrets() throws {
        let cases: [(Script.Answer, FerryError.Code, String)] = [
            (error(403, "AccessDenied"), .accessDenied, "ListBucket"), (error(401), .accessDenied, "refuses"),
            (error(404, "NoSuchBucket"), .containerMissing, "no bucket"), (error(301), .containerMissing, "--region"),
            (error(503, "SlowDown"), .containerMissing, "fewer requests"), (error(507), .inputOutput, "full"),
            (error(400, "QuotaExceeded"), .inputOutput, "full"),
            // Ceph's gateway.
            (error(403, "QuotaExceeded"), .inputOutput, "there is no room"),
            (error(500, "InternalError"), .inputOutput, "InternalError"),
            (error(418), .inputOutput, "418"),
            (.failure(HTTPFailure(.unreachable, "no address for that name")), .containerMissing, "no address"),
            (.failure(HTTPFailure(.certificate, "self-signed")), .containerMissing, "--ca-file"),
            (.failure(HTTPFailure(.missingLibrary, "install libcurl")), .containerMissing, "install libcurl"),
            (.failure(HTTPFailure(.tooLong, "too long")), .limitExceeded, "longer than"),
        ]
        for (answer, code, part) in cases {
            for act: (S3Storage) throws -> Void in [
                { _ = try $0.list("", after: nil, nil) }, { _ = try $0.get("x", unless: nil, maximumBytes: 9) },
                { _ = try $0.put("x", [1], onlyIfAbsent: false) }, { try $0.delete("x") },
            ] {
                XCTAssertThrowsError(try act(storage(Script([answer])))) { error in
                    guard let error = error as? FerryError else { return XCTFail("\(error)") }
                    XCTAssertEqual(error.code, code, error.message)
                    XCTAssertTrue(error.message.contains(part), error.message)
                    for secret in ["wJalr", "AKIA", "SESSION-TOKEN", "Signature"] {
                        XCTAssertFalse("\(error) \(error.message) \(error.path ?? "")".contains(secret), error.message)
                    }
                }
            }
        }
    }
}
