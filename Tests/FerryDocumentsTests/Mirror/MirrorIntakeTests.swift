import FerryCore
import FerryDocuments
import FerryMirror
import Foundation
import XCTest

/// What a directory says of documents.
final class MirrorIntakeTests: XCTestCase {
    private func stamp(_ inode: UInt64, at modified: Int64 = 1, born: Int64 = 1, size: Int = 1) -> DiskStamp {
        DiskStamp(inode: inode, born: born, size: size, modified: modified, changed: modified)
    }

    private func entry(
        _ path: String, _ number: UInt64, kind: DiskItem.Kind = .file, rival: UInt64? = nil, born: Int64 = 1
    ) -> MirrorEntry {
        MirrorEntry(
            path: DiskPath(path),
            key: MirrorKey(document: Samples.id(number), rival: rival.map { Samples.version($0) }), kind: kind,
            version: Samples.version(rival ?? number), content: kind == .file ? Samples.content(number) : .zero,
            stamp: DiskItem(path: DiskPath(path), kind: kind, stamp: stamp(number, born: born)).stamp)
    }

    private func item(_ path: String, _ stamp: DiskStamp, kind: DiskItem.Kind = .file) -> DiskItem {
        DiskItem(path: DiskPath(path), kind: kind, stamp: stamp)
    }

    private func intake(
        _ entries: [MirrorEntry], _ items: [DiskItem], contents: [String: UInt64] = [:],
        documents: [DocumentRow] = [], ignoring: String = "", obstacles: [String: DiskObstacle] = [:],
        unreadable: [String] = [], now: Int64 = 100_000, confirmed: Bool = false
    ) -> MirrorIntake {
        let rules = IgnoreRules(ignoring)
        let look = MirrorLook(entries, items)
        var readings: [DiskPath: FileReading] = [:]
        for item in look.unread {
            if let number = contents[item.path.text] {
                readings[item.path] = FileReading(content: Samples.content(number), stamp: item.stamp)
            }
        }
        let versions = documents.map { Samples.row($0.id.low, of: $0.id.low, $0.id.low) }
        let wanted = WantedItems(
            MirrorTree(documents: documents, versions: versions), entries: entries, rules: DiskRules(), ignoring: rules)
        var circumstances = MirrorIntake.Circumstances(
            readings: readings, wanted: wanted, ignoring: rules,
            obstacles: DiskObstacles(
                Dictionary(uniqueKeysWithValues: obstacles.map { (DiskPath($0.key), $0.value) }), DiskRules()),
            nowMilliseconds: now, isConfirmed: confirmed)
        circumstances.unreadable = Set(unreadable.map { DiskPath($0) })
        return MirrorIntake(look, circumstances)
    }

    func testNothingInAFolderThatCannotBeListedIsMissing() {
        let folder = entry("d", 1, kind: .folder)
        var files = (2..<40).map { entry("d/\($0)", UInt64($0)) }
        for place in files.indices { files[place].missingSince = 1 }
        let closed = intake([folder] + files, [item("d", folder.stamp, kind: .folder)], obstacles: ["d": .closedFolder])
        XCTAssertEqual(closed.steps, [])
        XCTAssertEqual(closed.held, [])
        XCTAssertEqual(closed.waiting, [])
        XCTAssertEqual(closed.closed, Set(([folder] + files).map(\.key)))
        // Nor where somebody moved the folder, or the folder around: the files are known under their present paths.
        let moved = intake(
            [folder] + files, [item("e", folder.stamp, kind: .folder)], obstacles: ["e": .closedFolder])
        var expected = files
        for place in expected.indices { expected[place].path = DiskPath("e/\(place + 2)") }
        XCTAssertEqual(Set(moved.steps.prefix(files.count)), Set(expected.map { .keep($0) }))
        XCTAssertFalse(moved.steps.contains { if case .drop = $0 { true } else { false } }, "\(moved.steps)")
        XCTAssertTrue(moved.steps.contains { if case .move = $0 { true } else { false } }, "\(moved.steps)")
        // A copy of such a file elsewhere is no move.
        let copied = intake(
            [folder, files[0]], [item("d", folder.stamp, kind: .folder), item("copy", stamp(90))],
            contents: ["copy": 2], obstacles: ["d": .closedFolder])
        XCTAssertTrue(copied.closed.contains(files[0].key))
        XCTAssertFalse(copied.steps.contains { if case .move = $0 { true } else { false } }, "\(copied.steps)")
    }

