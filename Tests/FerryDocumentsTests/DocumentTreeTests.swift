import FerryCore
import FerryDocuments
import FerryTestSupport
import XCTest

final class DocumentTreeTests: XCTestCase {
    private func path(_ tree: DocumentTree, _ number: UInt64) -> String? {
        tree.path(of: Samples.id(number))?.joined(separator: "/")
    }

    func testDocumentsAreShownInTheirFolders() throws {
        let documents = [
            Samples.document(1, "Scores", kind: .folder), Samples.document(2, "Trio.pdf", in: 1),
            Samples.document(3, "Notes.md"),
        ]
        let version = Samples.row(50, of: 2, 5)
        let tree = DocumentTree(
            documents: documents,
            versions: [Samples.row(51, of: 1, 1), Samples.row(52, of: 3, 3), version, Samples.row(53, of: 99, 1)],
            size: { $0 == Samples.content(5) ? 3100 : nil })
        XCTAssertEqual(path(tree, 2), "Scores/Trio.pdf")
        XCTAssertEqual(path(tree, 3), "Notes.md")
        XCTAssertNil(path(tree, 4))
        let entry = try XCTUnwrap(tree[Samples.id(2)])
        XCTAssertEqual(entry.version, version.id)
        XCTAssertEqual(entry.size, 3100)
        XCTAssertEqual(tree[Samples.id(3)]?.size, nil)
        XCTAssertEqual(tree.shown(in: nil).map(\.name), ["Scores", "Notes.md"])
        XCTAssertEqual(tree.shown(in: Samples.id(1)).map(\.name), ["Trio.pdf"])
        XCTAssertEqual(tree.shown(in: Samples.id(2)).map(\.name), [])
    }

    // MARK: Rule 2

    func testADeletedDocumentLiesInTheTrash() {
        let tree = Samples.tree([Samples.document(1, "a")], [Samples.row(50, of: 1, nil)])
        XCTAssertEqual(tree[Samples.id(1)]?.isShown, false)
        XCTAssertEqual(tree[Samples.id(1)]?.isDeleted, true)
        XCTAssertEqual(tree[Samples.id(1)]?.name, "a")
        XCTAssertEqual(tree.shown(in: nil), [])
    }

    func testADeletedFolderIsShownAsLongAsSomethingBelowItIs() {
        let documents = [
            Samples.document(1, "a", kind: .folder), Samples.document(2, "b", in: 1, kind: .folder),
            Samples.document(3, "c", in: 2), Samples.document(4, "d", in: 1, kind: .folder),
        ]
        let deletions = [1, 2, 4].map { Samples.row(50 + $0, of: $0, nil) }
        let tree = Samples.tree(documents, deletions)
        XCTAssertEqual(path(tree, 3), "a/b/c")
        XCTAssertEqual(tree[Samples.id(1)]?.isDeleted, true)
        XCTAssertNil(path(tree, 4))
        XCTAssertNil(path(Samples.tree(documents, deletions + [Samples.row(60, of: 3, nil)]), 1))
    }

    func testTheTrashTakesNoNames() {
        let tree = Samples.tree(
            [Samples.document(1, "a"), Samples.document(2, "a")], [Samples.row(50, of: 1, nil)])
        XCTAssertEqual(path(tree, 2), "a")
    }

    // MARK: Rule 3

    func testOfFoldersBelowEachOtherTheOneMovedLastIsAtTheTop() {
        let tree = Samples.tree([
            Samples.document(1, "P", in: 3, kind: .folder, named: 10),
            Samples.document(2, "Q", in: 1, kind: .folder, named: 30),
            Samples.document(3, "R", in: 2, kind: .folder, named: 20), Samples.document(4, "x", in: 1),
        ])
        XCTAssertEqual(path(tree, 2), "Q")
        XCTAssertEqual(path(tree, 4), "Q/R/P/x")
        XCTAssertEqual(tree[Samples.id(2)]?.misplacement, .cycle)
        XCTAssertEqual(tree[Samples.id(1)]?.misplacement, nil)
    }

    func testAFolderInItselfIsShownAtTheTop() {
        let tree = Samples.tree([Samples.document(1, "P", in: 1, kind: .folder)])
        XCTAssertEqual(path(tree, 1), "P")
        XCTAssertEqual(tree[Samples.id(1)]?.misplacement, .cycle)
    }

    func testWhatLiesInNoFolderIsShownAtTheTop() {
        let tree = Samples.tree([
            Samples.document(1, "a"), Samples.document(2, "b", in: 1), Samples.document(3, "c", in: 99),
        ])
        XCTAssertEqual(path(tree, 2), "b")
        XCTAssertEqual(path(tree, 3), "c")
        XCTAssertEqual(tree[Samples.id(2)]?.misplacement, .noFolder)
        XCTAssertEqual(tree[Samples.id(3)]?.misplacement, .noFolder)
    }

