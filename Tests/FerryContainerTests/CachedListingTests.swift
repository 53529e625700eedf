import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryContainer

final class CachedListingTests: XCTestCase {
    private func file(_ tag: String) -> CachedListing.File { CachedListing.File(size: tag.count, tag: tag) }

    func testNamesLieInTheirDirectories() {
        var listing = CachedListing()
        for name in ["container.json", "devices/a/head", "devices/a/segments/1", "devices/b/head"] {
            listing.set(name, file("x"))
        }
        XCTAssertEqual(listing.names(in: ""), ["container.json", "devices"])
        XCTAssertEqual(listing.names(in: "devices"), ["a", "b"])
        XCTAssertEqual(listing.names(in: "devices/a"), ["head", "segments"])
        XCTAssertEqual(listing.names(in: "devices/a/segments"), ["1"])
        XCTAssertEqual(listing.names(in: "nowhere"), [])
        XCTAssertEqual(listing.fileCount, 4)
        listing.remove("devices/a/segments/1")
        XCTAssertEqual(listing.names(in: "devices/a"), ["head"])
        listing.remove("devices/a/head")
        XCTAssertEqual(listing.names(in: "devices"), ["b"])
        XCTAssertNil(listing.count(of: "devices/a"))
    }

    func testADirectorysCountIsAnotherOneAfterEveryChangeAndStaysOtherwise() {
        var listing = CachedListing()
        listing.set("d/1", file("x"))
        let first = listing.count(of: "d")
        listing.set("d/1", file("x"))
        listing.set("e/1", file("x"))
        XCTAssertEqual(listing.count(of: "d"), first)
        var seen: Set<UInt64?> = [first]
        listing.set("d/1", file("y"))
        XCTAssertTrue(seen.insert(listing.count(of: "d")).inserted)
        listing.set("d/2", file("x"))
        XCTAssertTrue(seen.insert(listing.count(of: "d")).inserted)
        listing.remove("d/2")
        XCTAssertTrue(seen.insert(listing.count(of: "d")).inserted)
        listing.remove("d/1")
        listing.set("d/1", file("x"))
        XCTAssertTrue(seen.insert(listing.count(of: "d")).inserted, "a directory that came back looks as before")
    }

    func testReplacingTakesAwayWhatIsNotListedAndBelowThePrefixAlone() {
        var listing = CachedListing()
        for name in ["devices/a/head", "devices/a/s/1", "devices/ab/head", "x"] { listing.set(name, file("1")) }
        listing.replace(below: "devices/a/", with: ["devices/a/head": file("2"), "devices/a/s/2": file("1")])
        XCTAssertEqual(listing.names(in: "devices/a/s"), ["2"])
        XCTAssertEqual(listing.file("devices/a/head")?.tag, "2")
        XCTAssertNotNil(listing.file("devices/ab/head"))
        XCTAssertNotNil(listing.file("x"))
        listing.replace(below: "", with: [:])
        XCTAssertEqual(listing.names(in: ""), [])
        XCTAssertEqual(listing.fileCount, 0)
    }

    /// Random changes, held against a plain dictionary.
    func testRandomChangesAgreeWithADictionary() {
        for seed in UInt64(1)...50 {
            var chance = Chance(seed: seed)
            var (listing, plain) = (CachedListing(), [String: CachedListing.File]())
            for _ in 0..<200 {
                let name =
                    (0..<Int.random(in: 1...3, using: &chance)).map { _ in
                        ["a", "b", "c"].randomElement(using: &chance) ?? "a"
                    }
                    .joined(separator: "/") + ["x", "y"][Int.random(in: 0...1, using: &chance)]
                if Bool.random(using: &chance) {
                    let value = file(["1", "22"][Int.random(in: 0...1, using: &chance)])
                    listing.set(name, value)
                    plain[name] = value
                } else {
                    listing.remove(name)
                    plain[name] = nil
                }
                XCTAssertEqual(listing.fileCount, plain.count, "seed \(seed)")
                XCTAssertEqual(listing.file(name), plain[name], "seed \(seed)")
            }
            for directory in Set(plain.keys.map { CachedListing.split($0).directory }) {
                let expected = Set(
                    plain.keys.filter { $0.hasPrefix(directory.isEmpty ? "" : directory + "/") }.compactMap {
                        $0.dropFirst(directory.isEmpty ? 0 : directory.count + 1).split(separator: "/").first.map(
                            String.init)
                    })
                XCTAssertEqual(Set(listing.names(in: directory)), expected, "seed \(seed): \(directory)")
            }
        }
    }

    func testNamesThatLeadElsewhereAreNoNames() {
        for name in ["", "/", "a//b", "/a", "a/", "..", "a/../b", "a/./b", "a\u{0}", "a\nb"] {
            XCTAssertFalse(CachedListing.isPlain(name), name)
        }
        for name in ["a", "a/b", "...", "a b", "日本"] { XCTAssertTrue(CachedListing.isPlain(name), name) }
    }
}
