import Ferry
import Foundation

/// Rows and their values as people and scripts read them.
enum RowWords {
    /// `song 12`, `song_tag 3, 4`; the object's ID where no key is known.
    static func row(_ table: String, _ key: [FieldValue], _ object: ObjectID) -> String {
        table + " " + Wording.oneLine(key.isEmpty ? object.description : self.key(key), limit: 36)
    }

    static func key(_ key: [FieldValue]) -> String { key.map(\.text).joined(separator: ", ") }

    /// A value on a single line, cut off if too long.
    static func value(_ value: FieldValue, limit: Int = 60) -> String {
        Wording.oneLine(start(of: value), limit: limit)
    }

    /// The text of a value, or of the first part of a long one: more than any line shows.
    private static func start(of value: FieldValue) -> String {
        switch value {
        case .text(let bytes) where bytes.count > maximumBytes: FieldValue.text(bytes.prefix(maximumBytes)).text
        case .blob(let bytes) where bytes.count > maximumBytes: FieldValue.blob(bytes.prefix(maximumBytes)).text
        default: value.text
        }
    }

    private static let maximumBytes = 16_384

    /// `title = One, year = 1999`, cut off if too long.
    static func values(_ values: [NamedValue], limit: Int = 60) -> String {
        Wording.oneLine(values.map { "\($0.column) = \(start(of: $0.value))" }.joined(separator: ", "), limit: limit)
    }

    static func time(_ milliseconds: Int64?) -> String { milliseconds.map(Wording.exactTime) ?? "before joining" }
}

extension JSONValue {
    /// A value of a row: blobs are `{"base64": …}`, and numbers beyond JSON are text.
    init(_ value: FieldValue) {
        switch value {
        case .null: self = .null
        case .integer(let integer): self = .integer(integer)
        case .real(let real): self = real.isFinite ? .double(real) : .string("\(real)")
        case .text: self = .string(value.text)
        case .blob(let bytes): self = .object(["base64": .string(Data(bytes).base64EncodedString())])
        case .reference: self = .string(value.text)
        }
    }

    /// An object of columns and values. A name that differs from a name before in the form of Unicode alone gets a number: to
    /// Swift, and to many readers of JSON, both are one key.
    init(_ values: [NamedValue]) {
        var object: [String: JSONValue] = [:]
        var names: [String: String] = [:]
        for value in values {
            let key = exactKey(value.column)
            var (name, number) = (names[key] ?? value.column, 2)
            while names[key] == nil, object[name] != nil {
                name = "\(value.column) (\(number))"
                number += 1
            }
            names[key] = name
            object[name] = JSONValue(value.value)
        }
        self = .object(object)
    }
}
