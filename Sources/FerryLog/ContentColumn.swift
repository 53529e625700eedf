import FerryCore

/// The contents of a column's texts and blobs as read (Docs/Format.md, "Columns"). Keeps only each content's place in
/// the body, so that the many contents of a large segment take eight bytes each.
struct ContentColumn {
    private struct Place {
        var start: UInt32
        var count: UInt32
    }

    /// The bytes with the contents.
    private var bytes: ArraySlice<UInt8> = []
    private var places: [Place] = []

    var count: Int { places.count }

    /// A content, as a slice of the reader's buffer.
    @inline(__always)
    subscript(index: Int) -> ArraySlice<UInt8> {
        let place = places[index]
        return bytes[Int(place.start)..<Int(place.start) + Int(place.count)]
    }

    /// Reads `count` contents.
    /// - Parameter budget: is charged with the bytes of all contents, repetitions included.
    init(_ count: Int, budget: inout SegmentBudget, from reader: inout ByteReader) throws(FerryError) {
        guard count > 0 else { return }
        bytes = reader.all
        let form = try reader.readByte()
        if form == ContentColumnWriter.Form.plain {
            places = try Self.readPlain(count, from: &reader)
        } else {
            guard form == ContentColumnWriter.Form.dictionary else {
                throw ByteReader.malformed("a column of texts has an unknown form")
            }
            let distinct = try reader.readVarint()
            guard distinct >= 1, distinct <= UInt64(count) else {
                throw ByteReader.malformed("a column of texts has a wrong count")
            }
            let entries = try Self.readPlain(Int(distinct), from: &reader)
            let indices = try IntegerColumn.read(count, from: &reader)
            places.reserveCapacity(count)
            for index in indices {
                guard index >= 0, index < entries.count else { throw ByteReader.malformed("an index is out of range") }
                places.append(entries[Int(index)])
            }
        }
        // Cannot overflow: at most 2^22 contents of 2^27 bytes.
        try budget.take(places.reduce(0) { $0 + Int($1.count) }, .contentBytes)
    }

    private static func readPlain(_ count: Int, from reader: inout ByteReader) throws(FerryError) -> [Place] {
        let lengths = try IntegerColumn.read(count, from: &reader)
        var places: [Place] = []
        places.reserveCapacity(count)
        for length in lengths {
            guard length >= 0, length <= SegmentLimits.valueBytes else {
                throw ByteReader.malformed("a value is longer than \(SegmentLimits.valueBytes) bytes")
            }
            // A body has at most 2^30 bytes, a file 2^28.
            let start = UInt32(try reader.skip(Int(length)))
            places.append(Place(start: start, count: UInt32(length)))
        }
        return places
    }
}
