import FerryCore
import FerryDocuments
import XCTest

final class VersionHistoryTests: XCTestCase {
    private func base(_ versions: [VersionRow], _ ours: Int, _ theirs: Int) -> UInt64? {
        VersionHistory(versions.shuffled()).base(of: versions[ours], versions[theirs])?.id.low
    }

    func testTheBaseIsTheNearestCommonVersion() {
        let versions = [
            Samples.row(1, of: 1, 1), Samples.row(2, of: 1, 2, over: [1]), Samples.row(3, of: 1, 3, over: [2]),
            Samples.row(4, of: 1, 4, over: [2]), Samples.row(5, of: 1, 5, over: [4]), Samples.row(6, of: 1, 6),
        ]
        XCTAssertEqual(base(versions, 2, 4), 2)
        XCTAssertEqual(base(versions, 0, 5), nil)
        XCTAssertEqual(base(versions.filter { $0.id.low != 2 }, 1, 3), nil, "what is gone leads no further")
    }

    func testOfTwoNearestVersionsNoneIsABase() {
        let versions = [
            Samples.row(1, of: 1, 1), Samples.row(2, of: 1, 2), Samples.row(3, of: 1, 3, over: [1, 2]),
            Samples.row(4, of: 1, 4, over: [1, 2]),
        ]
        XCTAssertEqual(base(versions, 2, 3), nil)
    }

    func testAMergeThatWentOnIsTheBaseOfWhatCameLater() {
        let versions = [
            Samples.row(1, of: 1, 1), Samples.row(2, of: 1, 2, over: [1]), Samples.row(3, of: 1, 3, over: [1]),
            Samples.row(4, of: 1, 4, over: [2, 3]), Samples.row(5, of: 1, 5, over: [3]),
        ]
        XCTAssertEqual(base(versions, 3, 4), 3)
    }

    func testVersionsThatSupersedeEachOtherEnd() {
        let versions = [Samples.row(1, of: 1, 1, over: [2, 1]), Samples.row(2, of: 1, 2, over: [1])]
        XCTAssertEqual(base(versions, 0, 1), nil)
        XCTAssertNil(VersionHistory(versions).beforeDeletion)
    }

    func testALongPastIsSearchedInLittleTime() {
        var versions = [Samples.row(1, of: 1, 1)]
        for number in 2...20_000 as ClosedRange<UInt64> {
            versions.append(Samples.row(number, of: 1, number, over: [max(1, number - 2)]))
        }
        XCTAssertEqual(base(versions, 19_998, 19_999), 1)
    }
}
