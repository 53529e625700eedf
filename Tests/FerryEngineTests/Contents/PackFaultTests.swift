import FerryContainer
import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// What a folder does to packs: they come late, torn, damaged, as something else, or go; and who mends that.
final class PackFaultTests: XCTestCase {
    private let bytes = noise(60_000, seed: 1)

    /// Two devices; the first one has published a photo.
    private func published() throws -> MemoryHome {
        let home = try MemoryHome.withPhotos()
        try home.photos(0).attach("new", bytes)
        _ = try home.replicas[0].sync()
        return home
    }

    private func pack(_ home: MemoryHome) throws -> String {
        let photos = home.photos(0)
        return photos.packsPath + "/" + (try XCTUnwrap(photos.packs().first))
    }

    private func replace(_ path: String, _ content: [UInt8], _ home: MemoryHome) throws {
        try home.files.removeFile(at: path)
        try home.files.write(content, toNewFileAt: path)
    }

    private func read(_ path: String, _ home: MemoryHome) throws -> [UInt8] {
        try XCTUnwrap(try home.files.readFile(at: path, maximumBytes: 1 << 28))
    }

    /// The obstacle that a device tells of: its code, the file, and the time.
    private func obstacle(_ home: MemoryHome, _ index: Int) throws -> (code: String, file: String, since: Int64)? {
        let rows = try home.photos(index).rows(
            "SELECT reason, file, since FROM ferry_content_state WHERE reason IS NOT NULL")
        guard let row = rows.first, case .integer(let since) = row[2] else { return nil }
        return (row[0].text, row[1].text, since)
    }

    func testRowsBeforeTheirPackWaitWithFileAgeAndDevice() throws {
        let home = try published()
        let path = try pack(home)
        let content = try read(path, home)
        try home.files.removeFile(at: path)
        let began = home.clock.milliseconds()
        let report = try home.replicas[1].sync()
        XCTAssertEqual(report.documents?.waiting, 1)
        XCTAssertEqual(report.waiting.map(\.code), [], "rows of other tables do not wait")
        XCTAssertEqual(try home.photos(1).count("SELECT count(*) FROM photo"), 1)
        home.clock.advance(hours: 3)
        _ = try home.replicas[1].sync()
        let found = try XCTUnwrap(try obstacle(home, 1))
        XCTAssertEqual(found.code, "fileNotThereYet")
        XCTAssertEqual(found.file, path)
        XCTAssertEqual(found.since, began, "the age counts from the first look")
        XCTAssertEqual(
            try home.photos(1).rows("SELECT lower(hex(device)) FROM ferry_content_state"),
            [[.text(home.photos(0).device.hex)]])
        let status = try XCTUnwrap(try home.replicas[1].status().documents)
        XCTAssertEqual(status.waiting, 1)
        XCTAssertEqual(failure { _ = try home.photos(1).bytes("new") }?.code, .contentNotHere)

        try home.files.write(content, toNewFileAt: path)
        let after = try home.replicas[1].sync()
        XCTAssertEqual(after.documents?.fetched, 1)
        XCTAssertEqual(after.documents?.fetchedBytes, 60_000)
        XCTAssertTrue(try home.photos(1).isHere("new"))
        XCTAssertNil(try obstacle(home, 1))
        XCTAssertEqual(try home.photos(1).bytes("new"), bytes)
    }

    func testOnePackThatIsMissingHoldsNoOtherUp() throws {
        let home = try published()
        try home.files.removeFile(at: try pack(home))
        // The author has the bytes no more, and cannot pack them again.
        let id = try home.photos(0).image("new").hex
        try home.photos(0).files.removeFile(at: home.photos(0).shelf + "/whole/\(id.prefix(2))/\(id)")
        let other = noise(30_000, seed: 9)
        try home.photos(0).attach("other", other)
        try home.settle()
        XCTAssertTrue(try home.photos(1).isHere("other"))
        XCTAssertFalse(try home.photos(1).isHere("new"))
        XCTAssertEqual(try home.photos(1).bytes("other"), other)
    }

