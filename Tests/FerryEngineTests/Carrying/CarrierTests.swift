import FerryContainer
import FerryCore
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// Containers that are carried between a folder and an object storage.
final class CarrierTests: XCTestCase {
    private static let folder = "/shared/c"

    private func carrier(_ home: RemoteHome, _ from: String = RemoteHome.place, _ to: String = folder) throws -> Carrier
    {
        try Carrier(from: from, to: to, environment: home.environment)
    }

    /// The files of Ferry's in a folder of the home, by name.
    private func folderFiles(_ home: RemoteHome) throws -> [String: [UInt8]] {
        let backend = FolderBackend(root: Self.folder, fileSystem: home.files)
        var files: [String: [UInt8]] = [:]
        for device in try DeviceFiles.devices(in: backend) {
            let listed = try DeviceFiles(of: device, in: backend)
            var all = listed.segments.map { DeviceFile.segment($0) } + listed.manifests.map { .manifest($0) }
            all += listed.chunks.map { .chunk($0) } + listed.records.map { .record($0) }
            if listed.hasHead { all.append(.head) }
            if listed.hasClaim { all.append(.claim) }
            for file in all {
                files[file.path(of: device)] = try backend.read(file.path(of: device), maximumBytes: 1 << 28)
            }
        }
        for name in try backend.list("", after: nil) where name.hasSuffix(".json") {
            files[name] = try backend.read(name, maximumBytes: 1 << 20)
        }
        return files
    }

    /// What is of the container, and not of a single place.
    private func common(_ files: [String: [UInt8]]) -> [String: [UInt8]] {
        files.filter { file in
            file.key != LatestSegments.name && !["carried-", "probe-"].contains { file.key.hasPrefix($0) }
        }
    }

    private func assertAlike(
        _ home: RemoteHome, _ what: String = "", file: StaticString = #filePath, line: UInt = #line
    )
        throws
    {
        let (left, right) = (common(home.storage.contents), common(try folderFiles(home)))
        XCTAssertEqual(Set(left.keys), Set(right.keys), what, file: file, line: line)
        for (name, bytes) in left { XCTAssertEqual(bytes, right[name], "\(what) \(name)", file: file, line: line) }
    }

    func testAContainerGoesIntoAFolderAndItsDevicesCanMove() throws {
        for isSealed in [false, true] {
            let home = try RemoteHome()
            home.isSealed = isSealed
            for _ in 0..<2 { try home.addDevice() }
            try home.write(0, "first")
            try home.settle()
            let report = try carrier(home).carry()
            XCTAssertTrue(report.isNew)
            XCTAssertEqual(report.leftBehind, [])
            XCTAssertEqual(report.back.files, 0)
            XCTAssertGreaterThan(report.there.bytes, 0)
            XCTAssertEqual(report.devices, 2)
            try assertAlike(home)
            for replica in home.replicas { try replica.relocate(to: Self.folder) }
            try home.write(1, "second")
            try home.assertAgreement(["first", "second"])
            // A newcomer joins in the folder, and what it writes is carried back.
            let third = try home.addDevice(at: Self.folder)
            try home.write(2, "third")
            try home.settle()
            let back = try carrier(home).carry()
            XCTAssertFalse(back.isNew)
            XCTAssertGreaterThan(back.back.files, 0)
            try third.relocate(to: RemoteHome.place)
            try home.write(0, "fourth")
            _ = try home.replicas[0].sync()
            _ = try carrier(home).carry()
            _ = try third.sync()
            XCTAssertEqual(try home.names(2), ["first", "fourth", "second", "third"], "sealed: \(isSealed)")
        }
    }

    func testDevicesInBothPlacesWorkWithEachOther() throws {
        for (seed, isSealed) in [(1, false), (2, true), (3, false)] {
            let home = try RemoteHome()
            home.isSealed = isSealed
            home.retention.rollUpFanout = 2
            for _ in 0..<4 { try home.addDevice() }
            try home.settle()
            let carrier = try carrier(home)
            _ = try carrier.carry()
            for index in 2...3 { try home.replicas[index].relocate(to: Self.folder) }
            var chance = Chance(seed: UInt64(seed))
            var written: [String] = []
            for step in 0..<60 {
                switch chance.below(5) {
                case 0, 1:
                    let index = chance.below(4)
                    written.append("row \(step)")
                    try home.write(index, written[written.count - 1])
                case 2, 3: _ = try home.replicas[chance.below(4)].sync(isThorough: chance.oneIn(2))
                default: XCTAssertEqual(try carrier.carry(isThorough: chance.oneIn(2)).leftBehind, [])
                }
                home.clock.advance(hours: Int64(chance.below(2)))
            }
            for _ in 0..<3 {
                try home.settle()
                _ = try carrier.carry()
            }
            try home.assertAgreement(written)
            // Both have come to rest: after an hour nothing is left to copy or to remove.
            home.clock.advance(hours: 2)
            for _ in 0..<3 {
                try home.settle()
                _ = try carrier.carry()
            }
            XCTAssertFalse(try carrier.carry().hasNews, "seed \(seed)")
            try assertAlike(home, "seed \(seed)")
        }
    }

