import FerryCore
import FerryMerge
import FerrySchema

/// The compact encodings of an object's registers and shadow values, as stored in the object's row of the state.
///
/// `state` begins with a varint: 1 for a known insertion, 2 for a known deletion, and 4 times the span. The insertion
/// wrote all columns numbered below the span, except listed columns.
///
/// Then come the stamps of the insertion and of the newest deletion, if known: eight bytes of time, varint device
/// number.
///
/// Then, by column, come the stamps different from the insertion's: varint column, varint device number + 1 (0: no
/// stamp at all), eight bytes of time. Entries for the column 4294967295 are earlier deletions that still matter.
///
/// After the column 4294967294 comes the columns' content besides stamps and values (`PolicyCodec`).
///
/// `kept` lists values shown by no row: varint column + 1, then the value. In place of the column, 0 is the wished
/// local key. 2^20 is the key given by the author, if different from the object's own key.
enum StateCodec {
    static let insertionKnown: UInt64 = 1
    static let deletionKnown: UInt64 = 2
    static let spanUnit: UInt64 = 4

    /// - Returns: `nil` for an unknown object.
    static func encode(
        _ registers: ObjectRegisters, _ policies: [Int: ColumnRegister] = [:], number: (DeviceID) throws -> Int
    ) rethrows -> [UInt8]? {
        var writer = ByteWriter(reservingCapacity: 32)
        let span = registers.inserted == nil ? 0 : registers.fields.count
        writer.writeVarint(head(span, registers.inserted, registers.deleted))
        if let stamp = registers.inserted { try write(stamp, to: &writer, number) }
        if let stamp = registers.deleted { try write(stamp, to: &writer, number) }
        try writeFields(registers, to: &writer, number)
        for stamp in registers.earlierDeletions {
            writer.writeVarint(deletionColumn)
            writer.writeVarint(UInt64(try number(stamp.device) + 1))
            writer.write64(stamp.time.rawValue)
        }
        if let rest = PolicyCodec.encode(policies, own: { registers.stamp(of: $0) }) {
            writer.writeVarint(policyColumn)
            writer.write(contentsOf: rest)
        }
        return writer.bytes == [0] ? nil : writer.bytes
    }

    private static func head(_ span: Int, _ inserted: Stamp?, _ deleted: Stamp?) -> UInt64 {
        UInt64(span) * spanUnit | (inserted == nil ? 0 : insertionKnown) | (deleted == nil ? 0 : deletionKnown)
    }

    private static func write(
        _ stamp: Stamp, to writer: inout ByteWriter, _ number: (DeviceID) throws -> Int
    ) rethrows {
        writer.write64(stamp.time.rawValue)
        writer.writeVarint(UInt64(try number(stamp.device)))
    }

    private static func writeFields(
        _ registers: ObjectRegisters, to writer: inout ByteWriter, _ number: (DeviceID) throws -> Int
    ) rethrows {
        for (column, stamp) in registers.fields.enumerated() {
            if let stamp {
                if stamp == registers.inserted { continue }
                writer.writeVarint(UInt64(column))
                writer.writeVarint(UInt64(try number(stamp.device) + 1))
                writer.write64(stamp.time.rawValue)
            } else if registers.inserted != nil {
                writer.writeVarint(UInt64(column))
                writer.writeVarint(0)
            }
        }
    }

    /// The common part of states of objects inserted once, with values in the same columns.
    struct Insertion {
        /// A state as encoded by `encode`.
        private(set) var bytes: [UInt8]
        /// The offset of the time.
        private let start: Int

        /// - Parameter device: the number of the inserting device.
        init(_ columns: [Int], device: Int) {
            let span = (columns.max() ?? -1) + 1
            var writer = ByteWriter()
            writer.writeVarint(UInt64(span) * spanUnit | insertionKnown)
            start = writer.count
            writer.write64(0)
            writer.writeVarint(UInt64(device))
            let written = Set(columns)
            for column in 0..<span where !written.contains(column) {
                writer.writeVarint(UInt64(column))
                writer.writeVarint(0)
            }
            bytes = writer.bytes
        }