    func testAPackThatIsNotWholeIsNeverTakenForOne() throws {
        for length in [0, 1, 39, 40, 5000, 59_000] {
            let home = try published()
            let path = try pack(home)
            let content = try read(path, home)
            try replace(path, Array(content.prefix(length)), home)
            _ = try home.replicas[1].sync()
            XCTAssertFalse(try home.photos(1).isHere("new"), "\(length) bytes")
            XCTAssertEqual(
                try home.photos(1).names(below: home.photos(1).shelf + "/whole"), [], "\(length) bytes")
            XCTAssertNotNil(try obstacle(home, 1), "\(length) bytes")
            try replace(path, content, home)
            _ = try home.replicas[1].sync()
            XCTAssertEqual(try home.photos(1).bytes("new"), bytes, "\(length) bytes")
            XCTAssertNil(try obstacle(home, 1), "\(length) bytes")
        }
    }

    func testADamagedPackIsNamedAndNothingOfItIsUsed() throws {
        let home = try published()
        let path = try pack(home)
        var content = try read(path, home)
        content[30_000] ^= 1
        try replace(path, content, home)
        _ = try home.replicas[1].sync()
        XCTAssertFalse(try home.photos(1).isHere("new"))
        let found = try XCTUnwrap(try obstacle(home, 1))
        XCTAssertEqual(found.code, "damagedFile")
        XCTAssertEqual(found.file, path)
        XCTAssertEqual(try home.replicas[0].verifyContents(isDeep: false).problems.map(\.code), [])
        XCTAssertEqual(try home.replicas[0].verifyContents(isDeep: true).problems.map(\.code), ["damagedFile"])
    }

    func testAnotherPackUnderTheNameIsNotBelieved() throws {
        let home = try published()
        let path = try pack(home)
        try home.photos(0).attach("other", noise(60_000, seed: 2))
        _ = try home.replicas[0].sync()
        let second = try XCTUnwrap(
            try home.photos(0).packs().map { home.photos(0).packsPath + "/" + $0 }.first { $0 != path })
        try replace(path, read(second, home), home)
        _ = try home.replicas[1].sync()
        XCTAssertFalse(try home.photos(1).isHere("new"))
        XCTAssertTrue(try home.photos(1).isHere("other"))
    }

    func testFilesOfNobodyBesidePacksAreLeftAlone() throws {
        let home = try published()
        let photos = home.photos(0)
        let name = String(try XCTUnwrap(photos.packs().first).dropLast(5))
        let foreign = [
            "\(name) (conflicted copy).pack", "\(name).pack.tmp", ".\(name).pack.icloud", "notes.txt",
            name.uppercased() + ".pack",
        ]
        for file in foreign where file != name + ".pack" {
            try home.files.write([1, 2, 3], toNewFileAt: photos.packsPath + "/" + file)
        }
        try home.settle()
        XCTAssertEqual(try home.photos(1).bytes("new"), bytes)
        home.clock.advance(days: 3)
        try home.settle()
        let present = Set(try photos.packs())
        XCTAssertTrue(Set(foreign).isSubset(of: present), "\(present)")
        XCTAssertEqual(
            try home.replicas[0].examine().findings.filter { $0.problem.contains("pack") }.map(\.problem), [])
    }

    // MARK: Mending

    func testTheDeviceThatWroteAPackMendsItsLoss() throws {
        let home = try published()
        try home.settle()
        XCTAssertEqual(try home.photos(0).bytes("new"), bytes)
        try home.files.removeFile(at: try pack(home))
        let findings = try home.replicas[0].examine().findings
        XCTAssertTrue(findings.contains { $0.problem.contains("not in the container") }, "\(findings.map(\.problem))")
        let repaired = try home.replicas[0].examine(isRepairing: true).findings
        XCTAssertTrue(repaired.allSatisfy { $0.isRepaired || !$0.problem.contains("pack") }, "\(repaired)")
        try home.settle()
        try checkThatAll(home, read: bytes)
        XCTAssertEqual(try home.replicas[1].verifyContents(isDeep: true).problems, [])
    }

