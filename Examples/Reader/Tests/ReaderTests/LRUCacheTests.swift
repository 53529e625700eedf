import XCTest

@testable import ReaderStore

final class LRUCacheTests: XCTestCase {
    func testTheValueThatWasUsedLeastRecentlyGoes() {
        var cache = LRUCache<String, Int>(capacity: 2)
        cache.store(1, forKey: "a")
        cache.store(2, forKey: "b")
        XCTAssertEqual(cache.value(forKey: "a"), 1)
        cache.store(3, forKey: "c")
        XCTAssertNil(cache.value(forKey: "b"))
        XCTAssertEqual(cache.keys, ["c", "a"])
        XCTAssertEqual(cache.count, 2)
    }

    func testStoringAKeyAgainReplacesItsValueAndMakesItTheNewest() {
        var cache = LRUCache<String, Int>(capacity: 2)
        cache.store(1, forKey: "a")
        cache.store(2, forKey: "b")
        cache.store(10, forKey: "a")
        XCTAssertEqual(cache.keys, ["a", "b"])
        cache.store(3, forKey: "c")
        XCTAssertEqual(cache.value(forKey: "a"), 10)
        XCTAssertNil(cache.value(forKey: "b"))
    }

    func testARoomForOneValueIsEnough() {
        var cache = LRUCache<Int, Int>(capacity: 1)
        for number in 0..<5 { cache.store(number, forKey: number) }
        XCTAssertEqual(cache.keys, [4])
        cache.removeAll()
        XCTAssertEqual(cache.count, 0)
        XCTAssertNil(cache.value(forKey: 4))
        cache.store(7, forKey: 7)
        XCTAssertEqual(cache.keys, [7])
    }

    /// Against a list that does the same slowly.
    func testItDoesWhatAListWouldDo() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededNumbers(seed: seed)
        var cache = LRUCache<Int, Int>(capacity: 7)
        var list: [(key: Int, value: Int)] = []
        for step in 0..<5000 {
            let key = Int(random.next() % 12)
            let place = list.firstIndex { $0.key == key }
            if random.next() % 2 == 0 {
                if let place { list.remove(at: place) } else if list.count == 7 { list.removeLast() }
                list.insert((key, step), at: 0)
                cache.store(step, forKey: key)
            } else {
                XCTAssertEqual(cache.value(forKey: key), place.map { list[$0].value }, "seed \(seed), step \(step)")
                if let place { list.insert(list.remove(at: place), at: 0) }
            }
            XCTAssertEqual(cache.keys, list.map(\.key), "seed \(seed), step \(step)")
        }
    }
}

/// Numbers that a seed determines (xorshift).
struct SeededNumbers {
    private var state: UInt64

    init(seed: UInt64) { state = seed | 1 }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state >> 8
    }
}
