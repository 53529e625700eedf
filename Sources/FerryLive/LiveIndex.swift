import FerryContainer
import FerryCore
import GRDB

/// The rows of a request, in order, and hashes of their content: the base of a delivery. Rows themselves are fetched by
/// the page.
final class LiveIndex: Sendable {
    /// In the order of the list.
    let keys: [LiveKey]
    /// A hash of each row, for noticing changes; `nil` in an index from a cache.
    let hashes: [Int]?
    let sections: [LiveSection]
    /// How often rows count as changed besides their hashes (`LiveList.suspect`).
    private let bumps: [LiveKey: Int]
    /// In an index from a cache: the rows fetched while the index was shown. Nobody knows whether they changed before
    /// the list was read.
    let fetched = Locked<Set<LiveKey>>([])
    private let places = Locked<[LiveKey: Int]?>(nil)
    /// Object IDs by key, as far as they are known (`LiveObjects`).
    let objects = Locked<[LiveKey: ObjectID]>([:])

    init(keys: [LiveKey], hashes: [Int]?, sections: [LiveSection], bumps: [LiveKey: Int] = [:]) {
        self.keys = keys
        self.hashes = hashes
        self.sections = sections
        self.bumps = bumps
    }

    /// Changes when the row does; `nil` if unknown.
    func token(at place: Int) -> Int? {
        guard let hash = hashes?[place] else { return nil }
        return bumps.isEmpty ? hash : hash &+ (bumps[keys[place]] ?? 0)
    }

    /// A row's place among all rows; `nil` for an unknown key.
    func place(of key: LiveKey) -> Int? {
        places.withLock { known in
            if known == nil {
                known = Dictionary(keys.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
            }
            return known?[key]
        }
    }

    func position(_ place: Int) -> LivePosition {
        // The last section with its beginning at the place or before; empty sections do not exist.
        var (low, high) = (0, sections.count)
        while low + 1 < high {
            let middle = (low + high) / 2
            if sections[middle].rows.lowerBound <= place { low = middle } else { high = middle }
        }
        return LivePosition(section: low, item: place - (sections.isEmpty ? 0 : sections[low].rows.lowerBound))
    }

    func sectionName(at place: Int) -> String { sections[position(place).section].name }

    /// True if two indexes show the same rows in the same places, with any content.
    func hasSamePlaces(as other: LiveIndex) -> Bool { sections == other.sections && keys == other.keys }
}

/// Puts an index together from rows in the order of a request.
struct LiveIndexBuilder {
    private var keys: [LiveKey] = []
    private var hashes: [Int] = []
    /// Each row's section, by the order of first appearance.
    private var numbers: [Int] = []
    private var names: [String] = []
    private var numberByName: [String: Int] = [:]
    private var isScattered = false

    mutating func add(_ key: LiveKey, hash: Int, section name: String) {
        let number: Int
        if let last = numbers.last, names[last] == name {
            number = last
        } else if let known = numberByName[name] {
            number = known
            isScattered = true
        } else {
            number = names.count
            names.append(name)
            numberByName[name] = number
        }
        keys.append(key)
        hashes.append(hash)
        numbers.append(number)
    }

    func index(bumps: [LiveKey: Int] = [:]) -> LiveIndex {
        var counts = [Int](repeating: 0, count: names.count)
        for number in numbers { counts[number] += 1 }
        var start = 0
        let sections = zip(names, counts).map { name, count in
            defer { start += count }
            return LiveSection(name: name, rows: start..<start + count)
        }
        if !isScattered { return LiveIndex(keys: keys, hashes: hashes, sections: sections, bumps: bumps) }
        let order = keys.indices.sorted { (numbers[$0], $0) < (numbers[$1], $1) }
        return LiveIndex(
            keys: order.map { keys[$0] }, hashes: order.map { hashes[$0] }, sections: sections, bumps: bumps)
    }
}
