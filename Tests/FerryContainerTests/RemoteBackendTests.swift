import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryContainer

/// A container in an object storage: what each look and each publication costs, and what becomes of faults.
final class RemoteBackendTests: XCTestCase {
    private final class Clock: WallClock {
        private let now = Locked<Int64>(1_700_000_000_000)
        func milliseconds() -> Int64 { now.withLock { $0 } }
        func milliseconds(captured: Int64) -> Int64 { captured }
        func advance(_ milliseconds: Int64) { now.withLock { $0 += milliseconds } }
    }

    private let clock = Clock()

    private func open(_ storage: MemoryStorage) throws -> (RemoteBackend, Container) {
        let backend = RemoteBackend(storage, clock: clock)
        return (backend, try Container.open(backend))
    }

    private func create(_ storage: MemoryStorage) throws -> Container {
        try Container.create(
            in: RemoteBackend(storage, clock: clock),
            describedBy: ContainerDescription(id: ContainerID(high: 1, low: 2), name: "music", createdMilliseconds: 5))
    }

    @discardableResult
    private func publish(
        _ container: Container, _ device: DeviceID, _ sequence: UInt64, _ text: String = "content"
    ) throws -> SegmentName {
        let (bytes, name) = try makeSegment("\(text) \(sequence)", sequence, sequence)
        try container.publish(bytes, name: name, of: device)
        try container.writeHead(makeHead(container.id, device, sequence: sequence))
        try container.announce(device)
        return name
    }

    private func requests(_ storage: MemoryStorage, _ body: () throws -> Void) rethrows -> Int {
        let before = storage.count()
        try body()
        return storage.count() - before
    }

    // MARK: Costs

    func testALookWithoutNewsIsOneRequestAtAnyNumberOfDevices() throws {
        for count in [1, 10, 100, 1000] {
            let storage = MemoryStorage()
            let container = try create(storage)
            for number in 0..<count { try publish(container, DeviceID(high: 9, low: UInt64(number)), 1) }
            let (backend, reader) = try open(storage)
            func look() throws {
                try backend.refresh(.quick)
                try reader.checkReachable()
                for device in try reader.devices() {
                    _ = try reader.segmentFiles(of: device)
                    _ = try reader.segmentsVersion(of: device)
                }
            }
            try look()
            clock.advance(5000)
            XCTAssertEqual(try requests(storage, look), 1, "\(count) devices")
            XCTAssertEqual(try reader.devices().count, count)
        }
    }

    func testAPublicationIsFiveRequestsAtMostAndItsReadersShareTwo() throws {
        let storage = MemoryStorage()
        let writer = try create(storage)
        try publish(writer, deviceA, 1)
        let (backend, reader) = try open(storage)
        try backend.refresh(.quick)
        try backend.refresh(.quick)
        clock.advance(60_000)
        let cost = try requests(storage) {
            try writer.refresh(.quick)
            try writer.recheckHead(of: deviceA)
            try publish(writer, deviceA, 2)
        }
        XCTAssertLessThanOrEqual(cost, 5)
        let share = try requests(storage) {
            try backend.refresh(.quick)
            let files = try reader.segments(of: deviceA)
            XCTAssertEqual(files.map(\.last), [1, 2])
            XCTAssertNotNil(try reader.readSegment(try XCTUnwrap(files.last), of: deviceA))
        }
        XCTAssertEqual(share, 2)
        // And what was announced is not told again.
        XCTAssertEqual(try requests(storage) { try writer.announce(deviceA) }, 0)
        XCTAssertEqual(try requests(storage) { try publish(writer, deviceA, 2) }, 1)  // the head alone
    }

    func testWhatTheListingLacksCostsNoRequest() throws {
        let storage = MemoryStorage()
        let container = try create(storage)
        let cost = try requests(storage) {
            XCTAssertNil(try container.readHead(of: deviceB))
            XCTAssertEqual(try container.segments(of: deviceB), [])
            XCTAssertNil(try container.readClaim(of: deviceB))
            try container.removeClaim(of: deviceB)
        }
        XCTAssertEqual(cost, 0)
    }

    // MARK: News

