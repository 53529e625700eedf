import FerryCore
import FerryDocuments
import FerryTestSupport
import XCTest

final class DocumentChangeTests: XCTestCase {
    private let document = Samples.document(1, "a.md", in: 9)

    /// A base that two devices edited at once: version 1, then 2 and 3.
    private var conflict: [VersionRow] {
        [
            Samples.row(1, of: 1, 1, isSuperseded: true, at: 10), Samples.row(2, of: 1, 2, over: [1], at: 20),
            Samples.row(3, of: 1, 3, over: [1], at: 30),
        ]
    }

    private func settled(
        _ how: Settlement, _ versions: [VersionRow]? = nil, isTaken: (DocumentID) throws -> Bool = { _ in false }
    ) throws -> DocumentChange {
        try .settling(document, versions ?? conflict, how, by: Samples.author(), isTaken: isTaken)
    }

    func testANewDocumentHasOneVersion() {
        let change = DocumentChange.making(document, Samples.bytes(4, mode: 1), by: Samples.author())
        XCTAssertEqual(change.documents, [document])
        XCTAssertEqual(change.superseded, [])
        let version = change.versions[0]
        XCTAssertEqual(version.content, Samples.content(4))
        XCTAssertEqual(
            [version.madeMilliseconds, version.modifiedMicroseconds, version.mode], [Samples.now, 4, 1])
        XCTAssertEqual(version.device, Samples.phone)
    }

    // MARK: Saving

    func testASaveStandsInThePlaceOfTheEditedVersionAlone() {
        let change = DocumentChange.saving(
            Samples.bytes(4), over: conflict[1], among: conflict, by: Samples.author())
        XCTAssertEqual(change.superseded, [Samples.version(2)])
        let leaves = DocumentLeaves(conflict.after(change))
        XCTAssertEqual(leaves.current?.content, Samples.content(4))
        XCTAssertEqual(leaves.rivals.map(\.id), [Samples.version(3)])
    }

    func testASaveOverAnEarlierVersionIsARival() {
        let change = DocumentChange.saving(
            Samples.bytes(4), over: conflict[0], among: conflict, by: Samples.author())
        XCTAssertEqual(change.versions[0].supersedes, [Samples.version(1)])
        XCTAssertEqual(DocumentLeaves(conflict.after(change)).rivals.count, 2)
    }

    func testASaveTakesTheLeavesAlongThatAreEqualToTheEditedOne() {
        let versions = [
            Samples.row(1, of: 1, 5, at: 10), Samples.row(2, of: 1, 5, at: 20), Samples.row(3, of: 1, 6, at: 5),
        ]
        let change = DocumentChange.saving(
            Samples.bytes(7), over: versions[0], among: versions, by: Samples.author())
        XCTAssertEqual(change.superseded, [Samples.version(1), Samples.version(2)])
    }

    func testASaveOverTheCurrentVersionEndsADeletionThatWasBeaten() {
        let versions = [
            Samples.row(1, of: 1, 5, at: 10), Samples.row(2, of: 1, 6, at: 5), Samples.row(3, of: 1, nil, at: 20),
        ]
        let over = { (place: Int) in
            DocumentChange.saving(Samples.bytes(7), over: versions[place], among: versions, by: Samples.author())
                .superseded
        }
        XCTAssertEqual(over(0), [Samples.version(1), Samples.version(3)])
        XCTAssertEqual(over(1), [Samples.version(2)], "whoever writes to a rival says nothing about the document")
    }

    // MARK: Removing and putting back

    func testARemovedDocumentComesBackWithTheBytesThatItHad() throws {
        let removal = DocumentChange.removing(Samples.id(1), conflict, by: Samples.author())
        XCTAssertEqual(removal.superseded, [Samples.version(2), Samples.version(3)])
        let removed = conflict.after(removal)
        XCTAssertTrue(DocumentLeaves(removed).isDeleted)
        let back = try XCTUnwrap(DocumentChange.puttingBack(Samples.id(1), removed, by: Samples.author(seed: 2)))
        let leaves = DocumentLeaves(removed.after(back))
        XCTAssertEqual(leaves.current?.content, Samples.content(3))
        XCTAssertEqual(leaves.all.count, 1)
        XCTAssertNil(DocumentChange.puttingBack(Samples.id(1), conflict, by: Samples.author()), "it is not deleted")
    }

    func testPuttingBackFindsBytesBehindSeveralDeletions() throws {
        let versions = [
            Samples.row(1, of: 1, 1, isSuperseded: true, at: 10),
            Samples.row(2, of: 1, nil, over: [1], isSuperseded: true, at: 20),
            Samples.row(3, of: 1, nil, over: [2], at: 30), Samples.row(4, of: 1, nil, over: [1], at: 40),
        ]
        let back = try XCTUnwrap(DocumentChange.puttingBack(Samples.id(1), versions, by: Samples.author()))
        XCTAssertEqual(back.versions[0].content, Samples.content(1))
        XCTAssertEqual(back.superseded, [Samples.version(3), Samples.version(4)])
        let lost = versions.filter { $0.content == nil }
        XCTAssertNil(DocumentChange.puttingBack(Samples.id(1), lost, by: Samples.author()), "no bytes are left")
    }

