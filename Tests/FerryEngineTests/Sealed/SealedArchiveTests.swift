import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// Files of `ferry export` from sealed containers: who reads them, and what they bring.
final class SealedArchiveTests: XCTestCase {
    private func path(_ home: SealedHome, _ name: String = "stick.ferry") -> String {
        home.folder.appendingPathComponent(name).path
    }

    /// Two members, and a row that both have.
    private func twoMembers() throws -> SealedHome {
        let home = try SealedHome()
        try home.found()
        try home.write(0, "first")
        try home.invite(by: 0)
        try home.settle()
        return home
    }

    private func export(_ home: SealedHome, _ index: Int, isOpen: Bool = false) throws -> String {
        let file = path(home)
        _ = try home.replica(index).exportSnapshot(to: file, isOpen: isOpen)
        return file
    }

    private func bytes(_ file: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: file))) }

    // MARK: Members

    func testAMemberThatWasAwayCatchesUpOverEpochsByAFile() throws {
        let home = try twoMembers()
        let third = try home.invite(by: 0)
        // The second device is away: a device goes, keys are replaced twice, and another one comes.
        try home.write(third, "by one that goes")
        _ = try home.replica(third).sync()
        _ = try home.replica(0).remove("device\(third)")
        _ = try home.replica(0).rotateKeys()
        try home.write(0, "later")
        try home.invite(by: 0)
        let file = try export(home, 0)
        XCTAssertEqual(try home.roster(1).epoch?.number, 1)
        let report = try home.replica(1).importSnapshot(from: file)
        XCTAssertGreaterThan(report.changesets, 0)
        XCTAssertEqual(try home.names(1), ["by one that goes", "first", "later"])
        XCTAssertEqual(try home.roster(1).digest, try home.roster(0).digest)
        XCTAssertEqual(try home.replica(1).importSnapshot(from: file).changesets, 0)
        try home.assertAgreement([0, 1, 3], ["first", "by one that goes", "later"], members: 3)
    }

    func testRecordsThatTheFolderHereLacksArePublished() throws {
        let home = try twoMembers()
        let before = Set(try home.allFiles().keys)
        _ = try home.replica(0).rotateKeys()
        try home.write(0, "under a new key")
        let file = try export(home, 0)
        // This device's folder has not got any of that.
        for path in try home.allFiles().keys where !before.contains(path) { try home.files.removeFile(at: path) }
        _ = try home.replica(1).importSnapshot(from: file)
        try home.write(1, "answer")
        _ = try home.replica(1).sync(isThorough: false)
        let rotation = try XCTUnwrap(home.replica(1).membership()?.graph.heads.first)
        let names = try home.container.records(of: home.device(1), maximumCount: 100)
        XCTAssertTrue(names.contains(RecordName(rotation)), "the record of the new epoch is not in the folder")
        XCTAssertEqual(try home.names(1), ["answer", "first", "under a new key"])
    }

    func testAFileSaysThatThisDeviceIsOut() throws {
        let home = try twoMembers()
        _ = try home.replica(0).remove("device1")
        try home.write(0, "not for the other")
        let file = try export(home, 0)
        XCTAssertEqual(home.failure { _ = try home.replica(1).importSnapshot(from: file) }, .notMember)
        XCTAssertEqual(try home.names(1), ["first"])
    }

    func testNobodyElseReadsAnything() throws {
        let home = try twoMembers()
        try home.write(0, "a marked value that nobody sees")
        let file = try bytes(export(home, 0))
        XCTAssertEqual(file[4], ArchiveFile.sealedVersion)
        for text in ["a marked value", "item", "device0", "CREATE TABLE"] {
            XCTAssertNil(file.firstRange(of: Array(text.utf8)), text)
        }
        let plain = try bytes(export(home, 0, isOpen: true))
        XCTAssertEqual(plain[4], ArchiveFile.plainVersion)
    }

    func testWhatIsOfficiallyHeldIsNotExported() throws {
        let home = try twoMembers()
        _ = try home.replica(1).rotateKeys()
        try home.write(1, "under a key that has not arrived")
        _ = try home.replica(1).sync()
        let rotation = try XCTUnwrap(home.replica(1).membership()?.graph.heads.first)
        let record = try home.container.readRecord(RecordName(rotation), of: home.device(1))
        try home.container.removeRecord(RecordName(rotation), of: home.device(1))
        XCTAssertEqual(home.failure { _ = try self.export(home, 0) }, .fileNotThereYet)
        XCTAssertFalse(FileManager.default.fileExists(atPath: path(home)))
        try home.container.publishRecord(XCTUnwrap(record), name: RecordName(rotation), of: home.device(1))
        XCTAssertNoThrow(try export(home, 0))
    }

    // MARK: New databases

    func testAFileJoinsWithACode() throws {
        let home = try twoMembers()
        let file = try export(home, 0)
        try home.write(0, "after the file")
        let index = home.addComputer()
        let enrolment = try home.begin(index, .code(home.replica(1).invite().code))
        _ = try home.replica(1).sync()
        let setup = ReplicaSetup(environment: home.environment(index), enrolment: enrolment)
        let made = try setup.importDatabase(
            at: home.databasePath(index), from: file, containerPath: SealedHome.place, name: "device2")
        XCTAssertEqual(made.report.outcome, .joined)
        home.computers[index].replica = made.replica
        XCTAssertEqual(try home.device(index), enrolment.device)
        try home.assertAgreement([0, 1, index], ["first", "after the file"], members: 3)
        XCTAssertNil(try Enrolment.pending(containerPath: SealedHome.place, environment: home.environment(index)))
    }

    func testWhoHasNoEnrolmentDoesNotJoin() throws {
        let home = try twoMembers()
        let file = try export(home, 0)
        let index = home.addComputer()
        let setup = ReplicaSetup(environment: home.environment(index))
        let failure = home.failure {
            _ = try setup.importDatabase(at: home.databasePath(index), from: file, containerPath: SealedHome.place)
        }
        XCTAssertEqual(failure, .keyMissing)
        XCTAssertFalse(FileManager.default.fileExists(atPath: home.databasePath(index)))
    }

    func testAMemberAndTheRecoveryCodeMakeAPlainDatabase() throws {
        let home = try twoMembers()
        _ = try home.replica(0).rotateKeys()
        let file = try export(home, 0)
        func make(_ index: Int, _ name: String, _ recovery: SecretCode? = nil) throws -> [String] {
            let (replica, report) = try ReplicaSetup(environment: home.environment(index)).importDatabase(
                at: path(home, name), from: file, recovery: recovery)
            XCTAssertNil(replica)
            XCTAssertEqual(report.outcome, .plain)
            return try Store(path: path(home, name)).read { try $0.rows("SELECT name FROM item").map { $0[0].text } }
        }
        let stranger = home.addComputer()
        XCTAssertEqual(try make(1, "by-member.sqlite"), ["first"])
        XCTAssertEqual(try make(stranger, "by-code.sqlite", home.recovery), ["first"])
        XCTAssertEqual(home.failure { _ = try make(stranger, "none.sqlite") }, .keyMissing)
        let wrong = SecretCode(minted: .recovery, random: SystemRandom())
        XCTAssertEqual(home.failure { _ = try make(stranger, "none.sqlite", wrong) }, .codeRefused)
        XCTAssertFalse(FileManager.default.fileExists(atPath: path(home, "none.sqlite")))
    }

    // MARK: Attacks

    func testAFileOfADeviceThatIsOutIsRefused() throws {
        let home = try twoMembers()
        let third = try home.invite(by: 0)
        try home.write(third, "by one that goes")
        let file = try export(home, third)
        _ = try home.replica(0).remove("device\(third)")
        _ = try home.replica(1).sync()
        let before = try home.names(1)
        XCTAssertEqual(home.failure { _ = try home.replica(1).importSnapshot(from: file) }, .foreignFile)
        XCTAssertEqual(try home.names(1), before)
    }

    func testAnOpenFileIsNothingToASealedContainer() throws {
        let home = try twoMembers()
        try home.write(0, "later")
        let file = try export(home, 0, isOpen: true)
        XCTAssertEqual(home.failure { _ = try home.replica(1).importSnapshot(from: file) }, .notSealed)
        let index = home.addComputer()
        let enrolment = try home.begin(index, .code(home.replica(0).invite().code))
        _ = try home.replica(0).sync()
        let failure = home.failure {
            _ = try ReplicaSetup(environment: home.environment(index), enrolment: enrolment).importDatabase(
                at: home.databasePath(index), from: file, containerPath: SealedHome.place)
        }
        XCTAssertEqual(failure, .notSealed)
        XCTAssertEqual(try home.names(1), ["first"])
    }

    func testAFileOfAnotherMembershipOrContainerIsRefused() throws {
        let home = try twoMembers()
        let file = try export(home, 0)
        _ = try home.seal(0, anew: true)
        XCTAssertEqual(home.failure { _ = try home.replica(0).importSnapshot(from: file) }, .containerMismatch)
        let other = try twoMembers()
        XCTAssertEqual(home.failure { _ = try other.replica(0).importSnapshot(from: file) }, .containerMismatch)
    }

    func testADatabaseThatWasNotEnrolledSinceTheSealingIsTold() throws {
        let home = try SealedHome()
        try home.found(sealing: .open)
        try home.write(0, "first")
        home.addComputer()
        try home.join(1, nil)
        try home.settle()
        let open = try export(home, 0)
        XCTAssertEqual(try bytes(open)[4], ArchiveFile.plainVersion)
        _ = try home.seal(0)
        XCTAssertEqual(home.failure { _ = try home.replica(0).importSnapshot(from: open) }, .notSealed)
        let sealed = try export(home, 0)
        XCTAssertEqual(home.failure { _ = try home.replica(1).importSnapshot(from: sealed) }, .keyMissing)
    }

    /// What a changed file may be called.
    private static let names: [FerryError.Code] = [
        .damagedFile, .formatTooNew, .containerMismatch, .foreignFile, .keyMissing, .notSealed,
    ]

    func testAChangedOrCutFileChangesNothing() throws {
        let home = try twoMembers()
        try home.write(0, "later")
        let whole = try bytes(export(home, 0))
        let file = path(home, "changed.ferry")
        let before = try home.names(1)
        func failure(_ bytes: some Sequence<UInt8>) throws -> FerryError.Code? {
            try Data(Array(bytes)).write(to: URL(fileURLWithPath: file))
            return home.failure { _ = try home.replica(1).importSnapshot(from: file) }
        }
        var told: [FerryError.Code: Int] = [:]
        let records = try Parts(whole).records.count
        let signed = whole.count - 36 - records
        for place in whole.indices
        where place < 200 || place < signed && place % 7 == 0 || place >= whole.count - 36 {
            var changed = whole
            changed[place] ^= 1 << UInt8(place % 8)
            let code = try XCTUnwrap(failure(changed), "byte \(place) of \(whole.count)")
            XCTAssertTrue(Self.names.contains(code), "byte \(place): \(code)")
            told[code, default: 0] += 1
        }
        XCTAssertGreaterThan(told[.damagedFile] ?? 0, told.values.reduce(0, +) * 8 / 10, "\(told)")
        for length in [0, 3, 7, 23, 24, 60, whole.count / 3, whole.count / 2, whole.count - 37, whole.count - 1] {
            XCTAssertEqual(try failure(whole.prefix(length)), .damagedFile, "\(length) bytes")
        }
        XCTAssertEqual(try failure(whole + [0]), .damagedFile)
        XCTAssertEqual(try home.names(1), before)
        // A record that is known is not read again, so a change of it may pass. What the file holds is the same then.
        for place in stride(from: signed, to: whole.count - 36, by: 7) {
            var changed = whole
            changed[place] ^= 4
            if let code = try failure(changed) { XCTAssertTrue(Self.names.contains(code), "byte \(place): \(code)") }
        }
        XCTAssertNil(try failure(whole))
        XCTAssertEqual(try home.names(1), ["first", "later"])
        try home.assertAgreement([0, 1], ["first", "later"], members: 2)
    }

    func testPartsOfTwoFilesAreNoFile() throws {
        let home = try twoMembers()
        try home.write(0, "one way")
        let older = try Parts(bytes(export(home, 0)))
        try home.write(0, "or another way")
        let newer = try Parts(bytes(export(home, 0)))
        _ = try home.replica(0).rotateKeys()
        let rotated = try Parts(bytes(export(home, 0)))
        let file = path(home, "mixed.ferry")
        func failure(_ parts: Parts) throws -> FerryError.Code? {
            try Data(parts.bytes).write(to: URL(fileURLWithPath: file))
            return home.failure { _ = try home.replica(1).importSnapshot(from: file) }
        }
        // Without the record of the newer key nobody knows the key.
        var mixed = rotated
        mixed.records = newer.records
        XCTAssertEqual(try failure(mixed), .keyMissing)
        for (one, other) in [(older, newer), (newer, older), (newer, rotated), (rotated, newer)] {
            var mixed = one
            mixed.chunks = other.chunks
            XCTAssertEqual(try failure(mixed), .damagedFile)
        }
        mixed.records = [1, 3, 1, 2, 3]
        XCTAssertEqual(try failure(mixed), .damagedFile)
        XCTAssertEqual(try home.names(1), ["first"])
        // With further records of the membership it is the same file.
        mixed = newer
        mixed.records = rotated.records
        XCTAssertNil(try failure(mixed))
        XCTAssertEqual(try home.names(1), ["first", "one way", "or another way"])
    }

    /// The parts of a sealed archive.
    private struct Parts {
        var header: [UInt8]
        var chunks: [UInt8]
        var manifest: [UInt8]
        var records: [UInt8]

        init(_ file: [UInt8]) throws {
            var footer = ByteReader(file.suffix(36))
            let (place, length) = (Int(try footer.read64()), Int(try footer.read64()))
            header = Array(file[..<24])
            chunks = Array(file[24..<place])
            manifest = Array(file[place..<place + length])
            records = Array(file[(place + length)...].dropLast(36))
        }

        var bytes: [UInt8] {
            var writer = ByteWriter()
            for part in [header, chunks, manifest, records] { writer.write(contentsOf: part) }
            for number in [24 + chunks.count, manifest.count, 24 + chunks.count + manifest.count, records.count] {
                writer.write64(UInt64(number))
            }
            writer.write(contentsOf: ArchiveFile.magic)
            return writer.bytes
        }
    }

    // MARK: Bytes

    func testAnIndependentReaderMakesTheOpenFileOfTheSealedOne() throws {
        let home = try twoMembers()
        for number in 0..<50 { try home.write(0, "row \(number)") }
        let third = try home.invite(by: 0)
        _ = try home.replica(0).remove("device\(third)")
        _ = try home.replica(0).sync()
        let plain = try bytes(export(home, 0, isOpen: true))
        let file = try export(home, 0)
        let key = path(home, "device1.key")
        _ = try home.replica(1).sync()
        try XCTUnwrap(home.computers[1].keys.load(home.device(1))).withEncoded {
            try Data($0.map { $0 }).write(to: URL(fileURLWithPath: key))
        }
        guard
            let told = try IndependentReader.lines(
                ofSealed: ["--archive", file, key, "--plain", path(home, "plain.ferry")])
        else { throw XCTSkip("there is no python3 with the package cryptography") }
        XCTAssertEqual(try bytes(path(home, "plain.ferry")), plain)
        let roster = try home.roster(0)
        XCTAssertTrue(told.contains("roster \(hexString(roster.digest))"), told.joined(separator: "\n"))
        XCTAssertEqual(told.filter { $0.hasPrefix("record ") }.count, try home.replica(0).membership()?.graph.count)
        XCTAssertEqual(told.filter { $0.hasPrefix("member ") }.count, 2)
    }
}
