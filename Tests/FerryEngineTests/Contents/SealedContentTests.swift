import FerryContainer
import FerryCore
import FerrySeal
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// Contents of a sealed container: whoever sees the folder learns nothing, and whoever is a member reads everything.
final class SealedContentTests: XCTestCase {
    private let text = Array(String(repeating: "the secret recipe of the house; ", count: 2000).utf8)

    private func photos(_ home: SealedHome, _ index: Int) throws -> PhotoDevice {
        PhotoDevice(replica: try home.replica(index), files: home.files)
    }

    /// Devices with photos in a sealed container.
    private func devices(_ count: Int) throws -> SealedHome {
        let home = try SealedHome()
        try home.found()
        for index in 0..<count {
            if index > 0 { try home.invite(by: 0) }
            try photos(home, index).prepare()
        }
        try photos(home, 0).declare()
        try home.settle()
        return home
    }

    private func packs(_ home: SealedHome) throws -> [String: [UInt8]] {
        try home.allFiles().filter { $0.key.hasSuffix(".pack") }
    }

    /// The folder's files that have a part of some bytes.
    private func files(_ home: SealedHome, having bytes: [UInt8]) throws -> [String] {
        let needle = Data(bytes)
        return try home.allFiles().filter { Data($0.value).range(of: needle) != nil }.map(\.key).sorted()
    }

    func testDocumentsOfAComputerThatIsGoneAreSealedBeforeItsFilesGo() throws {
        for anyway in [false, true] {
            let home = try SealedHome()
            try home.found(sealing: .open)
            home.addComputer()
            try home.join(1, nil)
            for index in 0...1 { try photos(home, index).prepare() }
            try photos(home, 0).declare()
            try home.settle()
            try photos(home, 1).attach("recipe", text)
            try home.settle()
            let gone = try home.device(1)
            _ = try home.seal(0)
            home.computers[1].replica = nil
            try home.settle([0])
            XCTAssertFalse(try packs(home).keys.filter { $0.contains(gone.hex) }.isEmpty)
            let report = try home.replica(0).removeFormerFiles(anyway: anyway)
            XCTAssertTrue(report.cleaned.contains { $0.id == gone.description }, "\(report)")
            XCTAssertEqual(report.keptFiles, [])
            XCTAssertEqual(try packs(home).keys.filter { $0.contains(gone.hex) }, [])
            XCTAssertEqual(try photos(home, 0).bytes("recipe"), text)
            XCTAssertEqual(try files(home, having: Array("secret".utf8)), [])
            // The bytes are in the folder: a newcomer fetches them.
            let newcomer = try home.invite(by: 0)
            try photos(home, newcomer).prepare()
            try home.settle([0, newcomer])
            XCTAssertEqual(try photos(home, newcomer).bytes("recipe"), text)
        }
    }

    func testNothingOfAContentStandsPlainInTheFolder() throws {
        let home = try devices(2)
        let noise = noise(50_000, seed: 1)
        try photos(home, 0).attach("recipe", text)
        try photos(home, 0).attach("noise", noise)
        try photos(home, 1).attach("short", Array("tiny secret".utf8))
        try home.settle()
        XCTAssertEqual(try packs(home).count, 2)
        for bytes in [Array("secret".utf8), Array(noise[1000..<1032]), Array("photo.image".utf8)] {
            XCTAssertEqual(try files(home, having: bytes), [])
        }
        for title in ["recipe", "noise", "short"] {
            let content = try photos(home, 0).image(title)
            XCTAssertEqual(try files(home, having: content.bytes), [], "a content's ID")
            XCTAssertTrue(try home.allFiles().keys.allSatisfy { !$0.contains(content.hex) })
            XCTAssertEqual(try photos(home, 1).bytes(title), try photos(home, 0).bytes(title))
        }
        XCTAssertEqual(try photos(home, 1).bytes("recipe"), text)
        XCTAssertEqual(try photos(home, 1).bytes("noise"), noise)
    }

    func testIDsDependOnTheKey() throws {
        let (sealed, other, open) = (try devices(1), try devices(1), try MemoryHome.withPhotos(1))
        let ids = [
            try photos(sealed, 0).attach("a", text), try photos(other, 0).attach("a", text),
            try open.photos(0).attach("a", text),
        ]
        XCTAssertEqual(Set(ids).count, 3)
        // In one container equal bytes have one name, whichever device stores them.
        let home = try devices(2)
        XCTAssertEqual(try photos(home, 0).attach("a", text), try photos(home, 1).attach("b", text))
    }

    func testPacksDoNotTellTheirLength() throws {
        let home = try devices(1)
        try photos(home, 0).attach("a", noise(20_001, seed: 1))
        try home.settle()
        try photos(home, 0).attach("b", noise(20_003, seed: 2))
        try home.settle()
        let lengths = try packs(home).values.map(\.count)
        XCTAssertEqual(lengths.count, 2)
        XCTAssertEqual(Set(lengths).count, 1, "\(lengths)")
    }

