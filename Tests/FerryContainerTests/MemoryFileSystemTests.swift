import FerryContainer
import FerryCore
import FerryTestSupport
import XCTest

final class MemoryFileSystemTests: XCTestCase {
    private let files = MemoryFileSystem()

    func testWhatWasNotSynchronizedIsLost() throws {
        try files.createDirectory(at: "/d")
        try files.synchronizeDirectory(at: "/")
        try files.write([1, 2], toNewFileAt: "/d/kept")
        try files.synchronizeDirectory(at: "/d")
        try files.write([3], toNewFileAt: "/d/lost")
        files.crash()
        XCTAssertEqual(try files.entryNames(ofDirectoryAt: "/d", maximumCount: 9), ["kept"])
        XCTAssertEqual(try files.readFile(at: "/d/kept", maximumBytes: 9), [1, 2])
    }

    func testADirectoryWhoseNameWasNotSynchronizedIsLostWithAllInIt() throws {
        try files.createDirectory(at: "/d")
        try files.write([1], toNewFileAt: "/d/file")
        try files.synchronizeDirectory(at: "/d")
        files.crash()
        XCTAssertEqual(try files.item(at: "/d"), .missing)
    }

    func testARemovalAndARenameThatWereNotSynchronizedAreUndone() throws {
        try files.write([1], toNewFileAt: "/a")
        try files.write([2], toNewFileAt: "/b")
        try files.synchronizeDirectory(at: "/")
        try files.rename("/a", to: "/b")
        XCTAssertEqual(try files.readFile(at: "/b", maximumBytes: 1), [1])
        try files.removeFile(at: "/b")
        files.crash()
        XCTAssertEqual(try files.readFile(at: "/a", maximumBytes: 1), [1])
        XCTAssertEqual(try files.readFile(at: "/b", maximumBytes: 1), [2])
    }

    func testAKilledProcessDoesNothingMoreUntilTheCrash() throws {
        files.inject(.kill, afterSteps: 1)
        XCTAssertThrowsError(try files.write([1, 2, 3, 4], toNewFileAt: "/f")) { XCTAssertTrue($0 is SimulatedCrash) }
        XCTAssertTrue(files.isKilled)
        XCTAssertThrowsError(try files.readFile(at: "/f", maximumBytes: 9)) { XCTAssertTrue($0 is SimulatedCrash) }
        XCTAssertThrowsError(try files.item(at: "/")) { XCTAssertTrue($0 is SimulatedCrash) }
        XCTAssertThrowsError(try files.removeFile(at: "/f")) { XCTAssertTrue($0 is SimulatedCrash) }
        files.crash(losing: .nothing)
        XCTAssertEqual(try files.readFile(at: "/f", maximumBytes: 9), [1, 2])
    }

    func testNamesCanSurviveContentThatWasNotSynchronized() throws {
        files.inject(.kill, afterSteps: 2)
        XCTAssertThrowsError(try files.write([1, 2, 3, 4], toNewFileAt: "/f"))
        files.crash(losing: .contents)
        XCTAssertEqual(try files.readFile(at: "/f", maximumBytes: 9), [1, 2])
    }

    func testAFailedStepLeavesNoFileAndLaterStepsSucceed() throws {
        for step in 0..<3 {
            files.inject(.failure, afterSteps: step)
            assertThrows(.inputOutput) { try files.write([1], toNewFileAt: "/f") }
            XCTAssertEqual(try files.item(at: "/f"), .missing)
        }
        try files.write([1], toNewFileAt: "/f")
    }

    func testADiskThatRefusesWritesStillReads() throws {
        try files.write([1], toNewFileAt: "/f")
        files.setRefusesWrites(true)
        assertThrows(.inputOutput) { try files.write([1], toNewFileAt: "/g") }
        assertThrows(.inputOutput) { try files.removeFile(at: "/f") }
        XCTAssertEqual(try files.readFile(at: "/f", maximumBytes: 1), [1])
        files.setRefusesWrites(false)
        XCTAssertTrue(try files.removeFile(at: "/f"))
    }

    func testStepsAreCountedByKind() throws {
        try files.createDirectory(at: "/d")
        try files.write([1], toNewFileAt: "/d/f")
        try files.rename("/d/f", to: "/d/g")
        try files.synchronizeDirectory(at: "/d")
        try files.makeReadOnly(at: "/d/g")
        XCTAssertTrue(try files.link("/d/g", to: "/h"))
        try files.removeFile(at: "/d/g")
        XCTAssertEqual(files.stepCount, 9)
        for mutation in MemoryFileSystem.Mutation.allCases { XCTAssertEqual(files.stepCount(of: mutation), 1) }
        XCTAssertEqual(files.readCount, 0)
        _ = try files.readFile(at: "/d/g", maximumBytes: 1)
        _ = try files.entryNames(ofDirectoryAt: "/d", maximumCount: 1)
        XCTAssertEqual(files.readCount, 1)
        XCTAssertEqual(files.listingCount, 1)
    }

    func testRandomLossesAreRepeatableBySeed() throws {
        func outcome(_ seed: UInt64) throws -> [String] {
            let files = MemoryFileSystem()
            for name in ["a", "b", "c", "d"] { try files.write([1], toNewFileAt: "/" + name) }
            files.crash(losing: .random(SeededRandom(seed: seed)))
            return try files.entryNames(ofDirectoryAt: "/", maximumCount: 9) ?? []
        }
        let outcomes = try (0..<20).map { try outcome($0) }
        XCTAssertEqual(outcomes, try (0..<20).map { try outcome($0) })
        XCTAssertGreaterThan(Set(outcomes).count, 2)
    }

    func testErrorsAreTheOnesOfTheRealFileSystem() throws {
        try files.createDirectory(at: "/d")
        try files.write([1, 2], toNewFileAt: "/f")
        assertThrows(.damagedFile) { try files.readFile(at: "/d", maximumBytes: 9) }
        assertThrows(.damagedFile) { try files.entryNames(ofDirectoryAt: "/f", maximumCount: 9) }
        assertThrows(.damagedFile) { try files.createDirectory(at: "/f") }
        assertThrows(.limitExceeded) { try files.readFile(at: "/f", maximumBytes: 1) }
        assertThrows(.limitExceeded) { try files.entryNames(ofDirectoryAt: "/", maximumCount: 1) }
        assertThrows(.inputOutput) { try files.write([1], toNewFileAt: "/f") }
        assertThrows(.inputOutput) { try files.write([1], toNewFileAt: "/none/f") }
        assertThrows(.inputOutput) { try files.rename("/none", to: "/f") }
        assertThrows(.inputOutput) { try files.rename("/f", to: "/d") }
        assertThrows(.inputOutput) { try files.removeFile(at: "/d") }
        assertThrows(.inputOutput) { try files.synchronizeDirectory(at: "/f") }
        XCTAssertNil(try files.readFile(at: "/none", maximumBytes: 1))
        XCTAssertNil(try files.entryNames(ofDirectoryAt: "/none", maximumCount: 1))
        XCTAssertFalse(try files.removeFile(at: "/none"))
    }
}
