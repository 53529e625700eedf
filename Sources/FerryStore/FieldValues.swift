import FerryCore

/// Values by column number: dense, because a table's columns are few and numbered from 0, and it is on the path of
/// every row. Columns without a value are absent, which is not the same as NULL.
struct FieldValues: Equatable, Sendable, ExpressibleByDictionaryLiteral, Sequence {
    typealias Element = (key: Int, value: FieldValue)

    private var slots: [FieldValue?]
    private(set) var count = 0

    init() { slots = [] }

    /// Makes room for columns below `width`.
    init(width: Int) { slots = Array(repeating: nil, count: width) }

    /// Gives columns, each named once and all below `width`, the values at their places in the list.
    init(width: Int, columns: [Int], value: (Int) -> FieldValue) {
        slots = Array(repeating: nil, count: width)
        count = columns.count
        for place in columns.indices { slots[columns[place]] = value(place) }
    }

    init(dictionaryLiteral elements: (Int, FieldValue)...) {
        self.init()
        for (column, value) in elements { self[column] = value }
    }

    var isEmpty: Bool { count == 0 }

    subscript(column: Int) -> FieldValue? {
        get { column < slots.count ? slots[column] : nil }
        set {
            if column >= slots.count {
                if newValue == nil { return }
                slots.append(contentsOf: repeatElement(nil, count: column - slots.count + 1))
            }
            count += (newValue == nil ? 0 : 1) - (slots[column] == nil ? 0 : 1)
            slots[column] = newValue
        }
    }

    /// The columns that have a value, ascending.
    var keys: [Int] {
        var keys: [Int] = []
        keys.reserveCapacity(count)
        for column in slots.indices where slots[column] != nil { keys.append(column) }
        return keys
    }

    /// Whether one of these columns has a value.
    func hasAny(of columns: [Int]) -> Bool { columns.contains { self[$0] != nil } }

    /// Columns and values, by ascending column.
    func makeIterator() -> AnyIterator<Element> {
        var column = -1
        return AnyIterator {
            while true {
                column += 1
                guard column < slots.count else { return nil }
                if let value = slots[column] { return (column, value) }
            }
        }
    }

    /// Runs `body` for each column with a value, ascending; the fast way.
    func forEachColumn(_ body: (Int, FieldValue) throws -> Void) rethrows {
        for column in slots.indices {
            if let value = slots[column] { try body(column, value) }
        }
    }

    /// These values, replaced by `other`'s where it has some.
    func overlaid(with other: FieldValues) -> FieldValues {
        if other.isEmpty { return self }
        var result = self
        other.forEachColumn { result[$0] = $1 }
        return result
    }

    func mapped(_ transform: (FieldValue) -> FieldValue) -> FieldValues {
        var result = self
        for column in slots.indices { result.slots[column] = slots[column].map(transform) }
        return result
    }

    func filter(_ isIncluded: (Element) throws -> Bool) rethrows -> FieldValues {
        var result = FieldValues(width: slots.count)
        try forEachColumn { column, value in
            if try isIncluded((column, value)) { result[column] = value }
        }
        return result
    }

    static func == (left: FieldValues, right: FieldValues) -> Bool {
        guard left.count == right.count else { return false }
        return left.slots.indices.allSatisfy { left[$0] == right[$0] }
    }
}