    func testTwoHundredThousandLevelsAreShown() {
        let count: UInt64 = 200_000
        let documents = (1...count).map {
            Samples.document($0, "f", in: $0 == 1 ? nil : $0 - 1, kind: $0 == count ? .file : .folder)
        }
        let tree = DocumentTree(documents: documents, versions: [Samples.row(1, of: count, 1)])
        XCTAssertEqual(tree.path(of: Samples.id(count))?.count, Int(count))
        var circle = documents
        circle[0].folder = Samples.id(count - 1)
        let cut = DocumentTree(documents: circle, versions: [Samples.row(1, of: count, 1)])
        XCTAssertEqual(path(cut, count), "f/f", "the folder with the greatest ID is at the top")
    }

    // MARK: Rule 4

    func testOfEqualNamesTheOneThatWasNamedFirstKeepsItsOwn() {
        let tree = Samples.tree([
            Samples.document(1, "a.md", named: 5), Samples.document(2, "a.md"), Samples.document(3, "a.md", named: 4),
            Samples.document(4, "a (2).md", named: 9),
        ])
        XCTAssertEqual([2, 3, 1, 4].map { path(tree, $0) }, ["a.md", "a (3).md", "a (4).md", "a (2).md"])
    }

    func testNamesAreEqualInComposedForm() {
        let tree = Samples.tree([Samples.document(1, "e\u{301}"), Samples.document(2, "é"), Samples.document(3, "É")])
        XCTAssertEqual([1, 2, 3].map { path(tree, $0) }, ["é", "é (2)", "É"])
        XCTAssertEqual(path(tree, 1)?.unicodeScalars.count, 2)
    }

    func testAFolderAndAFileOfOneNameBothStay() {
        let tree = Samples.tree([Samples.document(2, "a"), Samples.document(1, "a", kind: .folder)])
        XCTAssertEqual([1, 2].map { path(tree, $0) }, ["a", "a (2)"])
    }

    /// A name gets a number only once names that others wrote have theirs.
    func testCutNamesStayApart() {
        let long = String(repeating: "x", count: 255)
        let cut = String(repeating: "x", count: 251) + " (2)"
        let tree = Samples.tree([
            Samples.document(1, long), Samples.document(2, long), Samples.document(3, cut), Samples.document(4, cut),
        ])
        let shown = [1, 2, 3, 4].compactMap { path(tree, $0) }
        XCTAssertEqual(Set(shown).count, 4)
        XCTAssertEqual(shown[2], cut)
        XCTAssertTrue(shown.allSatisfy { $0.utf8.count <= 255 })
    }

    func testNamesThatNoPathHasAreShownByOthers() {
        let tree = Samples.tree([Samples.document(1, "a/b"), Samples.document(2, "a_b"), Samples.document(3, "")])
        XCTAssertEqual([1, 2, 3].map { path(tree, $0) }, ["a_b", "a_b (2)", "_"])
    }

    func testAHundredThousandDocumentsOfOneNameAreShown() {
        let documents = (1...100_000 as ClosedRange<UInt64>).map { Samples.document($0, "n.md") }
        let tree = Samples.tree(documents)
        XCTAssertEqual(path(tree, 100_000), "n (100000).md")
    }

    // MARK: All together

    func testTheOrderOfRowsDoesNotMatter() {
        var chance = Chance(seed: 5)
        let documents = (1...200 as ClosedRange<UInt64>).map { number in
            Samples.document(
                number, chance.pick(["a", "b", "c"]), in: chance.oneIn(3) ? nil : UInt64(chance.below(200) + 1),
                kind: chance.oneIn(4) ? .file : .folder, named: chance.oneIn(2) ? nil : Int64(chance.below(9)))
        }
        let versions = (1...400 as ClosedRange<UInt64>).map { number in
            Samples.row(
                number, of: UInt64(chance.below(200) + 1), chance.oneIn(3) ? nil : UInt64(chance.below(5)),
                isSuperseded: chance.oneIn(2), at: Int64(chance.below(6)))
        }
        let entries = DocumentTree(documents: documents, versions: versions).entries
        for _ in 0..<5 {
            XCTAssertEqual(
                DocumentTree(documents: documents.shuffled(using: &chance), versions: versions.shuffled(using: &chance))
                    .entries, entries)
        }
    }

    func testTwoTreesDifferInWhatWasChanged() {
        let folder = Samples.document(1, "a", kind: .folder)
        let before = Samples.tree([folder, Samples.document(2, "b", in: 1), Samples.document(4, "d")])
        let after = Samples.tree([folder, Samples.document(2, "c", in: 1), Samples.document(3, "c", in: 1)])
        let difference = after.difference(from: before)
        XCTAssertEqual(difference.changed.map(\.name), ["c", "c (2)"])
        XCTAssertEqual(difference.removed, [Samples.id(4)])
        XCTAssertEqual(after.difference(from: after), .init())
        XCTAssertEqual(after.difference(from: Samples.tree([])).changed, after.entries)
        XCTAssertEqual(Samples.tree([]).difference(from: after).removed, [1, 2, 3].map(Samples.id))
    }
}
