import FerryContainer
import FerryCore
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// The container's folder gets another path, and each database is told.
final class RelocationTests: XCTestCase {
    private let items =
        "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item VALUES (1, 'one'), (2, 'two');"
    private let all = "SELECT name FROM item ORDER BY name"

    private func twoDevices() throws -> Fleet {
        let fleet = try Fleet()
        try fleet.start(items)
        try fleet.join()
        try fleet.settle()
        return fleet
    }

    private func place(_ fleet: Fleet, _ name: String) -> String { fleet.folder.appendingPathComponent(name).path }

    private func move(_ fleet: Fleet, to name: String) throws {
        try FileManager.default.moveItem(atPath: fleet.containerPath, toPath: place(fleet, name))
    }

    private func copy(_ fleet: Fleet, to name: String) throws {
        try FileManager.default.copyItem(atPath: fleet.containerPath, toPath: place(fleet, name))
    }

    func testEverythingGoesOnInAFolderThatWasMoved() throws {
        let fleet = try twoDevices()
        let devices = fleet.replicas.map(\.identity.device)
        try move(fleet, to: "moved")
        try fleet.shell(0, "INSERT INTO item VALUES (3, 'waits')")
        let away = try XCTUnwrap(failure { _ = try fleet.replicas[0].sync() })
        XCTAssertEqual(away.code, .containerMissing)
        XCTAssertTrue(away.message.contains("`ferry relocate`"), away.message)
        for replica in fleet.replicas {
            let report = try replica.relocate(to: place(fleet, "moved"))
            XCTAssertEqual(report.path, place(fleet, "moved"))
            XCTAssertEqual(report.formerPath, fleet.containerPath)
            XCTAssertEqual([report.missing, report.behind.count], [0, 0])
            XCTAssertFalse(report.isFormerThere)
        }
        try fleet.shell(1, "DELETE FROM item WHERE name = 'one'")
        try fleet.settle()
        try fleet.assertEqual(all)
        XCTAssertEqual(try fleet.shell(1, all), "two\nwaits\n")
        XCTAssertEqual(fleet.replicas.map(\.identity.device), devices)
        XCTAssertFalse(FileManager.default.fileExists(atPath: fleet.containerPath))
        XCTAssertEqual(try Replica(path: fleet.databasePath(0)).identity.containerPath, place(fleet, "moved"))
    }

    func testAPlaceThatIsNotTheContainerIsRefusedAndNothingChanges() throws {
        let fleet = try twoDevices()
        let other = try Fleet()
        try other.start(items)
        try FileManager.default.createDirectory(atPath: place(fleet, "empty"), withIntermediateDirectories: false)
        let refusals: [(String, FerryError.Code)] = [
            (other.containerPath, .containerMismatch), (place(fleet, "empty"), .containerEmpty),
            (place(fleet, "nowhere"), .containerMissing), (fleet.databasePath(1), .containerMissing),
            (fleet.containerPath + "/container.json", .containerMissing),
        ]
        for (path, code) in refusals {
            let error = try XCTUnwrap(failure { _ = try fleet.replicas[0].relocate(to: path) }, path)
            XCTAssertEqual(error.code, code, "\(path): \(error)")
            XCTAssertNotEqual(
                failure { _ = try fleet.replicas[0].relocate(to: path, anyway: true) }?.code, nil, path)
        }
        XCTAssertEqual(fleet.replicas[0].identity.containerPath, fleet.containerPath)
        try fleet.shell(0, "UPDATE item SET name = 'uno' WHERE id = 1")
        try fleet.settle()
        try fleet.assertEqual(all)
    }

    func testAFolderAroundTheDatabaseIsRefused() throws {
        let fleet = try twoDevices()
        for name in ["container.json", "devices"] {
            try FileManager.default.copyItem(
                atPath: fleet.containerPath + "/" + name, toPath: place(fleet, name))
        }
        let error = failure { _ = try fleet.replicas[0].relocate(to: fleet.folder.path) }
        XCTAssertEqual(error?.code, .invalidArgument)
        XCTAssertEqual(fleet.replicas[0].identity.containerPath, fleet.containerPath)
    }

