import FerryCore
import FerryDocuments
import XCTest

final class DocumentRetentionTests: XCTestCase {
    private let hour: Int64 = 3_600_000
    /// Noon of a day.
    private let noon = Samples.now - Samples.now % Samples.day + Samples.day / 2

    private func plan(
        _ documents: [DocumentRow], _ versions: [VersionRow], at now: Int64
    ) -> DocumentRetention.Plan {
        DocumentRetention().plan(documents: documents.shuffled(), versions: versions.shuffled(), nowMilliseconds: now)
    }

    private func going(_ versions: [VersionRow], at now: Int64) -> [UInt64] {
        plan([Samples.document(1, "a")], versions, at: now).versions.map(\.low)
    }

    /// Versions 1 to n, each in the place of the one before.
    private func chain(_ times: [Int64], last: UInt64? = 99) -> [VersionRow] {
        times.enumerated().map { place, time in
            let number = UInt64(place + 1)
            return Samples.row(
                number, of: 1, place == times.count - 1 ? last : number, over: number == 1 ? [] : [number - 1],
                isSuperseded: place < times.count - 1, at: time)
        }
    }

    func testSupersededVersionsStayForADay() {
        let versions = chain([noon, noon + hour, noon + 2 * hour])
        XCTAssertEqual(going(versions, at: noon + 24 * hour), [])
        XCTAssertEqual(going(versions, at: noon + 25 * hour), [1])
        XCTAssertEqual(going(versions, at: noon + 26 * hour), [1, 2])
    }

    /// The age counts from when another version was put in the place, not from when the version was made.
    func testAVersionOfYearsStaysForADayAfterItWasReplaced() {
        let versions = chain([noon - 800 * Samples.day, noon])
        XCTAssertEqual(going(versions, at: noon + 23 * hour), [])
        XCTAssertEqual(going(versions, at: noon + 29 * Samples.day), [], "it is the last of its day")
        XCTAssertEqual(going(versions, at: noon + 30 * Samples.day), [1])
    }

    func testThenTheLastOfEachDayStaysForThirtyDays() {
        // Three a day on five days, then nothing.
        let versions = chain((0..<15).map { noon + Int64($0 / 3) * Samples.day + Int64($0 % 3) * hour })
        let after = noon + 10 * Samples.day
        XCTAssertEqual(going(versions, at: after), [1, 2, 4, 5, 7, 8, 10, 11, 13, 14])
        let left = versions.filter { ![1, 2, 4, 5, 7, 8, 10, 11, 13, 14].contains($0.id.low) }
        XCTAssertEqual(going(left, at: after), [], "what is left does not thin out further")
        XCTAssertEqual(going(left, at: noon + 31 * Samples.day - 1), [])
        XCTAssertEqual(going(left, at: noon + 31 * Samples.day + 2 * hour), [3])
        XCTAssertEqual(going(left, at: noon + 90 * Samples.day), [3, 6, 9, 12])
    }

    func testLeavesStayForEver() {
        let versions = [
            Samples.row(1, of: 1, 1, at: 1), Samples.row(2, of: 1, 2, at: 2), Samples.row(3, of: 1, nil, at: 3),
        ]
        XCTAssertEqual(plan([Samples.document(1, "a")], versions, at: .max), .init())
    }

    func testWhatAMergeBeginsWithStaysAsLongAsTheConflict() {
        let versions = [
            Samples.row(1, of: 1, 1, isSuperseded: true, at: noon - 2 * hour),
            Samples.row(2, of: 1, 2, over: [1], isSuperseded: true, at: noon),
            Samples.row(3, of: 1, 3, over: [2], at: noon + hour), Samples.row(4, of: 1, 4, over: [2], at: noon + hour),
        ]
        XCTAssertEqual(going(versions, at: noon + 100 * Samples.day), [1])
    }

    // MARK: Trash

