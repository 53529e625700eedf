/// Sets of small numbers with shared storage. A set is a list of pages of 1,024 numbers, and a page in many sets exists
/// once.
///
/// The pasts of records are such sets. A record's past is mostly the past of the record before, so each record takes
/// one page more. Sets are compared and united page by page, by the pages' numbers where these are the same.
struct PagedSets {
    /// A set. A set has a meaning only together with the pages from its making. Equal sets have equal lists.
    struct Set: Hashable {
        /// Numbers of pages; the last page is not empty.
        fileprivate var pages: [UInt32] = []

        static let empty = Set()
        var isEmpty: Bool { pages.isEmpty }
    }

    private typealias Page = SIMD16<UInt64>
    private static let bitsPerPage = 1024

    /// The first page is empty.
    private var pages: [Page] = [.zero]
    private var numbers: [Page: UInt32] = [.zero: 0]

    /// The size of all sets together, in bytes, without their lists.
    var byteCount: Int { pages.count * MemoryLayout<Page>.size }

    func contains(_ number: Int, in set: Set) -> Bool {
        let place = number / Self.bitsPerPage
        guard place < set.pages.count else { return false }
        let bit = number % Self.bitsPerPage
        return pages[Int(set.pages[place])][bit / 64] >> UInt64(bit % 64) & 1 == 1
    }

    mutating func insert(_ number: Int, into set: inout Set) {
        let place = number / Self.bitsPerPage
        while set.pages.count <= place { set.pages.append(0) }
        var page = pages[Int(set.pages[place])]
        let bit = number % Self.bitsPerPage
        page[bit / 64] |= 1 << UInt64(bit % 64)
        set.pages[place] = intern(page)
    }

    /// The union of sets and further numbers. Pages in between are not kept.
    mutating func union(_ sets: [Set], inserting further: [Int] = []) -> Set {
        var result = Set.empty
        let count = max(sets.map(\.pages.count).max() ?? 0, (further.max() ?? -1) / Self.bitsPerPage + 1)
        let byPlace = Dictionary(grouping: further) { $0 / Self.bitsPerPage }
        guard count > 0, !(sets.isEmpty && further.isEmpty) else { return result }
        result.pages.reserveCapacity(count)
        for place in 0..<count {
            var number: UInt32 = 0
            var mixed: Page?
            for set in sets where place < set.pages.count {
                let other = set.pages[place]
                if let page = mixed {
                    mixed = page | pages[Int(other)]
                } else if number == 0 {
                    number = other
                } else if other != number, other != 0 {
                    mixed = pages[Int(number)] | pages[Int(other)]
                }
            }
            for bit in byPlace[place, default: []].map({ $0 % Self.bitsPerPage }) {
                var page = mixed ?? pages[Int(number)]
                page[bit / 64] |= 1 << UInt64(bit % 64)
                mixed = page
            }
            result.pages.append(mixed.map { intern($0) } ?? number)
        }
        return result
    }

    func isSubset(_ set: Set, of other: Set) -> Bool {
        for (place, page) in set.pages.enumerated() where page != 0 {
            let others = place < other.pages.count ? other.pages[place] : 0
            if page != others, pages[Int(page)] & ~pages[Int(others)] != .zero { return false }
        }
        return true
    }

    private mutating func intern(_ page: Page) -> UInt32 {
        if let number = numbers[page] { return number }
        // At most 2^16 records have two sets each, of at most 2^6 pages.
        let number = UInt32(pages.count)
        pages.append(page)
        numbers[page] = number
        return number
    }
}