    func testANewcomerAfterSeveralEpochsReadsEverything() throws {
        let home = try devices(2)
        var expected: [String: [UInt8]] = [:]
        for round in 0..<4 {
            for index in 0..<2 {
                let (title, bytes) = ("\(index) in \(round)", noise(10_000 + round, seed: UInt64(10 * round + index)))
                try photos(home, index).attach(title, bytes)
                expected[title] = bytes
            }
            try home.settle()
            _ = try home.replica(round % 2).rotateKeys()
            try home.settle()
        }
        XCTAssertGreaterThanOrEqual(try home.roster(0).epoch?.number ?? 0, 5)
        let newcomer = try home.invite(by: 1)
        try photos(home, newcomer).prepare()
        try home.settle()
        for (title, bytes) in expected {
            XCTAssertTrue(try photos(home, newcomer).isHere(title), title)
            XCTAssertEqual(try photos(home, newcomer).bytes(title), bytes, title)
        }
        // And what the newcomer stores has the name that it has everywhere.
        XCTAssertEqual(
            try photos(home, newcomer).store(XCTUnwrap(expected["0 in 0"])).id, try photos(home, 0).image("0 in 0"))
    }

    func testADamagedSealedPackIsNamedAndMended() throws {
        let bytes = noise(30_000, seed: 1)
        for offset in [10, 50, 15_000, -200, -100, -10] {
            let home = try devices(2)
            try photos(home, 0).attach("image", bytes)
            try home.settle()
            XCTAssertEqual(try photos(home, 0).bytes("image"), bytes)
            let (path, content) = try XCTUnwrap(packs(home).first)
            var damaged = content
            damaged[offset < 0 ? content.count + offset : offset] ^= 1
            try home.files.removeFile(at: path)
            try home.files.write(damaged, toNewFileAt: path)
            for index in 0..<2 {
                let found = try home.replica(index).examine().findings.first {
                    $0.problem.hasPrefix("1 pack is damaged.")
                }
                XCTAssertEqual(found?.file, path, "byte \(offset), device \(index)")
            }
            _ = try home.replica(1).examine(isRepairing: true)
            _ = try home.replica(0).examine(isRepairing: true)
            try home.settle()
            XCTAssertFalse(try packs(home)[path] == damaged, "byte \(offset)")
            for index in 0..<2 {
                XCTAssertEqual(
                    try home.replica(index).examine().findings.filter { $0.problem.contains("pack") }.map(\.problem), []
                )
            }
            let newcomer = try home.invite(by: 0)
            try photos(home, newcomer).prepare()
            try home.settle()
            XCTAssertEqual(try photos(home, newcomer).bytes("image"), bytes, "byte \(offset)")
        }
    }

    func testAfterSeveralEpochsAndARemovalNoSoundPackIsCalledDamaged() throws {
        let home = try devices(3)
        try photos(home, 2).attach("left behind", noise(30_000, seed: 1))
        try home.settle()
        _ = try home.replica(0).rotateKeys()
        try home.settle()
        try photos(home, 1).attach("later", noise(30_000, seed: 2))
        try home.settle()
        _ = try home.replica(0).remove("device2")
        home.computers[2].replica = nil
        try home.settle([0, 1])
        let newcomer = try home.invite(by: 0)
        try photos(home, newcomer).prepare()
        try home.settle([0, 1, newcomer])
        for index in [0, 1, newcomer] {
            XCTAssertEqual(
                try home.replica(index).examine().findings.filter { $0.problem.contains(" pack") }.map(\.problem), [])
        }
    }

    func testARemovedDevicesContentsStayReadable() throws {
        let home = try devices(3)
        let bytes = noise(30_000, seed: 1)
        try photos(home, 2).attach("left behind", bytes)
        try home.settle()
        _ = try home.replica(0).remove("device2")
        home.computers[2].replica = nil
        try home.settle([0, 1])
        let content = try photos(home, 1).image("left behind")
        XCTAssertEqual(try home.replica(1).evictContents([content]).evicted, [content])
        XCTAssertEqual(try photos(home, 1).bytes("left behind"), bytes)
        // A newcomer of a later epoch reads it, too.
        let newcomer = try home.invite(by: 0)
        try photos(home, newcomer).prepare()
        try home.settle([0, 1, newcomer])
        XCTAssertEqual(try photos(home, newcomer).bytes("left behind"), bytes)
    }

    func testARemovedDeviceReadsNoContentOfALaterEpoch() throws {
        let home = try devices(2)
        _ = try home.replica(0).remove("device1")
        try photos(home, 0).attach("after", text)
        _ = try home.replica(0).sync()
        XCTAssertEqual(home.failure { _ = try home.replica(1).sync() }, .notMember)
        XCTAssertEqual(try photos(home, 1).count("SELECT count(*) FROM photo"), 0)
        XCTAssertEqual(try photos(home, 1).names(below: photos(home, 1).shelf + "/whole"), [])
    }

