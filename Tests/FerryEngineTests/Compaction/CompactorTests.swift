import FerryContainer
import FerryCore
import FerryLog
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// Compaction in a container: what it does, and that a crash at any step leaves nothing lost and nothing undone.
final class CompactorTests: XCTestCase {
    private var retention: RetentionSettings {
        var retention = RetentionSettings()
        retention.snapshotMinimumBytes = 1000
        retention.firstSnapshotChangesPerRow = 0
        return retention
    }

    /// Two devices of which the first one has published many small segments.
    private func twoDevices(flushes: Int, largeValues: LargeValueSettings = .init()) throws -> MemoryHome {
        let home = try MemoryHome(retention: retention)
        home.largeValues = largeValues
        try home.addDevice()
        try home.addDevice()
        _ = try home.replicas[0].sync()
        try home.flush(0, flushes)
        return home
    }

    /// Compaction with snapshots that are no more than a file each.
    private func compactor(_ home: MemoryHome, _ index: Int = 0) throws -> Compactor {
        let replica = home.replicas[index]
        let container = try home.container
        let look = try ContainerView(container, except: replica.identity.device)
        return Compactor(
            container: container, store: replica.store, publisher: replica.publisher(container),
            retention: home.retention, clock: home.clock, activity: try replica.recordActivity(look).activity,
            snapshots: PlainSnapshots(container: container, replica: replica, clock: home.clock),
            countTombstones: { 0 }, collectTombstones: { _ in 0 })
    }

    func testManySmallFilesBecomeFewAndBothDevicesGoOn() throws {
        let home = try MemoryHome()
        try home.addDevice()
        try home.addDevice()
        for number in 0..<100 {
            try home.write(0, "INSERT INTO item(name) VALUES ('\(number)')")
            _ = try home.replicas[0].sync()
            if number % 7 == 0 { _ = try home.replicas[1].sync() }
        }
        try home.checkLog(0)
        home.clock.advance(hours: 2)
        _ = try home.replicas[1].sync()
        _ = try home.replicas[0].sync()
        XCTAssertLessThan(try home.segments(0).count, 24)
        try home.checkLog(0)
        XCTAssertEqual(try home.rows(0), try home.rows(1))
        // A third one reads them from the beginning.
        try home.addDevice()
        XCTAssertEqual(try home.rows(0), try home.rows(2))
    }

    func testASyncWithNothingNewReadsAndListsNoMoreFilesAfterManyFlushes() throws {
        func cost(flushes: Int) throws -> [Int] {
            let home = try MemoryHome()
            try home.addDevice()
            try home.addDevice()
            try home.flush(0, flushes)
            for _ in 0..<3 { for replica in home.replicas { _ = try replica.sync(isThorough: false) } }
            home.clock.advance(hours: 2)
            for _ in 0..<3 { for replica in home.replicas { _ = try replica.sync(isThorough: false) } }
            let before = (home.files.readCount, home.files.listingCount, home.files.stepCount)
            _ = try home.replicas[0].sync(isThorough: false)
            XCTAssertEqual(home.files.stepCount, before.2, "nothing is written")
            return [home.files.readCount - before.0, home.files.listingCount - before.1]
        }
        let short = try cost(flushes: 3)
        XCTAssertEqual(try cost(flushes: 200), short)
        XCTAssertLessThan(short[0], 6)
    }

    func testWhatEverybodyHasAndASnapshotCoversGoes() throws {
        let home = try twoDevices(flushes: 40)
        let end = try home.replicas[0].store.versionVector()[home.replicas[0].identity.device].sequence
        var report = try compactor(home).run(isAsked: true)
        XCTAssertEqual(report.rolledUp.into, 2)
        XCTAssertNotNil(report.snapshot)
        // The other device has what was there when it joined, and nothing of the rest.
        XCTAssertLessThan(report.removed.segments, 2)
        XCTAssertEqual(try home.replicas[0].store.reading().logStart, 0)
        _ = try home.replicas[1].sync()
        report = try compactor(home).run(isAsked: true)
        XCTAssertEqual(try home.segments(0).map(\.last), [end])
        XCTAssertEqual(try home.replicas[0].store.reading().logStart, end)
        try home.checkLog(0)
        XCTAssertEqual(try home.rows(0), try home.rows(1))
        // And the log goes on.
        try home.flush(0, 3)
        XCTAssertEqual(try home.replicas[1].sync().waiting, [])
        XCTAssertEqual(try home.rows(0), try home.rows(1))
        _ = try compactor(home).run()
        XCTAssertFalse(try compactor(home).run().hasNews)
    }

