import Ferry
import Foundation

/// A value of the key-value store as JSON: data in base 64, dates in ISO 8601, numbers beyond JSON as text.
enum JSONValue: Codable, Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    init(_ value: KeyValue) {
        switch value {
        case .string(let text): self = .string(text)
        case .integer(let integer): self = .integer(integer)
        case .double(let double): self = double.isFinite ? .double(double) : .string("\(double)")
        case .bool(let bool): self = .bool(bool)
        case .data(let data): self = .string(data.base64EncodedString())
        case .date(let date): self = .string(date.formatted(.iso8601))
        case .json(let text): self = JSONValue(json: text) ?? .string(text)
        case .array(let elements): self = .array(elements.map { JSONValue($0) })
        case .dictionary(let elements): self = .object(elements.mapValues { JSONValue($0) })
        }
    }

    /// Parses JSON text; `nil` for text that is no JSON.
    init?(json text: String) {
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) else { return nil }
        self = value
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let bool = try? container.decode(Bool.self) {
            self = .bool(bool)
        } else if let integer = try? container.decode(Int64.self) {
            self = .integer(integer)
        } else if let double = try? container.decode(Double.self) {
            self = .double(double)
        } else if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if let elements = try? container.decode([JSONValue].self) {
            self = .array(elements)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let bool): try container.encode(bool)
        case .integer(let integer): try container.encode(integer)
        case .double(let double): try container.encode(double)
        case .string(let text): try container.encode(text)
        case .array(let elements): try container.encode(elements)
        case .object(let elements): try container.encode(elements)
        }
    }

    /// The value as a line of JSON.
    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Every case of this type can be encoded.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