    // MARK: Settling

    func testAVersionThatIsKeptStandsInThePlaceOfAllLeaves() throws {
        for number in [1, 2, 3] as [UInt64] {
            let change = try settled(.keep(Samples.version(number)))
            XCTAssertEqual(change.superseded, [Samples.version(2), Samples.version(3)])
            let leaves = DocumentLeaves(conflict.after(change))
            XCTAssertEqual(leaves.all.map(\.content), [Samples.content(number)])
        }
        let bytes = try settled(.with(Samples.bytes(8)))
        XCTAssertEqual(DocumentLeaves(conflict.after(bytes)).all.map(\.content), [Samples.content(8)])
    }

    func testBothVersionsAreKeptAsTwoDocuments() throws {
        let taken = DocumentID.derived(folder: Samples.id(9), name: "b.md", kind: .file, ordinal: 0)
        let change = try settled(.keepBoth(names: ["b.md"])) { $0 == taken }
        XCTAssertEqual(
            change.documents,
            [
                DocumentRow(
                    id: .derived(folder: Samples.id(9), name: "b.md", kind: .file, ordinal: 1), folder: Samples.id(9),
                    name: "b.md", kind: .file)
            ])
        XCTAssertEqual(change.versions.map(\.content), [Samples.content(2), Samples.content(3)])
        XCTAssertEqual(change.versions.map(\.document), [change.documents[0].id, Samples.id(1)])
        XCTAssertEqual(change.superseded, [Samples.version(2), Samples.version(3)])
    }

    func testRivalsOfOneNameBecomeTwoDocuments() throws {
        let versions = conflict + [Samples.row(4, of: 1, 4, over: [1], at: 5)]
        let change = try settled(.keepBoth(names: ["b", "b"]), versions)
        XCTAssertEqual(Set(change.documents.map(\.id)).count, 2)
    }

    func testWhatCannotBeSettledChangesNothing() {
        XCTAssertEqual(failure { _ = try settled(.keep(Samples.version(9))) }?.code, .nothingFound)
        XCTAssertEqual(failure { _ = try settled(.keep(Samples.version(3)), [conflict[2]]) }?.code, .nothingFound)
        XCTAssertEqual(failure { _ = try settled(.keepBoth(names: [])) }?.code, .invalidArgument)
        XCTAssertEqual(failure { _ = try settled(.keepBoth(names: ["a/b"])) }?.code, .invalidArgument)
        let deletion = Samples.row(4, of: 1, nil, at: 5)
        XCTAssertEqual(failure { _ = try settled(.keep(deletion.id), conflict + [deletion]) }?.code, .nothingFound)
    }

    // MARK: Merging

    func testEveryDeviceMakesTheSameMergedVersion() throws {
        let pair = try XCTUnwrap(VersionHistory(conflict).mergePairs.first)
        XCTAssertEqual([pair.base?.id, pair.ours.id, pair.theirs.id], [1, 3, 2].map(Samples.version))
        let change = DocumentChange.merging(pair, Samples.content(9), conflict)
        XCTAssertEqual(change, .merging(pair, Samples.content(9), conflict.reversed()))
        let version = change.versions[0]
        XCTAssertNil(version.device)
        XCTAssertEqual(version.madeMilliseconds, 30)
        XCTAssertEqual(version.supersedes, [2, 3].map(Samples.version))
        XCTAssertEqual(DocumentLeaves(conflict.after(change)).all, [version])
    }

    func testWhatTwoProgramsMergedOfTheSameLeavesIsNotMergedByThem() throws {
        let pair = try XCTUnwrap(VersionHistory(conflict).mergePairs.first)
        let merges = [8, 9].map { DocumentChange.merging(pair, Samples.content($0), conflict) }
        var versions = conflict.after(merges[0]).after(merges[1])
        XCTAssertEqual(DocumentLeaves(versions).rivals.count, 1)
        XCTAssertEqual(VersionHistory(versions).mergePairs, [])
        versions.append(Samples.row(7, of: 1, 7, over: [2, 3], at: 90))
        XCTAssertEqual(VersionHistory(versions).mergePairs.count, 2, "what a person made is merged with each")
    }

    func testAMergeKeepsTheModeThatSomebodyChanged() throws {
        for (base, ours, theirs, merged) in [(0, 1, 0, 1), (1, 1, 0, 0), (1, 0, 1, 0), (0, 2, 1, 3)]
            as [(Int64, Int64, Int64, Int64)]
        {
            var versions = conflict
            for (place, mode) in [base, theirs, ours].enumerated() { versions[place].mode = mode }
            let pair = try XCTUnwrap(VersionHistory(versions).mergePairs.first)
            XCTAssertEqual(DocumentChange.merging(pair, Samples.content(9), versions).versions[0].mode, merged)
        }
    }

    // MARK: Changes of a single version