    func testAListingFindsWhateverLatestLost() throws {
        for loss: (MemoryStorage) -> Void in [
            { $0.set(LatestSegments.name, nil) }, { $0.set(LatestSegments.name, [1, 2, 3]) },
            { $0.set(LatestSegments.name, LatestSegments(container: ContainerID(high: 8, low: 8)).encoded()) },
            { $0.set(LatestSegments.name, LatestSegments(container: ContainerID(high: 1, low: 2)).encoded()) },
        ] {
            let storage = MemoryStorage()
            let writer = try create(storage)
            try publish(writer, deviceA, 1)
            let (backend, reader) = try open(storage)
            try publish(writer, deviceA, 2)
            loss(storage)
            clock.advance(700_000)
            try backend.refresh(.quick)
            try backend.refresh(.full)
            XCTAssertEqual(try reader.segments(of: deviceA).map(\.last), [1, 2])
            // The writer announces it again when it next publishes.
            try publish(writer, deviceA, 3)
            try backend.refresh(.quick)
            XCTAssertEqual(try reader.segments(of: deviceA).map(\.last), [1, 2, 3])
        }
    }

    /// Too long, refused, failing, or without an answer: `latest` is a hint, and the next writer replaces the object.
    func testAnUnusableLatestStopsNobodyAndIsReplaced() throws {
        let long = [UInt8](repeating: 0, count: LatestSegments.maximumBytes + 1)
        let faults: [(MemoryStorage) -> Void] = [
            { $0.set(LatestSegments.name, ($0.contents[LatestSegments.name] ?? []) + long) },
            { $0.set(LatestSegments.name, []) },
            { $0.setUnreadable([LatestSegments.name], .accessDenied) },
            { $0.setUnreadable([LatestSegments.name], .inputOutput) },
            { $0.setUnreadable([LatestSegments.name], .containerMissing) },
        ]
        for (number, fault) in faults.enumerated() {
            let storage = MemoryStorage()
            let writer = try create(storage)
            try publish(writer, deviceA, 1)
            let (backend, reader) = try open(storage)
            for place in [writer.backend, backend] { place.goOnWithoutSilentFiles() }
            fault(storage)
            clock.advance(61_000)
            XCTAssertNoThrow(try backend.refresh(.quick), "fault \(number)")
            clock.advance(5000)
            XCTAssertNoThrow(try publish(writer, deviceA, 2), "fault \(number)")
            clock.advance(61_000)
            XCTAssertNoThrow(try backend.refresh(.quick), "fault \(number)")
            XCTAssertEqual(try reader.segments(of: deviceA).map(\.last), [1, 2], "fault \(number)")
            storage.setUnreadable([])
            XCTAssertNoThrow(
                try LatestSegments(
                    decoding: XCTUnwrap(storage.contents[LatestSegments.name]), container: writer.id), "fault \(number)"
            )
            // A storage that refuses everything is told.
            storage.setOutage(FerryError(.accessDenied, "no"))
            assertThrows(.accessDenied, "no") { try backend.refresh(.quick) }
        }
    }

    /// Somebody announced a segment of a device that the device never wrote.
    func testADeviceAnnouncesItsOwnSegmentsAndNotThoseThatWereForged() throws {
        let storage = MemoryStorage()
        let writer = try create(storage)
        try publish(writer, deviceA, 1)
        let (backend, reader) = try open(storage)
        XCTAssertEqual(try reader.segments(of: deviceA).count, 1)
        let bytes = try XCTUnwrap(storage.contents[LatestSegments.name])
        var latest = try LatestSegments(decoding: bytes, container: reader.id)
        let forged = try SegmentName(first: 2, last: 9, checksum: Checksum(high: 7, low: 7))
        latest.announce(LatestSegments.Entry(device: deviceA, segment: forged, records: 0), nonce: 5)
        storage.set(LatestSegments.name, latest.encoded())
        try writer.refresh(.quick)
        let name = try publish(writer, deviceA, 2)
        let told = try LatestSegments(decoding: XCTUnwrap(storage.contents[LatestSegments.name]), container: reader.id)
        XCTAssertEqual(told.entries.first { $0.device == deviceA }?.segment, name)
        try backend.refresh(.quick)
        XCTAssertTrue(try reader.segments(of: deviceA).contains(name))
    }