    func testASilentDeviceHoldsNothingBack() throws {
        let home = try twoDevices(flushes: 40)
        _ = try compactor(home).run(isAsked: true)
        home.clock.advance(days: 59)
        _ = try compactor(home).run(isAsked: true)
        XCTAssertEqual(try home.replicas[0].store.reading().logStart, 0)
        home.clock.advance(days: 3)
        _ = try compactor(home).run(isAsked: true)
        XCTAssertGreaterThan(try home.replicas[0].store.reading().logStart, 1)
        try home.checkLog(0)
    }

    func testADryRunTellsAndDoesNothing() throws {
        let home = try twoDevices(flushes: 40)
        let steps = home.files.stepCount
        let segments = try home.replicas[0].store.ownSegments()
        let notes = try home.replicas[0].store.reading().compactionNotes.text
        let report = try compactor(home).rehearse()
        XCTAssertTrue(report.dryRun)
        XCTAssertEqual(report.rolledUp, .init(segments: 32, into: 2))
        XCTAssertNotNil(report.snapshot)
        XCTAssertEqual(home.files.stepCount, steps)
        XCTAssertEqual(try home.replicas[0].store.ownSegments(), segments)
        XCTAssertEqual(try home.replicas[0].store.reading().compactionNotes.text, notes)
        XCTAssertEqual(try compactor(home).run(isAsked: true).rolledUp, report.rolledUp)
    }

    func testFilesOfOnesOwnThatAreGoneAreStoodForByASnapshot() throws {
        let home = try twoDevices(flushes: 40)
        let lost = try XCTUnwrap(try home.segments(0).last { $0.first > 3 && $0.last < 30 })
        try home.container.removeSegments([lost], of: home.replicas[0].identity.device)
        var compactor = try compactor(home)
        compactor.isThorough = true
        let report = try compactor.run()
        XCTAssertTrue(report.mended)
        XCTAssertEqual(report.skipped, [])
        XCTAssertEqual(try home.replicas[0].store.reading().logStart, lost.last + 1)
        XCTAssertNil(try home.segments(0).first { $0.first <= lost.last })
        XCTAssertFalse(try compactor.run().mended)
        XCTAssertEqual(try home.replicas[0].sync().published.segments, 0)
    }

    func testADamagedFileThatIsToBeRolledUpIsStoodForByASnapshot() throws {
        let home = try twoDevices(flushes: 10)
        let damaged = try XCTUnwrap(try home.segments(0).last { $0.first > 3 })
        let path = try XCTUnwrap(try home.container.path(of: SegmentFile(damaged), home.replicas[0].identity.device))
        try home.files.removeFile(at: path)
        try home.files.write([1, 2, 3], toNewFileAt: path)
        try home.flush(0, 30)
        _ = try compactor(home).run()
        XCTAssertGreaterThan(try home.replicas[0].store.reading().logStart, damaged.last)
        XCTAssertEqual(try home.replicas[0].sync().waiting, [])
    }

    func testAFileWithAnothersContentThatIsToBeRolledUpIsStoodForByASnapshot() throws {
        let home = try twoDevices(flushes: 10)
        let device = home.replicas[0].identity.device
        let segments = try home.segments(0).filter { $0.first > 3 }
        let (another, exchanged) = (try XCTUnwrap(segments.first), try XCTUnwrap(segments.dropFirst(2).first))
        let path = try XCTUnwrap(try home.container.path(of: SegmentFile(exchanged), device))
        let bytes = try XCTUnwrap(try home.container.readSegment(another, of: device))
        try home.files.removeFile(at: path)
        try home.files.write(bytes, toNewFileAt: path)
        try home.flush(0, 30)
        _ = try compactor(home).run()
        XCTAssertGreaterThan(try home.replicas[0].store.reading().logStart, exchanged.last)
        XCTAssertEqual(try home.replicas[0].sync().waiting, [])
        XCTAssertEqual(try home.replicas[1].sync().waiting, [])
        XCTAssertEqual(try home.rows(0), try home.rows(1))
    }

