import FerryContainer
import FerryCore
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// Whole syncs over an object storage: what they cost, and what becomes of crashes, outages and copies.
final class RemoteReplicaTests: XCTestCase {
    func testDevicesShareAContainerInAStorage() throws {
        for isSealed in [false, true] {
            let home = try RemoteHome()
            home.isSealed = isSealed
            for _ in 0..<3 { try home.addDevice() }
            for index in 0..<3 { try home.write(index, "of \(index)") }
            try home.assertAgreement(["of 0", "of 1", "of 2"])
            try home.reopen(1)
            try home.write(1, "later")
            try home.assertAgreement(["of 0", "of 1", "of 2", "later"])
            XCTAssertEqual(home.replicas[0].identity.containerPath, RemoteHome.place)
            XCTAssertEqual(home.replicas[0].identity.containerName, "music")
            XCTAssertNotNil(home.storage.contents[LatestSegments.name])
            // Names are those of a folder, so copying files moves a container.
            XCTAssertEqual(home.storage.contents.keys.filter { $0.hasSuffix("/head") }.count, 3)
        }
    }

    // MARK: Costs

    func testAPassWithoutNewsIsOneRequestAtAnyNumberOfDevices() throws {
        for (count, isSealed) in [(10, false), (100, false), (1000, false), (3, true)] {
            let home = try RemoteHome()
            home.isSealed = isSealed
            for _ in 0..<3 { try home.addDevice() }
            try home.settle()
            // Others that have a head and nothing else.
            for number in 3..<count {
                let device = DeviceID(high: 77, low: UInt64(number))
                let head = Head(
                    container: home.replicas[0].identity.container, device: device, deviceName: "device\(number)",
                    position: LogPosition(sequence: 0, time: .zero), writtenMilliseconds: home.clock.milliseconds(),
                    softwareVersion: "0.1.0")
                home.storage.set("devices/\(device.hex)/head", try head.encoded())
            }
            let replica = home.replicas[1]
            for _ in 0..<2 { _ = try replica.sync(isThorough: true) }
            _ = try replica.sync(isThorough: false)
            for _ in 0..<3 {
                let cost = try home.requests { XCTAssertFalse(try replica.sync(isThorough: false).hasNews) }
                XCTAssertEqual(cost, 1, "\(count) devices, sealed: \(isSealed)")
            }
            // A thorough one asks for the listing, page by page.
            XCTAssertEqual(
                try home.requests { _ = try replica.sync(isThorough: true) }, (count + 20) / 1000 + 1,
                "\(count) devices")
        }
    }

    func testAPublicationIsFiveRequestsAtMostAndAReadersShareIsTwo() throws {
        for isSealed in [false, true] {
            let home = try RemoteHome()
            home.isSealed = isSealed
            for _ in 0..<3 { try home.addDevice() }
            try home.settle()
            for replica in home.replicas { _ = try replica.sync(isThorough: false) }
            for number in 0..<5 {
                home.clock.advance(hours: 1)
                try home.write(0, "row \(number)")
                let cost = try home.requests {
                    XCTAssertEqual(try home.replicas[0].sync(isThorough: false).published.segments, 1)
                }
                XCTAssertLessThanOrEqual(cost, 5, "sealed: \(isSealed), publication \(number)")
                for index in 1...2 {
                    let share = try home.requests {
                        XCTAssertEqual(try home.replicas[index].sync(isThorough: false).replayed.segments, 1)
                    }
                    XCTAssertEqual(share, 2, "sealed: \(isSealed), publication \(number)")
                    XCTAssertEqual(try home.requests { _ = try home.replicas[index].sync(isThorough: false) }, 1)
                }
            }
        }
    }

