import Foundation

/// A value of the key-value store: a property list, and JSON besides.
public enum KeyValue: Hashable, Sendable {
    case string(String)
    case integer(Int64)
    /// Any double: NaN and the infinities survive, and every NaN is the same value.
    case double(Double)
    case bool(Bool)
    case data(Data)
    case date(Date)
    /// JSON text, as `setCodable` makes.
    case json(String)
    case array([KeyValue])
    case dictionary([String: KeyValue])

    public static func == (left: KeyValue, right: KeyValue) -> Bool {
        switch (left, right) {
        case (.string(let a), .string(let b)), (.json(let a), .json(let b)): a == b
        case (.integer(let a), .integer(let b)): a == b
        case (.double(let a), .double(let b)): a == b || a.isNaN && b.isNaN
        case (.bool(let a), .bool(let b)): a == b
        case (.data(let a), .data(let b)): a == b
        case (.date(let a), .date(let b)): a == b
        case (.array(let a), .array(let b)): a == b
        case (.dictionary(let a), .dictionary(let b)): a == b
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .string(let value), .json(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value.isNaN ? 0 : value)
        case .bool(let value): hasher.combine(value)
        case .data(let value): hasher.combine(value)
        case .date(let value): hasher.combine(value)
        case .array(let value): hasher.combine(value)
        case .dictionary(let value): hasher.combine(value)
        }
    }
}

extension KeyValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(arrayLiteral elements: KeyValue...) { self = .array(elements) }
    /// The last of several values for a key counts.
    public init(dictionaryLiteral elements: (String, KeyValue)...) {
        self = .dictionary(Dictionary(elements) { $1 })
    }
}

// MARK: Property lists

extension KeyValue {
    /// Takes over a property list: strings, numbers, booleans, data, dates, arrays and dictionaries with string keys.
    /// - Returns: `nil` for anything else inside.
    public init?(propertyList object: Any) {
        switch object {
        case let value as KeyValue: self = value
        case let value as String: self = .string(value)
        case let value as Bool: self = .bool(value)
        case let value as Int: self = .integer(Int64(value))
        case let value as any FixedWidthInteger:
            guard let integer = Int64(exactly: value) else { return nil }
            self = .integer(integer)
        case let value as Double: self = .double(value)
        case let value as Float: self = .double(Double(value))
        case let value as Data: self = .data(value)
        case let value as Date: self = .date(value)
        case let value as [Any]:
            let elements = value.compactMap { KeyValue(propertyList: $0) }
            guard elements.count == value.count else { return nil }
            self = .array(elements)
        case let value as [String: Any]:
            let entries = value.compactMapValues { KeyValue(propertyList: $0) }
            guard entries.count == value.count else { return nil }
            self = .dictionary(entries)
        default: return nil
        }
    }

    /// The value as a property list: `String`, `Int64`, `Double`, `Bool`, `Data`, `Date`, `[Any]` or `[String: Any]`;
    /// JSON is its text.
    public var propertyList: Any {
        switch self {
        case .string(let value), .json(let value): value
        case .integer(let value): value
        case .double(let value): value
        case .bool(let value): value
        case .data(let value): value
        case .date(let value): value
        case .array(let value): value.map(\.propertyList)
        case .dictionary(let value): value.mapValues(\.propertyList)
        }
    }
}
