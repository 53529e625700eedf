import FerryCore
import FerryMerge

/// The compact forms in which an object's registers and kept values lie in its row of the state.
///
/// `span`: the insertion wrote all columns numbered below it, except those listed in `fields`. `fields` lists, by
/// column, the stamps that differ from the insertion's: varint column, varint device number + 1 (0: no stamp at all),
/// then eight bytes of time; after them, as of the column 4294967295, deletions before the newest one that still matter.
/// `kept` lists values that no row shows: varint column + 1 (0: the local key that the object would like; 2^20: the key
/// that its author gave it, where its own is another), then the value.
enum StateCodec {
    static func span(_ registers: ObjectRegisters) -> Int {
        guard registers.inserted != nil else { return 0 }
        return registers.fields.count
    }

    static func encodeFields(_ registers: ObjectRegisters, number: (DeviceID) throws -> Int) rethrows -> [UInt8]? {
        var writer = ByteWriter()
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
        for stamp in registers.earlierDeletions {
            writer.writeVarint(deletionColumn)
            writer.writeVarint(UInt64(try number(stamp.device) + 1))
            writer.write64(stamp.time.rawValue)
        }
        return writer.bytes.isEmpty ? nil : writer.bytes
    }

    private static let deletionColumn = UInt64(UInt32.max)
    /// More columns than any table can ever have had.
    private static let columns: UInt64 = 1 << 20

    private static func damaged(_ what: String) -> FerryError {
        FerryError(
            .databaseCorrupt,
            "The state of a row cannot be read: \(what). Run `ferry doctor`; a backup, or `ferry leave` and "
                + "`ferry join`, mends it.")
    }

    /// - Throws: `databaseCorrupt` for what `encodeFields` does not write.
    static func decodeFields(
        _ bytes: [UInt8], span: Int, inserted: Stamp?, device: (Int) throws -> DeviceID
    ) throws -> (stamps: [Stamp?], earlierDeletions: [Stamp]) {
        var earlierDeletions: [Stamp] = []
        var fields: [Stamp?] = Array(repeating: inserted, count: span)
        var reader = ByteReader(bytes)
        while !reader.isAtEnd {
            let code = try reader.readVarint()
            guard let number = Int(exactly: try reader.readVarint()) else { throw damaged("a device is out of range") }
            if code == deletionColumn {
                let time = HybridTime(rawValue: try reader.read64())
                earlierDeletions.append(Stamp(time: time, device: try device(number - 1)))
                continue
            }
            guard code < columns else { throw damaged("a column is out of range") }
            let column = Int(code)
            while fields.count <= column { fields.append(nil) }
            fields[column] =
                number == 0
                ? nil
                : Stamp(time: HybridTime(rawValue: try reader.read64()), device: try device(number - 1))
        }
        return (fields, earlierDeletions)
    }

    /// Stands for the key that an object's author gave it, in the place of a column number + 1.
    private static let givenKey = columns

    /// - Parameter given: the key that the object's author gave it, where the object's own key is another.
    static func encodeKept(_ values: KeptValues, given: FieldValue? = nil) -> [UInt8]? {
        if values.isEmpty, given == nil { return nil }
        var writer = ByteWriter()
        if let key = values.key {
            writer.writeVarint(0)
            writer.write(key)
        }
        values.fields.forEachColumn { column, value in
            writer.writeVarint(UInt64(column + 1))
            writer.write(value)
        }
        if let given {
            writer.writeVarint(givenKey)
            writer.write(given)
        }
        return writer.bytes
    }

    static func decodeKept(_ bytes: [UInt8]) throws -> KeptValues { try decodeKeptAndGiven(bytes).kept }

    /// The kept values, and what `encodeKept` was given as `given`.
    /// - Throws: `databaseCorrupt` for what `encodeKept` does not write.
    static func decodeKeptAndGiven(_ bytes: [UInt8]) throws -> (kept: KeptValues, given: FieldValue?) {
        var values = KeptValues()
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

/// Values of an object that no row shows: all of a hidden or deleted object's, and of a shown one those of unknown
/// columns and of references that are shown as NULL.
struct KeptValues: Equatable, Sendable {
    /// The local key that the object's author gave it; a wish.
    var key: FieldValue?
    var fields: FieldValues = [:]

    var isEmpty: Bool { key == nil && fields.isEmpty }
}