    func testAnOlderCopyIsRefusedAndTakenWhereSomebodySaysSo() throws {
        let fleet = try twoDevices()
        try copy(fleet, to: "older")
        for number in 3...5 {
            try fleet.shell(0, "INSERT INTO item VALUES (\(number), 'later \(number)')")
            try fleet.settle()
        }
        try FileManager.default.removeItem(atPath: fleet.containerPath)
        let older = place(fleet, "older")
        let error = try XCTUnwrap(failure { _ = try fleet.replicas[0].relocate(to: older) })
        XCTAssertEqual(error.code, .olderState)
        XCTAssertTrue(error.message.contains("--anyway"), error.message)
        XCTAssertEqual(fleet.replicas[0].identity.containerPath, fleet.containerPath)
        let reports = try fleet.replicas.map { try $0.relocate(to: older, anyway: true) }
        XCTAssertGreaterThan(reports[0].missing, 0)
        XCTAssertEqual(reports[1].behind, ["device0"])
        // What the copy lacks is there again, also for a device that never saw the former folder.
        try fleet.settle()
        let (newcomer, _) = try Replica.join(databasePath: fleet.databasePath(2), containerPath: older, name: "device2")
        fleet.replicas.append(try XCTUnwrap(newcomer))
        try fleet.settle()
        try fleet.assertEqual(all)
        XCTAssertEqual(try fleet.shell(2, "SELECT count(*) FROM item"), "5\n")
    }

    func testBothPlacesAreToldApartAndWhatWasWrittenInTheFormerOneIsNotLost() throws {
        let fleet = try twoDevices()
        try copy(fleet, to: "copy")
        XCTAssertTrue(try fleet.replicas[0].relocate(to: place(fleet, "copy")).isFormerThere)
        // The other device does not know yet, and writes in the former folder.
        try fleet.shell(1, "INSERT INTO item VALUES (3, 'in the former folder')")
        try fleet.shell(0, "INSERT INTO item VALUES (3, 'in the new folder')")
        for replica in fleet.replicas { _ = try replica.sync() }
        XCTAssertEqual(failure { _ = try fleet.replicas[1].relocate(to: place(fleet, "copy")) }?.code, .olderState)
        for path in try FileManager.default.subpathsOfDirectory(atPath: fleet.containerPath) {
            let target = place(fleet, "copy") + "/" + path
            if FileManager.default.fileExists(atPath: target) { continue }
            try FileManager.default.copyItem(atPath: fleet.containerPath + "/" + path, toPath: target)
        }
        try fleet.replicas[1].relocate(to: place(fleet, "copy"))
        try fleet.settle()
        try fleet.assertEqual(all)
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM item"), "4\n")
    }

    func testASymbolicLinkToTheSamePlaceIsNoOtherPlace() throws {
        let fleet = try twoDevices()
        try move(fleet, to: "moved")
        try FileManager.default.createSymbolicLink(
            atPath: fleet.containerPath, withDestinationPath: place(fleet, "moved"))
        let report = try fleet.replicas[0].relocate(to: place(fleet, "moved"))
        XCTAssertFalse(report.isFormerThere)
        XCTAssertEqual(try fleet.replicas[0].relocate(to: place(fleet, "moved")).formerPath, report.path)
        try fleet.shell(0, "INSERT INTO item VALUES (3, 'three')")
        try fleet.settle()
        try fleet.assertEqual(all)
    }

