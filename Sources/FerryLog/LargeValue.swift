import FerryCore

/// A text or blob that is too large to stand in a file of a log or a snapshot. Its bytes lie in parts, files of their own, one after
/// another (Docs/Format.md, "Large values").
package struct LargeValue: Hashable, Sendable {
    /// A file with some of the bytes.
    package struct Part: Hashable, Sendable {
        /// Of the file; also the file's name.
        package var checksum: Checksum
        /// The bytes of the value inside, at least 1.
        package var count: Int

        package init(checksum: Checksum, count: Int) {
            self.checksum = checksum
            self.count = count
        }
    }

    /// At least one.
    package var parts: [Part]
    /// The bytes of the value.
    package var count: Int { parts.reduce(0) { $0 + $1.count } }

    package init(parts: [Part]) { self.parts = parts }
}

/// Which values a writer takes out of its files, and how it cuts them. Readers depend on neither, so both may change at any time.
package struct LargeValueSettings: Sendable {
    /// Longer texts and blobs lie in parts. By default those that no segment could hold.
    package var threshold = SegmentLimits.valueBytes
    /// Bytes of a value in a part. Equal parts are one file, so a value that is changed in place or grows is not sent again whole.
    package var partBytes = 8 << 20

    package init() {}

    /// The thresholds to try, one after another, until the rest fits: a row may have many values that are large together.
    var thresholds: [Int] { [threshold] + [16 << 20, 1 << 20, 64 << 10].filter { $0 < threshold } }
}

/// Where a writer puts the parts of large values.
package struct PartOutput {
    /// Keeps a part's file. The same file may come several times.
    package typealias Sink = (_ part: LargeValue.Part, _ file: [UInt8]) throws -> Void

    package var settings: LargeValueSettings
    package let take: Sink

    package init(_ settings: LargeValueSettings = .init(), _ take: @escaping Sink) {
        self.settings = settings
        self.take = take
    }
}

extension PartOutput {
    /// Encodes a file whose parts go to `take`. An error of `take` comes back as it was thrown: an encoder throws nothing but
    /// `FerryError`.
    package static func keeping<Result>(
        _ settings: LargeValueSettings, in take: @escaping Sink, _ body: (PartOutput) throws -> Result
    ) throws -> Result {
        let failure = Failure()
        do {
            return try body(
                PartOutput(settings) { part, file in
                    do {
                        try take(part, file)
                    } catch {
                        failure.error = error
                        throw error
                    }
                })
        } catch {
            throw failure.error ?? error
        }
    }

    private final class Failure {
        var error: (any Error)?
    }
}

/// Where a reader gets the parts of large values.
package enum PartSource {
    /// Reads a part's file, unverified, and says where that is, for messages. Before, looks at all parts of a file: nothing is read as
    /// long as one is missing.
    case files(
        read: (LargeValue.Part) throws -> [UInt8], place: (LargeValue.Part) -> String?,
        look: (([LargeValue.Part]) throws -> Void)? = nil)
    /// Large values are not wanted: NULL stands in their place. What was read so is neither replayed nor written again.
    case leftOut
    /// There are none, and a file that has some cannot be read.
    case none
}

/// Takes the large values out of a file that is written. A file's values are given to `index(of:)` one after another.
final class LargeValueDictionary {
    private let output: PartOutput
    private let container: ContainerID
    private let threshold: Int
    private(set) var values: [LargeValue] = []
    private var indices: [LargeValue: Int] = [:]
    /// The bytes of all, each once.
    private(set) var byteCount = 0

    init(_ output: PartOutput, container: ContainerID, threshold: Int) {
        self.output = output
        self.container = container
        self.threshold = threshold
    }

    var isEmpty: Bool { values.isEmpty }

    @inline(__always)
    func takes(_ content: ArraySlice<UInt8>) -> Bool { content.count > threshold }

