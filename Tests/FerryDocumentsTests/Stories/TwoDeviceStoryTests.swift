import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryDocuments
@testable import FerryEngine

/// What one person does on several devices, and what every device shows then.
final class TwoDeviceStoryTests: XCTestCase {
    func testADocumentHasEqualBytesOnTheOtherDevice() throws {
        let home = try DocumentHome()
        let bytes = noise(300_000, seed: 1)
        try home.add(0, "Scores/Trio.pdf", bytes)
        try home.add(0, "Notes.md", "short")
        try home.settle()
        XCTAssertEqual(try home.bytes(1, "Scores/Trio.pdf"), bytes)
        XCTAssertEqual(try home.bytes(1, "Notes.md"), Array("short".utf8))
        XCTAssertEqual(try home.devices[1].list(.inside(.top)).map(\.path), ["Notes.md", "Scores"])
        XCTAssertEqual(try home.devices[1].list(.inside(DocumentPath("Scores"))).map(\.byteCount), [300_000])
        XCTAssertEqual(try home.packs(0).count, 1)
        XCTAssertEqual(try home.packs(1), [])
        try home.assertEqualRows([0, 1])
    }

    func testWhatFitsIntoItsRowNeedsNoPack() throws {
        let home = try DocumentHome()
        try home.add(0, "a", noise(4096, seed: 1))
        try home.settle()
        XCTAssertEqual(try home.packs(0), [])
        XCTAssertEqual(try home.bytes(1, "a"), noise(4096, seed: 1))
        try home.add(0, "b", noise(4097, seed: 2))
        try home.settle()
        XCTAssertEqual(try home.packs(0).count, 1)
        XCTAssertEqual(try home.bytes(1, "b"), noise(4097, seed: 2))
    }

    func testAnEmptyDocumentTravels() throws {
        let home = try DocumentHome()
        try home.add(0, "empty", "")
        try home.assertSettled(["empty": ""])
    }

    func testEqualBytesGoIntoTheContainerOnce() throws {
        let home = try DocumentHome()
        let bytes = noise(200_000, seed: 3)
        try home.add(0, "a", bytes)
        try home.settle()
        try home.add(1, "b", bytes)
        try home.add(0, "c", bytes)
        try home.settle()
        XCTAssertEqual(try home.packs(0).count, 1)
        XCTAssertEqual(try home.packs(1), [])
        XCTAssertEqual(try home.bytes(0, "b"), bytes)
        XCTAssertEqual(try home.bytes(1, "c"), bytes)
    }

    // MARK: Concurrent edits

    private func edited(devices count: Int = 2) throws -> DocumentHome {
        let home = try DocumentHome(devices: count)
        try home.add(0, "a.md", "base")
        try home.settle()
        for index in 0..<count { try home.put(index, "a.md", "edit \(index)") }
        return home
    }

    func testConcurrentEditsAreRivalsEverywhere() throws {
        let home = try edited(devices: 3)
        try home.assertSettled(["a.md": "edit 2|edit 1|edit 0"])
        for index in 0..<3 {
            XCTAssertEqual(try home.devices[index].list(.conflicts).map(\.path), ["a.md"])
            let versions = try home.devices[index].versions(of: home.id(index, "a.md"))
            XCTAssertEqual(versions.map(\.device), ["device2", "device1", "device0", "device0"])
            XCTAssertEqual(versions.map(\.isCurrent), [true, false, false, false])
            XCTAssertEqual(versions.map(\.isRival), [false, true, true, false])
        }
    }

    func testTheSameEditOnTwoDevicesIsNoConflict() throws {
        let home = try DocumentHome()
        try home.add(0, "a.md", "base")
        try home.settle()
        try home.put(0, "a.md", "same")
        try home.put(1, "a.md", "same")
        try home.assertSettled(["a.md": "same"])
        XCTAssertEqual(try home.devices[0].list(.conflicts), [])
    }

    func testAConflictIsSettledByOneVersion() throws {
        let home = try edited()
        try home.settle()
        try home.settle(1, "a.md", keeping: "edit 0")
        try home.assertSettled(["a.md": "edit 0"])
    }

    func testAConflictIsSettledByAnEarlierVersion() throws {
        let home = try edited()
        try home.settle()
        try home.settle(0, "a.md", keeping: "base")
        try home.assertSettled(["a.md": "base"])
    }