    func testAcknowledgementsGoWithAListingAndNotWithEverySegment() throws {
        let home = try RemoteHome()
        for _ in 0..<2 { try home.addDevice() }
        try home.settle()
        try home.write(0, "row")
        for index in 0...1 { _ = try home.replicas[index].sync(isThorough: false) }
        let device = home.replicas[1].identity.device
        func acknowledged() throws -> UInt64 {
            let container = try Container.open(RemoteBackend(home.storage, clock: home.clock))
            let head = try XCTUnwrap(try container.readHead(of: device))
            return head.acknowledgements[home.replicas[0].identity.device]?.sequence ?? 0
        }
        let own = try home.replicas[0].store.versionVector()[home.replicas[0].identity.device].sequence
        XCTAssertLessThan(try acknowledged(), own)
        _ = try home.replicas[1].sync(isThorough: true)
        XCTAssertEqual(try acknowledged(), own)
    }

    /// The schemas of a log are read first, and then the log: each segment is a single request all the same.
    func testAJoinReadsEachSegmentOnce() throws {
        let home = try RemoteHome()
        try home.addDevice()
        for number in 0..<6 {
            // Too much for a single batch.
            try home.replicas[0].store.write { connection in
                try connection.execute(
                    """
                    WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number LIMIT 300)
                    INSERT INTO item(name) SELECT '\(number)' || hex(randomblob(2000)) FROM number
                    """)
            }
            _ = try home.replicas[0].sync()
        }
        let segments = home.storage.contents.keys.filter { $0.hasSuffix(".segment") }.count
        XCTAssertGreaterThan(segments, 5)
        home.storage.resetCounts()
        try home.addDevice()
        // Beside the segments: the marker, heads and the announcements.
        XCTAssertLessThanOrEqual(home.storage.count(.get), segments + 8)
        XCTAssertEqual(try home.names(1).count, 1800)
    }

    // MARK: Crashes and outages

    /// The process dies before or after every request of a sync that publishes.
    func testACrashAtAnyRequestLosesNothing() throws {
        for fault in [MemoryStorage.Fault.killedBefore, .killedAfter, .answerLost, .refused] {
            var (point, isOver) = (0, false)
            while !isOver {
                let home = try RemoteHome()
                for _ in 0..<2 { try home.addDevice() }
                try home.settle()
                _ = try home.replicas[0].sync(isThorough: false)
                try home.write(0, "first")
                try home.write(1, "other")
                home.storage.inject(fault, afterRequests: point)
                let before = home.storage.count()
                do {
                    _ = try home.replicas[0].sync(isThorough: false)
                    isOver = home.storage.count() - before <= point
                } catch {
                    XCTAssertTrue(
                        home.storage.isKilled || (error as? FerryError)?.code == .containerMissing,
                        "\(fault), request \(point): \(error)")
                }
                home.storage.recover()
                try home.reopen(0)
                try home.write(0, "second")
                // The other device hears of it without a listing.
                for index in [0, 1, 0, 1] { _ = try home.replicas[index].sync(isThorough: false) }
                XCTAssertEqual(try home.names(1), ["first", "other", "second"], "\(fault), request \(point)")
                try home.assertAgreement(["first", "other", "second"])
                point += 1
                if point > 50 { return XCTFail("\(fault): no end of requests") }
            }
        }
    }

    /// Also where the process ends after the head, and before it could announce the segment.
    func testWhatWasNotAnnouncedIsAnnouncedByTheNextProcess() throws {
        let home = try RemoteHome()
        for _ in 0..<2 { try home.addDevice() }
        try home.settle()
        for index in 0...1 { _ = try home.replicas[index].sync(isThorough: false) }
        let before = home.storage.contents[LatestSegments.name]
        try home.write(0, "row")
        _ = try home.replicas[0].sync(isThorough: false)
        home.storage.set(LatestSegments.name, before)
        try home.reopen(0)
        _ = try home.replicas[0].sync(isThorough: false)
        XCTAssertEqual(try home.replicas[1].sync(isThorough: false).replayed.segments, 1)
    }