    func testAnotherDeviceMendsTheLossOfAPack() throws {
        let home = try published()
        try home.settle()
        XCTAssertTrue(try home.photos(1).isHere("new"))
        // The first device has nothing beside its database any more.
        for name in try home.photos(0).names(below: home.photos(0).shelf) {
            try home.files.removeFile(at: home.photos(0).shelf + "/" + name)
        }
        try home.files.removeFile(at: try pack(home))
        XCTAssertEqual(failure { _ = try home.photos(0).bytes("new") }?.code, .contentNotHere)
        _ = try home.replicas[1].examine(isRepairing: true)
        try home.settle()
        try checkThatAll(home, read: bytes)
        // Its owner takes the row of the lost pack away; then nothing is missing.
        _ = try home.replicas[0].examine(isRepairing: true)
        try home.settle()
        for index in 0..<2 {
            XCTAssertEqual(try home.replicas[index].verifyContents(isDeep: true).problems, [], "device \(index)")
            XCTAssertEqual(
                try home.replicas[index].examine().findings.filter { $0.problem.contains("pack") }.map(\.problem), [])
        }
    }

    func testADamagedPackOfOnesOwnIsMended() throws {
        let home = try published()
        try home.settle()
        XCTAssertEqual(try home.photos(0).bytes("new"), bytes)
        let path = try pack(home)
        try replace(path, Array(read(path, home).prefix(30_000)), home)
        let findings = try home.replicas[0].examine().findings
        XCTAssertTrue(findings.contains { $0.problem.contains("another length") }, "\(findings.map(\.problem))")
        _ = try home.replicas[0].examine(isRepairing: true)
        try home.settle()
        try checkThatAll(home, read: bytes)
    }

    // MARK: Damage that leaves the length as it was

    /// Damages a byte of a file.
    private func damage(_ path: String, at offset: Int, _ home: MemoryHome) throws {
        var content = try read(path, home)
        content[offset < 0 ? content.count + offset : offset] ^= 1
        try replace(path, content, home)
    }

    private func packFindings(_ home: MemoryHome, _ index: Int, isRepairing: Bool = false) throws -> [String] {
        try home.replicas[index].examine(isRepairing: isRepairing).findings.filter {
            $0.problem.contains("pack") && !$0.isRepaired
        }.map { "\($0.severity) \($0.subject): \($0.problem)" }
    }

    /// What devices are told of a damaged pack of the first one.
    private static let told = (own: "fault this device: 1 pack is damaged.", other: "fault device0: 1 pack is damaged.")

    func testDoctorReadsEveryByteOfPacks() throws {
        for offset in [5, 20, 30, 39, 40, 30_000, 60_039, -60, -30, -20, -10, -1] {
            let home = try published()
            try home.settle()
            let path = try pack(home)
            try damage(path, at: offset, home)
            XCTAssertEqual(try packFindings(home, 0), [Self.told.own], "byte \(offset)")
            let finding = try XCTUnwrap(
                try home.replicas[1].examine().findings.first { $0.problem.contains("pack") }, "byte \(offset)")
            XCTAssertEqual(finding.file, path)
            XCTAssertEqual(finding.subject, "device0")
        }
    }

    func testTheOwnerReplacesADamagedPack() throws {
        for offset in [5, 40, 30_000, -60, -1] {
            let home = try published()
            try home.settle()
            XCTAssertEqual(try home.photos(0).bytes("new"), bytes)
            try damage(try pack(home), at: offset, home)
            XCTAssertEqual(try packFindings(home, 0, isRepairing: true), [], "byte \(offset)")
            XCTAssertEqual(try packFindings(home, 0), [], "byte \(offset)")
            try home.settle()
            try home.photos(0).checkNoLitter("byte \(offset)")
            XCTAssertEqual(try home.replicas[1].verifyContents(isDeep: true).problems, [], "byte \(offset)")
            try checkThatAll(home, read: bytes)
        }
    }