    func testAConflictIsSettledByKeepingBoth() throws {
        let home = try edited(devices: 3)
        try home.settle()
        try home.keepBoth(0, "a.md")
        try home.assertSettled([
            "a.md": "edit 2", "a (device1, 14 November).md": "edit 1", "a (device0, 14 November).md": "edit 0",
        ])
    }

    func testAConflictIsSettledByOtherBytes() throws {
        let home = try edited()
        try home.settle()
        try home.settle(0, "a.md", with: "merged")
        try home.assertSettled(["a.md": "merged"])
    }

    func testTwoPeopleSettleAtOnceAndNothingIsLost() throws {
        let home = try edited()
        try home.settle()
        try home.settle(0, "a.md", keeping: "edit 0")
        try home.settle(1, "a.md", keeping: "edit 1")
        try home.assertSettled(["a.md": "edit 1|edit 0"])
        try home.settle(0, "a.md", keeping: "edit 0")
        try home.assertSettled(["a.md": "edit 0"])
    }

    func testTwoPeopleKeepBothAtOnceAndGetOneCopy() throws {
        let home = try edited()
        try home.settle()
        try home.keepBoth(0, "a.md")
        try home.keepBoth(1, "a.md")
        try home.assertSettled(["a.md": "edit 1", "a (device0, 14 November).md": "edit 0"])
    }

    func testAnEditOfARivalSupersedesThatOneAlone() throws {
        let home = try edited(devices: 3)
        try home.settle()
        let rival = try XCTUnwrap(try home.entry(1, "a.md").rivals.last)
        let stored = try home.replica(1).storeContents([home.source(Array("edited".utf8))])[0]
        home.clock.advance(seconds: 1)
        _ = try home.devices[1].save(stored, modifiedMicroseconds: 1, to: home.id(1, "a.md"), over: rival)
        try home.assertSettled(["a.md": "edited|edit 2|edit 1"])
    }

    func testASettledConflictAndAnEditMeetAsRivals() throws {
        let home = try edited(devices: 3)
        try home.settle()
        try home.settle(0, "a.md", keeping: "edit 0")
        try home.put(2, "a.md", "later")
        // The edit was made on top of "edit 2", in whose place the settlement stands, too.
        try home.assertSettled(["a.md": "later|edit 0"])
    }

    // MARK: Deletions

    func testAnEditBeatsADeletionWhoeverWasLater() throws {
        for isDeletionLater in [true, false] {
            let home = try DocumentHome()
            try home.add(0, "a.md", "base")
            try home.settle()
            if !isDeletionLater { try home.remove(1, "a.md") }
            try home.put(0, "a.md", "edit")
            if isDeletionLater { try home.remove(1, "a.md") }
            try home.assertSettled(["a.md": "edit"])
            for index in 0..<2 {
                XCTAssertTrue(try home.entry(index, "a.md").wasDeletedElsewhere)
                XCTAssertEqual(try home.devices[index].list(.deleted), [])
            }
            // The next edit of the shown version ends what the deletion said.
            try home.put(1, "a.md", "again")
            try home.assertSettled(["a.md": "again"])
            XCTAssertFalse(try home.entry(0, "a.md").wasDeletedElsewhere)
        }
    }

    func testADeletedDocumentIsPutBackOnAnotherDevice() throws {
        let home = try DocumentHome()
        let bytes = noise(50_000, seed: 4)
        try home.add(0, "a", bytes)
        try home.settle()
        try home.remove(0, "a")
        try home.assertSettled([:])
        XCTAssertEqual(try home.devices[1].list(.deleted).map(\.path), ["a"])
        XCTAssertEqual(try home.putBack(1, "a"), 1)
        try home.settle()
        XCTAssertEqual(try home.bytes(0, "a"), bytes)
        XCTAssertEqual(try home.bytes(1, "a"), bytes)
    }

    func testAFolderGoesAndComesBackWithEverythingInIt() throws {
        let home = try DocumentHome()
        try home.add(0, "F/G/a", "1")
        try home.add(0, "F/b", "2")
        try home.add(0, "c", "3")
        try home.settle()
        XCTAssertEqual(try home.remove(1, "F"), 4)
        try home.assertSettled(["c": "3"])
        XCTAssertEqual(Set(try home.devices[0].list(.deleted).map(\.path)), ["F", "F/G", "F/G/a", "F/b"])
        XCTAssertEqual(try home.putBack(0, "F"), 4)
        try home.assertSettled(["F/": "", "F/G/": "", "F/G/a": "1", "F/b": "2", "c": "3"])
    }