    func testWithoutANetworkChangesWaitAndGoOutLater() throws {
        let home = try RemoteHome()
        for _ in 0..<2 { try home.addDevice() }
        try home.settle()
        home.storage.setOutage(FerryError(.containerMissing, "objects.example.net cannot be reached."))
        for number in 0..<3 {
            try home.write(0, "offline \(number)")
            let told = failure { _ = try home.replicas[0].sync(isThorough: number == 1) }
            XCTAssertEqual(told?.code, .containerMissing)
            // The promise holds for a database of a container alone, so no storage gives it.
            XCTAssertEqual(
                told?.message, "objects.example.net cannot be reached. What you write is kept and sent later.")
        }
        let status = try home.replicas[0].status()
        XCTAssertEqual(status.unpublished, 3)
        XCTAssertEqual(status.container.problem, "objects.example.net cannot be reached.")
        home.storage.setOutage(nil)
        try home.assertAgreement(["offline 0", "offline 1", "offline 2"])
    }

    func testRefusalsOfTheStorageAreToldAndNothingIsLost() throws {
        let home = try RemoteHome()
        for _ in 0..<2 { try home.addDevice() }
        try home.settle()
        for code in [FerryError.Code.accessDenied, .credentialsMissing, .inputOutput] {
            try home.write(0, code.rawValue)
            home.storage.setOutage(FerryError(code, "A sentence.", detail: "403 no"))
            XCTAssertEqual(failure { _ = try home.replicas[0].sync() }?.code, code)
            let told = try XCTUnwrap(home.replicas[0].status().container.failure)
            XCTAssertTrue(told.contains("(403 no)") && !told.contains("A sentence."), told)
            home.storage.setOutage(nil)
            try home.settle()
        }
        try home.assertAgreement(["accessDenied", "credentialsMissing", "inputOutput"])
    }

    /// Each question may wait for a helper.
    func testCredentialsThatNobodyGivesAreAskedForOnce() throws {
        for isSealed in [false, true] {
            let home = try RemoteHome()
            home.isSealed = isSealed
            home.storage.setOutage(FerryError(.credentialsMissing, "The helper gave none."))
            XCTAssertEqual(failure { try home.addDevice() }?.code, .credentialsMissing)
            XCTAssertEqual(home.storage.count(), 1, "sealed: \(isSealed)")
            XCTAssertEqual(try home.keys.devices(), [])
        }
    }

    func testAnObjectThatCannotBeReadHoldsUpItsDeviceAlone() throws {
        let cases: [(FerryError.Code, String)] = [
            (.inputOutput, "500 InternalError"), (.accessDenied, "403 AccessDenied"),
            (.containerMissing, "no answer in time"),
        ]
        for (code, reason) in cases { try checkThatOneDeviceWaits(code, reason) }
    }

    /// The log of a device is read though its head says nothing, and own changes go out.
    func testAHeadThatCannotBeReadHoldsUpNothing() throws {
        for isSealed in [false, true] {
            for code in [FerryError.Code.inputOutput, .accessDenied, .containerMissing, nil] {
                let home = try RemoteHome()
                home.isSealed = isSealed
                for _ in 0..<2 { try home.addDevice() }
                try home.settle()
                for index in 0...1 { _ = try home.replicas[index].sync() }
                try home.write(0, "of 0")
                _ = try home.replicas[0].sync()
                let heads = home.replicas.map { "devices/\($0.identity.device.hex)/head" }
                if let code {
                    home.storage.setUnreadable(Set(heads), code)
                } else {
                    for head in heads { home.storage.set(head, [UInt8](repeating: 0, count: 2 << 20)) }
                }
                for (number, isThorough) in [(0, false), (1, true), (2, false)] {
                    let context = "\(isSealed), \(code?.rawValue ?? "long"), \(number)"
                    try home.write(1, "of 1, \(number)")
                    XCTAssertNoThrow(try home.replicas[1].sync(isThorough: isThorough), context)
                    XCTAssertTrue(try home.names(1).contains("of 0"), context)
                    XCTAssertEqual(try home.replicas[1].status().unpublished, 0, context)
                }
                home.storage.setUnreadable([])
                try home.assertAgreement(["of 0", "of 1, 0", "of 1, 1", "of 1, 2"])
            }
        }
    }

