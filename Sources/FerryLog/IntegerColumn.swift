import FerryCore

/// A column of 64-bit integers (Docs/Format.md, "Columns"): all equal, or distances from the smallest, or differences
/// between neighbors, whichever is shortest. A power of two that divides all distances is taken out: times of whole
/// milliseconds count up in steps of 65,536.
///
/// The arithmetic wraps, so that every sequence of integers has a form and every form is a sequence of integers.
enum IntegerColumn {
    private enum Mode: UInt8 {
        case constant = 0
        case distances = 1
        case differences = 2
    }

    static func write(_ values: [Int64], to writer: inout ByteWriter) {
        guard let first = values.first else { return }
        var smallest = first
        var bits: UInt64 = 0
        for value in values {
            smallest = min(smallest, value)
            bits |= UInt64(bitPattern: value &- first)
        }
        guard bits != 0 else {
            writer.write(Mode.constant.rawValue)
            writer.writeZigzag(first)
            return
        }
        let shift = bits.trailingZeroBitCount
        var distanceBytes = 0
        var differenceBytes = 0
        var previous = first
        for value in values {
            distanceBytes += varintLength(UInt64(bitPattern: value &- smallest) >> shift)
            differenceBytes += varintLength(zigzag((value &- previous) >> shift))
            previous = value
        }
        if distanceBytes <= differenceBytes {
            writer.write(Mode.distances.rawValue)
            writer.write(UInt8(shift))
            writer.writeZigzag(smallest)
            for value in values { writer.writeVarint(UInt64(bitPattern: value &- smallest) >> shift) }
        } else {
            writer.write(Mode.differences.rawValue)
            writer.write(UInt8(shift))
            writer.writeZigzag(first)
            previous = first
            for value in values.dropFirst() {
                writer.writeZigzag((value &- previous) >> shift)
                previous = value
            }
        }
    }

    /// Reads `count` integers. The caller has held `count` against a limit: equal integers take no bytes.
    static func read(_ count: Int, from reader: inout ByteReader) throws(FerryError) -> [Int64] {
        guard count > 0 else { return [] }
        guard let mode = Mode(rawValue: try reader.readByte()) else {
            throw ByteReader.malformed("a column of integers has an unknown form")
        }
        if mode == .constant { return Array(repeating: try reader.readZigzag(), count: count) }
        let shift = try reader.readByte()
        guard shift < 64 else { throw ByteReader.malformed("a column of integers has a wrong step") }
        let base = try reader.readZigzag()
        // At least a byte each, before room is made for them.
        guard count - 1 <= reader.remaining else { throw ByteReader.malformed("it ends too early") }
        var values: [Int64] = []
        values.reserveCapacity(count)
        if mode == .distances {
            for _ in 0..<count { values.append(base &+ Int64(bitPattern: try reader.readVarint() &<< UInt64(shift))) }
        } else {
            var value = base
            values.append(value)
            for _ in 1..<count {
                value = value &+ (try reader.readZigzag() &<< Int64(shift))
                values.append(value)
            }
        }
        return values
    }

    private static func zigzag(_ value: Int64) -> UInt64 { UInt64(bitPattern: (value << 1) ^ (value >> 63)) }

    /// The bytes of a varint: one byte for each seven bits begun.
    private static func varintLength(_ value: UInt64) -> Int { (70 - (value | 1).leadingZeroBitCount) / 7 }
}
