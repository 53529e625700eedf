import FerryCore
import FerryDocuments
import XCTest

final class DocumentIDTests: XCTestCase {
    func testTheIDFollowsFromFolderNameKindAndOrdinal() {
        var ids: Set<DocumentID> = []
        for folder in [nil, Samples.id(1), Samples.id(2)] {
            for name in ["a", "b", "A"] {
                for kind in DocumentKind.allCases {
                    for ordinal in 0..<3 {
                        ids.insert(.derived(folder: folder, name: name, kind: kind, ordinal: ordinal))
                    }
                }
            }
        }
        XCTAssertEqual(ids.count, 3 * 3 * 4 * 3)
    }

    /// IDs travel, so they never change.
    func testTheIDIsTheSameForEver() {
        XCTAssertEqual(
            DocumentID.derived(folder: nil, name: "2026-03-01.md", kind: .file, ordinal: 0).hex,
            "b49e94fd357159a997b6cf7fcfa0fe3e")
        XCTAssertEqual(
            DocumentID.derived(folder: Samples.id(1), name: "Übung", kind: .folder, ordinal: 300).hex,
            "6b6e2078e6545c8a8e0d914e3f44e8fb")
        XCTAssertEqual(
            VersionID.merged(
                of: Samples.id(1), supersedes: [Samples.version(2), Samples.version(1)], content: Samples.content(3),
                mode: 1
            ).hex, "acbd21d9ef5d52c39b493bb8537a2b42")
    }

    func testSpellingsOfANameMeanOneDocument() {
        XCTAssertEqual(
            DocumentID.derived(folder: nil, name: "Übung", kind: .file, ordinal: 0),
            DocumentID.derived(folder: nil, name: "U\u{308}bung", kind: .file, ordinal: 0))
    }

    func testANewDocumentTakesTheLeastOrdinalThatNoRowHas() throws {
        var rows: Set<DocumentID> = []
        for ordinal in 0..<4 {
            let id = try DocumentID.free(folder: nil, name: "a", kind: .file) { rows.contains($0) }
            XCTAssertEqual(id, .derived(folder: nil, name: "a", kind: .file, ordinal: ordinal))
            rows.insert(id)
        }
        rows.remove(.derived(folder: nil, name: "a", kind: .file, ordinal: 1))
        XCTAssertEqual(
            try DocumentID.free(folder: nil, name: "a", kind: .file) { rows.contains($0) },
            .derived(folder: nil, name: "a", kind: .file, ordinal: 1))
    }

    func testAMergedVersionDependsOnNoOrderOfItsParents() {
        func id(_ parents: [UInt64], _ content: UInt64, mode: Int64 = 0) -> VersionID {
            .merged(
                of: Samples.id(1), supersedes: parents.map(Samples.version), content: Samples.content(content),
                mode: mode)
        }
        XCTAssertEqual(id([1, 2], 3), id([2, 1, 2], 3))
        XCTAssertEqual(Set([id([1, 2], 3), id([1, 2], 4), id([1], 3), id([1, 2], 3, mode: 1)]).count, 4)
    }
}