    func testALookWithoutNewsIsOneRequest() throws {
        for isSealed in [false, true] {
            let home = try RemoteHome()
            home.isSealed = isSealed
            for _ in 0..<3 { try home.addDevice() }
            try home.settle()
            let carrier = try carrier(home)
            _ = try carrier.carry()
            home.clock.advance(hours: 1)
            for _ in 0..<2 { _ = try carrier.carry(isThorough: false) }
            XCTAssertEqual(try home.requests { XCTAssertFalse(try carrier.carry(isThorough: false).hasNews) }, 1)
        }
    }

    func testACrashAtAnyRequestLeavesAPlaceThatTheNextRunGoesOnFrom() throws {
        for fault in [MemoryStorage.Fault.killedBefore, .killedAfter, .answerLost, .refused] {
            let home = try RemoteHome()
            for _ in 0..<2 { try home.addDevice(at: Self.folder) }
            for number in 0..<3 {
                try home.write(number % 2, "row \(number)")
                try home.settle()
            }
            var (point, isOver) = (0, false)
            while !isOver {
                home.storage.restore([:])
                home.storage.inject(fault, afterRequests: point)
                let before = home.storage.count()
                do {
                    _ = try carrier(home, Self.folder, RemoteHome.place).carry()
                    isOver = home.storage.count() - before <= point
                } catch {
                    XCTAssertTrue(
                        home.storage.isKilled || (error as? FerryError)?.code == .containerMissing, "\(fault) \(error)")
                }
                home.storage.recover()
                let contents = home.storage.contents
                if contents[ContainerDescription.fileName] != nil {
                    // Whoever can open it finds all of it.
                    let names = Set(try folderFiles(home).keys.filter { !$0.hasSuffix(".json") })
                    XCTAssertTrue(names.isSubset(of: contents.keys), "\(fault), request \(point)")
                }
                XCTAssertEqual(try carrier(home, Self.folder, RemoteHome.place).carry().leftBehind, [])
                try assertAlike(home, "\(fault), request \(point)")
                XCTAssertFalse(try carrier(home, Self.folder, RemoteHome.place).carry().hasNews)
                point += 1
            }
            XCTAssertGreaterThan(point, 10, "\(fault)")
        }
    }

    func testAFileThatIsNotWhatItsNameSaysStaysBehind() throws {
        for isSealed in [false, true] {
            let home = try RemoteHome()
            home.isSealed = isSealed
            for _ in 0..<2 { try home.addDevice() }
            for index in 0...1 { try home.write(index, "of \(index)") }
            try home.settle()
            let device = home.replicas[0].identity.device.hex
            let segment = try XCTUnwrap(
                home.storage.contents.keys.filter { $0.hasPrefix("devices/\(device)/segments/") }.max())
            let whole = try XCTUnwrap(home.storage.contents[segment])
            var damaged = whole
            damaged[damaged.count / 2] ^= 1
            home.storage.set(segment, damaged)
            let report = try carrier(home).carry()
            XCTAssertEqual(report.leftBehind.map(\.code), ["damagedFile"], "sealed: \(isSealed)")
            XCTAssertTrue(report.leftBehind[0].path.hasSuffix(segment))
            let there = try folderFiles(home)
            XCTAssertNil(there[segment])
            // Its head would speak of the segment. The other device is there whole.
            XCTAssertNil(there["devices/\(device)/head"])
            XCTAssertNotNil(there["devices/\(home.replicas[1].identity.device.hex)/head"])
            home.storage.set(segment, whole)
            XCTAssertEqual(try carrier(home).carry().leftBehind, [])
            try assertAlike(home)
        }
    }

