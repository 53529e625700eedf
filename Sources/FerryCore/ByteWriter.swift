/// Appends the format's primitive values to a buffer (Docs/Format.md, "Primitives"). Inlinable, because encoders call
/// the functions for every number of a file.
@usableFromInline package struct ByteWriter: Sendable {
    @usableFromInline var buffer: [UInt8]

    @inlinable
    package init(reservingCapacity capacity: Int = 0) {
        buffer = []
        buffer.reserveCapacity(capacity)
    }

    @inlinable
    package var bytes: [UInt8] { buffer }
    @inlinable
    package var count: Int { buffer.count }

    /// Forgets the bytes, and keeps the memory.
    @inlinable
    package mutating func removeAll() { buffer.removeAll(keepingCapacity: true) }

    @inlinable
    package mutating func write(_ byte: UInt8) { buffer.append(byte) }

    @inlinable
    package mutating func write(contentsOf other: some Collection<UInt8>) { buffer.append(contentsOf: other) }

    /// Little-endian, 4 bytes.
    @inlinable
    package mutating func write32(_ value: UInt32) {
        withUnsafeBytes(of: value.littleEndian) { buffer.append(contentsOf: $0) }
    }

    /// Little-endian, 8 bytes.
    @inlinable
    package mutating func write64(_ value: UInt64) {
        withUnsafeBytes(of: value.littleEndian) { buffer.append(contentsOf: $0) }
    }

    /// LEB128: seven bits a byte, least significant first, 1 to 10 bytes.
    @inlinable
    package mutating func writeVarint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            buffer.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        buffer.append(UInt8(rest))
    }

    /// A signed integer as a varint, small magnitudes short: 0, -1, 1, -2 … become 0, 1, 2, 3 …
    @inlinable
    package mutating func writeZigzag(_ value: Int64) {
        writeVarint(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
    }

    @inlinable
    package mutating func write<Kind>(_ id: UniqueID<Kind>) {
        withUnsafeBytes(of: id.high.bigEndian) { buffer.append(contentsOf: $0) }
        withUnsafeBytes(of: id.low.bigEndian) { buffer.append(contentsOf: $0) }
    }

    /// A varint count, then the bytes.
    @inlinable
    package mutating func writeCounted(_ other: some Collection<UInt8>) {
        writeVarint(UInt64(other.count))
        buffer.append(contentsOf: other)
    }

    @inlinable
    package mutating func writeCounted(_ string: String) { writeCounted(string.utf8) }

    /// A value with its tag (Docs/Format.md, "Values").
    @inlinable
    package mutating func write(_ value: FieldValue) {
        write(value.tag)
        switch value {
        case .null: break
        case .integer(let integer): writeZigzag(integer)
        case .real(let real): write64(real.bitPattern)
        case .text(let content), .blob(let content): writeCounted(content)
        case .reference(let object): write(object)
        }
    }
}