    func testAnOwnHeadThatCannotBeReadStopsNobodyAndIsWrittenAnew() throws {
        let long = [UInt8](repeating: 0, count: RemoteBackend.maximumKeptBytes + 1)
        for code in [FerryError.Code.accessDenied, .inputOutput, .containerMissing, nil] {
            let storage = MemoryStorage()
            let container = try create(storage)
            try publish(container, deviceA, 1)
            let name = "devices/\(deviceA.hex)/head"
            container.backend.goOnWithoutSilentFiles()
            if let code { storage.setUnreadable([name], code) } else { storage.set(name, long) }
            XCTAssertNoThrow(try container.recheckHead(of: deviceA))
            XCTAssertThrowsError(try container.readHead(of: deviceA))
            XCTAssertNoThrow(try container.refresh(.full))
            XCTAssertTrue(try container.mayBeKnown(deviceA))
            storage.setUnreadable([])
            try publish(container, deviceA, 2)
            XCTAssertEqual(try container.readHead(of: deviceA)?.position.sequence, 2)
            XCTAssertEqual(try open(storage).1.readHead(of: deviceA)?.position.sequence, 2)
        }
    }

    /// An object without an answer from a storage that answers otherwise costs a look one wait, and then a wait from time to time.
    func testAnObjectWithoutAnAnswerIsToldAsSuchAndSeldomAskedFor() throws {
        let storage = MemoryStorage()
        let writer = try create(storage)
        let names = try (1...20).map { try publish(writer, deviceA, UInt64($0)) }
        let other = try publish(writer, deviceB, 1)
        let (backend, reader) = try open(storage)
        storage.setUnreadable(Set(names.map { "devices/\(deviceA.hex)/segments/\($0.fileName)" }), .containerMissing)
        func read() -> FerryError? { failure { _ = try reader.readSegment(names[0], of: deviceA) } }
        // A join decides once, and not without a file.
        XCTAssertEqual(read()?.code, .containerMissing)
        backend.goOnWithoutSilentFiles()
        let first = storage.failures
        reader.prefetch(names.map { SegmentFile($0) }, of: deviceA)
        for _ in 0..<5 {
            let told = try XCTUnwrap(read())
            XCTAssertEqual(told.code, .inputOutput)
            XCTAssertTrue(told.message.contains("no answer in time"), told.message)
        }
        // The files read side by side are over by the first failure.
        XCTAssertLessThanOrEqual(storage.failures - first, storage.traits.maximumParallel)
        XCTAssertNotNil(try reader.readSegment(other, of: deviceB))
        let before = storage.failures
        for _ in 0..<600 {
            clock.advance(1000)
            XCTAssertNotNil(read())
        }
        XCTAssertTrue((10...20).contains(storage.failures - before), "\(storage.failures - before)")
        storage.setUnreadable([])
        clock.advance(60_000)
        XCTAssertNotNil(try reader.readSegment(names[0], of: deviceA))
        // A storage without any answer is not there.
        storage.setOutage(FerryError(.containerMissing, "no network"))
        XCTAssertEqual(failure { _ = try reader.readSegment(names[1], of: deviceA) }?.code, .containerMissing)
        storage.setOutage(nil)
        XCTAssertNotNil(try reader.readSegment(names[1], of: deviceA))
        try backend.refresh(.full)
    }

    func testAMissingLatestCausesOneListingAMinute() throws {
        let storage = MemoryStorage()
        _ = try create(storage)
        let (backend, _) = try open(storage)
        storage.resetCounts()
        for _ in 0..<10 {
            clock.advance(10_000)
            try backend.refresh(.quick)
        }
        XCTAssertEqual(storage.count(.list), 1)
        // The other nine looks ask for the marker.
        XCTAssertEqual(storage.count(.get), 19)
    }

