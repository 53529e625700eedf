import FerryCore

/// Values by column number: dense, because a table's columns are few and numbered from 0, and it is on the path of
/// every row. Columns without a value are absent, which is not the same as NULL.
struct FieldValues: Equatable, Sendable, ExpressibleByDictionaryLiteral, Sequence {
    typealias Element = (key: Int, value: FieldValue)

    /// An enumeration of its own instead of an `Optional`, because the compiler makes code to copy and destroy one, and an
    /// array of optionals asks the runtime about each element.
    private enum Slot: Sendable {
        case absent
        case present(FieldValue)

        init(_ value: FieldValue?) {
            if let value { self = .present(value) } else { self = .absent }
        }

        var value: FieldValue? { if case .present(let value) = self { value } else { nil } }
        var isPresent: Bool { if case .present = self { true } else { false } }
    }

    private var slots: [Slot]
    private(set) var count = 0

    init() { slots = [] }

    /// Makes room for columns below `width`.
    init(width: Int) { slots = Array(repeating: .absent, count: width) }

    /// Gives columns, each named once and all below `width`, the values at their places in the list.
    init(width: Int, columns: [Int], value: (Int) -> FieldValue) {
        slots = Array(repeating: .absent, count: width)
        count = columns.count
        for place in columns.indices { slots[columns[place]] = .present(value(place)) }
    }

    init(dictionaryLiteral elements: (Int, FieldValue)...) {
        self.init()
        for (column, value) in elements { self[column] = value }
    }

    var isEmpty: Bool { count == 0 }

    subscript(column: Int) -> FieldValue? {
        get { column < slots.count ? slots[column].value : nil }
        set {
            let slot = Slot(newValue)
            if column >= slots.count {
                if !slot.isPresent { return }
                slots.append(contentsOf: repeatElement(.absent, count: column - slots.count + 1))
            }
            count += (slot.isPresent ? 1 : 0) - (slots[column].isPresent ? 1 : 0)
            slots[column] = slot
        }
    }

    /// Whether a column has a value.
    func has(_ column: Int) -> Bool { column < slots.count && slots[column].isPresent }

    /// The columns that have a value, ascending.
    var keys: [Int] {
        var keys: [Int] = []
        keys.reserveCapacity(count)
        for column in slots.indices where slots[column].isPresent { keys.append(column) }
        return keys
    }

    /// Whether one of these columns has a value.
    func hasAny(of columns: [Int]) -> Bool { columns.contains(where: has) }

    /// Columns and values, by ascending column.
    struct Iterator: IteratorProtocol {
        fileprivate let values: FieldValues
        fileprivate var column = 0

        mutating func next() -> Element? {
            while column < values.slots.count {
                defer { column += 1 }
                if let value = values.slots[column].value { return (column, value) }
            }
            return nil
        }
    }

    func makeIterator() -> Iterator { Iterator(values: self) }

    /// Runs `body` for each column with a value, ascending; the fast way.
    func forEachColumn(_ body: (Int, FieldValue) throws -> Void) rethrows {
        for column in slots.indices {
            if case .present(let value) = slots[column] { try body(column, value) }
        }
    }

    /// These values, replaced by `other`'s where it has some.
    func overlaid(with other: FieldValues) -> FieldValues {
        if other.isEmpty { return self }
        if isEmpty { return other }
        var result = self
        other.forEachColumn { result[$0] = $1 }
        return result
    }

    func mapped(_ transform: (FieldValue) -> FieldValue) -> FieldValues {
        var result = self
        for column in slots.indices { result.slots[column] = Slot(slots[column].value.map(transform)) }
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