    func testWhatAnAuthorRemovedIsNotBroughtBack() throws {
        for isSealed in [false, true] {
            let home = try RemoteHome()
            home.isSealed = isSealed
            home.retention.rollUpFanout = 2
            for _ in 0..<2 { try home.addDevice() }
            try home.settle()
            let carrier = try carrier(home)
            for number in 0..<12 {
                try home.write(0, "row \(number)")
                try home.settle()
                _ = try carrier.carry()
                home.clock.advance(hours: 2)
                _ = try home.replicas[0].compact()
            }
            let device = home.replicas[0].identity.device.hex
            func segments(_ names: some Sequence<String>) -> Int {
                names.filter { $0.hasPrefix("devices/\(device)/segments/") }.count
            }
            let present = segments(home.storage.contents.keys)
            XCTAssertLessThan(present, 12, "sealed: \(isSealed)")
            _ = try carrier.carry()
            XCTAssertEqual(segments(home.storage.contents.keys), present)
            home.clock.advance(hours: 2)
            let report = try carrier.carry()
            XCTAssertGreaterThan(report.removed, 0, "sealed: \(isSealed)")
            XCTAssertEqual(segments(try folderFiles(home).keys), present, "sealed: \(isSealed)")
            XCTAssertFalse(try carrier.carry().hasNews)
            try assertAlike(home)
        }
    }

    func testOtherContainersAndUnfinishedPlacesAreRefused() throws {
        let (home, other) = (try RemoteHome(), try RemoteHome())
        try home.addDevice()
        try other.addDevice()
        let (storage, otherStorage, clock) = (home.storage, other.storage, home.clock)
        let environment = home.environment.opening("s3") { location in
            RemoteBackend(location.text.hasSuffix("other") ? otherStorage : storage, clock: clock)
        }
        let mixed = try Carrier(from: RemoteHome.place, to: "s3://bucket/other", environment: environment)
        let before = other.storage.contents
        XCTAssertEqual(failure { _ = try mixed.carry() }?.code, .containerMismatch)
        XCTAssertEqual(other.storage.contents, before)
        // A place with devices and no marker is somebody's.
        other.storage.set(ContainerDescription.fileName, nil)
        XCTAssertEqual(failure { _ = try mixed.carry() }?.code, .containerExists)
        XCTAssertEqual(
            failure { _ = try Carrier(from: "/a", to: "/a", environment: environment) }?.code, .invalidArgument)
        let nowhere = try Carrier(from: "/shared/none", to: RemoteHome.place, environment: environment)
        XCTAssertEqual(failure { _ = try nowhere.carry() }?.code, .containerMissing)
        // A place that was there and is away is an outage, and no place to begin anew.
        let there = try carrier(home)
        _ = try there.carry()
        let back = try carrier(home, Self.folder, RemoteHome.place)
        _ = try back.carry()
        let contents = home.storage.contents
        home.storage.restore([:])
        XCTAssertEqual(failure { _ = try back.carry() }?.code, .containerEmpty)
        XCTAssertEqual(home.storage.contents, [:])
        home.storage.restore(contents)
        try home.write(0, "row")
        _ = try home.replicas[0].sync()
        XCTAssertGreaterThan(try back.carry().back.files, 0)
    }

    func testAFileCutOffInOnePlaceIsMendedFromTheOther() throws {
        for isSealed in [false, true] {
            let home = try RemoteHome()
            home.isSealed = isSealed
            for _ in 0..<2 { try home.addDevice() }
            for index in 0...1 { try home.write(index, "of \(index)") }
            try home.settle()
            _ = try carrier(home).carry()
            let whole = home.storage.contents
            let damaged = whole.keys.filter { $0.hasSuffix(".segment") || $0.hasSuffix(".record") }.sorted()
            XCTAssertGreaterThan(damaged.count, 1)
            for places in [(RemoteHome.place, Self.folder), (Self.folder, RemoteHome.place)] {
                for name in damaged { home.storage.set(name, Array(whole[name]?.prefix(80) ?? [])) }
                let plan = try carrier(home, places.0, places.1).carry(dryRun: true)
                XCTAssertEqual(plan.there.files + plan.back.files, damaged.count, "sealed: \(isSealed)")
                let report = try carrier(home, places.0, places.1).carry()
                XCTAssertEqual(report.leftBehind, [], "sealed: \(isSealed)")
                XCTAssertEqual(report.there.files + report.back.files, damaged.count, "sealed: \(isSealed)")
                for name in damaged { XCTAssertTrue(home.storage.contents[name] == whole[name], name) }
                try assertAlike(home)
            }
            // Where no place has a whole file, both files are named.
            let name = try XCTUnwrap(damaged.first { $0.hasSuffix(".segment") })
            home.storage.set(name, Array(whole[name]?.prefix(80) ?? []))
            try home.files.removeFile(at: Self.folder + "/" + name)
            try home.files.write([1, 2, 3], toNewFileAt: Self.folder + "/" + name)
            let report = try carrier(home).carry()
            XCTAssertEqual(report.leftBehind.count, 2, "\(report.leftBehind)")
            XCTAssertTrue(report.leftBehind.allSatisfy { $0.path.hasSuffix(name) }, "\(report.leftBehind)")
            XCTAssertFalse(report.hasNews)
        }
    }