    func testPacksThatWaitAreSealedAnewUnderALaterEpoch() throws {
        let home = try devices(2)
        let bytes = noise(30_000, seed: 1)
        // Stored and written, and not published before the epoch ends.
        try photos(home, 1).attach("waits", bytes)
        let former = try XCTUnwrap(home.roster(1).epoch?.id)
        _ = try home.replica(0).rotateKeys()
        try home.settle()
        let present = try XCTUnwrap(home.roster(1).epoch?.id)
        XCTAssertNotEqual(former, present)
        let rows = try photos(home, 0).rows("SELECT lower(hex(epoch)), lower(hex(id)) FROM ferry_pack")
        XCTAssertEqual(rows.map { $0[0].text }, [present.hex])
        XCTAssertEqual(try packs(home).count, 1)
        XCTAssertTrue(try XCTUnwrap(packs(home).keys.first).hasSuffix(rows[0][1].text + ".pack"))
        XCTAssertEqual(try photos(home, 0).bytes("waits"), bytes)
        try photos(home, 1).checkPacks("after the renewal")
        XCTAssertEqual(try photos(home, 1).names(below: photos(home, 1).shelf + "/pending"), [])
    }

    func testAContentThatIsStoredBeforeAnEpochAndWrittenAfterIsReadByAll() throws {
        let home = try devices(2)
        let bytes = noise(30_000, seed: 1)
        let stored = try photos(home, 1).store(bytes)
        _ = try home.replica(0).rotateKeys()
        try home.settle()
        try photos(home, 1).insert("late", stored)
        try home.settle()
        XCTAssertEqual(try photos(home, 0).bytes("late"), bytes)
    }

    // MARK: Sealing in mid-life

    func testAnOpenContainerThatIsSealedGetsItsPacksSealedAnew() throws {
        let home = try SealedHome()
        try home.found(sealing: .open)
        try photos(home, 0).prepare()
        home.addComputer()
        try home.join(1, nil)
        try photos(home, 1).prepare()
        try photos(home, 0).declare()
        let bytes = [text, noise(40_000, seed: 2)]
        try photos(home, 0).attach("first", bytes[0])
        try photos(home, 1).attach("second", bytes[1])
        try home.settle()
        let plain = try packs(home)
        XCTAssertEqual(plain.count, 2)
        XCTAssertTrue(plain.values.allSatisfy { $0.starts(with: Array("FRYP".utf8)) })

        _ = try home.seal(0)
        let enrolment = try home.begin(1, .code(home.replica(0).invite().code))
        _ = try home.replica(0).sync()
        _ = try home.replica(1).enrol(enrolment)
        try home.settle()
        for _ in 0..<3 {
            home.clock.advance(hours: 26)
            try home.settle()
        }
        let sealed = try packs(home)
        XCTAssertTrue(
            sealed.values.allSatisfy { !$0.starts(with: Array("FRYP".utf8)) }, "\(sealed.keys.sorted())")
        XCTAssertTrue(Set(sealed.keys).isDisjoint(with: plain.keys))
        XCTAssertEqual(try files(home, having: Array(bytes[1][100..<132])), [])
        XCTAssertEqual(
            try photos(home, 0).count("SELECT count(*) FROM ferry_pack WHERE epoch IS NULL"), 0)
        for index in 0..<2 {
            for (title, content) in zip(["first", "second"], bytes) {
                _ = try home.replica(index).evictContents([photos(home, index).image(title)])
                XCTAssertEqual(try photos(home, index).bytes(title), content, "device \(index)")
            }
            XCTAssertEqual(try home.replica(index).verifyContents(isDeep: true).problems, [], "device \(index)")
        }
        let newcomer = try home.invite(by: 0)
        try photos(home, newcomer).prepare()
        try home.settle()
        XCTAssertEqual(try photos(home, newcomer).bytes("first"), bytes[0])
        XCTAssertEqual(try photos(home, newcomer).bytes("second"), bytes[1])
    }

    // MARK: Crashes

    func testAKillAtAnyStepOfSealingWaitingPacksAnewLosesNothing() throws {
        let bytes = noise(30_000, seed: 1)
        for loss in [MemoryFileSystem.Loss.nothing, .everything] {
            var (step, isFinished) = (0, false)
            while !isFinished {
                let home = try devices(2)
                try photos(home, 1).attach("waits", bytes)
                _ = try home.replica(0).rotateKeys()
                home.files.inject(.kill, afterSteps: step)
                do {
                    _ = try home.replica(1).sync()
                    isFinished = true
                    home.files.removeFault()
                } catch is SimulatedCrash {
                    home.files.crash(losing: loss)
                    try home.reopen(1)
                }
                let context = "killed at step \(step), losing \(loss)"
                try photos(home, 1).checkPacks(context)
                _ = try home.replica(0).sync()
                try photos(home, 0).checkPacks(context)
                try home.settle()
                XCTAssertEqual(try photos(home, 0).bytes("waits"), bytes, context)
                home.clock.advance(days: 2)
                try home.settle()
                home.clock.advance(days: 2)
                try home.settle()
                try photos(home, 1).checkNoLitter(context)
                step += 1
            }
            XCTAssertGreaterThan(step, 20)
        }
    }
}
