import FerryCore
import FerryStore
import Foundation

/// Values by key. The newest write of a key wins; an older concurrent write becomes a conflict record.
extension KeyValueStore {
    // MARK: Reading

    /// The value of a key; `nil` without a value.
    public func value(forKey key: String) throws -> KeyValue? {
        let key = Self.composed(key)
        return try store.read { connection in
            try connection.firstValue("SELECT value FROM ferry_kv_value WHERE key = ?", .text(key))
                .flatMap(KeyValueCoding.decode)
        }
    }

    /// Every key and its value, as of a single moment.
    public func dictionaryRepresentation() throws -> [String: KeyValue] {
        try store.read { connection in
            var entries: [String: KeyValue] = [:]
            for row in try connection.rows("SELECT key, value FROM ferry_kv_value") {
                if let key = row[0].string, let value = KeyValueCoding.decode(row[1]) { entries[key] = value }
            }
            return entries
        }
    }

    /// The value as a property list (`KeyValue.propertyList`).
    public func object(forKey key: String) throws -> Any? { try value(forKey: key)?.propertyList }

    /// The value if it is a string.
    public func string(forKey key: String) throws -> String? {
        if case .string(let value)? = try value(forKey: key) { value } else { nil }
    }

    /// The value if it is data.
    public func data(forKey key: String) throws -> Data? {
        if case .data(let value)? = try value(forKey: key) { value } else { nil }
    }

    /// The value if it is a date.
    public func date(forKey key: String) throws -> Date? {
        if case .date(let value)? = try value(forKey: key) { value } else { nil }
    }

    /// The value if it is an array.
    public func array(forKey key: String) throws -> [KeyValue]? {
        if case .array(let value)? = try value(forKey: key) { value } else { nil }
    }

    /// The value if it is a dictionary.
    public func dictionary(forKey key: String) throws -> [String: KeyValue]? {
        if case .dictionary(let value)? = try value(forKey: key) { value } else { nil }
    }

    /// The value as a boolean: a number is true unless the number is zero; everything else and nothing is false.
    public func bool(forKey key: String) throws -> Bool {
        switch try value(forKey: key) {
        case .bool(let value): value
        case .integer(let value): value != 0
        case .double(let value): value != 0
        default: false
        }
    }

    /// The value as an integer: a double is cut towards zero and to the range, true is 1, everything else and nothing
    /// is 0.
    public func int64(forKey key: String) throws -> Int64 {
        switch try value(forKey: key) {
        case .integer(let value): value
        case .bool(let value): value ? 1 : 0
        case .double(let value): Self.integer(value)
        default: 0
        }
    }

    /// The value as an integer, under `NSUbiquitousKeyValueStore`'s name: `int64(forKey:)`.
    public func longLong(forKey key: String) throws -> Int64 { try int64(forKey: key) }

    /// The value as a double: true is 1; everything else that is no number, and nothing, is 0.
    public func double(forKey key: String) throws -> Double {
        switch try value(forKey: key) {
        case .double(let value): value
        case .integer(let value): Double(value)
        case .bool(let value): value ? 1 : 0
        default: 0
        }
    }

    /// The value that `setCodable` stored; `nil` without a value.
    /// - Throws: `invalidArgument` if the key's value is no JSON of this type.
    public func value<Value: Decodable>(_ type: Value.Type, forKey key: String) throws -> Value? {
        guard let stored = try value(forKey: key) else { return nil }
        guard case .json(let text) = stored else {
            throw FerryError(.invalidArgument, "The value was not stored by setCodable. Read it by its own kind.")
        }
        do {
            return try Self.decoder().decode(type, from: Data(text.utf8))
        } catch {
            throw FerryError(
                .invalidArgument, "The stored value cannot be read as \(type). Another version of the app wrote it.",
                cause: error)
        }
    }

    // MARK: Writing

