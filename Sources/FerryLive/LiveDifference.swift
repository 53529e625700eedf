import FerryCore

/// A row's change between two deliveries.
public struct LiveChange: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case inserted
        case deleted
        /// To another place among the rows that stayed, or to another section.
        case moved
        /// Another content, in its place.
        case updated
    }

    public var kind: Kind
    /// The row's present key; the last key of a deleted row.
    public var key: LiveKey
    /// The row's object ID, the same on every device, with a store and a travelling table. A row that was just inserted
    /// gets an ID with the next flush.
    public var object: ObjectID?
    /// The row's place in the former delivery; `nil` for an inserted row.
    public var from: LivePosition?
    /// The row's place in this delivery; `nil` for a deleted row.
    public var to: LivePosition?
    /// True if the content of a moved row changed, too.
    public var isUpdated: Bool
}

/// The difference from the delivery before.
public struct LiveDifference: Sendable {
    /// Names of new sections, in their order.
    public var insertedSections: [String] = []
    /// Names of vanished sections, in their former order.
    public var deletedSections: [String] = []
    /// Deletions by descending former place, then the rest by ascending place. Applied in this order to a list, they
    /// turn the former delivery into this delivery, with moves as a removal and an insertion.
    public var changes: [LiveChange] = []

    public var isEmpty: Bool { insertedSections.isEmpty && deletedSections.isEmpty && changes.isEmpty }
    public func changes(_ kind: LiveChange.Kind) -> [LiveChange] { changes.filter { $0.kind == kind } }

    init() {}

    init(from old: LiveIndex, to new: LiveIndex) {
        let (oldNames, newNames) = (old.sections.map(\.name), new.sections.map(\.name))
        let (oldSet, newSet) = (Set(oldNames), Set(newNames))
        deletedSections = oldNames.filter { !newSet.contains($0) }
        insertedSections = newNames.filter { !oldSet.contains($0) }

        let (oldSections, newSections) = (SectionWalk.numbers(old, oldNames), SectionWalk.numbers(new, oldNames))
        func isSame(_ left: Int, _ right: Int) -> Bool {
            old.keys[left] == new.keys[right] && oldSections[left] == newSections[right]
        }
        // Equal rows at both ends do not concern the rest; most changes are few.
        let most = min(old.keys.count, new.keys.count)
        var head = 0
        while head < most, isSame(head, head) { head += 1 }
        var tail = 0
        while tail < most - head, isSame(old.keys.count - 1 - tail, new.keys.count - 1 - tail) { tail += 1 }

        let oldMiddle = head..<old.keys.count - tail
        let newMiddle = head..<new.keys.count - tail
        var former = Dictionary(oldMiddle.map { (old.keys[$0], $0) }, uniquingKeysWith: { first, _ in first })
        var pairs: [(old: Int, new: Int)] = []
        var inserted: [Int] = []
        for place in newMiddle {
            if let known = former.removeValue(forKey: new.keys[place]) {
                pairs.append((known, place))
            } else {
                inserted.append(place)
            }
        }
        let deleted = former.values.sorted(by: >)
        // A row in a new section moves in any case.
        let staying = pairs.filter { oldSections[$0.old] == newSections[$0.new] }
        let resting = Set(Self.longestAscent(staying.map(\.old)).map { staying[$0].new })

        let fetched = old.fetched.withLock { $0 }
        func isUpdated(_ left: Int, _ right: Int) -> Bool {
            guard let before = old.token(at: left), let after = new.token(at: right) else {
                return fetched.contains(new.keys[right])
            }
            return before != after
        }
        var rest: [(place: Int, change: LiveChange)] = inserted.map { place in
            (place, .init(kind: .inserted, key: new.keys[place], to: new.position(place), isUpdated: false))
        }
        func note(_ left: Int, _ right: Int, isMoved: Bool) {
            let isUpdated = isUpdated(left, right)
            if !isMoved && !isUpdated { return }
            rest.append(
                (
                    right,
                    .init(
                        kind: isMoved ? .moved : .updated, key: new.keys[right], from: old.position(left),
                        to: new.position(right), isUpdated: isUpdated)
                ))
        }
        for pair in pairs { note(pair.old, pair.new, isMoved: !resting.contains(pair.new)) }
        for place in 0..<head { note(place, place, isMoved: false) }
        for place in 0..<tail {
            note(old.keys.count - 1 - place, new.keys.count - 1 - place, isMoved: false)
        }
        changes =
            deleted.map { .init(kind: .deleted, key: old.keys[$0], from: old.position($0), isUpdated: false) }
            + rest.sorted { $0.place < $1.place }.map(\.change)
    }

