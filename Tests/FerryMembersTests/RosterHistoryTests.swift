import FerryCore
import FerryMembers
import FerrySeal
import FerryTestSupport
import Foundation
import XCTest

/// Random histories of memberships. `FERRY_SEEDS` says how many, `FERRY_FIRST_SEED` from which on, `FERRY_SEED` which one alone,
/// `FERRY_FAULT` which rule alone is left out.
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

    func testEachRuleThatIsLeftOutIsFound() throws {
        let environment = ProcessInfo.processInfo.environment
        let only = environment["FERRY_FAULT"]
        try XCTSkipIf(
            only == nil && environment["FERRY_FULL_MEMBERSHIP"] == nil,
            "takes many minutes; FERRY_FULL_MEMBERSHIP=1 plays all, FERRY_FAULT=name one of them")
        for fault in PlainRoster.Fault.allCases where only == nil || fault.rawValue == only {
            var found: [String] = []
            var seed: UInt64 = 0
            while found.isEmpty, seed < 3000 {
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
