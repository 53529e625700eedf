/// Reads the format's primitive values from bytes that nobody vouches for.
///
/// Every read first checks that enough bytes are left, and throws `damagedFile` if not. Nothing is allocated by a count
/// from the bytes before `readCount` has compared the count with the rest. Slices share the buffer. Inlinable, because
/// decoders call the functions for every number of a file.
@usableFromInline package struct ByteReader: Sendable {
    @usableFromInline let bytes: ArraySlice<UInt8>
    @usableFromInline var position: Int

    @inlinable
    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    @inlinable
    package init(_ bytes: [UInt8]) { self.init(bytes[...]) }

    @inlinable
    package var remaining: Int { bytes.endIndex - position }
    @inlinable
    package var isAtEnd: Bool { remaining == 0 }

    @inlinable
    package mutating func readByte() throws(FerryError) -> UInt8 {
        guard position < bytes.endIndex else { throw Self.cutOff }
        defer { position += 1 }
        return bytes[position]
    }

    @inlinable
    package mutating func read(_ count: Int) throws(FerryError) -> ArraySlice<UInt8> {
        guard count >= 0, count <= remaining else { throw Self.cutOff }
        defer { position += count }
        return bytes[position..<position + count]
    }

    /// The whole buffer. Its indices are those that `skip` returns.
    @inlinable
    package var all: ArraySlice<UInt8> { bytes }

    /// Passes over bytes.
    /// - Returns: where they begin.
    @inlinable
    package mutating func skip(_ count: Int) throws(FerryError) -> Int {
        guard count >= 0, count <= remaining else { throw Self.cutOff }
        defer { position += count }
        return position
    }

    @inlinable
    package mutating func read32() throws(FerryError) -> UInt32 {
        let slice = try read(4)
        var value: UInt32 = 0
        for index in (0..<4).reversed() { value = value << 8 | UInt32(slice[slice.startIndex + index]) }
        return value
    }

    @inlinable
    package mutating func read64() throws(FerryError) -> UInt64 {
        let slice = try read(8)
        var value: UInt64 = 0
        for index in (0..<8).reversed() { value = value << 8 | UInt64(slice[slice.startIndex + index]) }
        return value
    }

    @inlinable
    package mutating func readVarint() throws(FerryError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try readByte()
            // The tenth byte holds the last bit of 64.
            if shift == 63, byte > 1 { throw Self.malformed("a number is longer than 64 bits") }
            value |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
    }

    @inlinable
    package mutating func readZigzag() throws(FerryError) -> Int64 {
        let value = try readVarint()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    /// A count of things that take at least `minimumBytes` each: a count beyond the rest of the bytes is damage.
    @inlinable
    package mutating func readCount(minimumBytes: Int = 1) throws(FerryError) -> Int {
        let count = try readVarint()
        guard count <= UInt64(remaining / max(minimumBytes, 1)) else { throw Self.cutOff }
        return Int(count)
    }

    @inlinable
    package mutating func readID<Kind>() throws(FerryError) -> UniqueID<Kind> {
        let slice = try read(16)
        var high: UInt64 = 0
        var low: UInt64 = 0
        for index in slice.startIndex..<slice.startIndex + 8 {
            high = high << 8 | UInt64(slice[index])
            low = low << 8 | UInt64(slice[index + 8])
        }
        return UniqueID(high: high, low: low)
    }

    @inlinable
    package mutating func readCounted() throws(FerryError) -> ArraySlice<UInt8> {
        try read(readCount())
    }

    /// A string of valid UTF-8.
    @inlinable
    package mutating func readString() throws(FerryError) -> String {
        guard let string = String(validating: try readCounted(), as: UTF8.self) else {
            throw Self.malformed("a name is not valid UTF-8")
        }
        return string
    }

    @inlinable
    package mutating func readValue() throws(FerryError) -> FieldValue {
        switch try readByte() {
        case 0: return .null
        case 1: return .integer(try readZigzag())
        case 2: return .real(Double(bitPattern: try read64()))
        case 3: return .text(try readCounted())
        case 4: return .blob(try readCounted())
        case 5: return .reference(try readID())
        case let tag: throw Self.malformed("a value has the unknown tag \(tag)")
        }
    }

    @usableFromInline static var cutOff: FerryError { malformed("it ends too early") }

    /// True if an error means too few bytes, so that more bytes might help.
    package static func isCutOff(_ error: FerryError) -> Bool {
        error.code == .damagedFile && error.message == cutOff.message
    }

    /// The error for content that breaks the format; the caller adds the path.
    @usableFromInline package static func malformed(_ what: String) -> FerryError {
        FerryError(.damagedFile, "The file is damaged: \(what).")
    }
}
