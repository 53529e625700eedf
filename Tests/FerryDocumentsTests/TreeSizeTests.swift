import FerryCore
import FerryDocuments
import FerryTestSupport
import Foundation
import XCTest

/// Large trees. `FERRY_MEASURE` says how long they take.
final class TreeSizeTests: XCTestCase {
    /// A hundred documents in each folder, one in a hundred with a conflict, and names that meet now and then.
    private func rows(_ count: UInt64) -> (documents: [DocumentRow], versions: [VersionRow]) {
        var chance = Chance(seed: 1)
        var (documents, versions) = ([DocumentRow](), [VersionRow]())
        for number in 1...count {
            // Folders have the numbers that end with 00; a folder's is less than its documents'.
            let isFolder = number.isMultiple(of: 100)
            let folder = isFolder ? number / 1000 * 100 : number / 100 * 100
            documents.append(
                DocumentRow(
                    id: DocumentID(high: Chance.mix(number), low: number),
                    folder: folder == 0 || folder == number ? nil : DocumentID(high: Chance.mix(folder), low: folder),
                    name: chance.oneIn(50) ? "Übung.md" : "document \(number).md", kind: isFolder ? .folder : .file))
            for leaf in 0...(chance.oneIn(100) ? 1 : 0) as ClosedRange<UInt64> {
                versions.append(
                    VersionRow(
                        id: VersionID(high: leaf, low: number),
                        document: DocumentID(high: Chance.mix(number), low: number),
                        content: Samples.content(number + leaf), madeMilliseconds: Int64(number), device: Samples.phone)
                )
            }
        }
        return (documents, versions)
    }

    func testALargeTreeIsShown() throws {
        let isMeasured = ProcessInfo.processInfo.environment["FERRY_MEASURE"] != nil
        let count: UInt64 = isMeasured ? 1_000_000 : 50_000
        let (documents, versions) = rows(count)
        let started = ContinuousClock.now
        let tree = DocumentTree(documents: documents, versions: versions)
        let shown = ContinuousClock.now
        XCTAssertEqual(tree.entries.filter(\.isShown).count, documents.count)
        XCTAssertTrue(tree.entries.contains { !$0.rivals.isEmpty })
        let plan = DocumentRetention().plan(documents: documents, versions: versions, nowMilliseconds: .max)
        XCTAssertEqual(plan, .init())
        if isMeasured {
            print(
                "measured: \(count) documents shown in \(shown - started), looked through in \(ContinuousClock.now - shown)"
            )
        }
    }
}