    /// Writes a value's parts.
    /// - Returns: the value's index among `values`.
    func index(of content: ArraySlice<UInt8>) throws(FerryError) -> Int {
        guard content.count <= SegmentLimits.largeValueBytes else {
            throw FerryError(
                .limitExceeded,
                "A value is larger than \(SegmentLimits.largeValueBytes) bytes, the most that Ferry carries. Make it smaller."
            )
        }
        var parts: [LargeValue.Part] = []
        var rest = content
        while !rest.isEmpty {
            let stretch = rest.prefix(max(min(output.settings.partBytes, SegmentLimits.partBytes), 1))
            let (file, checksum) = try PartFile.encode(stretch, container: container)
            let part = LargeValue.Part(checksum: checksum, count: stretch.count)
            do {
                try output.take(part, file)
            } catch let error as FerryError {
                throw error
            } catch {
                throw FerryError(.inputOutput, "A part of a large value could not be kept: \(error)", cause: error)
            }
            parts.append(part)
            rest = rest.dropFirst(stretch.count)
        }
        let value = LargeValue(parts: parts)
        if let index = indices[value] { return index }
        indices[value] = values.count
        values.append(value)
        byteCount += content.count
        return values.count - 1
    }

    func write(budget: inout SegmentBudget, to writer: inout ByteWriter) throws(FerryError) {
        try budget.take(byteCount, .largeBytes)
        try budget.take(values.reduce(0) { $0 + $1.parts.count }, .parts)
        writer.writeVarint(UInt64(values.count))
        for value in values {
            writer.writeVarint(UInt64(value.parts.count))
            for part in value.parts {
                writer.write(part.checksum)
                writer.writeVarint(UInt64(part.count))
            }
        }
    }
}

/// The large values of a file as read.
struct LargeContents: Sendable {
    static let none = LargeContents()

    /// In the order of the file's dictionary.
    private(set) var values: [LargeValue] = []
    /// The bytes of each; empty where they were not wanted.
    private var contents: [ArraySlice<UInt8>] = []
    /// The bytes of all, each once.
    private(set) var byteCount = 0

    private init() {}

    /// Reads the dictionary, and the parts.
    init(
        from source: PartSource, container: ContainerID, budget: inout SegmentBudget, _ reader: inout ByteReader
    ) throws(FerryError) {
        let count = try reader.readCount(minimumBytes: 18)
        guard count > 0 else { throw ByteReader.malformed("its list of large values is empty") }
        values.reserveCapacity(count)
        for _ in 0..<count {
            let parts = try reader.readCount(minimumBytes: 17)
            guard parts > 0 else { throw ByteReader.malformed("a large value has no parts") }
            try budget.take(parts, .parts)
            var value = LargeValue(parts: [])
            value.parts.reserveCapacity(parts)
            for _ in 0..<parts {
                let checksum: Checksum = try reader.readID()
                let bytes = try reader.readVarint()
                guard bytes >= 1, bytes <= UInt64(SegmentLimits.partBytes) else {
                    throw ByteReader.malformed("a part of a large value has an impossible length")
                }
                value.parts.append(.init(checksum: checksum, count: Int(bytes)))
            }
            try budget.take(value.count, .largeBytes)
            values.append(value)
        }
        byteCount = budget.used(.largeBytes)
        switch source {
        case .leftOut: return
        case .none:
            throw FerryError(
                .internalInconsistency, "The file has a large value, and its parts were not to be read here.")
        case .files(let read, let place, let look):
            do {
                try look?(values.flatMap(\.parts))
            } catch let error as FerryError {
                throw error
            } catch {
                throw FerryError(.inputOutput, "The parts of a large value cannot be listed: \(error)", cause: error)
            }
            contents.reserveCapacity(count)
            for value in values { contents.append(try Self.content(of: value, read, place, container)) }
        }
    }

    private static func content(
        of value: LargeValue, _ read: (LargeValue.Part) throws -> [UInt8], _ place: (LargeValue.Part) -> String?,
        _ container: ContainerID
    ) throws(FerryError) -> ArraySlice<UInt8> {
        var content: [UInt8] = []
        for part in value.parts {
            do {
                let bytes = try PartFile.decode(read(part), part, container: container)
                // The room is made once the first part proves that there is such a value.
                if content.isEmpty { content.reserveCapacity(value.count) }
                content += bytes
            } catch var error as FerryError {
                if error.path == nil { error.path = place(part) }
                throw error
            } catch {
                throw FerryError(.inputOutput, "A part of a large value cannot be read: \(error)", cause: error)
            }
        }
        return content[...]
    }

    /// True where values are not wanted, so that NULL stands in their place.
    var areLeftOut: Bool { contents.isEmpty }

    /// The bytes of a value.
    @inline(__always)
    subscript(index: Int) -> ArraySlice<UInt8> { contents[index] }
}
