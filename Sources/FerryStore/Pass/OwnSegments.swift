import FerryCore
import FerrySQL
import FerrySchema

/// A segment of this device in the container, as remembered by its author: no directory listing is needed.
package struct OwnSegment: Equatable, Sendable {
    /// The numbers of the first and last changesets.
    package var first: UInt64
    package var last: UInt64
    /// Number of operations.
    package var changes: Int
    /// Size of the file in bytes, with those of the parts of its large values.
    package var bytes: Int
    /// The file's checksum.
    package var checksum: Checksum
    /// The time of the last changeset.
    package var time: HybridTime
    /// The time of publication by this device's wall clock, in milliseconds since the Unix epoch.
    package var publishedMilliseconds: Int64
    /// The time since when a larger, rolled-up segment replaces this segment, in milliseconds; `nil` if none does.
    package var replacedMilliseconds: Int64?
    /// The name of the file in a sealed container; `nil` in an open container, where the checksum is in the name.
    package var sealedName: SealedName?
    /// True if the segment has large values. Such a segment is not rolled up.
    package var hasParts = false

    /// What the name of a sealed segment's file has in place of the checksum, and the epoch under which the file is sealed.
    package struct SealedName: Hashable, Sendable {
        package var hash: UInt64
        package var epoch: EpochID
        /// The epoch's number.
        package var number: UInt32

        package init(hash: UInt64, epoch: EpochID, number: UInt32) {
            self.hash = hash
            self.epoch = epoch
            self.number = number
        }
    }

    package init(
        first: UInt64, last: UInt64, changes: Int, bytes: Int, checksum: Checksum, time: HybridTime,
        publishedMilliseconds: Int64, replacedMilliseconds: Int64? = nil, sealedName: SealedName? = nil
    ) {
        self.first = first
        self.last = last
        self.changes = changes
        self.bytes = bytes
        self.checksum = checksum
        self.time = time
        self.publishedMilliseconds = publishedMilliseconds
        self.replacedMilliseconds = replacedMilliseconds
        self.sealedName = sealedName
    }

    /// Number of changesets.
    package var changesets: Int { Int(last - first) + 1 }
}

/// The author's list of its segments (`ferry_segment`), with the names of their files in a sealed container
/// (`ferry_segment_name`).
struct OwnSegmentList {
    let connection: SQLConnection
    /// True for the store of a sealed container: it alone has the table of names.
    private let isSealed: Bool

    init(_ connection: SQLConnection) throws {
        self.connection = connection
        isSealed = try MetaTable(connection: connection).string(.genesis) != nil
    }

    private static let columns = "first, last, changes, bytes, checksum, time, published, replaced"

    /// All segments by their first numbers; with equal first numbers larger segments first.
    func all() throws -> [OwnSegment] {
        try segments("ORDER BY first, last DESC")
    }

    /// The segment published last.
    func newest() throws -> OwnSegment? {
        try segments("ORDER BY last DESC, first DESC LIMIT 1").first
    }

    private func segments(_ clause: String) throws -> [OwnSegment] {
        var segments: [OwnSegment] = []
        let names = isSealed ? "ferry_segment LEFT JOIN ferry_segment_name USING (first, last)" : "ferry_segment"
        let large = try PartTable(connection).segments()
        let columns = isSealed ? Self.columns + ", name, epoch, number" : Self.columns
        try connection.forEachRow("SELECT \(columns) FROM \(names) \(clause)") { row in
            guard let checksum: Checksum = row.id(4), row.integer(0) >= 1, row.integer(0) <= row.integer(1) else {
                throw FerryError(.internalInconsistency, "The list of segments holds an unreadable entry.")
            }
            var segment = OwnSegment(
                first: UInt64(clamping: row.integer(0)), last: UInt64(clamping: row.integer(1)),
                changes: row.int(2),
                bytes: row.int(3), checksum: checksum, time: HybridTime(rawValue: UInt64(clamping: row.integer(5))),
                publishedMilliseconds: row.integer(6),
                replacedMilliseconds: row.value(7) == .null ? nil : row.integer(7),
                sealedName: isSealed ? Self.sealedName(row) : nil)
            segment.hasParts = large.contains([segment.first, segment.last])
            segments.append(segment)
        }
        return segments
    }

    private static func sealedName(_ row: SQLStatement) -> OwnSegment.SealedName? {
        guard let epoch: EpochID = row.id(9) else { return nil }
        return OwnSegment.SealedName(
            hash: UInt64(bitPattern: row.integer(8)), epoch: epoch, number: UInt32(clamping: row.integer(10)))
    }