    func testAStrangerAGapAndOtherContentUnderTheSameNumbersAreListed() throws {
        let storage = MemoryStorage()
        let writer = try create(storage)
        try publish(writer, deviceA, 1)
        let (backend, reader) = try open(storage)
        try backend.refresh(.quick)
        func lists(_ body: () throws -> Void) throws -> Int {
            let before = storage.count(.list)
            try body()
            return storage.count(.list) - before
        }
        try publish(writer, deviceB, 1)
        XCTAssertEqual(try lists { try backend.refresh(.quick) }, 1)
        XCTAssertEqual(try reader.devices(), [deviceA, deviceB])
        for sequence in 2...4 { try publish(writer, deviceA, UInt64(sequence)) }
        XCTAssertEqual(try lists { try backend.refresh(.quick) }, 1)
        XCTAssertEqual(try reader.segments(of: deviceA).map(\.last), [1, 2, 3, 4])
        // A copy of the database at work.
        let (_, copy) = try open(storage)
        try publish(copy, deviceA, 5, "one")
        XCTAssertEqual(try lists { try backend.refresh(.quick) }, 0)
        try publish(writer, deviceA, 5, "other")
        XCTAssertEqual(try lists { try backend.refresh(.quick) }, 1)
        XCTAssertEqual(try reader.segments(of: deviceA).filter { $0.last == 5 }.count, 2)
        XCTAssertEqual(try lists { try backend.refresh(.quick) }, 0)
    }

    func testRecordsAndClaimsAreAnnouncedToo() throws {
        let storage = MemoryStorage()
        let writer = try create(storage)
        try publish(writer, deviceA, 1)
        let (backend, reader) = try open(storage)
        try backend.refresh(.quick)
        let record = RecordName(try XCTUnwrap(RecordHash(hex: String(repeating: "ab", count: 32))))
        try writer.publishRecord([1, 2, 3], name: record, of: deviceA)
        try backend.refresh(.quick)
        XCTAssertEqual(try reader.records(of: deviceA, maximumCount: 10), [record])
        try writer.publishClaim([4], of: deviceB)
        try backend.refresh(.quick)
        XCTAssertEqual(try reader.readClaim(of: deviceB), [4])
    }

    func testAnEntryThatAnotherWriterOverwroteIsWrittenAgain() throws {
        let storage = MemoryStorage()
        let first = try create(storage)
        try publish(first, deviceA, 1)
        let (_, second) = try open(storage)
        try publish(second, deviceB, 1)
        try first.refresh(.quick)
        // Both have read the same `latest` and write at the same moment: the second one's entry wins.
        let before = try XCTUnwrap(storage.contents[LatestSegments.name])
        try publish(first, deviceA, 2)
        storage.set(LatestSegments.name, before)
        try second.refresh(.quick)
        try publish(second, deviceB, 2)
        let (backend, reader) = try open(storage)
        try first.refresh(.quick)
        let latest = try LatestSegments(
            decoding: try XCTUnwrap(storage.contents[LatestSegments.name]), container: ContainerID(high: 1, low: 2))
        XCTAssertEqual(latest.entries.map(\.device), [deviceA, deviceB])
        XCTAssertEqual(latest.entries.compactMap { $0.segment?.last }, [2, 2])
        try backend.refresh(.quick)
        XCTAssertEqual(try reader.segments(of: deviceA).count, 2)
        // Not for ever: whoever overwrites again and again is left alone.
        for _ in 0..<10 {
            storage.set(LatestSegments.name, before)
            try first.refresh(.quick)
        }
        storage.resetCounts()
        storage.set(LatestSegments.name, before)
        try first.refresh(.quick)
        XCTAssertEqual(storage.count(.put), 0)
    }

    func testALookThatFailsInTheMiddleIsMadeUpForByTheNext() throws {
        let storage = MemoryStorage()
        let first = try create(storage)
        try publish(first, deviceA, 1)
        let (backend, reader) = try open(storage)
        // A stranger's directory is listed, and the listing is refused.
        let before = try XCTUnwrap(storage.contents[LatestSegments.name])
        let name = try publish(open(storage).1, deviceB, 1)
        storage.inject(.refused, afterRequests: 1)
        XCTAssertThrowsError(try backend.refresh(.quick))
        try backend.refresh(.quick)
        XCTAssertEqual(try reader.segments(of: deviceB), [name])
        // An overwritten entry is written again, and the writing is refused.
        try publish(first, deviceA, 2)
        storage.set(LatestSegments.name, before)
        storage.inject(.refused, afterRequests: 1)
        XCTAssertThrowsError(try first.refresh(.quick))
        try first.refresh(.quick)
        let latest = try LatestSegments(
            decoding: try XCTUnwrap(storage.contents[LatestSegments.name]), container: ContainerID(high: 1, low: 2))
        XCTAssertEqual(latest.entries.first?.device, deviceA)
        XCTAssertEqual(latest.entries.first?.segment?.last, 2)
    }

