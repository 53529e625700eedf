import FerryCore
import FerryDocuments
import XCTest

final class DocumentLeavesTests: XCTestCase {
    private func numbers(_ versions: [VersionRow]) -> [UInt64] { versions.map(\.id.low) }

    func testTheLatestLeafIsCurrentAndTheOthersAreRivals() {
        let versions = [
            Samples.row(1, of: 1, 1, isSuperseded: true, at: 90), Samples.row(2, of: 1, 2, over: [1], at: 10),
            Samples.row(3, of: 1, 3, over: [1], at: 30), Samples.row(4, of: 1, 4, over: [1], at: 20),
        ]
        let leaves = DocumentLeaves(versions.shuffled())
        XCTAssertEqual(leaves.current?.id, Samples.version(3))
        XCTAssertEqual(numbers(leaves.rivals), [4, 2])
        XCTAssertFalse(leaves.isDeleted)
    }

    func testAtOneTimeTheDeviceDecidesAndThenTheID() {
        var one = Samples.row(9, of: 1, 1)
        let other = Samples.row(8, of: 1, 2)
        XCTAssertEqual(DocumentLeaves([one, other]).current?.id, one.id)
        one.device = nil
        XCTAssertEqual(DocumentLeaves([one, other]).current?.id, other.id)
        one.device = Samples.laptop
        XCTAssertEqual(DocumentLeaves([one, other]).current?.id, one.id)
    }

    func testAContentBeatsALaterDeletion() {
        let leaves = DocumentLeaves([
            Samples.row(1, of: 1, 1, at: 10), Samples.row(2, of: 1, nil, at: 20), Samples.row(3, of: 1, nil, at: 30),
        ])
        XCTAssertEqual(leaves.current?.id, Samples.version(1))
        XCTAssertEqual(leaves.rivals, [])
        XCTAssertEqual(leaves.beatenDeletion?.id, Samples.version(3))
        XCTAssertEqual(numbers(leaves.all), [3, 2, 1])
    }

    func testDeletionsAloneAreADeletedDocument() {
        let leaves = DocumentLeaves([Samples.row(1, of: 1, nil, at: 10), Samples.row(2, of: 1, nil, at: 20)])
        XCTAssertTrue(leaves.isDeleted)
        XCTAssertEqual(leaves.current?.id, Samples.version(2))
        XCTAssertNil(leaves.beatenDeletion)
        XCTAssertTrue(DocumentLeaves([]).isDeleted)
    }

    func testEqualLeavesAreOneAndTheModeCounts() {
        var executable = Samples.row(3, of: 1, 1, at: 30)
        executable.mode = 1
        let leaves = DocumentLeaves([Samples.row(1, of: 1, 1, at: 10), Samples.row(2, of: 1, 1, at: 20), executable])
        XCTAssertEqual(leaves.current?.id, executable.id)
        XCTAssertEqual(numbers(leaves.rivals), [2])
    }

    /// A device that makes the same merged version later inserts the row without the mark.
    func testAVersionThatAnotherSupersedesIsNoLeafEvenWithoutTheMark() {
        let versions = [Samples.row(1, of: 1, 1, at: 90), Samples.row(2, of: 1, 2, over: [1], at: 10)]
        XCTAssertEqual(numbers(DocumentLeaves(versions).all), [2])
        let forged = [Samples.row(1, of: 1, 1, over: [2], at: 1), Samples.row(2, of: 1, 2, over: [1], at: 2)]
        XCTAssertEqual(numbers(DocumentLeaves(forged).all), [2, 1], "in a circle both stay")
        let own = [Samples.row(1, of: 1, 1, over: [1], at: 1), Samples.row(2, of: 1, 2, at: 2)]
        XCTAssertEqual(numbers(DocumentLeaves(own).all), [2, 1], "a version that supersedes itself stays")
    }
}
