import Ferry
import Foundation

/// JSON for the page: the encodings of the verbs, in a form fit for a browser.
///
/// A browser's numbers have 53 bits, and a value may have gigabytes. So an integer beyond 53 bits is `{"integer":
/// text}`, and a text beyond a limit is `{"text", "length"}` with the beginning of the text.
enum PageJSON {
    /// The most characters of a text.
    static let maximumLength = 4000
    /// The largest exact integer of a browser.
    static let maximumInteger: Int64 = 1 << 53 - 1

    static func encode(_ report: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let value = try JSONDecoder().decode(JSONValue.self, from: encoder.encode(report))
        return try encoder.encode(fitting(value))
    }

    /// The value in a form fit for a browser.
    static func fitting(_ value: JSONValue) -> JSONValue {
        switch value {
        case .integer(let integer) where integer.magnitude > UInt64(maximumInteger):
            .object(["integer": .string("\(integer)")])
        case .string(let text) where text.utf8.count > maximumLength && text.count > maximumLength:
            .object(["text": .string(String(text.prefix(maximumLength))), "length": .integer(Int64(text.count))])
        case .array(let values): .array(values.map(fitting))
        case .object(let values): .object(values.mapValues(fitting))
        default: value
        }
    }

    /// A value on a page of rows.
    static func cell(_ cell: RowPage.Cell) -> JSONValue {
        guard let length = cell.wholeLength else { return JSONValue(cell.value) }
        let beginning = JSONValue(cell.value)
        if case .object(var blob) = beginning {
            blob["length"] = .integer(Int64(length))
            return .object(blob)
        }
        return .object(["text": beginning, "length": .integer(Int64(length))])
    }
}