    // MARK: Listings that lag, and files that are late

    func testWhatThisDeviceWroteOrRemovedCountsAsItLeftIt() throws {
        let storage = MemoryStorage(traits: StorageTraits(isConsistent: false))
        let container = try create(storage)
        let removed = try publish(container, deviceA, 1)
        storage.setListingsLag(true)
        let written = try publish(container, deviceA, 2)
        try container.removeSegments([removed], of: deviceA)
        try container.refresh(.full)
        XCTAssertEqual(try container.segments(of: deviceA), [written])
        XCTAssertNotNil(try container.readHead(of: deviceA))
        // After an hour the listing is believed.
        clock.advance(3_700_000)
        try container.refresh(.full)
        XCTAssertEqual(try container.segments(of: deviceA), [removed])
    }

    /// A copy of the database writes under the same device, within the hour for which own deeds count.
    func testAHeadThatACopyReplacedIsSeenAtTheNextListing() throws {
        for isConsistent in [true, false] {
            let storage = MemoryStorage(traits: StorageTraits(isConsistent: isConsistent))
            let container = try create(storage)
            try publish(container, deviceA, 1)
            try container.refresh(.full)
            try publish(open(storage).1, deviceA, 2)
            storage.resetCounts()
            try container.refresh(.full)
            XCTAssertEqual(try container.readHead(of: deviceA)?.position.sequence, 2)
            XCTAssertEqual(storage.count(), 2, "a listing and the head")
            // A listing that lags has the head before: the own one stays.
            storage.setListingsLag(true)
            try publish(container, deviceA, 3)
            try container.refresh(.full)
            XCTAssertEqual(try container.readHead(of: deviceA)?.position.sequence, 3)
        }
    }

    func testAContainerIsFoundWhereAListingHasItNotYet() throws {
        for isConsistent in [true, false] { try checkLag(StorageTraits(isConsistent: isConsistent)) }
    }

    private func checkLag(_ traits: StorageTraits) throws {
        let storage = MemoryStorage(traits: traits)
        storage.setListingsLag(true)
        let container = try create(storage)
        let (backend, other) = try open(storage)
        XCTAssertEqual(other.id, container.id)
        // It is not believed for ever.
        for isKnown in [true, false] {
            try (isKnown ? container.backend : backend).refresh(.full)
            storage.restore([:])
            clock.advance(60_000)
            try (isKnown ? container.backend : backend).refresh(.full)
            XCTAssertEqual(failure { try (isKnown ? container : other).checkReachable() }?.code, .containerEmpty)
        }
        let empty = MemoryStorage(traits: traits)
        XCTAssertEqual(failure { _ = try self.open(empty) }?.code, .containerEmpty)
    }

    /// A storage may list a file, and answer once that there is none.
    func testAListedFileThatIsLateIsAskedForAgainAfterAWhile() throws {
        let storage = MemoryStorage()
        let writer = try create(storage)
        let name = try publish(writer, deviceA, 1)
        let (backend, reader) = try open(storage)
        XCTAssertNil(backend.nextLateMilliseconds)
        storage.hide(["devices/\(deviceA.hex)/segments/\(name.fileName)"])
        storage.resetCounts()
        for delay: Int64 in [1000, 2000, 4000] {
            for _ in 0..<5 { XCTAssertNil(try reader.readSegment(name, of: deviceA)) }
            XCTAssertEqual(try reader.segments(of: deviceA), [name])
            XCTAssertEqual(backend.nextLateMilliseconds, delay)
            clock.advance(delay)
        }
        XCTAssertEqual([storage.count(.get), storage.count(.list)], [3, 3])
        storage.hide([])
        XCTAssertNotNil(try reader.readSegment(name, of: deviceA))
        XCTAssertNil(backend.nextLateMilliseconds)
    }