    /// An announced segment is read as soon as the storage has it, without a listing.
    func testAnAnnouncedSegmentThatIsLateIsReadAfterASecond() throws {
        let home = try RemoteHome()
        for _ in 0..<2 { try home.addDevice() }
        try home.settle()
        for replica in home.replicas { for _ in 0..<2 { _ = try replica.sync(isThorough: false) } }
        try home.write(0, "late")
        _ = try home.replicas[0].sync(isThorough: false)
        home.storage.hide(Set(home.storage.contents.keys.filter { $0.contains("/segments/") }))
        XCTAssertEqual(try home.replicas[1].sync(isThorough: false).waiting.map(\.device), ["device0"])
        XCTAssertEqual(try home.replicas[1].place().nextLateMilliseconds, 1000)
        // Until then nothing changes, and nothing is asked for but the news.
        XCTAssertEqual(
            try home.requests {
                XCTAssertEqual(try home.replicas[1].sync(isThorough: false).waiting.map(\.device), ["device0"])
            }, 1)
        home.storage.hide([])
        home.clock.set(home.clock.milliseconds() + 1000)
        XCTAssertEqual(try home.replicas[1].sync(isThorough: false).replayed.segments, 1)
        XCTAssertEqual(try home.names(1), ["late"])
    }

    private func checkThatOneDeviceWaits(_ code: FerryError.Code, _ reason: String) throws {
        let home = try RemoteHome()
        for _ in 0..<3 { try home.addDevice() }
        try home.settle()
        for index in 0...1 {
            try home.write(index, "of \(index)")
            _ = try home.replicas[index].sync()
        }
        let device = home.replicas[0].identity.device
        let segment = try XCTUnwrap(
            home.storage.contents.keys.filter { $0.hasPrefix("devices/\(device.hex)/segments/") }.max())
        home.storage.setUnreadable([segment], code)
        let waiting = try home.replicas[2].sync().waiting
        XCTAssertEqual(waiting.map(\.device), ["device0"], "\(code)")
        XCTAssertTrue(waiting[0].reason.contains(reason), waiting[0].reason)
        XCTAssertEqual(try home.names(2), ["of 1"])
        home.storage.setUnreadable([])
        try home.assertAgreement(["of 0", "of 1"])
    }

    // MARK: Older states, copies, lagging listings

    func testABucketThatWentBackUndoesNothing() throws {
        let home = try RemoteHome()
        for _ in 0..<2 { try home.addDevice() }
        try home.settle()
        let older = home.storage.contents
        try home.write(0, "row")
        try home.write(1, "other")
        try home.settle()
        home.storage.restore(older)
        home.clock.advance(hours: 2)
        XCTAssertTrue(
            try home.replicas[1].status().devices.contains { $0.problemCode == FerryError.Code.olderState.rawValue })
        try home.write(0, "after")
        try home.assertAgreement(["row", "other", "after"])
        home.storage.restore([:])
        XCTAssertEqual(failure { _ = try home.replicas[0].sync() }?.code, .containerEmpty)
        XCTAssertEqual(try home.names(0).count, 3)
    }

