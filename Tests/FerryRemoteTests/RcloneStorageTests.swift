import FerryContainer
import FerryCore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryRemote

/// Places that rclone reaches, by a program that stands in for rclone and checks what it is asked.
final class RcloneStorageTests: XCTestCase {
    /// A folder with a program of rclone's name, and its faults.
    private final class Home {
        let folder: URL

        init() throws {
            folder = try ScratchFolder.make("ferry-rclone")
            let program = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .appendingPathComponent("Remote/fake_rclone.py")
            try FileManager.default.createSymbolicLink(
                at: folder.appendingPathComponent("rclone"), withDestinationURL: program)
        }

        deinit { try? FileManager.default.removeItem(at: folder) }  // a temporary folder

        func storage(_ location: String = "drive:music", transport: any HTTPTransport = CurlTransport()) throws
            -> RcloneStorage
        {
            guard case .rclone(let place) = try ContainerLocation("rclone:" + location) else {
                throw FerryError(.internalInconsistency, location)
            }
            var variables = ProcessInfo.processInfo.environment
            variables["FAKE_RCLONE"] = folder.path
            // These would change how rclone is spoken with.
            for name in ["AWS_CA_BUNDLE", "RCLONE_LOG_FILE", "RCLONE_RC_NO_AUTH"] { variables[name] = "/nowhere" }
            return RcloneStorage(
                place, transport: transport, program: folder.appendingPathComponent("rclone").path, variables: variables
            )
        }

        func say(_ fault: String, _ text: String = "") throws {
            try Data(text.utf8).write(to: folder.appendingPathComponent(fault))
        }

        func requests() throws -> [String] {
            try String(contentsOf: folder.appendingPathComponent("requests"), encoding: .utf8)
                .split(separator: "\n").map(String.init).filter { !$0.contains("/core/") && !$0.contains("fsinfo") }
        }

        func process() throws -> pid_t? {
            pid_t(try String(contentsOf: folder.appendingPathComponent("pid"), encoding: .utf8))
        }
    }

    private func tag(_ answer: ObjectAnswer) -> String? {
        if case .found(_, let tag) = answer { tag } else { nil }
    }

    func testTheRequestsGoBothWays() throws {
        let home = try Home()
        for location in ["drive:music", "drive:", "drive:a b/c+d&=%41"] {
            let storage = try home.storage(location)
            XCTAssertEqual(try storage.list("", after: nil, nil).objects.filter { $0.key.hasPrefix("devices/") }, [])
            for key in ["devices/x", "latest"] {
                XCTAssertEqual(try storage.get(key, unless: nil, maximumBytes: 10), .absent)
                _ = try storage.put(key, [1, 2, 3], onlyIfAbsent: true)
                XCTAssertEqual(try storage.put(key, [9], onlyIfAbsent: true), .present)
                let found = try storage.get(key, unless: nil, maximumBytes: 10)
                XCTAssertEqual(found, .found(bytes: [1, 2, 3], tag: try XCTUnwrap(tag(found))))
                XCTAssertEqual(try storage.get(key, unless: tag(found), maximumBytes: 10), .same)
                _ = try storage.put(key, [4, 5, 6], onlyIfAbsent: false)
                let other = try storage.get(key, unless: tag(found), maximumBytes: 10)
                XCTAssertEqual(other, .found(bytes: [4, 5, 6], tag: try XCTUnwrap(tag(other))))
                XCTAssertEqual(
                    failure { _ = try storage.get(key, unless: nil, maximumBytes: 2) }?.code, .limitExceeded)
                XCTAssertEqual(try storage.get(key, range: 1..<2), [5])
                XCTAssertEqual(try storage.get(key, range: 1..<9), [5, 6])
                XCTAssertEqual(try storage.get(key, range: 3..<9), [])
                XCTAssertNil(try storage.get(key + "-none", range: 0..<1))
            }
            let listed = try storage.list("devices/", after: nil, nil).objects
            XCTAssertEqual(listed.map(\.key), ["devices/x"])
            // A listing and a reading tell the same tag, so a listing makes nobody read again.
            XCTAssertEqual(listed[0].tag, tag(try storage.get("devices/x", unless: nil, maximumBytes: 10)))
            for key in ["devices/x", "devices/x", "latest"] { try storage.delete(key) }
            XCTAssertEqual(try storage.get("devices/x", unless: nil, maximumBytes: 10), .absent)
        }
    }

