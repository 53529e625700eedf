import FerryCore
import XCTest

@testable import FerryStore

/// A saved failure is a code with arguments; the sentence is made when somebody reads it.
final class FailureNoteTests: XCTestCase {
    private static let device = DeviceID(high: 1, low: 2)

    func testANoteComesBackFromItsTable() {
        let error = FerryError(
            .inputOutput, "A sentence.", path: "/mnt/über/é\"x\".ferry", sequence: 7, detail: "fsync: No space left")
        let note = FailureNote(error)
        XCTAssertFalse(note.arguments.contains("sentence"), note.arguments)
        XCTAssertEqual(FailureNote(code: "inputOutput", arguments: note.arguments), note)
        XCTAssertEqual(FailureNote(FerryError(.busy, "A sentence.")).arguments, "{}")
    }

    func testASentenceOfAnEarlierFerryIsForgotten() {
        let note = FailureNote(code: "damagedFile", arguments: "Its segment 7 is damaged.")
        XCTAssertEqual(note, FailureNote(FerryError(.damagedFile, "")))
        XCTAssertFalse(note.error(of: Self.device).message.contains("segment 7"))
    }

    func testANoteOfAnEarlierFerryKeepsItsAge() {
        let former = StallReason(FailureNote(code: "damagedFile", arguments: "Its segment 7 is damaged."), since: 5)
        let error = FerryError(.damagedFile, "Its segment 7 is damaged.", sequence: 7)
        let reasons = StallReason.reasons([Self.device: error], known: [Self.device: former], now: 9)
        XCTAssertEqual(reasons, [Self.device: StallReason(FailureNote(error), since: 5)])
        let other = FerryError(.damagedFile, "Its segment 8 is damaged.", sequence: 8)
        let next = StallReason.reasons([Self.device: other], known: reasons, now: 9)
        XCTAssertEqual(next[Self.device]?.sinceMilliseconds, 9)
    }

    func testTheSentenceSaysWhatTheWorldSaid() {
        let full = FerryError(.inputOutput, "", path: "/mnt/music", detail: "fsync: No space left on device")
        let message = FailureNote(full).error().message
        XCTAssertTrue(message.contains("/mnt/music") && message.contains("No space left on device"), message)
        let log = FailureNote(FerryError(.logCollected, "", sequence: 12)).error(of: Self.device)
        XCTAssertTrue(log.message.contains("from number 12 on"), log.message)
        XCTAssertEqual(log.device, Self.device)
        XCTAssertEqual(log.sequence, 12)
    }

    func testACodeOfALaterFerryHasWords() {
        let message = FailureNote(code: "moonlight", arguments: "{}").error().message
        XCTAssertTrue(message.contains("moonlight"), message)
        XCTAssertEqual(FailureNote(code: "moonlight", arguments: "{}").error(of: Self.device).message, message)
    }
}