    func testAFileThatCannotBeReadIsClosedAndNobodyWaitsForIt() {
        let known = entry("a", 1)
        let items = [item("a", stamp(1, at: 9)), item("new", stamp(5))]
        let closed = intake([known], items, unreadable: ["a", "new"])
        XCTAssertEqual(closed.closed, [known.key])
        XCTAssertEqual(closed.waiting, [])
        XCTAssertEqual(closed.steps, [])
        // Without a reason the file waits for the next look.
        let waiting = intake([known], items)
        XCTAssertEqual(waiting.closed, [])
        XCTAssertEqual(waiting.waiting, [known.key])
    }

    func testTheNamesOfAnEarlierFerryAreRead() throws {
        let json = Data(#"["a\ufffd", {"path": "b", "reason": "folder"}]"#.utf8)
        let items = try JSONDecoder().decode([StuckItem].self, from: json)
        XCTAssertEqual(items, [StuckItem("a\u{fffd}", .name), StuckItem("b", .folder)])
        XCTAssertEqual(try JSONDecoder().decode([StuckItem].self, from: JSONEncoder().encode(items)), items)
        let sentences = items.sentences(in: "/M")
        XCTAssertEqual(sentences.count, 2)
        XCTAssertTrue(sentences[1].hasPrefix("1 folder in /M cannot be read: “b”."), sentences[1])
    }

    func testWhatStandsInAFilesPlaceDeletesNoDocument() {
        var (one, two) = (entry("a", 1), entry("d/b", 2))
        (one.missingSince, two.missingSince) = (90_000, 90_000)
        XCTAssertEqual(intake([one, two], []).steps, [.drop(one), .drop(two)])
        XCTAssertEqual(
            intake([one, two], [], obstacles: ["a": .link, "d": .otherDisk]).steps, [.forget(one), .forget(two)])
        // Many of them are no deletions that somebody has to confirm.
        let many = (0..<30).map { entry("d/\($0)", UInt64($0 + 1)) }
        XCTAssertEqual(intake(many, []).held.count, 30)
        XCTAssertEqual(intake(many, [], obstacles: ["d": .link]).held.count, 0)
    }

    func testObstaclesAreFoundUnderTheDisksNames() {
        let found = [DiskPath("Dir"): DiskObstacle.link]
        XCTAssertNil(DiskObstacles(found, DiskRules()).block(DiskPath("dir/a")))
        let block = DiskObstacles(found, DiskRules(ignoresCase: true)).block(DiskPath("dir/a"))
        XCTAssertEqual(block?.place, "Dir")
        XCTAssertEqual(block?.path, "dir/a")
        XCTAssertNil(DiskObstacles(found, DiskRules()).block(DiskPath("Directory")))
        XCTAssertEqual(DiskObstacles(found, DiskRules()).idle([]).map(\.path), ["Dir"])
    }

    func testWhatIsAsBeforeIsNotRead() {
        let entry = entry("a", 1)
        let look = MirrorLook([entry], [item("a", entry.stamp)])
        XCTAssertEqual(look.unread, [])
        XCTAssertEqual(intake([entry], [item("a", entry.stamp)]).steps, [])
    }

    func testAnEditIsOnTopOfTheVersionOnTheDisk() {
        let entry = entry("a", 1)
        let new = item("a", stamp(9, at: 5))
        XCTAssertEqual(
            intake([entry], [new], contents: ["a": 7]).steps,
            [.edit(entry, FileReading(content: Samples.content(7), stamp: new.stamp))])
    }

    func testATouchedFileIsNoNewVersion() {
        var entry = entry("a", 1)
        let touched = item("a", stamp(1, at: 5))
        let steps = intake([entry], [touched], contents: ["a": 1]).steps
        entry.stamp = touched.stamp
        XCTAssertEqual(steps, [.keep(entry)])
    }

    func testAFileThatCannotBeReadNowWaits() {
        let intake = intake([entry("a", 1)], [item("a", stamp(1, at: 5))])
        XCTAssertEqual(intake.steps, [])
        XCTAssertEqual(intake.waiting, [MirrorKey(document: Samples.id(1))])
    }

    func testARenamedFileIsFoundByItsInode() {
        let steps = intake([entry("a", 1)], [item("b", stamp(1))]).steps
        XCTAssertTrue(steps.contains(.move(Samples.id(1), to: .document(nil), name: "b")))
        XCTAssertFalse(steps.contains { if case .drop = $0 { true } else { false } })
    }

    func testAUsedInodeIsNoRename() {
        let new = item("b", stamp(1, at: 5, born: 4))
        let steps = intake([entry("a", 1)], [new], contents: ["b": 7]).steps
        XCTAssertTrue(
            steps.contains(
                .file(
                    DiskPath("b"), FileReading(content: Samples.content(7), stamp: new.stamp), in: .document(nil),
                    present: nil)))
        XCTAssertFalse(steps.contains { if case .move = $0 { true } else { false } })
    }

    func testOfTwoEntriesWithOnePathTheOneIsMeantWhoseFileLiesThere() {
        let steps = intake([entry("a", 1), entry("a", 2)], [item("a", stamp(2)), item("b", stamp(1))]).steps
        XCTAssertEqual(
            steps.filter { if case .keep = $0 { false } else { true } },
            [.move(Samples.id(1), to: .document(nil), name: "b")])
    }

    func testAMovedCopyIsFoundByItsBytes() {
        let steps = intake([entry("a", 1)], [item("b", stamp(50, born: 9))], contents: ["b": 1]).steps
        XCTAssertTrue(steps.contains(.move(Samples.id(1), to: .document(nil), name: "b")))
    }

    func testAMovedFolderTakesItsFilesAlong() {
        let entries = [entry("f", 1, kind: .folder), entry("f/a", 2), entry("f/b", 3)]
        let items = [item("g", stamp(1), kind: .folder), item("g/a", stamp(2)), item("g/b", stamp(3))]
        let steps = intake(entries, items).steps
        let moves = steps.filter { if case .move = $0 { true } else { false } }
        XCTAssertEqual(moves, [.move(Samples.id(1), to: .document(nil), name: "g")])
    }

    func testAbsenceIsADeletionAfterAWhile() {
        var gone = entry("a", 1)
        let first = intake([gone], [], now: 100_000)
        gone.missingSince = 100_000
        XCTAssertEqual(first.steps, [.keep(gone)])
        XCTAssertEqual(first.waiting, [gone.key])
        XCTAssertEqual(intake([gone], [], now: 101_000).steps, [])
        XCTAssertEqual(intake([gone], [], now: 102_000).steps, [.drop(gone)])
    }

    func testAFileThatAFolderReplacedIsGone() {
        let gone = entry("a", 1)
        XCTAssertTrue(intake([gone], [item("a", stamp(5), kind: .folder)]).steps.contains(.drop(gone)))
    }

    func testManyDeletionsAtOnceAreHeld() {
        let entries = (1...UInt64(30)).map { number in
            var entry = entry("f\(number)", number)
            entry.missingSince = 0
            return entry
        }
        let rest = entries[16...].map { item($0.path.text, $0.stamp) }
        let held = intake(entries, Array(rest))
        XCTAssertEqual(held.held.count, 0, "16 are fewer than 20")
        let more = intake(entries, Array(rest.dropFirst(6)))
        XCTAssertEqual(more.held.count, 22)
        XCTAssertEqual(more.steps, [])
        let confirmed = intake(entries, Array(rest.dropFirst(6)), confirmed: true)
        XCTAssertEqual(confirmed.steps.count { if case .drop = $0 { true } else { false } }, 22)
    }

    func testHalfOfManyMayGo() {
        let entries = (1...UInt64(60)).map { entry("f\($0)", $0) }
        let rest = entries[30...].map { item($0.path.text, $0.stamp) }
        XCTAssertEqual(intake(entries, Array(rest)).held.count, 0)
        XCTAssertEqual(intake(entries, Array(rest.dropFirst())).held.count, 31)
    }

    func testWhatIsIgnoredFromNowOnIsNotDeleted() {
        let gone = entry("a.o", 1)
        let found = intake([gone], [], ignoring: "*.o")
        var suspended = gone
        suspended.stamp = .unknown(isExecutable: false)
        XCTAssertEqual(found.steps, [.keep(suspended)])
        XCTAssertEqual(found.closed, [gone.key])
        XCTAssertEqual(intake([suspended], [], ignoring: "*.o").steps, [], "once is enough")
        XCTAssertEqual(intake([suspended], []).steps, [.forget(suspended)], "it went while it was ignored")
    }

    func testARenamedCopyIsADocumentOfItsOwn() {
        let copy = entry("a (conflict, phone 1 March 14.00)", 1, rival: 2)
        let moved = item("mine", copy.stamp)
        let steps = intake([copy], [moved]).steps
        XCTAssertEqual(
            steps,
            [
                .file(
                    DiskPath("mine"), FileReading(content: copy.content, stamp: copy.stamp), in: .document(nil),
                    present: nil), .drop(copy),
            ])
    }

    func testAFileMeetsTheDocumentOfItsName() {
        let new = item("a", stamp(5))
        XCTAssertEqual(
            intake([], [new], contents: ["a": 7], documents: [Samples.document(1, "a")]).steps,
            [
                .file(
                    DiskPath("a"), FileReading(content: Samples.content(7), stamp: new.stamp), in: .document(nil),
                    present: Samples.id(1))
            ])
    }
}

/// How a directory comes to look as it should.
final class OutflowPlanTests: XCTestCase {
    private func entry(_ path: String, _ number: UInt64, kind: DiskItem.Kind = .file) -> MirrorEntry {
        MirrorEntry(
            path: DiskPath(path), key: MirrorKey(document: Samples.id(number)), kind: kind,
            version: Samples.version(number), content: kind == .file ? Samples.content(number) : .zero,
            stamp: DiskStamp(inode: number))
    }