    func testNothingIsWrittenIntoAnEmptiedPlaceOrIntoAnotherContainer() throws {
        let home = try RemoteHome()
        try home.addDevice()
        try home.write(0, "first")
        try home.settle()
        let contents = home.storage.contents
        let other = try ContainerDescription(id: ContainerID(high: 7, low: 7), name: "other", createdMilliseconds: 1)
        let others = [ContainerDescription.fileName: try other.encoded()]
        let cases: [([String: [UInt8]], FerryError.Code)] = [([:], .containerEmpty), (others, .containerMismatch)]
        for (place, code) in cases {
            home.storage.restore(place)
            try home.write(0, "late")
            for isThorough in [false, true] {
                XCTAssertThrowsError(try home.replicas[0].sync(isThorough: isThorough)) {
                    XCTAssertEqual(($0 as? FerryError)?.code, code)
                }
                XCTAssertEqual(home.storage.contents.keys.sorted(), place.keys.sorted())
            }
        }
        home.storage.restore(contents)
        try home.addDevice()
        try home.settle()
        XCTAssertEqual(try home.names(1), ["first", "late", "late"])
    }

    /// A look without news asks for `latest` alone.
    func testAMarkerThatAloneIsGoneOrReplacedIsNoticedAtTheNextListing() throws {
        let home = try RemoteHome()
        try home.addDevice()
        try home.settle()
        let marker = home.storage.contents[ContainerDescription.fileName]
        let other = try ContainerDescription(id: ContainerID(high: 7, low: 7), name: "other", createdMilliseconds: 1)
        let cases: [([UInt8]?, FerryError.Code)] = [(nil, .containerEmpty), (try other.encoded(), .containerMismatch)]
        for (present, code) in cases {
            home.storage.set(ContainerDescription.fileName, present)
            try home.write(0, "late")
            let keys = home.storage.contents.keys.sorted()
            XCTAssertEqual(failure { _ = try home.replicas[0].sync() }?.code, code)
            XCTAssertEqual(home.storage.contents.keys.sorted(), keys)
            home.storage.set(ContainerDescription.fileName, marker)
            try home.settle()
        }
    }

    func testDoctorNamesAnUnusableLatestAndWritesItAnew() throws {
        let home = try RemoteHome()
        for _ in 0..<2 { try home.addDevice() }
        try home.settle()
        let sound = try XCTUnwrap(home.storage.contents[LatestSegments.name])
        home.clock.advance(hours: 2)
        let faults = [sound + [UInt8](repeating: 0, count: 70_000), Array(sound.dropLast()), []]
        for fault in faults {
            home.storage.set(LatestSegments.name, fault)
            let named = try home.replicas[0].examine().findings.filter { $0.problem.contains("The object latest") }
            XCTAssertEqual(named.map(\.canBeRepaired), [true])
            XCTAssertTrue(named.first?.file?.hasSuffix(LatestSegments.name) ?? false)
            let report = try home.replicas[0].examine(isRepairing: true)
            XCTAssertEqual(
                report.findings.filter { $0.problem.contains("The object latest") }.map(\.isRepaired), [true])
            let latest = try LatestSegments(
                decoding: XCTUnwrap(home.storage.contents[LatestSegments.name]),
                container: home.replicas[0].identity.container)
            XCTAssertEqual(latest.entries.map(\.device), [home.replicas[0].identity.device])
        }
    }

    /// Files of another container were copied here. Nobody knows a name of their device.
    func testADeviceOfAnotherContainerIsNamedByItsIDAndIsToBeMovedAway() throws {
        let home = try RemoteHome()
        try home.addDevice()
        try home.settle()
        let device = DeviceID(high: 77, low: 1)
        let head = Head(
            container: ContainerID(high: 7, low: 7), device: device, deviceName: "stranger",
            position: LogPosition(sequence: 3, time: .zero), writtenMilliseconds: home.clock.milliseconds(),
            softwareVersion: "0.1.0")
        home.storage.set("devices/\(device.hex)/head", try head.encoded())
        XCTAssertEqual(try home.replicas[0].sync().waiting.map(\.device), [device.description])
        let concern = try XCTUnwrap(home.replicas[0].status().concerns.first)
        XCTAssertEqual(concern.device, device.description)
        XCTAssertTrue(concern.message.hasPrefix(device.description + ": "), concern.message)
        let finding = try XCTUnwrap(
            home.replicas[0].examine().findings.first { $0.problem.contains("belongs to another container") })
        XCTAssertTrue(finding.advice.contains("Move it away"), finding.advice)
    }