    func testADeletedDocumentStaysForThirtyDaysWithWhatItHad() {
        let versions = chain([noon - 100 * Samples.day, noon - hour, noon], last: nil)
        let documents = [Samples.document(1, "a")]
        XCTAssertEqual(plan(documents, versions, at: noon + 30 * Samples.day - 1).documents, [])
        XCTAssertEqual(going(versions, at: noon + 30 * Samples.day - hour), [1])
        let over = plan(documents, versions, at: noon + 30 * Samples.day)
        XCTAssertEqual(over.documents, [Samples.id(1)])
        XCTAssertEqual(over.versions, [1, 2, 3].map(Samples.version))
    }

    func testADeletedFolderStaysAsLongAsSomethingLiesInIt() {
        let documents = [
            Samples.document(1, "a", kind: .folder), Samples.document(2, "b", in: 1, kind: .folder),
            Samples.document(3, "c", in: 2), Samples.document(4, "d", in: 1), Samples.document(5, "e", kind: .folder),
        ]
        let old = [1, 2, 4, 5].map { Samples.row($0, of: $0, nil, at: noon) }
        let now = noon + 60 * Samples.day
        let younger = Samples.row(3, of: 3, nil, at: noon + 40 * Samples.day)
        XCTAssertEqual(plan(documents, old + [younger], at: now).documents, [4, 5].map(Samples.id))
        XCTAssertEqual(
            plan(documents, old + [Samples.row(3, of: 3, nil, at: noon)], at: now).documents,
            [1, 2, 3, 4, 5].map(Samples.id))
        XCTAssertEqual(
            plan(documents, old + [Samples.row(3, of: 3, 1, at: noon)], at: now).documents, [4, 5].map(Samples.id))
    }

    func testDeletedFoldersInACircleGoTogether() {
        let documents = [
            Samples.document(1, "a", in: 2, kind: .folder), Samples.document(2, "b", in: 1, kind: .folder),
        ]
        let old = [1, 2].map { Samples.row($0, of: $0, nil, at: noon) }
        XCTAssertEqual(plan(documents, old, at: noon + 60 * Samples.day).documents, [1, 2].map(Samples.id))
    }

    func testWhatIsLeftOfADocumentThatSomebodyRenamedGoesToo() {
        let documents = [Samples.document(1, "a", named: noon), Samples.document(2, "b")]
        XCTAssertEqual(plan(documents, [], at: noon + Samples.day).documents, [Samples.id(2)])
        XCTAssertEqual(plan(documents, [], at: noon + 30 * Samples.day).documents, [1, 2].map(Samples.id))
    }

    // MARK: Clocks and marks

    func testAClockThatIsAheadKeepsLonger() {
        let versions = chain([noon, noon + 400 * Samples.day])
        XCTAssertEqual(going(versions, at: noon + 300 * Samples.day), [])
        XCTAssertEqual(plan([Samples.document(1, "a")], [Samples.row(1, of: 1, nil, at: .max)], at: noon).documents, [])
    }

    func testAClockThatIsBehindTakesNoLeaf() {
        XCTAssertEqual(going(chain([noon, 5]), at: noon + hour), [], "its age counts from when it was made")
        XCTAssertEqual(going(chain([3, 5]), at: noon), [1])
    }

    func testAMarkThatWasLostComesBackBeforeTheVersionGoesThatSaysSo() {
        let versions = [
            Samples.row(1, of: 1, 1, at: noon),
            Samples.row(2, of: 1, 2, over: [1], isSuperseded: true, at: noon + hour),
            Samples.row(3, of: 1, 3, over: [2], at: noon + 2 * hour),
        ]
        let plan = plan([Samples.document(1, "a")], versions, at: noon + 26 * hour - 1)
        XCTAssertEqual(plan.versions, [Samples.version(1)])
        XCTAssertEqual(plan.superseded, [])
        let earlier = self.plan([Samples.document(1, "a")], versions, at: noon + 3 * hour)
        XCTAssertEqual(earlier.superseded, [Samples.version(1)])
    }
}
