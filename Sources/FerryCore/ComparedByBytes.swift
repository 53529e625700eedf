/// Texts, and lists of texts, that can be compared byte by byte.
///
/// Swift compares texts by canonical equivalence: it takes a composed and a decomposed `é` for equal. To SQLite, and to every
/// file, they are two texts.
@usableFromInline package protocol HasBytes: Hashable {
    /// True if both have the same bytes.
    static func areEqualBytes(_ left: Self, _ right: Self) -> Bool
    /// Absorbs the bytes, in agreement with `areEqualBytes`.
    func hashBytes(into hasher: inout Hasher)
}

/// A stored text from outside, for types whose equality follows from their properties: the text counts by its bytes.
@propertyWrapper
@usableFromInline package struct ComparedByBytes<Value: HasBytes>: Hashable {
    @usableFromInline package var wrappedValue: Value

    @inlinable package init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

    @inlinable package static func == (left: Self, right: Self) -> Bool {
        Value.areEqualBytes(left.wrappedValue, right.wrappedValue)
    }

    @inlinable package func hash(into hasher: inout Hasher) { wrappedValue.hashBytes(into: &hasher) }
}

extension ComparedByBytes: Sendable where Value: Sendable {}

extension ComparedByBytes: Encodable where Value: Encodable {
    /// Writes the text as if nothing were around it.
    @inlinable package func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

extension ComparedByBytes: Decodable where Value: Decodable {
    @inlinable package init(from decoder: any Decoder) throws { self.init(wrappedValue: try Value(from: decoder)) }
}

extension String: HasBytes {
    @inlinable package static func areEqualBytes(_ left: String, _ right: String) -> Bool { equalBytes(left, right) }

    /// Equal bytes are equal texts, so the text's own hash will do.
    @inlinable package func hashBytes(into hasher: inout Hasher) { hash(into: &hasher) }
}

extension Optional: HasBytes where Wrapped: HasBytes {
    @inlinable package static func areEqualBytes(_ left: Wrapped?, _ right: Wrapped?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return Wrapped.areEqualBytes(left, right)
    }

    @inlinable package func hashBytes(into hasher: inout Hasher) {
        hasher.combine(self == nil)
        self?.hashBytes(into: &hasher)
    }
}

extension Array: HasBytes where Element: HasBytes {
    @inlinable package static func areEqualBytes(_ left: [Element], _ right: [Element]) -> Bool {
        left.count == right.count && zip(left, right).allSatisfy(Element.areEqualBytes)
    }

    @inlinable package func hashBytes(into hasher: inout Hasher) {
        hasher.combine(count)
        for element in self { element.hashBytes(into: &hasher) }
    }
}

/// A dictionary by keys (`foldedName`), or by numbers as text: the keys themselves are ASCII.
extension Dictionary: HasBytes where Key == String, Value: HasBytes {
    @inlinable package static func areEqualBytes(_ left: [String: Value], _ right: [String: Value]) -> Bool {
        left.count == right.count
            && left.allSatisfy { key, value in right[key].map { Value.areEqualBytes(value, $0) } ?? false }
    }

    @inlinable package func hashBytes(into hasher: inout Hasher) {
        hasher.combine(count)
        for key in keys.sorted() { self[key]?.hashBytes(into: &hasher) }
    }
}