    func testARemovedClaimIsNotBroughtBackWhicheverPlaceIsNamedFirst() throws {
        for isTurned in [false, true] {
            let home = try RemoteHome()
            home.isSealed = true
            try home.addDevice()
            func carry(_ isTurned: Bool) throws {
                let places = isTurned ? (Self.folder, RemoteHome.place) : (RemoteHome.place, Self.folder)
                _ = try carrier(home, places.0, places.1).carry()
            }
            try carry(false)
            let code = try home.replicas[0].invite().code
            let enrolment = try Enrolment.begin(
                containerPath: Self.folder, by: .code(code), environment: home.environment)
            try carry(false)
            _ = try home.replicas[0].sync()
            try carry(false)
            let path = DeviceFile.claim.path(of: enrolment.device)
            XCTAssertNotNil(home.storage.contents[path])
            try home.files.removeFile(at: Self.folder + "/" + path)
            for _ in 0..<2 { try carry(isTurned) }
            XCTAssertNil(home.storage.contents[path], "turned: \(isTurned)")
            XCTAssertNil(try folderFiles(home)[path], "turned: \(isTurned)")
        }
    }

    func testFilesOfAFormerMembershipThatAMemberRemovedAreNotBroughtBack() throws {
        for (isSealed, isTurned) in [(false, false), (false, true), (true, false), (true, true)] {
            let home = try RemoteHome()
            home.isSealed = isSealed
            try home.addDevice()
            try home.write(0, "row")
            try home.settle()
            func carry(_ isTurned: Bool = false) throws -> CarryReport {
                let places = isTurned ? (Self.folder, RemoteHome.place) : (RemoteHome.place, Self.folder)
                return try carrier(home, places.0, places.1).carry()
            }
            _ = try carry()
            let former = home.replicas[0].identity.device.hex
            func rest(_ names: some Sequence<String>) -> [String] {
                names.filter { $0.contains(former) && !$0.hasSuffix(".record") }.sorted()
            }
            _ = try home.replicas[0].seal(recovery: nil, anew: isSealed)
            _ = try carry()
            XCTAssertFalse(rest(home.storage.contents.keys).isEmpty)
            XCTAssertEqual(try home.replicas[0].removeFormerFiles().keptFiles, [])
            XCTAssertEqual(rest(home.storage.contents.keys), [])
            for _ in 0..<2 {
                let report = try carry(isTurned)
                XCTAssertEqual(report.leftBehind, [])
                XCTAssertEqual(rest(home.storage.contents.keys), [], "sealed: \(isSealed), turned: \(isTurned)")
            }
            home.clock.advance(hours: 2)
            XCTAssertGreaterThan(try carry(isTurned).removed, 0)
            XCTAssertEqual(rest(try folderFiles(home).keys), [], "sealed: \(isSealed), turned: \(isTurned)")
            XCTAssertFalse(try carry(isTurned).hasNews)
            try home.write(0, "later")
            _ = try home.replicas[0].sync()
            _ = try carry(isTurned)
            try assertAlike(home)
        }
    }

    func testADryRunChangesNothing() throws {
        let home = try RemoteHome()
        for _ in 0..<2 { try home.addDevice() }
        try home.write(0, "row")
        try home.settle()
        let before = home.storage.contents
        let plan = try carrier(home).carry(dryRun: true)
        XCTAssertTrue(plan.isDryRun && plan.isNew)
        XCTAssertEqual(try folderFiles(home), [:])
        XCTAssertEqual(home.storage.contents, before)
        let report = try carrier(home).carry()
        XCTAssertEqual(report.there.files, plan.there.files)
        XCTAssertFalse(try carrier(home).carry(dryRun: true).hasNews)
    }
}