    private func plan(_ entries: [MirrorEntry], _ documents: [DocumentRow], waiting: Set<MirrorKey> = [])
        -> [OutflowStep]
    {
        let versions = documents.map { Samples.row($0.id.low, of: $0.id.low, $0.id.low) }
        let wanted = WantedItems(
            MirrorTree(documents: documents, versions: versions), entries: entries, rules: DiskRules(),
            ignoring: .builtIn)
        return OutflowPlan(entries, wanted, waiting: waiting).steps
    }

    func testARestingDirectoryNeedsNothing() {
        XCTAssertEqual(
            plan(
                [entry("f", 1, kind: .folder), entry("f/a", 2)],
                [Samples.document(1, "f", kind: .folder), Samples.document(2, "a", in: 1)]), [])
    }

    func testTwoFilesExchangeTheirNames() {
        let (a, b) = (entry("a", 1), entry("b", 2))
        XCTAssertEqual(
            plan([a, b], [Samples.document(1, "b"), Samples.document(2, "a")]),
            [
                .aside(b.key), .move(a.key, to: DiskPath("b")), .move(b.key, to: DiskPath("a")),
            ])
    }

    func testFoldersExchangeTheirPlaces() {
        let entries = [entry("p", 1, kind: .folder), entry("p/q", 2, kind: .folder), entry("p/q/x", 3)]
        XCTAssertEqual(
            plan(
                entries,
                [
                    Samples.document(1, "p", in: 2, kind: .folder), Samples.document(2, "q", kind: .folder),
                    Samples.document(3, "x", in: 2),
                ]),
            [.move(entries[1].key, to: DiskPath("q")), .move(entries[0].key, to: DiskPath("q/p"))])
    }

    func testAFolderGoesAfterWhatWasInIt() {
        let entries = [entry("f", 1, kind: .folder), entry("f/a", 2), entry("f/b", 3)]
        XCTAssertEqual(
            plan(entries, [Samples.document(2, "a")]),
            [
                .remove(entries[2].key), .move(entries[1].key, to: DiskPath("a")), .removeFolder(entries[0].key),
            ])
    }

    func testWhatWaitsIsNotTouched() {
        let a = entry("a", 1)
        XCTAssertEqual(plan([a], [], waiting: [a.key]), [])
        XCTAssertEqual(plan([a], [Samples.document(2, "a"), Samples.document(1, "c")], waiting: [a.key]), [])
    }
}
