import FerryCore

/// Collects the contents of a column's texts and blobs and writes them (Docs/Format.md, "Columns"): lengths and bytes,
/// or, where few contents come often, each of them once and then their indices.
struct ContentColumnWriter {
    private enum Form {
        static let plain: UInt8 = 0
        static let dictionary: UInt8 = 1
    }

    private var lengths: [Int64] = []
    private var contents: [UInt8] = []

    mutating func append(_ content: ArraySlice<UInt8>) {
        lengths.append(Int64(content.count))
        contents.append(contentsOf: content)
    }

    mutating func removeAll() {
        lengths.removeAll(keepingCapacity: true)
        contents.removeAll(keepingCapacity: true)
    }

    func write(to writer: inout ByteWriter) {
        guard !lengths.isEmpty else { return }
        if let dictionary = ContentDictionary(lengths: lengths, contents: contents) {
            writer.write(Form.dictionary)
            writer.writeVarint(UInt64(dictionary.lengths.count))
            IntegerColumn.write(dictionary.lengths, to: &writer)
            for range in dictionary.ranges { writer.write(contentsOf: contents[range]) }
            IntegerColumn.write(dictionary.indices, to: &writer)
        } else {
            writer.write(Form.plain)
            IntegerColumn.write(lengths, to: &writer)
            writer.write(contentsOf: contents)
        }
    }

    /// Reads `count` contents as slices of the reader's buffer.
    static func read(_ count: Int, from reader: inout ByteReader) throws(FerryError) -> [ArraySlice<UInt8>] {
        guard count > 0 else { return [] }
        let form = try reader.readByte()
        if form == Form.plain { return try readPlain(count, from: &reader) }
        guard form == Form.dictionary else { throw ByteReader.malformed("a column of texts has an unknown form") }
        let distinct = try reader.readVarint()
        guard distinct >= 1, distinct <= UInt64(count) else {
            throw ByteReader.malformed("a column of texts has a wrong count")
        }
        let entries = try readPlain(Int(distinct), from: &reader)
        var result: [ArraySlice<UInt8>] = []
        let indices = try IntegerColumn.read(count, from: &reader)
        result.reserveCapacity(count)
        for index in indices {
            guard index >= 0, index < entries.count else { throw ByteReader.malformed("an index is out of range") }
            result.append(entries[Int(index)])
        }
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