    func testPuttingOneDocumentBackBringsItsFoldersAlone() throws {
        let home = try DocumentHome()
        try home.add(0, "F/G/a", "1")
        try home.add(0, "F/b", "2")
        try home.remove(0, "F")
        try home.settle()
        XCTAssertEqual(try home.putBack(1, "F/G/a"), 3)
        try home.assertSettled(["F/": "", "F/G/": "", "F/G/a": "1"])
        XCTAssertEqual(try home.devices[0].list(.deleted).map(\.path), ["F/b"])
    }

    func testADeletedFolderIsShownWithWhatSomebodyPutIntoItMeanwhile() throws {
        let home = try DocumentHome()
        try home.add(0, "F/a", "1")
        try home.settle()
        try home.remove(0, "F")
        try home.add(1, "F/b", "2")
        try home.assertSettled(["F/": "", "F/b": "2"])
        XCTAssertEqual(try home.devices[0].list(.deleted).map(\.path), ["F/a"])
        try home.remove(1, "F/b")
        try home.assertSettled([:])
    }

    func testTheNameOfADeletedDocumentIsFreeAgain() throws {
        let home = try DocumentHome()
        try home.add(0, "a", "1")
        try home.settle()
        try home.remove(0, "a")
        try home.add(0, "a", "2")
        try home.assertSettled(["a": "2"])
        try home.putBack(1, "a")
        try home.settle()
        // Which one keeps the name is decided by IDs, on all devices alike.
        let shown = try home.shown(0)
        XCTAssertEqual(Set(shown.keys), ["a", "a (2)"])
        XCTAssertEqual(Set(shown.values), ["1", "2"])
        try home.assertSettled(shown)
    }

    // MARK: Names and places

    func testARenamingAndAnEditBothCount() throws {
        let home = try DocumentHome()
        try home.add(0, "a.md", "1")
        try home.settle()
        try home.move(0, "a.md", to: "b.md")
        try home.put(1, "a.md", "2")
        try home.assertSettled(["b.md": "2"])
    }

    func testARenamingAndADeletionEndInTheTrash() throws {
        let home = try DocumentHome()
        try home.add(0, "a.md", "1")
        try home.settle()
        try home.remove(0, "a.md")
        try home.move(1, "a.md", to: "b.md")
        try home.assertSettled([:])
        XCTAssertEqual(try home.devices[0].list(.deleted).map(\.path), ["b.md"])
    }

    func testOfTwoRenamingsTheLaterCounts() throws {
        let home = try DocumentHome()
        try home.add(0, "a", "1")
        try home.settle()
        try home.move(0, "a", to: "x")
        _ = try home.replica(0).sync()
        try home.move(1, "a", to: "y")
        try home.assertSettled(["y": "1"])
        let count = "SELECT count(*) FROM ferry_conflict"
        XCTAssertEqual(try home.sql(0, count), try home.sql(1, count))
    }

    func testDocumentsOfOneNameByTwoDevicesAreOne() throws {
        let home = try DocumentHome()
        try home.add(0, "Day/2026-03-01.md", "left")
        try home.add(1, "Day/2026-03-01.md", "right")
        try home.assertSettled(["Day/": "", "Day/2026-03-01.md": "right|left"])
    }

    func testEqualDocumentsByTwoDevicesHaveNoRivals() throws {
        let home = try DocumentHome()
        let bytes = noise(20_000, seed: 5)
        try home.add(0, "a", bytes)
        try home.add(1, "a", bytes)
        try home.settle()
        for index in 0..<2 {
            XCTAssertEqual(try home.entry(index, "a").rivals, [])
            XCTAssertEqual(try home.bytes(index, "a"), bytes)
            XCTAssertEqual(try home.sql(index, "SELECT count(*) FROM ferry_content"), [[.integer(1)]])
        }
        try home.assertEqualRows([0, 1])
    }

    func testARenamedDocumentAndANewOneShareTheName() throws {
        let home = try DocumentHome()
        try home.add(0, "b", "old")
        try home.settle()
        try home.move(0, "b", to: "a")
        try home.add(1, "a", "new")
        try home.assertSettled(["a": "new", "a (2)": "old"])
    }