    func testADroppedRivalLeavesTheOthers() throws {
        let versions = [
            Samples.row(1, of: 1, 1), Samples.row(2, of: 1, 2, at: Samples.now + 1),
            Samples.row(3, of: 1, 3, at: Samples.now + 2),
        ]
        let change = try XCTUnwrap(
            DocumentChange.dropping(Samples.version(2), among: versions, by: Samples.author()))
        XCTAssertEqual(change.superseded, [Samples.version(2)])
        let leaves = DocumentLeaves(versions.after(change))
        XCTAssertEqual(leaves.current?.id, Samples.version(3))
        XCTAssertEqual(leaves.rivals.map(\.id), [Samples.version(1)])
    }

    func testTheLastDroppedLeafDeletesTheDocument() throws {
        let versions = [Samples.row(1, of: 1, 1), Samples.row(2, of: 1, 2, over: [1])].map { row in
            var row = row
            row.isSuperseded = row.id == Samples.version(1)
            return row
        }
        XCTAssertNil(
            DocumentChange.dropping(Samples.version(1), among: versions, by: Samples.author()),
            "what another version stands in the place of is no leaf")
        let change = try XCTUnwrap(
            DocumentChange.dropping(Samples.version(2), among: versions, by: Samples.author()))
        XCTAssertTrue(DocumentLeaves(versions.after(change)).isDeleted)
    }

    /// A leaf with the same bytes that stands in another file was chosen there.
    func testADropLeavesAnEqualLeafOfAnotherFile() throws {
        // The rival's bytes were saved over the current version; then the rival's copy goes.
        let taken = [
            Samples.row(1, of: 1, 1), Samples.row(2, of: 1, 2, at: Samples.now + 1),
            Samples.row(3, of: 1, 1, over: [2], at: Samples.now + 2),
        ]
        // Three files: by its version, and by the version that it had before.
        for held in [Samples.version(3), Samples.version(2)] {
            let change = try XCTUnwrap(
                DocumentChange.dropping(Samples.version(1), among: taken, besides: [held], by: Samples.author()))
            XCTAssertEqual(change.superseded, [Samples.version(1)])
            XCTAssertEqual(DocumentLeaves(taken.after(change)).current?.id, Samples.version(3))
        }
        // What lies behind both leaves tells nothing, and without another file all equal leaves go.
        let same = [
            Samples.row(1, of: 1, 1), Samples.row(2, of: 1, 2, over: [1]), Samples.row(3, of: 1, 2, over: [1]),
        ]
        for held in [Set([Samples.version(1)]), []] {
            let change = try XCTUnwrap(
                DocumentChange.dropping(Samples.version(2), among: same, besides: held, by: Samples.author()))
            XCTAssertTrue(DocumentLeaves(same.after(change)).isDeleted)
        }
    }

    /// Two files of a document that exchange their texts stay two versions, in either order of the saves.
    func testExchangedFilesStayTwoVersions() throws {
        let versions = [Samples.row(1, of: 1, 1), Samples.row(2, of: 1, 2, at: Samples.now + 1)]
        let author = Samples.author(at: Samples.now + 9000)
        for startsWithRival in [true, false] {
            var present = versions
            for isRival in [startsWithRival, !startsWithRival] {
                present = present.after(
                    isRival
                        ? .saving(
                            Samples.bytes(2), overRival: versions[0], among: present, besides: [Samples.version(2)],
                            by: author)
                        : .saving(
                            Samples.bytes(1), over: versions[1], among: present, besides: [Samples.version(1)],
                            by: author))
            }
            let leaves = DocumentLeaves(present)
            XCTAssertEqual(leaves.current?.content, Samples.content(1))
            XCTAssertEqual(leaves.rivals.map(\.content), [Samples.content(2)])
        }
    }

    /// Whoever edits what somebody drops meanwhile keeps it.
    func testAnEditBeatsADrop() throws {
        let versions = [Samples.row(1, of: 1, 1)]
        let drop = try XCTUnwrap(
            DocumentChange.dropping(Samples.version(1), among: versions, by: Samples.author(seed: 2)))
        let edit = DocumentChange.saving(
            Samples.bytes(7), over: versions[0], among: versions, by: Samples.author(Samples.laptop, seed: 3))
        XCTAssertEqual(
            DocumentLeaves(versions.after(drop).after(edit)).current?.content, Samples.content(7))
    }

    func testAnEditedRivalStaysARival() {
        let versions = [Samples.row(1, of: 1, 1), Samples.row(2, of: 1, 2, at: Samples.now + 1)]
        let edit = DocumentChange.saving(
            Samples.bytes(7), overRival: versions[0], among: versions, by: Samples.author(at: Samples.now + 9000))
        let leaves = DocumentLeaves(versions.after(edit))
        XCTAssertEqual(leaves.current?.id, Samples.version(2))
        XCTAssertEqual(leaves.rivals.map(\.content), [Samples.content(7)])
    }

    func testWhatJoinsStandsBeside() {
        let versions = [Samples.row(1, of: 1, 1)]
        let change = DocumentChange.joining(
            Samples.bytes(7), to: Samples.id(1), by: Samples.author(at: Samples.now + 1))
        XCTAssertEqual(change.superseded, [])
        XCTAssertEqual(DocumentLeaves(versions.after(change)).rivals.map(\.id), [Samples.version(1)])
    }
}