    func testAContainerLivesThere() throws {
        let home = try Home()
        let backend = RemoteBackend(try home.storage())
        let details = try ContainerDescription(
            id: SystemRandom().makeID(), name: "music", createdMilliseconds: 1_700_000_000_000)
        _ = try Container.create(in: backend, describedBy: details)
        let other = RemoteBackend(try home.storage())
        XCTAssertEqual(try Container.open(other).details, details)
        try backend.writeOnce("devices/\(String(repeating: "a", count: 32))/head", [1])
        try other.refresh(.full)
        XCTAssertEqual(try other.list("devices", after: nil).count, 1)
        XCTAssertFalse(try other.list("", after: nil).contains { $0.hasPrefix("probe") })
    }

    func testALookWithoutNewsIsOneRequest() throws {
        let home = try Home()
        let storage = try home.storage()
        _ = try storage.put("latest", [1], onlyIfAbsent: false)
        let found = try storage.get("latest", unless: nil, maximumBytes: 10)
        let before = try home.requests().count
        XCTAssertEqual(try storage.get("latest", unless: tag(found), maximumBytes: 10), .same)
        XCTAssertEqual(try home.requests().count, before + 1)
    }

    func testAnRcloneThatDiesInTheMiddleIsStartedAgain() throws {
        let home = try Home()
        let storage = try home.storage()
        _ = try storage.put("devices/x", [1], onlyIfAbsent: false)
        let first = try home.process()
        try home.say("die")
        _ = try storage.put("devices/y", [2], onlyIfAbsent: false)
        XCTAssertNotEqual(try home.process(), first)
        XCTAssertEqual(try storage.list("", after: nil, nil).objects.map(\.key), ["devices/x", "devices/y"])
    }

    func testRcloneEndsWithItsStorage() throws {
        let home = try Home()
        var storage: RcloneStorage? = try home.storage()
        _ = try storage?.put("devices/x", [1], onlyIfAbsent: false)
        let process = try XCTUnwrap(try home.process())
        XCTAssertEqual(kill(process, 0), 0)
        storage = nil
        let gone = XCTNSPredicateExpectation(
            predicate: NSPredicate { _, _ in kill(process, 0) != 0 }, object: nil)
        XCTAssertEqual(XCTWaiter().wait(for: [gone], timeout: 20), .completed)
    }

    func testRefusalsAreSentences() throws {
        let home = try Home()
        XCTAssertEqual(
            failure { _ = try home.storage("none:music").list("", after: nil, nil) }?.code, .containerMissing)
        let storage = try home.storage()
        let refusals: [(String, FerryError.Code)] = [
            ("googleapi: Error 403: storageQuotaExceeded", .inputOutput),
            ("Error 403: userRateLimitExceeded", .containerMissing),
            ("AccessDenied: no", .accessDenied),
            ("no space left on device", .inputOutput), ("dial tcp: no such host", .containerMissing),
            ("failed https://host/x?X-Amz-Signature=ferry-secret to put", .inputOutput),
        ]
        for (text, code) in refusals {
            try home.say("refuse", text)
            let error = try XCTUnwrap(failure { _ = try storage.put("devices/x", [1], onlyIfAbsent: false) })
            XCTAssertEqual(error.code, code, text)
            XCTAssertFalse(error.message.contains("ferry-secret"), error.message)
            XCTAssertTrue(error.description.contains("devices/x"), error.description)
        }
        try home.say("version", "1.55.0")
        let old = try XCTUnwrap(failure { _ = try home.storage().list("", after: nil, nil) })
        XCTAssertEqual(old.code, .containerMissing)
        XCTAssertTrue(old.message.contains("too old"), old.message)
        try home.say("start", "Fatal error: no")
        let fatal = try XCTUnwrap(failure { _ = try home.storage().list("", after: nil, nil) })
        XCTAssertTrue(fatal.message.contains("Fatal error: no"), fatal.message)
        try FileManager.default.removeItem(at: home.folder.appendingPathComponent("rclone"))
        let missing = try XCTUnwrap(failure { _ = try home.storage().list("", after: nil, nil) })
        XCTAssertEqual(missing.code, .containerMissing)
        XCTAssertTrue(missing.message.contains("installed"), missing.message)
    }

