import FerryContainer
import FerryCore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryRemote

/// The real client against a server that verifies signatures, hashes and dates.
final class StrictStorageTests: XCTestCase {
    private func storage(
        _ server: StrictStorage, _ parameters: String = "", prefix: String = "music",
        secret: String = StrictStorage.secret,
        token: String? = nil
    ) throws -> S3Storage {
        guard case .s3(let location) = try ContainerLocation(server.place(prefix, parameters)) else {
            throw FerryError(.internalInconsistency, "no bucket")
        }
        var surroundings = S3Storage.Surroundings()
        surroundings.wait = { _ in }
        return S3Storage(
            location,
            source: GivenCredentials { S3Credentials(accessKey: StrictStorage.key, secretKey: secret, token: token) },
            transport: CurlTransport(), surroundings: surroundings)
    }

    private func code(_ body: () throws -> Void) -> FerryError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? FerryError)?.code
        }
    }

    func testTheRequestsGoBothWays() throws {
        let server = try StrictStorage()
        for prefix in ["music", "", "a b/+&=%41/日本"] {
            let storage = try self.storage(server, prefix: prefix.replacing("?", with: ""))
            XCTAssertEqual(try storage.get("devices/x", unless: nil, maximumBytes: 10), .absent)
            guard case .written(let tag) = try storage.put("devices/x", [1, 2, 3], onlyIfAbsent: true) else {
                return XCTFail("put")
            }
            XCTAssertEqual(try storage.put("devices/x", [9], onlyIfAbsent: true), .present)
            XCTAssertEqual(
                try storage.get("devices/x", unless: nil, maximumBytes: 10), .found(bytes: [1, 2, 3], tag: tag))
            XCTAssertEqual(try storage.get("devices/x", unless: tag, maximumBytes: 10), .same)
            XCTAssertEqual(try storage.get("devices/x", range: 1..<2), [2])
            XCTAssertEqual(try storage.get("devices/x", range: 1..<99), [2, 3])
            XCTAssertEqual(try storage.get("devices/x", range: 3..<99), [])
            XCTAssertNil(try storage.get("devices/none", range: 0..<1))
            guard case .written(let other) = try storage.put("devices/x", [], onlyIfAbsent: false) else {
                return XCTFail("put")
            }
            XCTAssertNotEqual(tag, other)
            XCTAssertEqual(try storage.get("devices/x", unless: tag, maximumBytes: 10), .found(bytes: [], tag: other))
            XCTAssertEqual(
                try storage.list("devices/", after: nil, nil).objects,
                [ListedObject(key: "devices/x", size: 0, tag: other)])
            try storage.delete("devices/x")
            try storage.delete("devices/x")
            XCTAssertEqual(try storage.list("", after: nil, nil), ObjectPage(objects: []))
        }
    }

    func testAListingOfManyPagesIsWholeAndInOrder() throws {
        let server = try StrictStorage()
        let storage = try self.storage(server)
        let names = (0..<10).map { "devices/\($0) +&<>\"'é" }
        for name in names { _ = try storage.put(name, Array(name.utf8), onlyIfAbsent: false) }
        var (found, token): ([String], String?) = ([], nil)
        repeat {
            let page = try storage.list("devices/", after: nil, token)
            XCTAssertLessThanOrEqual(page.objects.count, 3)
            found += page.objects.map(\.key)
            token = page.next
        } while token != nil
        XCTAssertEqual(found, names)
        XCTAssertEqual(try storage.list("devices/", after: names[7], nil).objects.map(\.key), Array(names[8...]))
    }

    func testLargeBodiesArriveWhole() throws {
        let server = try StrictStorage()
        let storage = try self.storage(server)
        let bytes = (0..<8 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        guard case .written(let tag) = try storage.put("large", bytes, onlyIfAbsent: true) else {
            return XCTFail("put")
        }
        XCTAssertEqual(try storage.get("large", unless: nil, maximumBytes: bytes.count), .found(bytes: bytes, tag: tag))
        XCTAssertEqual(
            code { _ = try storage.get("large", unless: nil, maximumBytes: bytes.count - 1) }, .limitExceeded)
    }

    func testRequestsSideBySideDoNotMeet() throws {
        let server = try StrictStorage()
        let storage = try self.storage(server)
        let failures = Locked<[String]>([])
        SideBySide.perform(64, atOnce: 8) { number in
            let bytes = Array(repeating: UInt8(number), count: 1000 + number)
            do {
                _ = try storage.put("n/\(number)", bytes, onlyIfAbsent: true)
                guard case .found(let found, _) = try storage.get("n/\(number)", unless: nil, maximumBytes: 5000),
                    found == bytes
                else {
                    throw StrictStorage.Problem(text: "other bytes")
                }
            } catch { failures.withLock { $0.append("\(number): \(error)") } }
        }
        XCTAssertEqual(failures.withLock { $0 }, [])
    }

    func testWrongCredentialsAndMethodsThatAreDeniedAreToldAndNameWhatIsNeeded() throws {
        let server = try StrictStorage()
        XCTAssertEqual(code { _ = try self.storage(server, secret: "wrong").list("", after: nil, nil) }, .accessDenied)
        let storage = try self.storage(server)
        for method in ["PUT", "DELETE", "GET"] {
            try server.control(["deny": [method]])
            XCTAssertEqual(
                code {
                    _ = try storage.list("", after: nil, nil)
                    _ = try storage.put("x", [1], onlyIfAbsent: false)
                    try storage.delete("x")
                }, .accessDenied, method)
        }
    }

    func testASessionsTokenIsSentAndAnEndedOneIsAnErrorOnlyAtTheSecondTime() throws {
        let server = try StrictStorage()
        try server.control(["token": "T1"])
        XCTAssertNoThrow(try self.storage(server, token: "T1").list("", after: nil, nil))
        XCTAssertEqual(code { _ = try self.storage(server, token: "old").list("", after: nil, nil) }, .accessDenied)
    }

    func testAClockThatIsHoursOffIsCorrected() throws {
        let server = try StrictStorage()
        for seconds in [7200, -7200] {
            try server.control(["clock": seconds])
            let storage = try self.storage(server)
            XCTAssertEqual(
                try storage.put("x", [1], onlyIfAbsent: false), try storage.put("x", [1], onlyIfAbsent: false))
            XCTAssertEqual(Double(storage.clockOffsetMilliseconds), Double(seconds) * 1000, accuracy: 3000)
        }
    }

    func testAnotherRegionIsTakenFromTheAnswer() throws {
        let server = try StrictStorage()
        guard case .s3(var location) = try ContainerLocation(server.place()) else { return XCTFail("place") }
        location.region = "us-east-1"
        let storage = S3Storage(
            location,
            source: GivenCredentials { S3Credentials(accessKey: StrictStorage.key, secretKey: StrictStorage.secret) },
            transport: CurlTransport())
        XCTAssertNoThrow(try storage.list("", after: nil, nil))
        XCTAssertNoThrow(try storage.list("", after: nil, nil))
        XCTAssertEqual(try server.count(), 3)
    }

    func testConditionsThatAreRefusedOrIgnoredAreFoundOut() throws {
        let server = try StrictStorage()
        for (conditions, honoured) in [("honour", true), ("ignore", false), ("refuse", false)] {
            try server.control(["reset": true, "conditions": conditions])
            let storage = try self.storage(server)
            XCTAssertEqual(try RemoteBackend(storage).probe(), honoured, conditions)
            XCTAssertEqual(storage.takesConditions, conditions != "refuse")
            XCTAssertEqual(try server.keys(), [])
        }
    }

    /// Every request of a container's life fails in every way, and is repeated until it succeeds.
    func testAContainerLivesThroughFaultsOfEveryKind() throws {
        let server = try StrictStorage()
        for (number, action) in ["503", "500", "drop", "done-drop"].enumerated() {
            let backend = RemoteBackend(try self.storage(server, prefix: "c\(number)"))
            func every(_ method: String) throws {
                try server.control(["faults": [["method": method, "action": action, "times": 2]]])
            }
            try every("GET")
            let details = try ContainerDescription(
                id: ContainerID(high: 1, low: UInt64(number)), name: "c", createdMilliseconds: 1)
            let container = try Container.create(in: backend, describedBy: details)
            let device = DeviceID(high: 2, low: 3)
            for sequence in UInt64(1)...4 {
                try every("PUT")
                let content = Array("content \(sequence)".utf8)
                let checksum = ContentHash.checksum(content)
                let name = try SegmentName(first: sequence, last: sequence, checksum: checksum)
                try container.publish(content + checksum.bytes, name: name, of: device)
                try container.announce(device)
                try every("GET")
                XCTAssertNotNil(
                    try Container.open(RemoteBackend(try self.storage(server, prefix: "c\(number)"))).readSegment(
                        name, of: device))
            }
            try every("DELETE")
            try container.removeSegments(container.segments(of: device), of: device)
            XCTAssertEqual(
                try Container.open(RemoteBackend(try self.storage(server, prefix: "c\(number)"))).segments(of: device),
                [])
        }
    }

    func testRulesThatExpireObjectsAndVersionsThatStayAreTold() throws {
        let server = try StrictStorage()
        let storage = try self.storage(server)
        var plain = StorageExamination()
        (plain.keepsVersions, plain.expiringRules, plain.expiresVersions, plain.isBucket) = (false, [], false, true)
        XCTAssertEqual(try storage.examine(), plain)
        let ofVersions = "<NoncurrentVersionExpiration><NoncurrentDays>3</NoncurrentDays></NoncurrentVersionExpiration>"
        func rule(
            _ name: String, _ filter: String, _ what: String = "<Expiration><Days>30</Days></Expiration>",
            on: Bool = true
        ) -> String {
            "<Rule><ID>\(name)</ID>\(filter)<Status>\(on ? "Enabled" : "Disabled")</Status>\(what)</Rule>"
        }
        try server.control([
            "versioning": "Enabled",
            "lifecycle": [
                rule("all", ""), rule("prefix", "<Prefix>music</Prefix>"),
                rule("below", "<Filter><Prefix>music/devices/</Prefix></Filter>"),
                rule(
                    "both",
                    "<Filter><And><Prefix>mu</Prefix><ObjectSizeGreaterThan>1</ObjectSizeGreaterThan></And></Filter>"),
                rule("elsewhere", "<Prefix>other/</Prefix>"), rule("off", "", on: false),
                rule("tagged", "<Filter><Tag><Key>k</Key><Value>v</Value></Tag></Filter>"),
                rule("versions", "", ofVersions),
                rule(
                    "markers", "",
                    "<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>"),
            ].joined(),
        ])
        var found = StorageExamination()
        (found.keepsVersions, found.expiringRules) = (true, ["all", "prefix", "below", "both"])
        (found.expiresVersions, found.isBucket) = (true, true)
        XCTAssertEqual(try storage.examine(), found)
        // Old versions of some objects stay.
        try server.control([
            "lifecycle": [
                rule("off", "", ofVersions, on: false),
                rule("below", "<Filter><Prefix>music/devices/</Prefix></Filter>", ofVersions),
                rule(
                    "large", "<Filter><ObjectSizeGreaterThan>1</ObjectSizeGreaterThan></Filter>", ofVersions),
                rule("tagged", "<Filter><Tag><Key>k</Key><Value>v</Value></Tag></Filter>", ofVersions),
            ].joined()
        ])
        XCTAssertEqual(try storage.examine().expiresVersions, false)
        try server.control(["deny": ["GET"]])
        var unknown = StorageExamination()
        unknown.isBucket = true
        XCTAssertEqual(try storage.examine(), unknown)
    }

    func testAServerThatIsNotThereIsTold() throws {
        let location = try ContainerLocation("s3://bucket/x?endpoint=http://127.0.0.1:1")
        guard case .s3(let place) = location else { return XCTFail("place") }
        var surroundings = S3Storage.Surroundings()
        surroundings.wait = { _ in }
        let storage = S3Storage(
            place, source: GivenCredentials { S3Credentials(accessKey: "a", secretKey: "b") },
            transport: CurlTransport(),
            surroundings: surroundings)
        XCTAssertThrowsError(try storage.list("", after: nil, nil)) {
            XCTAssertEqual(($0 as? FerryError)?.code, .containerMissing)
            XCTAssertTrue("\($0)".contains("127.0.0.1 cannot be reached"), "\($0)")
        }
    }

    func testARequestThatHangsEndsWhenSomebodyAsksForThat() throws {
        let server = try StrictStorage()
        let storage = try self.storage(server)
        try server.control(["faults": [["method": "GET", "action": "hang"]]])
        let (before, result) = (try server.count(), Locked<FerryError?>(nil))
        let ended = expectation(description: "the request ends")
        Thread {
            do { _ = try storage.get("devices/x", unless: nil, maximumBytes: 10) } catch {
                result.withLock { $0 = error as? FerryError }
            }
            ended.fulfill()
        }.start()
        let arrived = XCTNSPredicateExpectation(
            predicate: NSPredicate { _, _ in (try? server.count()).map { $0 > before } ?? false }, object: nil)
        wait(for: [arrived], timeout: 30)
        let start = ContinuousClock.now
        storage.interrupt()
        wait(for: [ended], timeout: 30)
        XCTAssertLessThan(start.duration(to: .now), .seconds(10))
        XCTAssertEqual(result.withLock { $0 }?.code, .busy)
        // Later requests are as before.
        XCTAssertEqual(try storage.get("devices/x", unless: nil, maximumBytes: 10), .absent)
    }

    func testAPauseBetweenAttemptsEndsAtOnce() {
        let pause = RetryPause()
        let start = pause.interruptions
        XCTAssertTrue(pause.wait(milliseconds: 1, since: start))
        pause.interrupt()
        let begin = ContinuousClock.now
        XCTAssertFalse(pause.wait(milliseconds: 60_000, since: start))
        XCTAssertLessThan(begin.duration(to: .now), .seconds(30))
        XCTAssertTrue(pause.wait(milliseconds: 1, since: pause.interruptions))
    }
}