    func testAnAnnouncedFileThatIsLateIsAskedForAgainAfterAWhile() throws {
        let storage = MemoryStorage()
        let writer = try create(storage)
        try publish(writer, deviceA, 1)
        let (backend, reader) = try open(storage)
        try backend.refresh(.quick)
        let name = try publish(writer, deviceA, 2)
        storage.hide(["devices/\(deviceA.hex)/segments/\(name.fileName)"])
        try backend.refresh(.quick)
        func attempts(_ milliseconds: Int64) throws -> Int {
            storage.resetCounts()
            for _ in 0..<(milliseconds / 100) {
                clock.advance(100)
                if try reader.segments(of: deviceA).contains(name) {
                    XCTAssertNil(try reader.readSegment(name, of: deviceA))
                }
            }
            return storage.count(.get)
        }
        let inTheFirstMinute = try attempts(60_000)
        XCTAssertTrue((5...8).contains(inTheFirstMinute), "\(inTheFirstMinute)")
        XCTAssertLessThanOrEqual(try attempts(240_000), 5)
        storage.hide([])
        clock.advance(60_000)
        XCTAssertNotNil(try reader.readSegment(name, of: deviceA))
        XCTAssertTrue(try reader.segments(of: deviceA).contains(name))
    }

    func testAnAnnouncedFileThatNeverComesIsForgottenUntilAListingNamesIt() throws {
        let storage = MemoryStorage()
        let writer = try create(storage)
        try publish(writer, deviceA, 1)
        let (backend, reader) = try open(storage)
        try backend.refresh(.quick)
        let name = try publish(writer, deviceA, 2)
        let path = "devices/\(deviceA.hex)/segments/\(name.fileName)"
        let bytes = try XCTUnwrap(storage.contents[path])
        storage.set(path, nil)
        try backend.refresh(.quick)
        for _ in 0..<30 {
            clock.advance(61_000)
            _ = try reader.readSegment(name, of: deviceA)
        }
        XCTAssertFalse(try reader.segments(of: deviceA).contains(name))
        storage.set(path, bytes)
        try backend.refresh(.full)
        XCTAssertNotNil(try reader.readSegment(name, of: deviceA))
    }

    func testAFileThatIsGoneMakesItsDirectoryListedOnce() throws {
        let storage = MemoryStorage()
        let writer = try create(storage)
        let names = try (1...3).map { try publish(writer, deviceA, UInt64($0)) }
        let (_, reader) = try open(storage)
        try writer.removeSegments(Array(names.prefix(2)), of: deviceA)
        storage.resetCounts()
        XCTAssertNil(try reader.readSegment(names[0], of: deviceA))
        XCTAssertNil(try reader.readSegment(names[1], of: deviceA))
        XCTAssertEqual([storage.count(.get), storage.count(.list)], [1, 1])
        XCTAssertEqual(try reader.segments(of: deviceA), [names[2]])
    }

    // MARK: Writing

    func testADeviceMayBeKnownWhereAWritingOfItsFileGotNoAnswer() throws {
        let storage = MemoryStorage()
        let container = try create(storage)
        let device = DeviceID(high: 9, low: 1)
        XCTAssertFalse(try container.mayBeKnown(device))
        for fault in [MemoryStorage.Fault.refused, .answerLost] {
            storage.inject(fault, afterRequests: 0)
            XCTAssertThrowsError(try publish(container, device, 1))
            XCTAssertTrue(container.backend.isUnanswered(below: Container.directory(of: device)), "\(fault)")
            XCTAssertTrue(try container.mayBeKnown(device), "\(fault)")
        }
        try publish(container, device, 1)
        XCTAssertFalse(container.backend.isUnanswered(below: Container.directory(of: device)))
        XCTAssertTrue(try container.mayBeKnown(device))
        XCTAssertFalse(try container.mayBeKnown(DeviceID(high: 9, low: 2)))
    }

    func testAPublicationWhoseAnswerGotLostIsRecognizedAsItsOwn() throws {
        for honours in [true, false] {
            let storage = MemoryStorage()
            storage.setHonoursConditions(honours)
            let container = try create(storage)
            let (bytes, name) = try makeSegment("content", 1, 1)
            storage.inject(.answerLost, afterRequests: 0)
            assertThrows(.containerMissing) { try container.publish(bytes, name: name, of: deviceA) }
            try container.publish(bytes, name: name, of: deviceA)
            XCTAssertEqual(try container.readSegment(name, of: deviceA), bytes)
        }
    }