        /// Sets the time of the insertion.
        mutating func set(_ time: HybridTime) {
            bytes.withUnsafeMutableBytes {
                $0.storeBytes(of: time.rawValue.littleEndian, toByteOffset: start, as: UInt64.self)
            }
        }
    }

    private static let deletionColumn = UInt64(UInt32.max)
    private static let policyColumn = deletionColumn - 1
    /// An upper bound: no table can ever have had so many columns.
    static let columns: UInt64 = 1 << 20

    fileprivate static func damaged(_ what: String) -> FerryError {
        FerryError(
            .databaseCorrupt,
            "The state of a row cannot be read: \(what). Run `ferry doctor`; a backup, or `ferry leave` and "
                + "`ferry join`, mends it.")
    }

    /// Checks that a state names only columns that its table has: later code finds columns by their numbers.
    /// - Throws: `databaseCorrupt`.
    static func checkColumns(of state: ObjectState, below count: Int) throws {
        guard state.registers.fields.count <= count,
            state.kept.fields.areBelow(count),
            state.policies.isEmpty || state.policies.keys.allSatisfy({ $0 < count })
        else { throw damaged("it has a column that the table does not have") }
    }

    static func decode(
        _ bytes: [UInt8], device: (Int) throws -> DeviceID
    ) throws -> (registers: ObjectRegisters, policies: [Int: ColumnRegister]) {
        try bytes.withUnsafeBytes { try decode($0, device: device) }
    }

    /// - Parameter bytes: empty for an unknown object.
    /// - Throws: `databaseCorrupt` for bytes not written by `encode`.
    static func decode(
        _ bytes: UnsafeRawBufferPointer, device: (Int) throws -> DeviceID
    ) throws -> (registers: ObjectRegisters, policies: [Int: ColumnRegister]) {
        if bytes.isEmpty { return (ObjectRegisters(), [:]) }
        var reader = StateReader(bytes)
        let (span, inserted, deleted) = try decodeHead(&reader, device)
        var fields: [Stamp?] = Array(repeating: inserted, count: span)
        var earlierDeletions: [Stamp] = []
        while !reader.isAtEnd {
            let code = try reader.readVarint()
            if code == policyColumn { break }
            let stamp = try readOptionalStamp(&reader, device)
            if code == deletionColumn {
                guard let stamp else { throw damaged("a deletion has no stamp") }
                earlierDeletions.append(stamp)
                continue
            }
            guard code < columns else { throw damaged("a column is out of range") }
            let column = Int(code)
            while fields.count <= column { fields.append(nil) }
            fields[column] = stamp
        }
        let registers = ObjectRegisters(
            inserted: inserted, deleted: deleted, earlierDeletions: earlierDeletions, fields: fields)
        if reader.isAtEnd { return (registers, [:]) }
        let policies = try PolicyCodec.decodeRegisters(Array(reader.rest), own: { registers.stamp(of: $0) })
        return (registers, policies)
    }

    /// Decodes the newest insertion only.
    static func decodeInsertion(_ bytes: [UInt8], device: (Int) throws -> DeviceID) throws -> Stamp? {
        if bytes.isEmpty { return nil }
        return try bytes.withUnsafeBytes { bytes in
            var reader = StateReader(bytes)
            return try decodeHead(&reader, device).inserted
        }
    }

    private static func decodeHead(
        _ reader: inout StateReader, _ device: (Int) throws -> DeviceID
    ) throws -> (span: Int, inserted: Stamp?, deleted: Stamp?) {
        let head = try reader.readVarint()
        guard head / spanUnit <= columns else { throw damaged("a column is out of range") }
        let inserted = try head & insertionKnown == 0 ? nil : readStamp(&reader, device)
        let deleted = try head & deletionKnown == 0 ? nil : readStamp(&reader, device)
        return (Int(head / spanUnit), inserted, deleted)
    }

    private static func readStamp(_ reader: inout StateReader, _ device: (Int) throws -> DeviceID) throws -> Stamp {
        let time = HybridTime(rawValue: try reader.read64())
        return Stamp(time: time, device: try device(readDevice(&reader)))
    }

