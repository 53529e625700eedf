import FerryCore

/// Collects the contents of a column's texts and blobs and writes them (Docs/Format.md, "Columns"): lengths and bytes.
/// If few contents come often, each distinct content is written once, and then the indices.
///
/// Contents that share a buffer go on sharing the buffer: a small segment about many rows takes no more memory here.
struct ContentColumnWriter {
    enum Form {
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
}