    func testAnotherDeviceGivesTheBytesOfADamagedPackAndTheOwnerTakesThePackAway() throws {
        let home = try published()
        try home.settle()
        XCTAssertTrue(try home.photos(1).isHere("new"))
        for name in try home.photos(0).names(below: home.photos(0).shelf) {
            try home.files.removeFile(at: home.photos(0).shelf + "/" + name)
        }
        try damage(try pack(home), at: 30_000, home)
        // The owner has nothing to mend it with.
        XCTAssertEqual(try packFindings(home, 0, isRepairing: true), [Self.told.own])
        XCTAssertEqual(try packFindings(home, 1), [Self.told.other])
        let spare = "note device0: 1 pack is damaged. Nothing that is needed of it is lost."
        XCTAssertEqual(try packFindings(home, 1, isRepairing: true), [spare])
        // Who joins now gets the bytes.
        try home.addDevice()
        try home.photos(2).prepare()
        _ = try home.replicas[2].sync()
        XCTAssertEqual(try home.photos(2).bytes("new"), bytes)
        XCTAssertEqual(try packFindings(home, 2), [spare])
        try home.settle()
        XCTAssertEqual(try packFindings(home, 0), [Self.told.own])
        XCTAssertEqual(try packFindings(home, 0, isRepairing: true), [])
        try home.settle()
        for index in 0..<3 { XCTAssertEqual(try packFindings(home, index), [], "device \(index)") }
        try home.photos(0).checkNoLitter("at the end")
        try checkThatAll(home, read: bytes)
    }

    /// Two photos share a pack, and one of them is damaged. Nobody has the bytes of the other one but the pack.
    func testWhatADamagedPackStillGivesMovesAlong() throws {
        let home = try MemoryHome.withPhotos()
        let (first, second) = (noise(50_000, seed: 3), noise(50_000, seed: 4))
        let photos = home.photos(0)
        let stored = try photos.replica.storeContents([photos.source(first), photos.source(second)])
        try photos.insert("first", stored[0])
        try photos.insert("second", stored[1])
        try home.settle()
        XCTAssertEqual(try photos.packs().count, 1)
        for index in 0..<2 {
            let title = "second"
            let content = try home.photos(index).image(title)
            XCTAssertEqual(try home.replicas[index].evictContents([content]).evicted, [content])
        }
        XCTAssertTrue(try photos.isHere("first"))
        try damage(try pack(home), at: 100, home)
        XCTAssertEqual(try packFindings(home, 0, isRepairing: true), [])
        try home.settle()
        XCTAssertEqual(try home.photos(1).bytes("second"), second)
        XCTAssertEqual(try home.replicas[1].verifyContents(isDeep: true).problems, [])
        try photos.checkNoLitter("at the end")
    }

    func testADamagedPackThatWaitsBesideTheDatabaseIsNamed() throws {
        let home = try MemoryHome.withPhotos()
        try home.files.rename("/shared/c/container.json", to: "/shared/container.json")
        let photos = home.photos(0)
        try photos.attach("new", bytes)
        try photos.replica.shelf.evict(photos.image("new"))
        let pending = photos.shelf + "/pending/" + (try XCTUnwrap(photos.names(below: photos.shelf + "/pending").first))
        try damage(pending, at: 30_000, home)
        try home.files.rename("/shared/container.json", to: "/shared/c/container.json")
        XCTAssertEqual(try packFindings(home, 0), [Self.told.own])
        // Nobody has the bytes, so the pack stays for whoever finds them.
        XCTAssertEqual(try packFindings(home, 0, isRepairing: true), [Self.told.own])
    }

    func testBytesThatNobodyHasAreLostByName() throws {
        let home = try published()
        try home.files.removeFile(at: try pack(home))
        for name in try home.photos(0).names(below: home.photos(0).shelf) {
            try home.files.removeFile(at: home.photos(0).shelf + "/" + name)
        }
        _ = try home.replicas[0].examine(isRepairing: true)
        try home.settle()
        XCTAssertEqual(try home.photos(1).count("SELECT count(*) FROM photo"), 1)
        let code = try XCTUnwrap(failure { _ = try home.photos(1).bytes("new") }?.code)
        XCTAssertTrue([.contentLost, .contentNotHere].contains(code), "\(code)")
        XCTAssertEqual(try home.replicas[1].verifyContents(isDeep: false).problems.count, 1)
    }