    private static func readOptionalStamp(
        _ reader: inout StateReader, _ device: (Int) throws -> DeviceID
    ) throws -> Stamp? {
        let number = try readDevice(&reader)
        if number == 0 { return nil }
        let time = HybridTime(rawValue: try reader.read64())
        return Stamp(time: time, device: try device(number - 1))
    }

    static func readDevice(_ reader: inout StateReader) throws -> Int {
        guard let number = Int(exactly: try reader.readVarint()) else { throw damaged("a device is out of range") }
        return number
    }

    /// The code of the key given by an object's author, in place of a column number + 1.
    private static let givenKey = columns

    /// - Parameter given: the key given by the object's author, if different from the object's own key.
    static func encodeKept(_ values: ShadowValues, given: FieldValue? = nil) -> [UInt8]? {
        if values.isEmpty, given == nil { return nil }
        var writer = ByteWriter()
        if let key = values.key { appendKept(key: key, to: &writer) }
        values.fields.forEachColumn { appendKept($0, $1, to: &writer) }
        if let given {
            writer.writeVarint(givenKey)
            writer.write(given)
        }
        return writer.bytes
    }

    static func appendKept(key: FieldValue, to writer: inout ByteWriter) {
        writer.writeVarint(0)
        writer.write(key)
    }

    static func appendKept(_ column: Int, _ value: FieldValue, to writer: inout ByteWriter) {
        writer.writeVarint(UInt64(column + 1))
        writer.write(value)
    }

    /// Appends a text or a blob, given by its bytes.
    static func appendKept(
        _ column: Int, _ content: UnsafeRawBufferPointer, isText: Bool, to writer: inout ByteWriter
    ) {
        writer.writeVarint(UInt64(column + 1))
        writer.write(FieldValue.tag(isText: isText))
        writer.writeCounted(content)
    }

    static func decodeKept(_ bytes: [UInt8]) throws -> ShadowValues { try decodeKeptAndGiven(bytes).kept }

    /// Decodes the shadow values and the given key.
    /// - Throws: `databaseCorrupt` for bytes not written by `encodeKept`.
    static func decodeKeptAndGiven(_ bytes: [UInt8]) throws -> (kept: ShadowValues, given: FieldValue?) {
        var values = ShadowValues()
        var given: FieldValue?
        var reader = ByteReader(bytes)
        while !reader.isAtEnd {
            let column = try reader.readVarint()
            let value = try reader.readValue()
            switch column {
            case 0: values.key = value
            case givenKey: given = value
            case ..<givenKey: values.fields[Int(column) - 1] = value
            default: throw damaged("a column is out of range")
            }
        }
        return (values, given)
    }
}

/// Reads a state in SQLite's own memory: every merged object is read, and copying the bytes would take longer.
///
/// Bounds: every read first checks the number of bytes left.
struct StateReader {
    private let bytes: UnsafeRawBufferPointer
    private(set) var position = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }
    var rest: Slice<UnsafeRawBufferPointer> { bytes[position...] }

    mutating func readVarint() throws -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            guard position < bytes.count else { throw StateCodec.damaged("it ends too early") }
            let byte = bytes[position]
            position += 1
            // The tenth byte holds the last of 64 bits.
            if shift == 63, byte > 1 { throw StateCodec.damaged("a number is longer than 64 bits") }
            value |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
    }

    mutating func read64() throws -> UInt64 {
        guard bytes.count - position >= 8 else { throw StateCodec.damaged("it ends too early") }
        defer { position += 8 }
        return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }
}

/// Shadow values: the values of an object shown by no row. A hidden or deleted object keeps all values here. A shown
/// object keeps values of unknown columns, and of references shown as NULL.
struct ShadowValues: Equatable, Sendable {
    /// The local key given by the object's author; a wish.
    var key: FieldValue?
    var fields: ColumnValues = [:]

    var isEmpty: Bool { key == nil && fields.isEmpty }
}
