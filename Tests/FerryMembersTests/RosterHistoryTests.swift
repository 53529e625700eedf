import FerryCore
import FerryMembers
import FerrySeal
import FerryTestSupport
import Foundation
import XCTest

/// Random histories of memberships. `FERRY_SEEDS` says how many, `FERRY_FIRST_SEED` from which on, `FERRY_SEED` which one alone,
/// `FERRY_FAULT` which rule alone is left out; `FERRY_FULL_MEMBERSHIP` looks for each from seed 1 on.
final class RosterHistoryTests: XCTestCase {
    func testWhatSealingPromisesOfMembersHolds() throws {
        let seeds = Seeds(defaultCount: 200)
        var removals = 0
        for seed in seeds.all {
            let story = MembershipStory(seed: seed) {
                GraphMembership(genesis: $0, container: TestKeys.container, isVerified: !seed.isMultiple(of: 100))
            }
            try story.play()
            if story.thiefWasRemoved { removals += 1 }
            if seeds.single != nil { print(story.telling) }
            if !story.findings.isEmpty {
                return XCTFail("FERRY_SEED=\(seed): \(Set(story.findings).sorted().joined(separator: "; "))")
            }
        }
        print("\(seeds.count) histories, in \(removals) of them thieves were removed")
        if seeds.single == nil { XCTAssertGreaterThan(removals, seeds.count / 10) }
    }

    func testASecondImplementationFindsTheSameRosters() throws {
        for seed in Seeds(defaultCount: 50).all {
            let story = MembershipStory(seed: seed) {
                GraphMembership(genesis: $0, container: TestKeys.container, isVerified: true)
            }
            try story.play()
            // Each device knows other records: each is compared.
            for person in story.people {
                guard let genesis = story.records.values.first(where: \.isFirst)?.hash else {
                    return XCTFail("no first record")
                }
                let plain = PlainRoster(genesis: genesis)
                for hash in person.known { story.records[hash].map(plain.insert) }
                guard !person.known.isEmpty else { continue }
                XCTAssertEqual(person.membership.result(), plain.result(), "FERRY_SEED=\(seed)")
                XCTAssertEqual(person.membership.heads, plain.heads, "FERRY_SEED=\(seed)")
                for (left, right) in zip(story.people, story.people.dropFirst()) {
                    XCTAssertEqual(
                        person.membership.mayRemove(left.id, right.id), plain.mayRemove(left.id, right.id),
                        "FERRY_SEED=\(seed)")
                }
            }
        }
    }

    /// Rules that few histories need, and a seed a little before the first one that finds each. All others are found from seed 1 on.
    private static let lateSeeds: [PlainRoster.Fault: UInt64] = [
        .returns: 355, .unnamedRemovals: 415, .goneAuthors: 168, .leaversStand: 196,
    ]

    func testEachRuleThatIsLeftOutIsFound() throws {
        let environment = ProcessInfo.processInfo.environment
        let only = environment["FERRY_FAULT"]
        let isFull = environment["FERRY_FULL_MEMBERSHIP"] != nil
        // No history found this one among 3,000: RosterStoryTests tells a case of it.
        let all = PlainRoster.Fault.allCases.filter { $0 != .lateCopies || only == $0.rawValue }
        for fault in all where only == nil || fault.rawValue == only {
            var found: [String] = []
            var seed = isFull ? 0 : Self.lateSeeds[fault] ?? 0
            let last = isFull || only != nil ? 3000 : seed + 150
            while found.isEmpty, seed < last {
                seed += 1
                let story = MembershipStory(seed: seed) { PlainRoster(genesis: $0, fault: fault) }
                try story.play()
                found = story.findings
            }
            print("\(fault.rawValue): seed \(seed), \(Set(found).sorted().joined(separator: "; "))")
            XCTAssertFalse(found.isEmpty, "nothing notices \(fault.rawValue)")
        }
    }
}