    func testALoopThatRunsMeanwhileGoesOnInTheNewPlace() throws {
        let fleet = try twoDevices()
        let loops = fleet.replicas.map { RunningLoop($0) }
        try waitUntil("both have looked") { loops.allSatisfy { !$0.reports.isEmpty } }
        try copy(fleet, to: "copy")
        for index in 0...1 { _ = try Replica(path: fleet.databasePath(index)).relocate(to: place(fleet, "copy")) }
        try waitUntil("both noticed") {
            fleet.replicas.allSatisfy { $0.identity.containerPath == place(fleet, "copy") }
        }
        // Whoever still used the former folder could not hear of this.
        try FileManager.default.removeItem(atPath: fleet.containerPath)
        for (from, to) in [(0, 1), (1, 0)] {
            try fleet.shell(from, ".timeout 5000\nINSERT INTO item(name) VALUES ('from \(from)')")
            try waitUntil("the row of device \(from) arrives") {
                try fleet.replicas[to].store.read {
                    try $0.count("SELECT count(*) FROM item WHERE name = ?", .text("from \(from)"))
                } == 1
            }
        }
        // And once more where the loops fail meanwhile, because the folder is gone.
        try FileManager.default.moveItem(atPath: place(fleet, "copy"), toPath: place(fleet, "again"))
        try waitUntil("both fail") { loops.allSatisfy { !$0.failures.isEmpty } }
        for index in 0...1 { _ = try Replica(path: fleet.databasePath(index)).relocate(to: place(fleet, "again")) }
        try fleet.shell(0, ".timeout 5000\nINSERT INTO item(name) VALUES ('last')")
        try waitUntil("the last row arrives") {
            try fleet.replicas[1].store.read { try $0.count("SELECT count(*) FROM item WHERE name = 'last'") } == 1
        }
        for loop in loops { loop.finish() }
        // The folder may go in the midst of a pass, too.
        let codes = Set(loops.flatMap(\.failures).map(\.code))
        XCTAssertTrue(codes.isSubset(of: [.containerMissing, .inputOutput]) && !codes.isEmpty, "\(codes)")
        try fleet.assertEqual(all)
    }

    // MARK: Crashes

    func testACrashAtAnyCallLeavesTheFormerPlaceOrTheNewOne() throws {
        for keeping in FaultHome.Keeping.allCases {
            let home = try FaultHome(keeping)
            try home.create(1, home.makeStore(1, FaultSituation.rows))
            try home.join(FaultHome.subject, home.makeStore(FaultHome.subject))
            for index in [FaultHome.subject, 1] { try home.sync(index) }
            try copyFolder(in: home.files, from: FaultHome.containerPath, to: "/shared/d")
            let prepared = try home.prepared()
            var places: [String: Int] = [:]
            var (point, isOver) = (1, false)
            while !isOver {
                for loss in [FaultVFS.Loss.everything, .nothing] {
                    try home.begin(prepared)
                    let replica = try home.replica(FaultHome.subject)
                    home.faults.arm(.crash, at: point)
                    do {
                        _ = try replica.relocate(to: "/shared/d")
                        // A crash after the last call: the transaction is over.
                        isOver = !home.faults.isCrashed
                    } catch {
                        XCTAssertTrue(home.faults.isCrashed, "\(keeping), call \(point): \(error)")
                    }
                    let isDone = isOver
                    try home.crash(losing: loss)
                    let place = try home.replica(FaultHome.subject).identity.containerPath
                    places[place, default: 0] += 1
                    if isDone { XCTAssertEqual(place, "/shared/d", "\(keeping), call \(point), \(loss)") }
                    for index in [FaultHome.subject, 1] {
                        XCTAssertEqual(try home.replica(index).relocate(to: "/shared/d").path, "/shared/d")
                    }
                    try home.write(FaultHome.subject, "INSERT INTO tag VALUES ('after', NULL)")
                    for index in [FaultHome.subject, 1, FaultHome.subject] { try home.sync(index) }
                    let rows = try [FaultHome.subject, 1].map { try FaultSituation.rows(of: home.replica($0).store) }
                    XCTAssertEqual(rows[0], rows[1], "\(keeping), call \(point), \(loss)")
                    XCTAssertTrue(rows[1].contains { $0.hasPrefix("tag after") })
                }
                point += 1
                if point > 1000 { return XCTFail("\(keeping): no end of calls") }
            }
            XCTAssertEqual(Set(places.keys), [FaultHome.containerPath, "/shared/d"], "\(keeping): \(places)")
        }
    }

