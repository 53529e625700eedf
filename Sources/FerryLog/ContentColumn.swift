import FerryCore

/// Collects the contents of a column's texts and blobs and writes them (Docs/Format.md, "Columns"): lengths and bytes,
/// or, where few contents come often, each of them once and then their indices.
///
/// Contents that share a buffer go on sharing it: what a small segment says of many rows takes no more memory here.
struct ContentColumnWriter {
    private enum Form {
        static let plain: UInt8 = 0
        static let dictionary: UInt8 = 1
    }

    private var contents: [ArraySlice<UInt8>] = []
    /// The bytes of all.
    private var byteCount = 0

    mutating func append(_ content: ArraySlice<UInt8>) {
        contents.append(content)
        byteCount += content.count
    }

    mutating func removeAll() {
        contents.removeAll(keepingCapacity: true)
        byteCount = 0
    }

    func write(budget: inout SegmentBudget, to writer: inout ByteWriter) throws(FerryError) {
        guard !contents.isEmpty else { return }
        try budget.take(byteCount, .contentBytes)
        if let dictionary = ContentDictionary(contents) {
            writer.write(Form.dictionary)
            writer.writeVarint(UInt64(dictionary.distinct.count))
            Self.write(dictionary.distinct.map { contents[$0] }, to: &writer)
            IntegerColumn.write(dictionary.indices, to: &writer)
        } else {
            try budget.check(byteCount, atMost: SegmentLimits.bodyBytes, "bytes in one segment before compression")
            writer.write(Form.plain)
            Self.write(contents, to: &writer)
        }
    }

    private static func write(_ contents: [ArraySlice<UInt8>], to writer: inout ByteWriter) {
        IntegerColumn.write(contents.map { Int64($0.count) }, to: &writer)
        for content in contents { writer.write(contentsOf: content) }
    }

    /// Reads `count` contents as slices of the reader's buffer.
    /// - Parameter budget: is charged with the bytes of all, each as often as it stands.
    static func read(
        _ count: Int, budget: inout SegmentBudget, from reader: inout ByteReader
    ) throws(FerryError) -> [ArraySlice<UInt8>] {
        guard count > 0 else { return [] }
        let form = try reader.readByte()
        if form == Form.plain {
            let contents = try readPlain(count, from: &reader)
            try budget.take(contents.reduce(0) { $0 + $1.count }, .contentBytes)
            return contents
        }
        guard form == Form.dictionary else { throw ByteReader.malformed("a column of texts has an unknown form") }
        let distinct = try reader.readVarint()
        guard distinct >= 1, distinct <= UInt64(count) else {
            throw ByteReader.malformed("a column of texts has a wrong count")
        }
        let entries = try readPlain(Int(distinct), from: &reader)
        var result: [ArraySlice<UInt8>] = []
        let indices = try IntegerColumn.read(count, from: &reader)
        result.reserveCapacity(count)
        // Cannot overflow: at most 2^22 contents of 2^27 bytes.
        var byteCount = 0
        for index in indices {
            guard index >= 0, index < entries.count else { throw ByteReader.malformed("an index is out of range") }
            let entry = entries[Int(index)]
            result.append(entry)
            byteCount += entry.count
        }
        try budget.take(byteCount, .contentBytes)
        return result
    }

    private static func readPlain(
        _ count: Int, from reader: inout ByteReader
    ) throws(FerryError) -> [ArraySlice<UInt8>] {
        let lengths = try IntegerColumn.read(count, from: &reader)
        var result: [ArraySlice<UInt8>] = []
        result.reserveCapacity(count)
        for length in lengths {
            guard length >= 0, length <= SegmentLimits.valueBytes else {
                throw ByteReader.malformed("a value is longer than \(SegmentLimits.valueBytes) bytes")
            }
            result.append(try reader.read(Int(length)))
        }
        return result
    }
}
