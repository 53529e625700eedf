import FerryContainer
import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// Contents where a membership is founded anew, and where a removed device comes back: nobody's documents are lost with the former keys.
final class AnewContentTests: XCTestCase {
    private func photos(_ home: SealedHome, _ index: Int) throws -> PhotoDevice {
        PhotoDevice(replica: try home.replica(index), files: home.files)
    }

    /// Two devices with photos in a sealed container.
    private func devices() throws -> SealedHome {
        let home = try SealedHome()
        try home.found()
        try photos(home, 0).prepare()
        try home.invite(by: 0)
        try photos(home, 1).prepare()
        try photos(home, 0).declare()
        try home.settle()
        return home
    }

    private func enrol(_ home: SealedHome, _ index: Int, by host: Int = 0) throws {
        let enrolment = try home.begin(index, .code(home.replica(host).invite().code))
        _ = try home.replica(host).sync()
        _ = try home.replica(index).enrol(enrolment)
        _ = try home.replica(host).sync()
    }

    private func evict(_ home: SealedHome, _ title: String, on index: Int) throws {
        _ = try home.replica(index).evictContents([photos(home, index).image(title)])
    }

    /// Fails unless a newcomer, let in by each way, and each of these devices read contents from the container.
    private func assertReadable(
        _ expected: [String: [UInt8]], on indices: [Int], _ home: SealedHome, _ context: String = "",
        file: StaticString = #filePath, line: UInt = #line
    ) throws {
        let invited = try home.invite(by: indices[0])
        home.addComputer()
        let recovered = home.computers.count - 1
        try home.join(recovered, home.begin(recovered, .recovery(XCTUnwrap(home.recovery))))
        for index in [invited, recovered] { try photos(home, index).prepare() }
        let all = indices + [invited, recovered]
        try home.settle(all)
        for index in all {
            for (title, bytes) in expected.sorted(by: { $0.key < $1.key }) {
                try evict(home, title, on: index)
                XCTAssertEqual(
                    try photos(home, index).bytes(title), bytes, "\(title) on \(index) \(context)", file: file,
                    line: line)
            }
            XCTAssertEqual(
                try home.replica(index).verifyContents(isDeep: true).problems, [], "\(index) \(context)", file: file,
                line: line)
        }
    }

    func testContentsAreReadByAllAfterAMembershipIsFoundedAnew() throws {
        let home = try devices()
        let expected = [
            "own": noise(30_000, seed: 1), "others": noise(30_000, seed: 2), "unheard": noise(30_000, seed: 3),
            "unsent": noise(30_000, seed: 4), "later": noise(30_000, seed: 5),
        ]
        try photos(home, 0).attach("own", expected["own"] ?? [])
        try photos(home, 1).attach("others", expected["others"] ?? [])
        try home.settle()
        _ = try home.replica(0).rotateKeys()
        try home.settle()
        try photos(home, 1).attach("later", expected["later"] ?? [])
        try home.settle()
        for index in 0..<2 { for title in ["own", "others"] { try evict(home, title, on: index) } }

        let former = try home.device(0)
        XCTAssertEqual(try home.seal(0, anew: true).waitingPacks, 0)
        // The other device is still one of the former membership.
        try photos(home, 1).attach("unsent", expected["unsent"] ?? [])
        try enrol(home, 1)
        try photos(home, 1).attach("unheard", expected["unheard"] ?? [])
        try home.settle()
        XCTAssertEqual(
            try photos(home, 0).count("SELECT count(*) FROM ferry_pack WHERE device = x'\(former.hex)'"), 0)
        try assertReadable(expected, on: [0, 1], home)
        // Every pack is by a member, sealed under an epoch of the new membership.
        let members = try home.roster(0).members
        for row in try photos(home, 0).rows("SELECT lower(hex(device)) FROM ferry_pack") {
            XCTAssertTrue(members.keys.contains { $0.hex == row[0].text }, row[0].text)
        }
        // The files of the former membership go.
        home.clock.advance(hours: 26)
        try home.settle()
        XCTAssertEqual(try home.allFiles().keys.filter { $0.contains(former.hex) && $0.hasSuffix(".pack") }, [])
    }

    func testAPackThatArrivesAfterTheFoundingIsSealedAnewThen() throws {
        let home = try devices()
        let bytes = noise(30_000, seed: 1)
        try photos(home, 1).attach("late", bytes)
        try home.settle()
        try evict(home, "late", on: 0)
        let (path, pack) = try XCTUnwrap(home.allFiles().first { $0.key.hasSuffix(".pack") })
        try home.files.removeFile(at: path)
        XCTAssertEqual(try home.seal(0, anew: true).waitingPacks, 1)
        try home.files.write(pack, toNewFileAt: path)
        home.computers[1].replica = nil
        try home.settle()
        try assertReadable(["late": bytes], on: [0], home)
        XCTAssertEqual(try home.replica(0).formerPacks(), [])
    }

    func testWhoEnrolsHandsOnTheKeysOfDocumentsThatNobodyHasHeardOf() throws {
        let home = try devices()
        let bytes = noise(30_000, seed: 1)
        try photos(home, 1).attach("waits", bytes)
        // The founder has no content, and so no former epoch goes along.
        _ = try home.seal(0, anew: true)
        try enrol(home, 1)
        try home.settle()
        try assertReadable(["waits": bytes], on: [0, 1], home)
    }

    func testAnInterruptedFoundingGoesOn() throws {
        let bytes = noise(30_000, seed: 1)
        var (step, isFinished) = (0, false)
        while !isFinished {
            let home = try devices()
            try photos(home, 1).attach("others", bytes)
            try home.settle()
            try evict(home, "others", on: 0)
            home.files.inject(.kill, afterSteps: step)
            do {
                _ = try home.seal(0, anew: true)
                isFinished = true
                home.files.removeFault()
            } catch is SimulatedCrash {
                home.files.crash(losing: .everything)
                try home.reopen(0)
                let report = home.failure { _ = try home.seal(0, anew: true) }
                XCTAssertNil(report, "killed at step \(step)")
            }
            try home.settle([0])
            home.addComputer()
            try home.join(2, home.begin(2, .recovery(XCTUnwrap(home.recovery))))
            try photos(home, 2).prepare()
            try home.settle([0, 2])
            XCTAssertEqual(try photos(home, 2).bytes("others"), bytes, "killed at step \(step)")
            step += 5
        }
        XCTAssertGreaterThan(step, 50)
    }
}