    // MARK: Sealed containers

    func testASealedContainerIsHeldAgainstItsPin() throws {
        let home = try SealedHome()
        try home.found()
        try home.invite(by: 0)
        try home.write(0, "row")
        try home.settle()
        try copyFolder(in: home.files, from: SealedHome.place, to: "/shared/d")
        let present = try home.container.details
        let marker = "/shared/d/" + ContainerDescription.fileName
        let right = try XCTUnwrap(try home.files.readFile(at: marker, maximumBytes: 1 << 16))
        let open = try ContainerDescription(
            id: present.id, name: present.name, createdMilliseconds: present.createdMilliseconds)
        let another = try ContainerDescription(
            id: present.id, name: present.name, createdMilliseconds: present.createdMilliseconds,
            sealing: .sealed(genesis: XCTUnwrap(RecordHash(hex: String(repeating: "ab", count: 32)))))
        for (details, code) in [(open, FerryError.Code.notSealed), (another, .containerMismatch)] {
            try home.files.removeFile(at: marker)
            try home.files.write(details.encoded(), toNewFileAt: marker)
            XCTAssertEqual(home.failure { _ = try home.replica(0).relocate(to: "/shared/d", anyway: true) }, code)
            XCTAssertEqual(try home.replica(0).identity.containerPath, SealedHome.place)
        }
        try home.files.removeFile(at: marker)
        try home.files.write(right, toNewFileAt: marker)
        for index in 0...1 { XCTAssertEqual(try home.replica(index).relocate(to: "/shared/d").missing, 0) }
        try home.write(1, "after")
        try home.assertAgreement([0, 1], ["row", "after"], members: 2)
    }

    func testAnOlderCopyOfASealedContainerIsRefused() throws {
        let home = try SealedHome()
        try home.found()
        try home.invite(by: 0)
        try home.settle()
        try copyFolder(in: home.files, from: SealedHome.place, to: "/shared/d")
        try home.write(0, "later")
        try home.settle()
        XCTAssertEqual(home.failure { _ = try home.replica(0).relocate(to: "/shared/d") }, .olderState)
        XCTAssertEqual(try home.replica(1).relocate(to: "/shared/d").behind, ["device0"])
        XCTAssertGreaterThan(try home.replica(0).relocate(to: "/shared/d", anyway: true).missing, 0)
        try home.write(1, "after")
        try home.assertAgreement([0, 1], ["later", "after"], members: 2)
    }

    /// Without a key it publishes nothing. Enrolling needs the right place first.
    func testADatabaseWithoutItsKeyCanBeToldToo() throws {
        let home = try SealedHome()
        try home.found()
        try copyFolder(in: home.files, from: SealedHome.place, to: "/shared/d")
        try home.computers[0].keys.remove(home.device(0))
        try home.reopen(0)
        XCTAssertEqual(try home.replica(0).relocate(to: "/shared/d").missing, 0)
        XCTAssertEqual(home.failure { _ = try home.replica(0).sync() }, .keyMissing)
    }

    private func copyFolder(in files: MemoryFileSystem, from source: String, to target: String) throws {
        try files.createDirectory(at: target)
        for name in try files.entryNames(ofDirectoryAt: source, maximumCount: 10_000) ?? [] {
            let (from, to) = (source + "/" + name, target + "/" + name)
            if try files.item(at: from) == .directory {
                try copyFolder(in: files, from: from, to: to)
            } else if let bytes = try files.readFile(at: from, maximumBytes: 1 << 30) {
                try files.write(bytes, toNewFileAt: to)
            }
        }
        try files.synchronizeDirectory(at: target)
        try files.synchronizeDirectory(at: "/shared")
    }
}
