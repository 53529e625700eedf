import FerryCore
import FerryMerge
import FerrySchema

/// The object checksum: a number equal on all devices with equal registers and values, and nowhere else, except by
/// chance (Docs/Format.md, "Digests").
///
/// The checksum is the sum, modulo 2^64, of a hash for each register: the insertion, and each field's stamp and value.
/// An object that is not alive has the checksum 0. So devices agree whether or not they remember a deletion.
///
/// A change of a field changes the checksum by the difference of two hashes, and likewise the sum over a table's
/// objects. Only names, IDs and values count: neither numbers of columns and devices, nor local keys.
struct ObjectChecksums {
    private let insertion: UInt64
    /// Hash prefixes of a column's fields; `nil` for columns missing in this database.
    private let fields: [UInt64?]

    init(_ table: TrackedTable) {
        self.init(table, covering: Set(table.isLocal ? table.localColumns.map(\.id) : []))
    }

    /// - Parameter covered: the numbers of the covered columns.
    init(_ table: TrackedTable, covering covered: Set<Int>) {
        var hash = WordHash()
        hash.absorb(foldedText(table.name))
        insertion = hash.adding(1)
        fields = table.columns.map { column in
            guard covered.contains(column.id) else { return nil }
            var field = hash
            field.absorb(3)
            field.absorb(foldedText(column.baseName))
            return field.value
        }
    }

    /// Computes a living object's checksum from all registers.
    /// - Parameter value: the object's own value of a column. A value found nowhere counts for nothing.
    func check(_ object: ObjectID, _ registers: ObjectRegisters, _ value: (Int) -> FieldValue?) -> UInt64 {
        let start = Self.hash(object)
        var sum: UInt64 = 0
        if let stamp = registers.inserted { sum &+= Self.hash(insertion, start, stamp) }
        for (column, stamp) in registers.fields.enumerated() {
            guard let stamp, column < fields.count, let field = fields[column], let value = value(column)
            else { continue }
            sum &+= Self.hash(field, start, stamp, value)
        }
        return sum
    }

    /// Computes the checksum of an object inserted with these values and not written since.
    /// - Parameters:
    ///   - columns: the numbers of all columns with values.
    ///   - values: the values, in the order of `columns`.
    func check(
        _ object: ObjectID, insertedAt stamp: Stamp, _ columns: [Int], _ values: ArraySlice<FieldValue>
    ) -> UInt64 {
        let start = Self.hash(object)
        var sum = Self.hash(insertion, start, stamp)
        for (column, value) in zip(columns, values) {
            guard column < fields.count, let field = fields[column] else { continue }
            sum &+= Self.hash(field, start, stamp, value)
        }
        return sum
    }

    /// The change of a checksum caused by a changed insertion.
    func change(_ object: ObjectID, from old: ObjectRegisters, to new: ObjectRegisters) -> UInt64 {
        if old.inserted == new.inserted { return 0 }
        let start = Self.hash(object)
        var sum: UInt64 = 0
        if let stamp = new.inserted { sum &+= Self.hash(insertion, start, stamp) }
        if let stamp = old.inserted { sum &-= Self.hash(insertion, start, stamp) }
        return sum
    }

    /// A field's share in the object's checksum.
    func field(_ object: ObjectID, _ column: Int, _ stamp: Stamp, _ value: FieldValue) -> UInt64 {
        guard column < fields.count, let field = fields[column] else { return 0 }
        return Self.hash(field, Self.hash(object), stamp, value)
    }

    private static func hash(_ object: ObjectID) -> UInt64 {
        var hash = WordHash()
        hash.absorb(object.high)
        hash.absorb(object.low)
        return hash.value
    }

    private static func hash(_ kind: UInt64, _ object: UInt64, _ stamp: Stamp, _ value: FieldValue? = nil) -> UInt64 {
        var hash = WordHash()
        hash.absorb(kind)
        hash.absorb(object)
        hash.absorb(stamp.time.rawValue)
        hash.absorb(stamp.device.high)
        hash.absorb(stamp.device.low)
        if let value { hash.absorb(value) }
        return hash.value
    }
}