    /// Uses object IDs: a row with a new key was not deleted and inserted, and a key taken over by another object was.
    mutating func identify(_ before: [LiveKey: ObjectID], _ now: [LiveKey: ObjectID]) {
        for number in changes.indices {
            let key = changes[number].key
            changes[number].object = changes[number].kind == .deleted ? before[key] : now[key] ?? before[key]
        }
        var result: [LiveChange] = []
        var insertions: [ObjectID: LiveChange] = [:]
        for change in changes where change.kind == .inserted {
            if let object = change.object { insertions[object] = change }
        }
        var moved: [LiveKey: LiveChange] = [:]
        for change in changes where change.kind == .deleted {
            if let object = change.object, let insertion = insertions[object] {
                var move = insertion
                (move.kind, move.from, move.isUpdated) = (.moved, change.from, true)
                moved[insertion.key] = move
            } else {
                result.append(change)
            }
        }
        var late: [LiveChange] = []
        for change in changes where change.kind != .deleted {
            let former = before[change.key]
            if let move = moved[change.key], change.kind == .inserted {
                late.append(move)
            } else if change.kind != .inserted, let former, let present = now[change.key], former != present {
                result.append(
                    LiveChange(kind: .deleted, key: change.key, object: former, from: change.from, isUpdated: false))
                late.append(
                    LiveChange(kind: .inserted, key: change.key, object: present, to: change.to, isUpdated: false))
            } else {
                late.append(change)
            }
        }
        changes = result.sorted { ($0.from ?? .zero) > ($1.from ?? .zero) } + late
    }

    /// The places of a longest ascending subsequence: the rows without a need to move.
    static func longestAscent(_ values: [Int]) -> [Int] {
        var tails: [Int] = []
        var previous = [Int](repeating: -1, count: values.count)
        for (place, value) in values.enumerated() {
            var (low, high) = (0, tails.count)
            while low < high {
                let middle = (low + high) / 2
                if values[tails[middle]] < value { low = middle + 1 } else { high = middle }
            }
            if low > 0 { previous[place] = tails[low - 1] }
            if low == tails.count { tails.append(place) } else { tails[low] = place }
        }
        var result: [Int] = []
        var place = tails.last ?? -1
        while place >= 0 {
            result.append(place)
            place = previous[place]
        }
        return result.reversed()
    }
}

extension LivePosition { fileprivate static let zero = LivePosition(section: 0, item: 0) }

extension LiveChange {
    fileprivate init(
        kind: Kind, key: LiveKey, from: LivePosition? = nil, to: LivePosition? = nil, isUpdated: Bool
    ) {
        self.init(kind: kind, key: key, object: nil, from: from, to: to, isUpdated: isUpdated)
    }
}

/// Compares the sections of rows without comparing their names.
private enum SectionWalk {
    /// For each row its section's number among the former sections, or the number past them for new sections.
    static func numbers(_ index: LiveIndex, _ names: [String]) -> [Int32] {
        var numbers: [String: Int32] = [:]
        for name in names { numbers[name] = Int32(numbers.count) }
        for section in index.sections where numbers[section.name] == nil {
            numbers[section.name] = Int32(numbers.count)
        }
        var result: [Int32] = []
        result.reserveCapacity(index.keys.count)
        for section in index.sections {
            result.append(contentsOf: repeatElement(numbers[section.name] ?? -1, count: section.count))
        }
        return result
    }
}
