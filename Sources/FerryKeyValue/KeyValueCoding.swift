import FerryCore
import Foundation

/// How values lie in the column `value` of `ferry_kv_value` (Docs/KeyValue.md, "In the database").
///
/// The column holds kind and content, so that concurrent writes of different kinds cannot mix. Strings, integers and
/// doubles are SQLite's own; all else is a BLOB that begins with a letter for its kind. Reading never fails: a BLOB of
/// a foreign form is data.
enum KeyValueCoding {
    /// The depth of arrays and dictionaries within each other.
    static let maximumDepth = 64

    private enum Tag {
        static let string = UInt8(ascii: "s")
        static let integer = UInt8(ascii: "i")
        static let double = UInt8(ascii: "d")
        static let bool = UInt8(ascii: "b")
        static let data = UInt8(ascii: "x")
        static let date = UInt8(ascii: "t")
        static let json = UInt8(ascii: "j")
        static let array = UInt8(ascii: "a")
        static let dictionary = UInt8(ascii: "m")
    }

    // MARK: Writing

    /// - Throws: `limitExceeded` for arrays and dictionaries nested more than `maximumDepth` deep.
    static func encode(_ value: KeyValue) throws -> FieldValue {
        switch value {
        case .string(let string): return .text(string)
        case .integer(let integer): return .integer(integer)
        // SQLite stores NaN as NULL.
        case .double(let double) where !double.isNaN: return .real(double)
        default:
            var writer = ByteWriter()
            try write(value, depth: 0, &writer)
            return .blob(writer.bytes[...])
        }
    }

    private static func write(_ value: KeyValue, depth: Int, _ writer: inout ByteWriter) throws {
        guard depth <= maximumDepth else {
            throw FerryError(
                .limitExceeded, "The value is nested more than \(maximumDepth) deep (maximumDepth). Make it flatter.")
        }
        switch value {
        case .string(let string): writeCounted(Tag.string, string.utf8, &writer)
        case .json(let text): writeCounted(Tag.json, text.utf8, &writer)
        case .data(let data): writeCounted(Tag.data, data, &writer)
        case .integer(let integer): write64(Tag.integer, UInt64(bitPattern: integer), &writer)
        case .double(let double): write64(Tag.double, (double.isNaN ? .nan : double).bitPattern, &writer)
        case .date(let date): write64(Tag.date, date.timeIntervalSinceReferenceDate.bitPattern, &writer)
        case .bool(let bool):
            writer.write(Tag.bool)
            writer.write(bool ? 1 : 0)
        case .array(let elements):
            writer.write(Tag.array)
            writer.writeVarint(UInt64(elements.count))
            for element in elements { try write(element, depth: depth + 1, &writer) }
        case .dictionary(let entries):
            writer.write(Tag.dictionary)
            writer.writeVarint(UInt64(entries.count))
            // Sorted, so that equal dictionaries are equal bytes and a repeated write is no change.
            for (key, element) in entries.sorted(by: { $0.key < $1.key }) {
                writer.writeCounted(key)
                try write(element, depth: depth + 1, &writer)
            }
        }
    }

    private static func writeCounted(_ tag: UInt8, _ bytes: some Collection<UInt8>, _ writer: inout ByteWriter) {
        writer.write(tag)
        writer.writeCounted(bytes)
    }

    private static func write64(_ tag: UInt8, _ bits: UInt64, _ writer: inout ByteWriter) {
        writer.write(tag)
        writer.write64(bits)
    }

    // MARK: Reading

    /// - Returns: `nil` for NULL, the absence of a value.
    static func decode(_ field: FieldValue) -> KeyValue? {
        switch field {
        case .null: return nil
        case .text(let bytes): return .string(String(decoding: bytes, as: UTF8.self))
        case .integer(let integer): return .integer(integer)
        case .real(let double): return .double(double)
        case .reference(let object): return .data(Data(object.bytes))
        case .blob(let bytes):
            var reader = ByteReader(bytes)
            guard let value = try? read(depth: 0, &reader), reader.remaining == 0 else { return .data(Data(bytes)) }
            return value
        }
    }

    private static func read(depth: Int, _ reader: inout ByteReader) throws -> KeyValue {
        guard depth <= maximumDepth else { throw ByteReader.malformed("a value is nested too deep") }
        switch try reader.readByte() {
        case Tag.string: return .string(try reader.readString())
        case Tag.json: return .json(try reader.readString())
        case Tag.data: return .data(Data(try reader.readCounted()))
        case Tag.integer: return .integer(Int64(bitPattern: try reader.read64()))
        case Tag.double: return .double(Double(bitPattern: try reader.read64()))
        case Tag.date: return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: try reader.read64())))
        case Tag.bool: return .bool(try reader.readByte() != 0)
        case Tag.array:
            var elements: [KeyValue] = []
            for _ in 0..<(try reader.readCount()) { elements.append(try read(depth: depth + 1, &reader)) }
            return .array(elements)
        case Tag.dictionary:
            var entries: [String: KeyValue] = [:]
            for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
                let key = try reader.readString()
                entries[key] = try read(depth: depth + 1, &reader)
            }
            return .dictionary(entries)
        default: throw ByteReader.malformed("a value is of an unknown kind")
        }
    }
}
