import FerryCore

/// A column of small numbers as runs (Docs/Format.md, "Columns"). A run is the number as a varint, then its length as a
/// varint of at least 1. The count of numbers is known from elsewhere.
struct RunLength {
    /// A number and its repetitions in a row.
    struct Run {
        var value: Int
        var count: Int
    }

    private(set) var runs: [Run] = []

    mutating func append(_ value: Int) {
        if let last = runs.indices.last, runs[last].value == value {
            runs[last].count += 1
        } else {
            runs.append(Run(value: value, count: 1))
        }
    }

    mutating func removeAll() { runs.removeAll(keepingCapacity: true) }

    func write(to writer: inout ByteWriter) {
        for run in runs {
            writer.writeVarint(UInt64(run.value))
            writer.writeVarint(UInt64(run.count))
        }
    }

    /// Reads runs of exactly `count` numbers, each below `bound`.
    static func read(_ count: Int, below bound: Int, from reader: inout ByteReader) throws(FerryError) -> RunLength {
        var result = RunLength()
        var left = count
        while left > 0 {
            let value = try reader.readVarint()
            let length = try reader.readVarint()
            guard value < UInt64(bound) else { throw ByteReader.malformed("an index is out of range") }
            guard length >= 1, length <= UInt64(left) else { throw ByteReader.malformed("a run has a wrong length") }
            result.runs.append(Run(value: Int(value), count: Int(length)))
            left -= Int(length)
        }
        return result
    }
}
