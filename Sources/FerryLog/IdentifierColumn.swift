import FerryCore

/// Writes columns of object IDs (Docs/Format.md, "Columns"). First come runs of prefixes, then the distances of the
/// last four bytes from the last ID of the same prefix. Then the IDs whose prefix stands alone in the segment follow in
/// full.
struct IdentifierColumnWriter {
    private var prefixes: IdentifierPrefixes
    /// For each prefix, the last four bytes of the ID written last.
    private var lastSuffixes: [UInt32]
    private var runs = RunLength()
    private var steps: [Int64] = []
    /// The ranges of IDs in full: nothing of them stands anywhere else in the segment, so a search would be in vain.
    private(set) var unrepeated: [Range<Int>] = []
    /// Shorter ranges are not listed.
    private static let leastUnrepeated = 16 << 10

    /// - Parameter prefixes: after its first pass over every ID that will be written.
    init(prefixes: IdentifierPrefixes) {
        self.prefixes = prefixes
        lastSuffixes = Array(repeating: 0, count: prefixes.chosen.count)
    }

    mutating func write(_ objects: [ObjectID], to writer: inout ByteWriter) {
        runs.removeAll()
        steps.removeAll(keepingCapacity: true)
        for object in objects {
            let index = prefixes.index(of: IdentifierPrefix(object))
            runs.append(index + 1)
            if index >= 0 {
                let suffix = UInt32(truncatingIfNeeded: object.low)
                steps.append(Int64(suffix) - Int64(lastSuffixes[index]))
                lastSuffixes[index] = suffix
            }
        }
        runs.write(to: &writer)
        IntegerColumn.write(steps, to: &writer)
        guard steps.count < objects.count else { return }
        var position = 0
        for run in runs.runs {
            if run.value == 0 {
                let start = writer.count
                for object in objects[position..<position + run.count] { writer.write(object) }
                if writer.count - start >= Self.leastUnrepeated { unrepeated.append(start..<writer.count) }
            }
            position += run.count
        }
    }
}

/// Reads the output of `IdentifierColumnWriter`, in the same order over the whole segment.
struct IdentifierColumnReader {
    private let prefixes: [IdentifierPrefix]
    private var lastSuffixes: [UInt32]
    /// The last suffixes in a reader with only some prefixes.
    private var someSuffixes: [Int: UInt32]?
    /// The former suffixes of the prefixes met since `startNoting`; `nil` while nothing is recorded.
    private var noted: [Int: UInt32]?

    init(prefixes: [IdentifierPrefix]) {
        self.prefixes = prefixes
        lastSuffixes = Array(repeating: 0, count: prefixes.count)
    }

    /// Records from here on everything needed to read again.
    mutating func startNoting() { noted = [:] }

    /// A reader of everything read since `startNoting`, which ends the recording. Its size depends on that part, not on
    /// the number of prefixes.
    mutating func readerFromStart() -> IdentifierColumnReader {
        var reader = self
        reader.lastSuffixes = []
        reader.someSuffixes = noted ?? [:]
        reader.noted = nil
        noted = nil
        return reader
    }

    /// Reads `count` IDs. The caller has held `count` against a limit: consecutive IDs take no bytes.
    mutating func read(_ count: Int, from reader: inout ByteReader) throws(FerryError) -> [ObjectID] {
        guard count > 0 else { return [] }
        let runs = try RunLength.read(count, below: prefixes.count + 1, from: &reader).runs
        var alone = 0
        for run in runs where run.value == 0 { alone += run.count }
        let steps = try IntegerColumn.read(count - alone, from: &reader)
        guard alone <= reader.remaining / 16 else { throw ByteReader.malformed("it ends too early") }
        var objects: [ObjectID] = []
        objects.reserveCapacity(count)
        var step = 0
        for run in runs {
            if run.value == 0 {
                for _ in 0..<run.count { objects.append(try reader.readID()) }
                continue
            }
            let place = run.value - 1
            let prefix = prefixes[place]
            var suffix = someSuffixes.map { $0[place] ?? 0 } ?? lastSuffixes[place]
            if noted != nil, noted?[place] == nil { noted?[place] = suffix }
            for _ in 0..<run.count {
                guard let next = UInt32(exactly: Int64(suffix) &+ steps[step]) else {
                    throw ByteReader.malformed("an object ID is out of range")
                }
                suffix = next
                step += 1
                objects.append(prefix.object(suffix: suffix))
            }
            if someSuffixes == nil { lastSuffixes[place] = suffix } else { someSuffixes?[place] = suffix }
        }
        return objects
    }
}
