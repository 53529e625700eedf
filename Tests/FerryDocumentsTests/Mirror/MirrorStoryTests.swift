import FerryMirror
import FerryTestSupport
import XCTest

/// Random histories of mirrors. `FERRY_SEEDS` says how many, `FERRY_FIRST_SEED` from which on, `FERRY_SEED` which one alone.
final class MirrorStoryTests: XCTestCase {
    func testNothingThatAPersonWroteIsLost() throws {
        let seeds = Seeds(defaultCount: 150)
        var counts: [String: Int] = [:]
        for seed in seeds.all {
            let story = MirrorStory(seed: seed)
            if seeds.single != nil { story.follow() }
            try story.play()
            counts.merge(story.counts, uniquingKeysWith: +)
            if !story.findings.isEmpty {
                if seeds.single != nil { print(story.story.joined(separator: "\n")) }
                return XCTFail("FERRY_SEED=\(seed): \(Set(story.findings).sorted().prefix(6).joined(separator: "; "))")
            }
        }
        print(
            "\(seeds.count) histories: \(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))"
        )
    }

    /// From which seeds on a history soon notices that a rule is missing.
    private let firstSeeds: [MirrorStory.Omission: UInt64] = [
        .lookAtWhatComesOut: 170, .openFiles: 130, .renameWithoutReplacing: 30, .absence: 80,
    ]

    /// Each rule that the mirror lacks is noticed by some history.
    func testEachRuleThatIsLeftOutIsNoticed() throws {
        for omission in MirrorStory.Omission.allCases where omission != .nothing {
            var noticed: (seed: UInt64, finding: String)?
            let first = firstSeeds[omission] ?? 1
            for seed in first...first + 600 {
                let story = MirrorStory(seed: seed, without: omission)
                try story.play()
                if let finding = story.findings.first {
                    noticed = (seed, finding)
                    break
                }
            }
            print(
                "without \(omission): \(noticed.map { "seed \($0.seed), \($0.finding.prefix(120))" } ?? "nothing noticed")"
            )
            XCTAssertNotNil(noticed, "nobody notices that \(omission) is missing")
        }
    }
}
