import FerryCore

/// Values by column number. Storage is dense: a table's columns are few and numbered from 0, and every row passes
/// through here. An absent column differs from a column with NULL.
@frozen @usableFromInline package struct ColumnValues: Equatable, Sendable, ExpressibleByDictionaryLiteral, Sequence {
    @usableFromInline package typealias Element = (key: Int, value: FieldValue)

    /// A dedicated enumeration instead of `Optional`: the compiler then generates code to copy and destroy slots. For
    /// an array of optionals the runtime is asked about each element.
    @usableFromInline enum Slot: Sendable {
        case absent
        case present(FieldValue)

        @inlinable init(_ value: FieldValue?) {
            if let value { self = .present(value) } else { self = .absent }
        }

        @inlinable var value: FieldValue? { if case .present(let value) = self { value } else { nil } }
        @inlinable var isPresent: Bool { if case .present = self { true } else { false } }
    }

    /// Values by column; empty while at most a single column has a value. Most writes concern a single column and need
    /// no array.
    @usableFromInline var slots: [Slot] = []
    /// The single value, and its column.
    @usableFromInline var single = Slot.absent
    @usableFromInline var singleColumn = 0
    @usableFromInline var storedCount = 0
    @inlinable package var count: Int { storedCount }
    /// The number of columns to reserve for the second value.
    @usableFromInline var width = 0

    @inlinable package init() {}

    /// Reserves columns below `width` for the second value.
    @inlinable package init(width: Int) { self.width = width }

    /// Fills columns with the values at their list positions. Each column is listed once and is below `width`.
    @inlinable package init(width: Int, columns: [Int], value: (Int) -> FieldValue) {
        self.width = width
        storedCount = columns.count
        if columns.isEmpty { return }
        if columns.count == 1 {
            singleColumn = columns[0]
            single = .present(value(0))
            return
        }
        slots = Array(repeating: .absent, count: width)
        for place in columns.indices { slots[columns[place]] = .present(value(place)) }
    }

    @inlinable package init(dictionaryLiteral elements: (Int, FieldValue)...) {
        for (column, value) in elements { self[column] = value }
    }

    @inlinable package var isEmpty: Bool { count == 0 }

    @inlinable package subscript(column: Int) -> FieldValue? {
        get {
            if slots.isEmpty { return column == singleColumn ? single.value : nil }
            return column < slots.count ? slots[column].value : nil
        }
        set {
            let slot = Slot(newValue)
            if slots.isEmpty {
                if !single.isPresent || column == singleColumn {
                    if column != singleColumn && !slot.isPresent { return }
                    singleColumn = column
                    single = slot
                    storedCount = slot.isPresent ? 1 : 0
                    return
                }
                if !slot.isPresent { return }
                spread(column)
            }
            if column >= slots.count {
                if !slot.isPresent { return }
                slots.append(contentsOf: repeatElement(.absent, count: column - slots.count + 1))
            }
            storedCount += (slot.isPresent ? 1 : 0) - (slots[column].isPresent ? 1 : 0)
            slots[column] = slot
        }
    }

    /// Moves the single value into an array with a slot for a second column.
    @inlinable mutating func spread(_ column: Int) {
        slots = Array(repeating: .absent, count: Swift.max(width, column + 1, singleColumn + 1))
        slots[singleColumn] = single
        single = .absent
    }

    /// True if a column has a value.
    @inlinable package func has(_ column: Int) -> Bool {
        if slots.isEmpty { return column == singleColumn && single.isPresent }
        return column < slots.count && slots[column].isPresent
    }

    /// The columns with a value, ascending.
    @inlinable package var keys: [Int] {
        if slots.isEmpty { return single.isPresent ? [singleColumn] : [] }
        var keys: [Int] = []
        keys.reserveCapacity(count)
        for column in slots.indices where slots[column].isPresent { keys.append(column) }
        return keys
    }

    /// True if every column with a value has a number below a count.
    @inlinable package func areBelow(_ count: Int) -> Bool {
        if slots.isEmpty { return !single.isPresent || singleColumn < count }
        return slots.count <= count || !slots[count...].contains(where: \.isPresent)
    }

    /// True if any of these columns has a value.
    @inlinable package func hasAny(of columns: [Int]) -> Bool { columns.contains(where: has) }

    /// Iterates columns with values, by ascending column.
    @frozen @usableFromInline package struct Iterator: IteratorProtocol {
        @usableFromInline let values: ColumnValues
        @usableFromInline var column = 0

        @inlinable init(values: ColumnValues) { self.values = values }

        @inlinable package mutating func next() -> Element? {
            if values.slots.isEmpty {
                defer { column = values.singleColumn + 1 }
                return column > values.singleColumn ? nil : values.single.value.map { (values.singleColumn, $0) }
            }
            while column < values.slots.count {
                defer { column += 1 }
                if let value = values.slots[column].value { return (column, value) }
            }
            return nil
        }
    }

    @inlinable package func makeIterator() -> Iterator { Iterator(values: self) }

    /// Runs `body` for each column with a value, ascending. Faster than the iterator.
    @inlinable package func forEachColumn(_ body: (Int, FieldValue) throws -> Void) rethrows {
        if case .present(let value) = single { try body(singleColumn, value) }
        for column in slots.indices {
            if case .present(let value) = slots[column] { try body(column, value) }
        }
    }

    /// Returns these values, with values of `other` taking precedence.
    @inlinable package func overlaid(with other: ColumnValues) -> ColumnValues {
        if other.isEmpty { return self }
        if isEmpty { return other }
        var result = self
        other.forEachColumn { result[$0] = $1 }
        return result
    }

    @inlinable package func mapped(_ transform: (FieldValue) -> FieldValue) -> ColumnValues {
        var result = self
        result.single = Slot(single.value.map(transform))
        for column in slots.indices { result.slots[column] = Slot(slots[column].value.map(transform)) }
        return result
    }

    @inlinable package func filter(_ isIncluded: (Element) throws -> Bool) rethrows -> ColumnValues {
        var result = ColumnValues(width: Swift.max(width, slots.count))
        try forEachColumn { column, value in
            if try isIncluded((column, value)) { result[column] = value }
        }
        return result
    }

    @inlinable package static func == (left: ColumnValues, right: ColumnValues) -> Bool {
        guard left.count == right.count else { return false }
        if left.slots.isEmpty { return left.count == 0 || left.single.value == right[left.singleColumn] }
        return left.slots.indices.allSatisfy { left[$0] == right[$0] }
    }
}
