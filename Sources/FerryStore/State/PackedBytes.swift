import FerryCore
import FerryMerge
import FerrySchema

/// Writes values in sequence for `PackedReader`, in memory only. This is no file format.
struct PackedWriter {
    private(set) var bytes: [UInt8] = []

    init(reservingCapacity capacity: Int) { bytes.reserveCapacity(capacity) }

    /// The written bytes, in an array without spare capacity.
    var exactBytes: [UInt8] { Array(bytes[...]) }

    mutating func write(_ byte: UInt8) { bytes.append(byte) }

    mutating func write(varint value: Int) {
        var rest = UInt64(bitPattern: Int64(value))
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func write(word value: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(shift))) }
    }

    mutating func write(_ id: ObjectID) {
        write(word: id.high)
        write(word: id.low)
    }

    mutating func write(_ token: RowToken) {
        write(varint: token.table)
        write(token.id)
    }

    mutating func write(_ stamp: Stamp) {
        write(word: stamp.time.rawValue)
        write(word: stamp.device.high)
        write(word: stamp.device.low)
    }

    mutating func write(_ value: FieldValue) {
        write(value.tag)
        switch value {
        case .null: break
        case .integer(let integer): write(word: UInt64(bitPattern: integer))
        case .real(let real): write(word: real.bitPattern)
        case .text(let text), .blob(let text):
            write(varint: text.count)
            bytes.append(contentsOf: text)
        case .reference(let object): write(object)
        }
    }

    mutating func write(_ values: ColumnValues) {
        write(varint: values.count)
        values.forEachColumn { column, value in
            write(varint: column)
            write(value)
        }
    }

    mutating func write<Element>(each elements: [Element], _ body: (inout Self, Element) -> Void) {
        write(varint: elements.count)
        for element in elements { body(&self, element) }
    }
}

/// Reads the bytes of this process's `PackedWriter`, in the order of writing. Texts and blobs share the bytes.
struct PackedReader {
    private let bytes: [UInt8]
    private var position: Int

    init(_ bytes: [UInt8], at position: Int = 0) {
        self.bytes = bytes
        self.position = position
    }

    mutating func byte() -> UInt8 {
        defer { position += 1 }
        return bytes[position]
    }

    mutating func varint() -> Int {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let next = byte()
            value |= UInt64(next & 0x7f) << shift
            if next & 0x80 == 0 { return Int(Int64(bitPattern: value)) }
            shift += 7
        }
    }

    mutating func word() -> UInt64 {
        var value: UInt64 = 0
        for place in 0..<8 { value |= UInt64(bytes[position + place]) << UInt64(8 * place) }
        position += 8
        return value
    }

    mutating func id() -> ObjectID { ObjectID(high: word(), low: word()) }

    mutating func token() -> RowToken { RowToken(table: varint(), id: id()) }

    mutating func stamp() -> Stamp {
        Stamp(time: HybridTime(rawValue: word()), device: DeviceID(high: word(), low: word()))
    }

    mutating func value() -> FieldValue {
        let tag = byte()
        switch tag {
        case 1: return .integer(Int64(bitPattern: word()))
        case 2: return .real(Double(bitPattern: word()))
        case 3, 4:
            let count = varint()
            defer { position += count }
            let text = bytes[position..<position + count]
            return tag == 3 ? .text(text) : .blob(text)
        case 5: return .reference(id())
        default: return .null
        }
    }

    /// - Parameter width: number of columns to reserve.
    mutating func values(width: Int) -> ColumnValues {
        var values = ColumnValues(width: width)
        for _ in 0..<varint() {
            let column = varint()
            values[column] = value()
        }
        return values
    }

    mutating func list<Element>(_ body: (inout Self) -> Element) -> [Element] {
        let count = varint()
        if count == 0 { return [] }
        var elements: [Element] = []
        elements.reserveCapacity(count)
        for _ in 0..<count { elements.append(body(&self)) }
        return elements
    }
}
