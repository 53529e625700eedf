/// A 16-byte identifier. `ObjectID`, `DeviceID` and `ContainerID` are the kinds in use; they cannot be mixed.
///
/// Two integers rather than a tuple of bytes: comparison and hashing are on the hot path of every merge. The order is
/// the order of the bytes (big-endian, unsigned), the same as in SQLite's BLOB comparison.
public struct UniqueID<Kind>: Hashable, Comparable, Sendable {
    /// The first eight bytes, most significant first.
    @usableFromInline package let high: UInt64
    /// The last eight bytes, most significant first.
    @usableFromInline package let low: UInt64

    @inlinable
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads an ID from exactly 16 bytes; `nil` for any other count.
    @inlinable
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        var high: UInt64 = 0
        var low: UInt64 = 0
        for byte in bytes {
            high = high << 8 | low >> 56
            low = low << 8 | UInt64(byte)
        }
        self.init(high: high, low: low)
    }

    /// Reads the usual text form of a UUID, in either letter case, with or without its four hyphens.
    @inlinable
    public init?(_ text: some StringProtocol) {
        var high: UInt64 = 0
        var low: UInt64 = 0
        var count = 0
        for character in text.utf8 where character != UInt8(ascii: "-") {
            guard let digit = hexDigitValue(character), count < 32 else { return nil }
            high = high << 4 | low >> 60
            low = low << 4 | UInt64(digit)
            count += 1
        }
        guard count == 32 else { return nil }
        self.init(high: high, low: low)
    }

    /// The 16 bytes, most significant first.
    @inlinable
    public var bytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
            for index in 0..<8 {
                buffer[index] = UInt8(truncatingIfNeeded: high >> UInt64(56 - 8 * index))
                buffer[index + 8] = UInt8(truncatingIfNeeded: low >> UInt64(56 - 8 * index))
            }
            count = 16
        }
    }

    /// 32 lower-case hexadecimal digits without hyphens: the form used in file names.
    public var hex: String {
        String(unsafeUninitializedCapacity: 32) { buffer in
            for index in 0..<16 {
                let shift = UInt64(60 - 4 * index)
                buffer[index] = hexDigit(high >> shift & 15)
                buffer[index + 16] = hexDigit(low >> shift & 15)
            }
            return 32
        }
    }

    @inlinable
    public static func < (left: Self, right: Self) -> Bool {
        left.high != right.high ? left.high < right.high : left.low < right.low
    }
}

extension UniqueID: CustomStringConvertible {
    /// The usual text form of a UUID in lower case.
    public var description: String {
        let digits = Array(hex)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }
}

public enum ObjectKind {}
public enum DeviceKind {}
public enum ContainerKind {}

/// Names a row of a tracked table on every device (unique within the table).
public typealias ObjectID = UniqueID<ObjectKind>
/// Names a replica of a database. Minted per database, never per machine.
public typealias DeviceID = UniqueID<DeviceKind>
/// Names a container.
public typealias ContainerID = UniqueID<ContainerKind>

/// Formats bytes as lower-case hexadecimal digits.
package func hexString(_ bytes: some Sequence<UInt8>) -> String {
    var characters: [UInt8] = []
    for byte in bytes {
        characters.append(hexDigit(UInt64(byte >> 4)))
        characters.append(hexDigit(UInt64(byte & 15)))
    }
    return String(decoding: characters, as: UTF8.self)
}

/// The lower-case hexadecimal digit of a number below 16.
private func hexDigit(_ value: UInt64) -> UInt8 {
    UInt8(truncatingIfNeeded: value < 10 ? UInt64(UInt8(ascii: "0")) + value : UInt64(UInt8(ascii: "a")) + value - 10)
}

/// The value of an ASCII hexadecimal digit, or `nil`.
@inlinable
package func hexDigitValue(_ character: UInt8) -> UInt8? {
    switch character {
    case 0x30...0x39: character - 0x30
    case 0x41...0x46: character - 0x41 + 10
    case 0x61...0x66: character - 0x61 + 10
    default: nil
    }
}