    func testOtherBytesUnderANameAreDamageAndMended() throws {
        let storage = MemoryStorage()
        let container = try create(storage)
        let (bytes, name) = try makeSegment("content", 1, 1)
        storage.set("devices/\(deviceA.hex)/segments/\(name.fileName)", [1, 2])
        try container.publish(bytes, name: name, of: deviceA)
        XCTAssertEqual(try container.readSegment(name, of: deviceA), bytes)
    }

    func testOfTwoThatCreateAtOnceOneHasTheContainer() throws {
        for honours in [true, false] {
            let storage = MemoryStorage()
            storage.setHonoursConditions(honours)
            let backends = (0...1).map { _ in RemoteBackend(storage, clock: clock) }
            let details = try (0...1).map {
                try ContainerDescription(id: ContainerID(high: 5, low: UInt64($0)), name: "c", createdMilliseconds: 1)
            }
            // Both have looked, and nothing was there.
            for backend in backends { try backend.prepareForCreation() }
            try backends[0].writeOnce(ContainerDescription.fileName, details[0].encoded())
            let code: FerryError.Code = honours ? .containerExists : .containerMismatch
            XCTAssertThrowsError(
                try {
                    try backends[1].writeOnce(ContainerDescription.fileName, details[1].encoded())
                    // Without conditions the later one stays, and the former finds out.
                    _ = try Container.open(
                        RemoteBackend(storage, clock: clock), expecting: ContainerPin(id: details[0].id))
                }()
            ) { XCTAssertEqual(($0 as? FerryError)?.code, code) }
        }
        let storage = MemoryStorage()
        _ = try create(storage)
        assertThrows(.containerExists, "memory:") { try create(storage) }
        storage.set(ContainerDescription.fileName, nil)
        storage.set("devices/x/head", [1])
        assertThrows(.containerExists, "missing") { try create(storage) }
    }

    // MARK: Faults of the place

    func testAStorageThatCannotBeReachedAnEmptyBucketAndAnotherContainerAreTold() throws {
        let storage = MemoryStorage()
        let container = try create(storage)
        try publish(container, deviceA, 1)
        let (backend, _) = try open(storage)
        let pin = ContainerPin(id: container.id)
        storage.setOutage(FerryError(.containerMissing, "no network"))
        assertThrows(.containerMissing, "no network") { try backend.refresh(.quick) }
        assertThrows(.containerMissing, "no network") { try Container.open(RemoteBackend(storage, clock: clock)) }
        storage.setOutage(nil)
        let contents = storage.contents
        storage.restore([:])
        try backend.refresh(.full)
        assertThrows(.containerEmpty, "memory:") { try Container.open(backend, expecting: pin) }
        var other = contents
        other[ContainerDescription.fileName] = try ContainerDescription(
            id: ContainerID(high: 7, low: 7), name: "other", createdMilliseconds: 1
        ).encoded()
        storage.restore(other)
        try backend.refresh(.full)
        assertThrows(.containerMismatch) { try Container.open(backend, expecting: pin) }
        storage.restore(contents)
        try backend.refresh(.full)
        XCTAssertEqual(try Container.open(backend, expecting: pin).devices(), [deviceA])
    }

    func testAnEmptiedPlaceAndAnotherContainerAreNoticedAtTheNextLook() throws {
        let other = try ContainerDescription(id: ContainerID(high: 7, low: 7), name: "other", createdMilliseconds: 1)
        for hasAnnounced in [true, false] {
            let storage = MemoryStorage()
            let container = try create(storage)
            try publish(container, deviceA, 1)
            if !hasAnnounced { storage.set(LatestSegments.name, nil) }
            let (backend, _) = try open(storage)
            let pin = ContainerPin(id: container.id)
            try backend.refresh(.quick)
            let contents = storage.contents
            for milliseconds: Int64 in [0, 1000] {
                clock.advance(milliseconds)
                storage.restore([:])
                try backend.refresh(.quick)
                assertThrows(.containerEmpty) { try Container.open(backend, expecting: pin) }
                storage.restore([ContainerDescription.fileName: try other.encoded()])
                try backend.refresh(.quick)
                assertThrows(.containerMismatch) { try Container.open(backend, expecting: pin) }
                try publish(Container.open(RemoteBackend(storage, clock: clock)), deviceB, 1)
                try backend.refresh(.quick)
                assertThrows(.containerMismatch) { try Container.open(backend, expecting: pin) }
                storage.restore(contents)
                try backend.refresh(.quick)
                XCTAssertEqual(try Container.open(backend, expecting: pin).devices(), [deviceA])
            }
        }
    }