    /// Takes the bytes away beside each database, and reads them again from the container.
    private func checkThatAll(
        _ home: MemoryHome, read bytes: [UInt8], file: StaticString = #filePath, line: UInt = #line
    ) throws {
        for index in home.replicas.indices {
            let photos = home.photos(index)
            for name in try photos.names(below: photos.shelf) where name.hasPrefix("whole/") {
                try home.files.removeFile(at: photos.shelf + "/" + name)
            }
            XCTAssertEqual(try photos.bytes("new"), bytes, "device \(index)", file: file, line: line)
        }
    }

    // MARK: Beside the database

    func testEverythingBesideTheDatabaseMayGoOncePublished() throws {
        let home = try published()
        try home.settle()
        for index in 0..<2 {
            let photos = home.photos(index)
            for name in try photos.names(below: photos.shelf) {
                try home.files.removeFile(at: photos.shelf + "/" + name)
            }
        }
        // The next thorough pass sees that the bytes are gone, and fetches them again.
        try home.settle()
        for index in 0..<2 { XCTAssertTrue(try home.photos(index).isHere("new"), "device \(index)") }
        try checkThatAll(home, read: bytes)
    }

    func testPacksThatWaitAndGoAreTold() throws {
        let home = try MemoryHome.withPhotos()
        let photos = home.photos(0)
        try photos.attach("new", bytes)
        try photos.replica.shelf.evict(photos.image("new"))
        let pending = try photos.names(below: photos.shelf + "/pending")
        XCTAssertEqual(pending.count, 1)
        try home.files.removeFile(at: photos.shelf + "/pending/" + pending[0])
        try home.settle()
        XCTAssertEqual(try home.photos(1).count("SELECT count(*) FROM photo"), 1, "rows are not held up")
        for index in 0..<2 {
            XCTAssertEqual(failure { _ = try home.photos(index).bytes("new") }?.code, .contentNotHere)
            XCTAssertTrue(
                try home.replicas[index].examine().findings.contains { $0.problem.contains("not in the container") })
        }
        // Storing the same file again cannot know; a repair by who has the bytes can. Here nobody has.
        XCTAssertEqual(try home.replicas[0].verifyContents(isDeep: false).problems.map(\.code), ["missing"])
    }

    func testADamagedFileBesideTheDatabaseIsFetchedAnew() throws {
        let home = try published()
        try home.settle()
        let photos = home.photos(1)
        let hex = try photos.image("new").hex
        try replace("\(photos.shelf)/whole/\(hex.prefix(2))/\(hex)", [1, 2, 3], home)
        XCTAssertEqual(try photos.bytes("new"), bytes)
    }

    func testTheDiskWithoutRoomFetchesNothingAndSaysSo() throws {
        let home = try published()
        home.files.setAvailableBytes(2 << 30)
        let report = try home.replicas[1].sync()
        XCTAssertEqual(report.documents?.waiting, 1)
        XCTAssertEqual(try obstacle(home, 1)?.code, "limitExceeded")
        home.files.setAvailableBytes(nil)
        _ = try home.replicas[1].sync()
        XCTAssertEqual(try home.photos(1).bytes("new"), bytes)
    }

    func testAFolderThatIsAwayKeepsWhatIsStoredHere() throws {
        let home = try MemoryHome.withPhotos()
        try home.files.rename("/shared/c/container.json", to: "/shared/container.json")
        try home.photos(0).attach("new", bytes)
        XCTAssertNotNil(failure { _ = try home.replicas[0].sync() })
        XCTAssertEqual(try home.photos(0).names(below: home.photos(0).shelf + "/pending").count, 1)
        try home.files.rename("/shared/container.json", to: "/shared/c/container.json")
        try home.settle()
        XCTAssertEqual(try home.photos(1).bytes("new"), bytes)
    }
}