    func testAPasswordOfTheConfigurationIsAskedForWhereRcloneEndsForWantOfIt() throws {
        for words in [
            "Failed to load config file: unable to decrypt configuration and not allowed to ask for password - set "
                + "RCLONE_CONFIG_PASS to your configuration password",
            "Couldn't decrypt configuration, most likely wrong password.",
        ] {
            let home = try Home()
            try home.say("start", "2026/11/24 19:05:57 " + words)
            let error = try XCTUnwrap(failure { _ = try home.storage().list("", after: nil, nil) })
            XCTAssertEqual(error.code, .credentialsMissing)
            XCTAssertTrue(error.message.contains("RCLONE_CONFIG_PASS"), error.message)
        }
    }

    /// Rclone runs, and a transfer breaks off.
    func testATransferThatBreaksOffIsRepeatedAndTold() throws {
        let home = try Home()
        let storage = try home.storage()
        _ = try storage.put("devices/x", [1, 2, 3], onlyIfAbsent: false)
        let process = try home.process()
        try home.say("break", "1")
        XCTAssertEqual(try storage.get("devices/x", range: 0..<3), [1, 2, 3])
        try home.say("break", "9")
        let error = try XCTUnwrap(failure { _ = try storage.get("devices/x", range: 0..<3) })
        XCTAssertEqual(error.code, .inputOutput)
        XCTAssertTrue(error.message.contains("devices/x"), error.message)
        XCTAssertFalse(error.message.contains("installed"), error.message)
        XCTAssertEqual(try home.process(), process)
    }

    /// As on a computer without libcurl.
    private struct NoLibrary: HTTPTransport {
        func perform(_ request: HTTPRequest, maximumBytes: Int) throws(HTTPFailure) -> HTTPResponse {
            throw HTTPFailure(.missingLibrary, "install libcurl")
        }
    }

    func testAComputerWithoutLibcurlIsToldWhatToInstall() throws {
        let home = try Home()
        let error = try XCTUnwrap(
            failure { _ = try home.storage(transport: NoLibrary()).list("", after: nil, nil) })
        XCTAssertEqual(error.code, .containerMissing)
        XCTAssertTrue(error.message.contains("install libcurl"), error.message)
    }

    func testAnswersAreReadWithinBounds() throws {
        XCTAssertEqual(
            RcloneAnswer.address(in: "NOTICE: Serving remote control on http://127.0.0.1:38301/"),
            "http://127.0.0.1:38301")
        for line in ["http://127.0.0.1:38301/", "Serving remote control on http://127.0.0.1:99999/", ""] {
            XCTAssertNil(RcloneAnswer.address(in: line))
        }
        for text in ["", "[]", "{\"list\": 3}", "{\"list\": [{\"Path\": 1}]}"] {
            XCTAssertEqual(failure { _ = try RcloneAnswer.listing(Array(text.utf8)) }?.code, .inputOutput, text)
        }
        XCTAssertEqual(RcloneAnswer.words("a\nb\tc"), "a b c")
        XCTAssertEqual(RcloneAnswer.words(String(repeating: "x", count: 5000)).count, 200)
        // Where times have seconds and there is no hash, a young file is asked for again.
        let date = "2026-11-24T10:00:00Z"
        let seconds = Int64((try Date(date, strategy: .iso8601)).timeIntervalSince1970 * 1000)
        var item = RcloneAnswer.Item(path: "x", size: 1, modified: date, isDirectory: false)
        XCTAssertNotEqual(item.tag(at: seconds + 1000, chance: 1), item.tag(at: seconds + 1000, chance: 2))
        XCTAssertEqual(item.tag(at: seconds + 60_000, chance: 1), item.tag(at: seconds + 60_000, chance: 2))
        item.hashes = ["md5": "0"]
        XCTAssertEqual(item.tag(at: seconds, chance: 1), item.tag(at: seconds, chance: 2))
    }
}