    func testAKillAtAnyStepOfCompactionLosesNothingAndTheRestIsDoneNextTime() throws {
        for lossName in ["nothing", "everything"] {
            var step = 0
            var isFinished = false
            while !isFinished {
                let context = "killed at step \(step), losing \(lossName)"
                let home = try twoDevices(flushes: 20)
                _ = try home.replicas[1].sync()
                try home.flush(0, 1)
                home.files.inject(.kill, afterSteps: step)
                do {
                    _ = try compactor(home).run(isAsked: true)
                    isFinished = true
                } catch is SimulatedCrash {}
                home.files.crash(losing: lossName == "nothing" ? .nothing : .everything)
                try home.reopen(0)
                // Whoever reads between the crash and the next run finds everything.
                XCTAssertEqual(try home.replicas[1].sync().waiting, [], context)
                XCTAssertEqual(try home.rows(0), try home.rows(1), context)
                _ = try compactor(home).run(isAsked: true)
                try home.checkLog(0, context)
                XCTAssertGreaterThan(try home.replicas[0].store.reading().logStart, 1, context)
                XCTAssertEqual(try home.segments(0).count, 1, context)
                XCTAssertTrue(try compactor(home).rehearse().rolledUp.into == 0, context)
                try home.flush(0, 1)
                XCTAssertEqual(try home.replicas[1].sync().waiting, [], context)
                XCTAssertEqual(try home.rows(0), try home.rows(1), context)
                step += 1
            }
            XCTAssertGreaterThan(step, 25)
        }
    }

    func testAKillAtAnyStepOfRealSnapshotsLeavesALogOrASnapshotToStartFrom() throws {
        try killAtAnyStep(of: .init())
    }

    func testAKillAtAnyStepLeavesTheLargeValuesOfLogAndSnapshots() throws {
        // Every name lies in parts.
        var settings = LargeValueSettings()
        settings.threshold = 6
        settings.partBytes = 5
        try killAtAnyStep(of: settings)
    }

    private func killAtAnyStep(of largeValues: LargeValueSettings) throws {
        var step = 0
        var isFinished = false
        while !isFinished {
            let context = "killed at step \(step)"
            let home = try twoDevices(flushes: 17, largeValues: largeValues)
            _ = try home.replicas[1].sync()
            home.files.inject(.kill, afterSteps: step)
            do {
                _ = try home.replicas[0].compact()
                isFinished = true
            } catch is SimulatedCrash {}
            home.files.crash(losing: .everything)
            try home.reopen(0)
            // Somebody new finds all rows before anybody has tidied up, and after it.
            try home.addDevice()
            XCTAssertEqual(try home.rows(0), try home.rows(2), context)
            _ = try home.replicas[0].sync()
            _ = try home.replicas[1].sync()
            _ = try home.replicas[2].sync()
            XCTAssertNotNil(try home.replicas[0].compact(), context)
            try home.checkLog(0, context)
            XCTAssertGreaterThan(try home.replicas[0].store.reading().logStart, 1, context)
            try home.addDevice()
            XCTAssertEqual(try home.rows(0), try home.rows(3), context)
            step += 4
        }
        XCTAssertGreaterThan(step, 30)
    }

    func testAPlanOfAnotherVersionIsMadeAnew() throws {
        let home = try twoDevices(flushes: 20)
        try home.replicas[0].store.setCompactionNotes(#"{"plan":{"steps":[{"unheardOf":{}}]}}"#)
        XCTAssertEqual(try compactor(home).run().rolledUp.into, 1)
        try home.checkLog(0)
    }
}

/// Snapshots that hold nothing but how far they go: one file each, so that a crash can meet it.
private struct PlainSnapshots: CompactionSnapshots {
    let container: Container
    let replica: Replica
    let clock: any WallClock

    private var directory: String { "devices/\(replica.identity.device.hex)/snapshots" }

    func own() throws -> [KnownSnapshot] {
        try container.backend.list(directory, after: nil).compactMap { name in
            guard let bytes = try container.backend.read(directory + "/" + name, maximumBytes: 99),
                let covered = UInt64(String(decoding: bytes, as: UTF8.self))
            else { return nil }
            return KnownSnapshot(
                device: replica.identity.device.hex, name: name, covered: covered, bytes: 2000,
                milliseconds: clock.milliseconds())
        }
    }

    func best(trusting known: [KnownSnapshot]) throws -> KnownSnapshot? { try own().max { $0.covered < $1.covered } }

    func removeParts() throws {}

    func isThere(_ snapshot: KnownSnapshot) throws -> Bool { try own().contains { $0.name == snapshot.name } }

    func write() throws -> KnownSnapshot {
        let covered = try replica.store.versionVector()[replica.identity.device].sequence
        let name = String(repeating: "0", count: 8 - "\(covered)".count) + "\(covered)"
        try container.backend.writeOnce(directory + "/" + name, Array("\(covered)".utf8))
        return KnownSnapshot(
            device: replica.identity.device.hex, name: name, covered: covered, bytes: 2000,
            milliseconds: clock.milliseconds())
    }

    func remove(_ names: [String]) throws {
        for name in names { try container.backend.remove(directory + "/" + name) }
    }
}
