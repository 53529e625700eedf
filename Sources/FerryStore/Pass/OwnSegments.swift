import FerryCore

/// A segment of this device in the container, as its author remembers it: nothing has to be listed to know them all.
public struct OwnSegment: Equatable, Sendable {
    /// The numbers of its first and last changesets.
    public var first: UInt64
    public var last: UInt64
    /// Operations in it.
    public var changes: Int
    /// The size of its file.
    public var bytes: Int
    /// The checksum of its file.
    public var checksum: Checksum
    /// The time of its last changeset.
    public var time: HybridTime
    /// When it was published, by this device's wall clock, in milliseconds since the Unix epoch.
    public var publishedMilliseconds: Int64
    /// Since when one that it was rolled up into is there in its place; `nil` where none is.
    public var replacedMilliseconds: Int64?

    public init(
        first: UInt64, last: UInt64, changes: Int, bytes: Int, checksum: Checksum, time: HybridTime,
        publishedMilliseconds: Int64, replacedMilliseconds: Int64? = nil
    ) {
        self.first = first
        self.last = last
        self.changes = changes
        self.bytes = bytes
        self.checksum = checksum
        self.time = time
        self.publishedMilliseconds = publishedMilliseconds
        self.replacedMilliseconds = replacedMilliseconds
    }

    /// The number of changesets in it.
    public var changesets: Int { Int(last - first) + 1 }
}

/// The author's list of its segments (`ferry_segment`).
struct OwnSegmentList {
    let connection: SQLConnection

    init(_ connection: SQLConnection) { self.connection = connection }

    private static let columns = "first, last, changes, bytes, checksum, time, published, replaced"

    /// All of them, by their first numbers, larger ones first where several begin together.
    func all() throws -> [OwnSegment] {
        try segments("ORDER BY first, last DESC")
    }

    /// The one that was published last.
    func newest() throws -> OwnSegment? {
        try segments("ORDER BY last DESC, first DESC LIMIT 1").first
    }

    private func segments(_ clause: String) throws -> [OwnSegment] {
        var segments: [OwnSegment] = []
        try connection.forEachRow("SELECT \(Self.columns) FROM ferry_segment \(clause)") { row in
            guard let checksum: Checksum = row.id(4) else {
                throw FerryError(.internalInconsistency, "The list of segments holds an unreadable entry.")
            }
            segments.append(
                OwnSegment(
                    first: UInt64(clamping: row.integer(0)), last: UInt64(clamping: row.integer(1)),
                    changes: row.int(2),
                    bytes: row.int(3), checksum: checksum, time: HybridTime(rawValue: UInt64(clamping: row.integer(5))),
                    publishedMilliseconds: row.integer(6),
                    replacedMilliseconds: row.value(7) == .null ? nil : row.integer(7)))
        }
        return segments
    }

    func enter(_ segment: OwnSegment) throws {
        try connection.execute(
            "INSERT OR REPLACE INTO ferry_segment(\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            .integer(Int64(segment.first)), .integer(Int64(segment.last)), .integer(Int64(segment.changes)),
            .integer(Int64(segment.bytes)), .blob(segment.checksum.bytes[...]),
            .integer(Int64(segment.time.rawValue)), .integer(segment.publishedMilliseconds),
            segment.replacedMilliseconds.map { .integer($0) } ?? .null)
    }

    /// Whether a segment that ends with a changeset is in the list, and has this checksum; `nil` where none ends there.
    func holds(_ checksum: Checksum, endingWith sequence: UInt64) throws -> Bool? {
        var result: Bool?
        try connection.forEachRow("SELECT checksum FROM ferry_segment WHERE last = ?", [.integer(Int64(sequence))]) {
            result = result ?? false || $0.id(0) == checksum
        }
        return result
    }
}

extension Store {
    /// This device's segments in the container, those that were replaced and not yet removed among them.
    public func ownSegments() throws -> [OwnSegment] {
        try read { try OwnSegmentList($0).all() }
    }

    /// The segment that this device published last.
    public func newestOwnSegment() throws -> OwnSegment? {
        try read { try OwnSegmentList($0).newest() }
    }

    /// Forgets an outbox entry that is in the container, and enters it into the list of segments, in one transaction.
    public func notePublished(_ segment: OwnSegment) throws {
        try note { connection in
            try OwnSegmentList(connection).enter(segment)
            try Outbox(connection).remove(first: segment.first)
        }
    }

    /// Enters a segment that others were rolled up into; from now on they are replaced. Repeating it changes nothing.
    public func noteRolledUp(_ segment: OwnSegment) throws {
        try note { connection in
            try OwnSegmentList(connection).enter(segment)
            try connection.execute(
                """
                UPDATE ferry_segment SET replaced = ?3
                WHERE first >= ?1 AND last <= ?2 AND NOT (first = ?1 AND last = ?2) AND replaced IS NULL
                """, .integer(Int64(segment.first)), .integer(Int64(segment.last)),
                .integer(segment.publishedMilliseconds))
        }
    }

    /// Takes segments out of the list whose files are gone. Those that no larger one stands for are remembered: their numbers
    /// are given away for good, whoever else publishes under them (`OwnLog`).
    public func forgetSegments(_ segments: [(first: UInt64, last: UInt64)]) throws {
        if segments.isEmpty { return }
        try note { connection in
            let list = OwnSegmentList(connection)
            let removed = try list.all().filter { own in segments.contains { $0 == (own.first, own.last) } }
            for segment in segments {
                try connection.execute(
                    "DELETE FROM ferry_segment WHERE first = ? AND last = ?", .integer(Int64(segment.first)),
                    .integer(Int64(segment.last)))
            }
            let rest = try list.all()
            let ends = removed.filter { gone in !rest.contains { $0.first <= gone.first && gone.last <= $0.last } }
            try RemovedSegments(StoreMeta(connection: connection)).add(ends)
        }
    }

    /// The last of this device's segments whose files it has removed and for which no larger one stands, by their numbers.
    public func removedSegments() throws -> [OwnSegment] {
        try read { try RemovedSegments(StoreMeta(connection: $0)).all() }
    }
}

/// The segments that this device removed from the container last (`ferry_meta`).
private struct RemovedSegments {
    /// Roll-ups leave few to remove; older ones tell nothing that these do not.
    private static let maximumCount = 256

    private let meta: StoreMeta

    init(_ meta: StoreMeta) { self.meta = meta }

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