    func testAPageThatFailsLeavesTheListingBefore() throws {
        let storage = MemoryStorage(pageSize: 3)
        let container = try create(storage)
        for number in 1...5 { try publish(container, deviceA, UInt64(number)) }
        let (backend, reader) = try open(storage)
        XCTAssertGreaterThan(backend.pageCount, 1)
        XCTAssertEqual(try reader.segments(of: deviceA).count, 5)
        storage.inject(.refused, afterRequests: 1)
        XCTAssertThrowsError(try backend.refresh(.full))
        XCTAssertEqual(try reader.segments(of: deviceA).count, 5)
    }

    func testNamesThatLeadElsewhereAreNotInTheListingAndRefused() throws {
        let storage = MemoryStorage()
        _ = try create(storage)
        for key in ["devices/../x", "devices//x", "/x", "a\u{1}b"] { storage.set(key, [1]) }
        let (backend, _) = try open(storage)
        XCTAssertEqual(try backend.list("", after: nil), [ContainerDescription.fileName])
        assertThrows(.invalidArgument) { try backend.read("../x", maximumBytes: 10) }
        assertThrows(.invalidArgument) { try backend.writeOnce("devices/../x", [1]) }
    }

    func testHeadsOfManyDevicesAreReadAheadAndEachOnce() throws {
        let storage = MemoryStorage()
        let writer = try create(storage)
        let devices = (1...100).map { DeviceID(high: 7, low: $0) }
        for device in devices { try publish(writer, device, 1) }
        let (_, reader) = try open(storage)
        storage.resetCounts()
        reader.prefetchHeads(of: devices)
        XCTAssertEqual(storage.count(.get), Container.headsAhead)
        var heads: [DeviceID] = []
        try reader.forEachHead(of: devices) { device, head in if try head.get() != nil { heads.append(device) } }
        XCTAssertEqual(heads, devices)
        XCTAssertEqual(storage.count(.get), devices.count)
    }

    func testReadingAheadFetchesManyAtOnceAndEachOnce() throws {
        let storage = MemoryStorage()
        let writer = try create(storage)
        let names = try (1...100).map { try publish(writer, deviceA, UInt64($0)) }
        let (_, reader) = try open(storage)
        storage.resetCounts()
        for (index, name) in names.enumerated() {
            reader.prefetch(names[index...].map { SegmentFile($0) }, of: deviceA)
            XCTAssertNotNil(try reader.readSegment(name, of: deviceA))
        }
        XCTAssertEqual(storage.count(.get), 100)
    }

    /// A join reads the schemas of a log and then the log; a batch without room for a segment gives the segment back.
    func testASegmentThatIsReadAgainSoonIsNoRequest() throws {
        let storage = MemoryStorage()
        let writer = try create(storage)
        let names = try (1...3).map { try publish(writer, deviceA, UInt64($0)) }
        let (backend, reader) = try open(storage)
        storage.resetCounts()
        for _ in 0..<2 { for name in names { XCTAssertNotNil(try reader.readSegment(name, of: deviceA)) } }
        try backend.refresh(.full)
        for name in names { XCTAssertNotNil(try reader.readSegment(name, of: deviceA)) }
        XCTAssertEqual(storage.count(.get), 3)
        // The next look ends this: a watch at rest keeps nothing.
        try backend.refresh(.quick)
        storage.resetCounts()
        XCTAssertNotNil(try reader.readSegment(names[0], of: deviceA))
        XCTAssertEqual(storage.count(.get), 1)
    }
}
