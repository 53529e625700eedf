import FerryContainer
import FerryCore
import FerrySeal
import FerryTestSupport
import Synchronization
import XCTest

@testable import FerryEngine

/// What a look costs in a sealed container while nothing happens: no more than in an open one.
final class SealedRestTests: XCTestCase {
    /// Counts how often keys are asked for.
    private final class CountingKeyStore: KeyStore {
        private let base = MemoryKeyStore()
        private let loads = Mutex(0)
        var loadCount: Int { loads.withLock { $0 } }
        var place: String? { base.place }

        func load(_ device: DeviceID) throws -> KeyFile? {
            loads.withLock { $0 += 1 }
            return try base.load(device)
        }
        func save(_ file: KeyFile) throws { try base.save(file) }
        func remove(_ device: DeviceID) throws { try base.remove(device) }
        func devices() throws -> [DeviceID] { try base.devices() }
    }

    /// Files read and directories listed by a look of the first device that finds nothing.
    private struct Cost: Equatable {
        var reads: Int
        var listings: Int
    }

    /// Three devices that have seen each other's files for a while; one of them may be out.
    private func cost(
        isSealed: Bool, isThorough: Bool, isOneOut: Bool = false, _ keys: CountingKeyStore = CountingKeyStore()
    ) throws -> Cost {
        let home = try SealedHome()
        if isSealed {
            home.computers.append(SealedHome.Computer(keys: keys, host: SealedHome.Host(machine: "first")))
            let setup = ReplicaSetup(environment: home.environment(0), sealing: .sealed(recovery: { _ in }))
            home.computers[0].replica =
                try setup.create(home.makeStore(0), containerPath: SealedHome.place, name: "device0").replica
        } else {
            try home.found(sealing: .open)
        }
        for index in 1...2 {
            if isSealed {
                try home.invite(by: 0)
            } else {
                try home.join(home.addComputer(), nil)
            }
            try home.write(index, "item \(index)")
        }
        try home.settle()
        if isOneOut { _ = try home.replica(0).remove("device2") }
        let present = isOneOut ? [0, 1] : [0, 1, 2]
        for _ in 0..<3 {
            try home.settle(present)
            for isThorough in [true, false] { _ = try home.replica(0).sync(isThorough: isThorough) }
            home.clock.set(home.clock.milliseconds() + 2000)
        }
        let (before, loads) = (Cost(reads: home.files.readCount, listings: home.files.listingCount), keys.loadCount)
        let report = try home.replica(0).sync(isThorough: isThorough)
        XCTAssertFalse(report.hasNews)
        XCTAssertEqual(keys.loadCount, loads)
        return Cost(reads: home.files.readCount - before.reads, listings: home.files.listingCount - before.listings)
    }

    func testALookThatFindsNothingReadsAndListsWhatAnOpenOneDoes() throws {
        for isThorough in [false, true] {
            let open = try cost(isSealed: false, isThorough: isThorough)
            XCTAssertEqual(open.reads, 1, "the container's marker")
            XCTAssertEqual(try cost(isSealed: true, isThorough: isThorough), open, "thorough: \(isThorough)")
        }
    }

    func testARemovedDeviceCostsNoReading() throws {
        for isThorough in [false, true] {
            XCTAssertEqual(
                try cost(isSealed: true, isThorough: isThorough, isOneOut: true).reads, 1, "thorough: \(isThorough)")
        }
    }

    /// A join reads the logs for their schemas, then replays them from what it has opened.
    func testAJoinReadsEachSegmentOnce() throws {
        func reads(segments: Int) throws -> Int {
            let home = try SealedHome()
            try home.found()
            for number in 0..<segments {
                try home.write(0, "row \(number)")
                _ = try home.replica(0).sync()
            }
            let before = home.files.readCount
            try home.invite(by: 0)
            return home.files.readCount - before
        }
        XCTAssertEqual(try reads(segments: 9) - reads(segments: 1), 8)
    }
}