    func testACopyOfADatabaseIsRecognizedBeforeAnythingIsPublished() throws {
        let home = try RemoteHome()
        for _ in 0..<2 { try home.addDevice() }
        try home.settle()
        for replica in home.replicas { _ = try replica.sync(isThorough: false) }
        // The copy publishes under the same ID, in place of the original.
        let copy = home.databasePath(9)
        try home.replicas[0].store.copy(to: copy)
        let backup = try Data(contentsOf: URL(fileURLWithPath: copy))
        try home.write(0, "of the original")
        _ = try home.replicas[0].sync(isThorough: false)
        try home.replicas[0].store.close()
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: home.databasePath(0) + suffix)
        }
        try backup.write(to: URL(fileURLWithPath: home.databasePath(0)))
        let restored = try Replica(Store(path: home.databasePath(0), clock: home.clock), environment: home.environment)
        try restored.store.write { try $0.execute("INSERT INTO item(name) VALUES ('of the backup')") }
        XCTAssertNotNil(try restored.sync(isThorough: false).renewed)
        _ = try restored.sync()
        _ = try home.replicas[1].sync()
        XCTAssertEqual(Set(try home.names(1)), ["of the original", "of the backup"])
    }

    func testAListingThatLagsDelaysAndLosesNothing() throws {
        let home = try RemoteHome(MemoryStorage(traits: StorageTraits(isConsistent: false)))
        for _ in 0..<2 { try home.addDevice() }
        try home.settle()
        home.storage.setListingsLag(true)
        for number in 0..<3 {
            try home.write(0, "row \(number)")
            _ = try home.replicas[0].sync(isThorough: number == 1)
            // Announced names are read without being listed.
            XCTAssertEqual(try home.replicas[1].sync(isThorough: false).replayed.segments, 1)
        }
        home.storage.setListingsLag(false)
        try home.assertAgreement(["row 0", "row 1", "row 2"])
    }

    // MARK: Moving

    func testAContainerMovesFromAFolderIntoAStorageAndBack() throws {
        for isSealed in [false, true] {
            let home = try RemoteHome()
            home.isSealed = isSealed
            for _ in 0..<2 { try home.addDevice(at: "/shared/c") }
            try home.write(0, "in the folder")
            try home.settle()
            func walk(_ path: String, _ body: (String, [UInt8]) throws -> Void) throws {
                for name in try home.files.entryNames(ofDirectoryAt: path, maximumCount: 1000) ?? [] {
                    let below = path + "/" + name
                    if try home.files.item(at: below) == .directory {
                        try walk(below, body)
                    } else if let bytes = try home.files.readFile(at: below, maximumBytes: 1 << 24) {
                        try body(String(below.dropFirst("/shared/c/".count)), bytes)
                    }
                }
            }
            XCTAssertEqual(failure { try home.replicas[0].relocate(to: RemoteHome.place) }?.code, .containerEmpty)
            try walk("/shared/c") { home.storage.set($0, $1) }
            try home.write(1, "on the way")
            for replica in home.replicas { XCTAssertEqual(try replica.relocate(to: RemoteHome.place).missing, 0) }
            try home.write(0, "in the storage")
            try home.assertAgreement(["in the folder", "on the way", "in the storage"])
            // And back, into the folder that is older by now.
            XCTAssertEqual(failure { try home.replicas[0].relocate(to: "/shared/c") }?.code, .olderState)
            for (name, bytes) in home.storage.contents {
                let path = "/shared/c/" + name
                var directory = ""
                for part in path.split(separator: "/").dropLast() {
                    directory += "/" + part
                    try home.files.createDirectory(at: directory)
                }
                try home.files.removeFile(at: path)
                try home.files.write(bytes, toNewFileAt: path)
            }
            for replica in home.replicas { try replica.relocate(to: "/shared/c") }
            home.storage.restore([:])
            try home.write(1, "back")
            try home.assertAgreement(["in the folder", "on the way", "in the storage", "back"])
        }
    }

    // MARK: Watching

    func testALoopKeepsBothSidesInStepAndAsksSeldom() throws {
        let home = try RemoteHome()
        for _ in 0..<2 { try home.addDevice() }
        try home.settle()
        let loops = home.replicas.map { RunningLoop($0) }
        try waitUntil("both have looked") { loops.allSatisfy { !$0.reports.isEmpty } }
        for (from, to) in [(0, 1), (1, 0)] {
            try home.write(from, "from \(from)")
            try waitUntil("the row of device \(from) arrives") { try home.names(to).contains("from \(from)") }
        }
        for loop in loops { loop.finish() }
        XCTAssertEqual(loops.flatMap(\.failures).count, 0)
    }
}