    /// Sets the value of a key; `nil` removes the value. Setting an equal value changes nothing.
    /// - Throws: `invalidArgument` for an empty key; `limitExceeded`: `keyBytes`, `valueBytes` or `keys`.
    public func set(_ value: KeyValue?, forKey key: String) throws {
        guard let value else { return try removeValue(forKey: key) }
        let key = try checked(key)
        let encoded = try KeyValueCoding.encode(value)
        try limits.check(value: encoded)
        try write(KeyValueName(.value, key), counting: Self.allKeys) { connection in
            let present = try connection.firstValue("SELECT value FROM ferry_kv_value WHERE key = ?", .text(key))
            if let present {
                if present == encoded { return ((), false, nil) }
                try connection.execute("UPDATE ferry_kv_value SET value = ? WHERE key = ?", encoded, .text(key))
                return ((), true, nil)
            }
            let before = try size(of: Self.allKeys, adding: 1, atMost: limits.keys, connection) {
                try connection.count("SELECT count(*) FROM ferry_kv_value")
            }
            let size = before.map { $0 + 1 }
            if let size { try limits.check(keyCount: size) }
            try connection.execute("INSERT INTO ferry_kv_value(key, value) VALUES (?, ?)", .text(key), encoded)
            return ((), true, size)
        }
    }

    public func set(_ value: String, forKey key: String) throws { try set(.string(value), forKey: key) }
    public func set(_ value: Bool, forKey key: String) throws { try set(.bool(value), forKey: key) }
    public func set(_ value: Int64, forKey key: String) throws { try set(.integer(value), forKey: key) }
    public func set(_ value: Int, forKey key: String) throws { try set(.integer(Int64(value)), forKey: key) }
    public func set(_ value: Double, forKey key: String) throws { try set(.double(value), forKey: key) }
    public func set(_ value: Data, forKey key: String) throws { try set(.data(value), forKey: key) }
    public func set(_ value: Date, forKey key: String) throws { try set(.date(value), forKey: key) }
    public func set(_ value: [KeyValue], forKey key: String) throws { try set(.array(value), forKey: key) }
    public func set(_ value: [String: KeyValue], forKey key: String) throws { try set(.dictionary(value), forKey: key) }

    /// Sets a property list; `nil` removes the value.
    /// - Throws: `invalidArgument` for anything inside that is no property list; otherwise as `set`.
    public func setObject(_ object: Any?, forKey key: String) throws {
        guard let object else { return try removeValue(forKey: key) }
        guard let value = KeyValue(propertyList: object) else {
            throw FerryError(
                .invalidArgument, "The value is no property list. Use setCodable for types of your own.")
        }
        try set(value, forKey: key)
    }

    /// Sets a value of a type of the app's own, as JSON. The newest write wins as a whole.
    /// - Throws: errors of the encoding; otherwise as `set`.
    public func setCodable(_ value: some Encodable, forKey key: String) throws {
        try set(.json(String(decoding: Self.encoder().encode(value), as: UTF8.self)), forKey: key)
    }

    /// Removes a key and its value; no effect on an absent key.
    public func removeValue(forKey key: String) throws {
        let key = Self.composed(key)
        try write(KeyValueName(.value, key)) { connection in
            try connection.execute("DELETE FROM ferry_kv_value WHERE key = ?", .text(key))
            return ((), connection.changedRowCount > 0, nil)
        }
    }

    /// As `removeValue(forKey:)`, under `NSUbiquitousKeyValueStore`'s name.
    public func removeObject(forKey key: String) throws { try removeValue(forKey: key) }

    // MARK: Conversions

    /// The name under which the number of all keys is remembered: no key is empty.
    static let allKeys = KeyValueName(.value, "")

    private static func integer(_ double: Double) -> Int64 {
        if double.isNaN { return 0 }
        if double >= 0x1p63 { return .max }
        return double < -0x1p63 ? .min : Int64(double)
    }

    private static func encoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        // Equal values are equal text, so that a repeated write is no change.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        return encoder
    }

    private static func decoder() -> JSONDecoder {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        return decoder
    }
}