    /// The number of the oldest epoch under which a segment is sealed; `nil` in an open container, and without segments.
    func oldestEpoch() throws -> UInt32? {
        guard isSealed,
            case .integer(let number)? = try connection.firstValue(
                "SELECT min(number) FROM ferry_segment_name")
        else { return nil }
        return UInt32(clamping: number)
    }

    func enter(_ segment: OwnSegment) throws {
        try connection.execute(
            "INSERT OR REPLACE INTO ferry_segment(\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            .integer(Int64(segment.first)), .integer(Int64(segment.last)), .integer(Int64(segment.changes)),
            .integer(Int64(segment.bytes)), .blob(segment.checksum.bytes[...]),
            .integer(Int64(segment.time.rawValue)), .integer(segment.publishedMilliseconds),
            segment.replacedMilliseconds.map { .integer($0) } ?? .null)
        guard let name = segment.sealedName else { return }
        try connection.execute(
            "INSERT OR REPLACE INTO ferry_segment_name(first, last, name, epoch, number) VALUES (?, ?, ?, ?, ?)",
            .integer(Int64(segment.first)), .integer(Int64(segment.last)), .integer(Int64(bitPattern: name.hash)),
            .blob(name.epoch.bytes[...]), .integer(Int64(name.number)))
    }

    /// Enters a rolled-up segment; the segments in it count as replaced from now on. A repetition changes nothing.
    func enterRolledUp(_ segment: OwnSegment) throws {
        try enter(segment)
        try connection.execute(
            """
            UPDATE ferry_segment SET replaced = ?3
            WHERE first >= ?1 AND last <= ?2 AND NOT (first = ?1 AND last = ?2) AND replaced IS NULL
            """, .integer(Int64(segment.first)), .integer(Int64(segment.last)),
            .integer(segment.publishedMilliseconds))
    }

    /// Removes segments without files from the list, and remembers removed segments without a larger segment in their
    /// place.
    func forget(_ segments: [(first: UInt64, last: UInt64)]) throws {
        let removed = try all().filter { own in segments.contains { $0 == (own.first, own.last) } }
        for segment in segments {
            for table in tables {
                try connection.execute(
                    "DELETE FROM \(table) WHERE first = ? AND last = ?", .integer(Int64(segment.first)),
                    .integer(Int64(segment.last)))
            }
            try PartTable(connection).remove(segment.first...max(segment.first, segment.last))
        }
        let rest = try all()
        let ends = removed.filter { gone in !rest.contains { $0.first <= gone.first && gone.last <= $0.last } }
        try RemovedSegments(MetaTable(connection: connection)).add(ends)
    }

    /// Removes all segments from the list: they are another device's now.
    func removeAll() throws {
        for table in tables { try connection.execute("DELETE FROM \(table)") }
        try PartTable(connection).removeAll()
    }

    private var tables: [String] { isSealed ? ["ferry_segment", "ferry_segment_name"] : ["ferry_segment"] }

    /// True if a segment ending with this changeset is in the list with this checksum; `nil` if no segment ends there.
    func holds(_ checksum: Checksum, endingWith sequence: UInt64) throws -> Bool? {
        var result: Bool?
        try connection.forEachRow("SELECT checksum FROM ferry_segment WHERE last = ?", [.integer(Int64(sequence))]) {
            result = result ?? false || $0.id(0) == checksum
        }
        return result
    }
}

/// The segments this device last removed from the container (`ferry_meta`).
struct RemovedSegments {
    /// Roll-ups leave few segments to remove. Older entries add no evidence.
    private static let maximumCount = 256

    private let meta: MetaTable

    init(_ meta: MetaTable) { self.meta = meta }

    private struct Form: Codable {
        var first: UInt64
        var last: UInt64
        var time: UInt64
        var checksum: String
    }

    func all() throws -> [OwnSegment] {
        try (meta.json(.removedSegments, as: [Form].self) ?? []).compactMap { form in
            guard let checksum = Checksum(form.checksum) else { return nil }
            return OwnSegment(
                first: form.first, last: form.last, changes: 0, bytes: 0, checksum: checksum,
                time: HybridTime(rawValue: form.time), publishedMilliseconds: 0)
        }
    }

    func add(_ segments: [OwnSegment]) throws {
        if segments.isEmpty { return }
        let known = try all() + segments
        try meta.set(
            .removedSegments,
            json: known.suffix(Self.maximumCount).map {
                Form(first: $0.first, last: $0.last, time: $0.time.rawValue, checksum: $0.checksum.hex)
            })
    }
}