    func testFoldersMovedIntoEachOtherShowTheLaterOneAtTheTop() throws {
        for isFirstLater in [true, false] {
            let home = try DocumentHome()
            try home.add(0, "P/a", "1")
            try home.add(0, "Q/b", "2")
            try home.settle()
            if isFirstLater { try home.move(1, "Q", to: "P/Q") }
            try home.move(0, "P", to: "Q/P")
            if !isFirstLater { try home.move(1, "Q", to: "P/Q") }
            try home.assertSettled(
                isFirstLater
                    ? ["P/": "", "P/Q/": "", "P/a": "1", "P/Q/b": "2"]
                    : ["Q/": "", "Q/P/": "", "Q/b": "2", "Q/P/a": "1"])
            let top = isFirstLater ? "P" : "Q"
            XCTAssertEqual(try home.entry(1, top).misplacement, .cycle)
            // A person moves the folder to where it shows, and nothing is odd any more.
            try home.move(0, top, to: "R")
            try home.settle()
            XCTAssertNil(try home.entry(1, "R").misplacement)
        }
    }

    func testAFolderDoesNotGoIntoItself() throws {
        let home = try DocumentHome(devices: 1)
        try home.makeFolder(0, "P/Q")
        XCTAssertEqual(failure { try home.move(0, "P", to: "P/Q/R") }?.code, .invalidArgument)
        XCTAssertEqual(failure { try home.move(0, "P", to: "P/R") }?.code, .invalidArgument)
        XCTAssertEqual(try home.shown(0), ["P/": "", "P/Q/": ""])
    }

    func testADocumentDoesNotReplaceAnother() throws {
        let home = try DocumentHome(devices: 1)
        try home.add(0, "a", "1")
        try home.add(0, "b", "2")
        XCTAssertEqual(failure { try home.add(0, "a", "other") }?.code, .nameTaken)
        XCTAssertEqual(failure { try home.move(0, "a", to: "b") }?.code, .nameTaken)
        XCTAssertEqual(failure { try home.add(0, "a/c", "below a document") }?.code, .nameTaken)
        XCTAssertEqual(failure { try home.makeFolder(0, "a") }?.code, .nameTaken)
        try home.makeFolder(0, "F")
        XCTAssertEqual(failure { try home.put(0, "F", "in place of a folder") }?.code, .nameTaken)
        XCTAssertEqual(try home.shown(0), ["a": "1", "b": "2", "F/": ""])
    }

    func testAddingTheSameBytesAgainChangesNothing() throws {
        let home = try DocumentHome(devices: 1)
        try home.add(0, "a", "1")
        XCTAssertNil(try home.add(0, "a", "1").version)
        XCTAssertEqual(try home.sql(0, "SELECT count(*) FROM ferry_version"), [[.integer(1)]])
    }

    func testOneNameInTwoFormsIsOneDocument() throws {
        let home = try DocumentHome()
        let (composed, decomposed) = ("Caf\u{e9}/\u{fc}.txt", "Cafe\u{301}/u\u{308}.txt")
        try home.add(0, composed, "left")
        try home.add(1, decomposed, "right")
        try home.settle()
        for index in 0..<2 {
            XCTAssertEqual(try home.devices[index].list(.below(.top)).count, 2)
            XCTAssertEqual(try home.bytes(index, composed), Array("right".utf8))
            XCTAssertEqual(try home.bytes(index, decomposed), Array("right".utf8))
            XCTAssertEqual(try home.entry(index, composed).rivals.count, 1)
        }
        XCTAssertEqual(failure { try home.add(0, decomposed, "third") }?.code, .nameTaken)
        try home.assertEqualRows([0, 1])
    }

    func testACapitalLetterMakesAnotherDocument() throws {
        let home = try DocumentHome()
        try home.add(0, "a.txt", "1")
        try home.add(1, "A.txt", "2")
        try home.assertSettled(["a.txt": "1", "A.txt": "2"])
    }

    func testADeviceThatComesLateGetsEverything() throws {
        let home = try DocumentHome()
        try home.add(0, "F/a", noise(100_000, seed: 6))
        try home.put(1, "b", "1")
        try home.settle()
        try home.put(0, "b", "2")
        try home.remove(1, "F/a")
        try home.settle()
        try home.addDevice()
        try home.assertSettled(["F/": "", "b": "2"])
        XCTAssertEqual(try home.putBack(2, "F/a"), 1)
        try home.settle()
        XCTAssertEqual(try home.bytes(2, "F/a"), noise(100_000, seed: 6))
    }

    func testADeviceThatWasAwayForAWeekCatchesUp() throws {
        let home = try DocumentHome(devices: 3)
        try home.add(0, "a", "0")
        try home.settle()
        try home.put(2, "a", "away")
        for day in 1...7 {
            home.clock.advance(days: 1)
            try home.put(day % 2, "a", "day \(day)")
            try home.settle([0, 1])
        }
        try home.assertSettled(["a": "day 7|away"])
    }
}