final class RemoteScheduleTests: XCTestCase {
    func testIntervalsFollowNewsActivityAndRest() {
        var schedule = RemoteSchedule(RemoteTiming())
        // The middle of the jitter.
        func next(_ now: Int, news: Bool = false, commit: Bool = false) -> Int {
            schedule.next(foundNews: news, isAfterCommit: commit, at: now, chance: 0) * 5 / 4
        }
        XCTAssertEqual(next(0), 10_000)
        XCTAssertEqual([next(1), next(2), next(3), next(4)], [20_000, 40_000, 60_000, 60_000])
        XCTAssertEqual(next(100_000, commit: true), 5000)
        XCTAssertEqual(next(200_000, news: true), 1000)
        XCTAssertEqual(next(259_999), 1000)
        XCTAssertEqual([next(260_000), next(799_999)], [5000, 5000])
        XCTAssertEqual(
            [next(800_000), next(810_000), next(830_000), next(870_000), next(900_000)],
            [10_000, 20_000, 40_000, 60_000, 60_000])
    }

    func testAFifthIsLeftToChance() {
        for chance in [UInt64(0), 1, 399, 400, 12_345, .max] {
            var schedule = RemoteSchedule(RemoteTiming())
            let interval = schedule.next(foundNews: true, isAfterCommit: false, at: 0, chance: chance)
            XCTAssertTrue((800..<1200).contains(interval), "\(interval)")
        }
    }

    func testListingsAreAsMuchRarerAsTheyAreLonger() {
        XCTAssertEqual(RemoteTiming().listing(pages: 1), 600_000)
        XCTAssertEqual(RemoteTiming().listing(pages: 40), 24_000_000)
        XCTAssertEqual(RemoteTiming().listing(pages: .max), 86_400_000)
    }

    /// A month of ten devices in simulated time, at rest and in use: what Docs/Stores.md says of costs.
    func testAMonthsPollsAreAsThePagesSay() {
        func polls(hoursInUse: Int, publications: Int) -> Int {
            var schedule = RemoteSchedule(RemoteTiming())
            var (now, count, sent) = (0, 0, 0)
            let day = 86_400_000
            while now < 30 * day {
                let inUse = now % day < hoursInUse * 3_600_000
                let isNews = inUse && publications > 0 && now / (hoursInUse * 3_600_000 / publications) > sent
                if isNews { sent = now / (hoursInUse * 3_600_000 / publications) }
                now += schedule.next(
                    foundNews: isNews, isAfterCommit: false, at: now, chance: UInt64(count) &* 0x9e37_79b9_7f4a_7c15)
                count += 1
            }
            return count
        }
        let rest = polls(hoursInUse: 0, publications: 0)
        XCTAssertTrue((42_000...46_000).contains(rest), "\(rest)")
        let used = polls(hoursInUse: 4, publications: 20)
        print("polls a month: at rest \(rest), four hours a day in use \(used)")
    }
}
