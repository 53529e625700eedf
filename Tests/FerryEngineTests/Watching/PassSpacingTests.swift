import XCTest

@testable import FerryEngine

final class PassSpacingTests: XCTestCase {
    private let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    func testPassesOfASteadyWriterGetFurtherApart() {
        var spacing = PassSpacing()
        var (now, gaps): (Int, [Int]) = (0, [])
        for _ in 0..<12 {
            spacing.recordPublication(at: at(now))
            // A commit every 50 ms; a pass takes 10.
            let earliest = spacing.earliest.map { start.duration(to: $0).wholeMilliseconds } ?? 0
            let next = max(now + 50, (earliest + 49) / 50 * 50)
            gaps.append(next - now)
            now = next
        }
        XCTAssertEqual(gaps, [50, 50, 250, 500, 1000, 2000, 2000, 2000, 2000, 2000, 2000, 2000])
    }

    func testASingleWriteNeverWaits() {
        var spacing = PassSpacing()
        for turn in 0..<20 {
            spacing.recordPublication(at: at(turn * 250))
            XCTAssertNil(spacing.earliest)
        }
    }

    func testTheDistanceEndsWithTheWriter() {
        var spacing = PassSpacing()
        for turn in 0..<8 { spacing.recordPublication(at: at(turn * 50)) }
        XCTAssertNotNil(spacing.earliest)
        spacing.recordPublication(at: at(10_000))
        XCTAssertNil(spacing.earliest)
    }

    func testAWriterThatWaitsForEachChangeIsLeftAlone() {
        var spacing = PassSpacing()
        for turn in 0...PassSpacing.patience { spacing.recordPublication(at: at(turn * 20)) }
        XCTAssertNotNil(spacing.earliest)
        // Now and then it is looked anew, ever more seldom: how often it waits in so many seconds.
        var now = 200
        func waits(in milliseconds: Int) -> Int {
            let end = now + milliseconds
            var count = 0
            while now < end {
                spacing.recordPublication(at: at(now))
                if spacing.earliest != nil {
                    now += PassSpacing.firstMilliseconds
                    spacing.recordFruitlessWait(at: at(now))
                    count += 1
                }
                now += 20
            }
            return count
        }
        XCTAssertLessThan(waits(in: 60_000), 10)
        XCTAssertLessThan(waits(in: 60_000), 5)
    }
}
