import FerryDocuments
import FerryTestSupport
import XCTest

/// Random histories of trees. `FERRY_SEEDS` says how many, `FERRY_FIRST_SEED` from which on, `FERRY_SEED` which one alone.
final class TreeStoryTests: XCTestCase {
    func testWhatIsShownIsWhatTheSentencesSay() {
        let seeds = Seeds(defaultCount: 400)
        var counts: [String: Int] = [:]
        for seed in seeds.all {
            let story = TreeStory(seed: seed)
            story.play()
            counts.merge(story.counts, uniquingKeysWith: +)
            if !story.findings.isEmpty {
                return XCTFail("FERRY_SEED=\(seed): \(Set(story.findings).sorted().prefix(5).joined(separator: "; "))")
            }
        }
        print(
            "\(seeds.count) histories: \(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))"
        )
        guard seeds.single == nil, seeds.count >= 400 else { return }
        for kind in [
            "make", "edit", "rename", "move", "remove", "put back", "settle", "merge", "purge", "forge", "held back",
            "cycle",
            "numbered", "conflict", "beaten deletion", "deleted folder shown",
            "mark lost",
        ] { XCTAssertGreaterThan(counts[kind] ?? 0, 0, "no history has “\(kind)”") }
    }
}
