import FerryCore
import FerrySQL
import FerrySchema

/// Keeps a part of a large value for a segment that is made; see `SegmentEncoding`.
package typealias PartSink = (_ checksum: Checksum, _ file: [UInt8]) throws -> Void

/// A part of a large value to which a segment of this device refers.
package struct SegmentPart: Hashable, Sendable {
    /// The first and the last changeset of the segment.
    package var first: UInt64
    package var last: UInt64
    /// Of the part's file.
    package var checksum: Checksum
    /// True once the part is in the container.
    package var isPublished: Bool
}

/// The parts of large values in this device's segments (`ferry_part`). Kept in the transaction that stages a segment, with their bytes.
/// The bytes go with the segment's publication, the entries with the segment.
struct PartTable {
    private let meta: MetaTable
    private var connection: SQLConnection { meta.connection }

    init(_ connection: SQLConnection) { meta = MetaTable(connection: connection) }

    /// True without any part, and without the table.
    private func isMissing() throws -> Bool { try !PartTables.areMade(meta) }

    private static func values(_ segment: ClosedRange<UInt64>) -> [FieldValue] {
        [.integer(Int64(clamping: segment.lowerBound)), .integer(Int64(clamping: segment.upperBound))]
    }

    /// Keeps a part of a segment; once more has no effect.
    func keep(_ checksum: Checksum, _ file: [UInt8], of segment: ClosedRange<UInt64>) throws {
        try PartTables.make(meta)
        try connection.execute(
            "INSERT OR IGNORE INTO ferry_part(first, last, checksum, bytes) VALUES (?, ?, ?, ?)",
            Self.values(segment) + [.blob(checksum.bytes[...]), .blob(file[...])])
    }

    /// The parts of all segments, or of one.
    func parts(of segment: ClosedRange<UInt64>? = nil) throws -> [SegmentPart] {
        if try isMissing() { return [] }
        var parts: [SegmentPart] = []
        let condition = segment == nil ? "" : "WHERE first = ? AND last = ?"
        try connection.forEachRow(
            "SELECT first, last, checksum, bytes IS NULL FROM ferry_part \(condition) ORDER BY rowid",
            segment.map(Self.values) ?? []
        ) { row in
            guard let checksum: Checksum = row.id(2) else {
                throw FerryError(.internalInconsistency, "The list of parts holds an unreadable entry.")
            }
            parts.append(
                SegmentPart(
                    first: UInt64(clamping: row.integer(0)), last: UInt64(clamping: row.integer(1)),
                    checksum: checksum, isPublished: row.integer(3) != 0))
        }
        return parts
    }

    /// The segments that refer to parts, by their first and last changesets.
    func segments() throws -> Set<[UInt64]> {
        if try isMissing() { return [] }
        var segments: Set<[UInt64]> = []
        try connection.forEachRow("SELECT DISTINCT first, last FROM ferry_part") {
            segments.insert([UInt64(clamping: $0.integer(0)), UInt64(clamping: $0.integer(1))])
        }
        return segments
    }

    /// The file of a part that is not published yet.
    /// - Throws: `internalInconsistency` without its bytes.
    func file(_ checksum: Checksum, of segment: ClosedRange<UInt64>) throws -> [UInt8] {
        let value =
            try isMissing()
            ? nil
            : connection.rows(
                "SELECT bytes FROM ferry_part WHERE first = ? AND last = ? AND checksum = ?",
                values: Self.values(segment) + [.blob(checksum.bytes[...])]
            ).first?.first
        guard case .blob(let bytes)? = value else {
            throw FerryError(
                .internalInconsistency, "A segment waits whose large value is gone.", sequence: segment.lowerBound)
        }
        return Array(bytes)
    }

    /// Lets go of the bytes: the parts of a segment are in the container.
    func notePublished(_ segment: ClosedRange<UInt64>) throws {
        if try isMissing() { return }
        try connection.execute(
            "UPDATE ferry_part SET bytes = NULL WHERE first = ? AND last = ?", Self.values(segment))
    }

    /// Forgets the parts of a segment, but for some.
    func remove(_ segment: ClosedRange<UInt64>, except kept: Set<Checksum> = []) throws {
        for part in try parts(of: segment) where !kept.contains(part.checksum) {
            try connection.execute(
                "DELETE FROM ferry_part WHERE first = ? AND last = ? AND checksum = ?",
                Self.values(segment) + [.blob(part.checksum.bytes[...])])
        }
    }

    func removeAll() throws {
        if try isMissing() { return }
        try connection.execute("DELETE FROM ferry_part")
    }
}

/// The parts of an entry of the outbox, for whoever writes the entry anew (`Store.rewriteOutbox`).
package struct OutboxParts {
    let table: PartTable
    let segment: ClosedRange<UInt64>

    /// The file of a part of the present entry.
    package func file(_ checksum: Checksum) throws -> [UInt8] { try table.file(checksum, of: segment) }
}

/// Makes an entry of the outbox anew from the present entry, the checksum of the new entry before, and the parts of the present entry.
/// The parts of the new entry are handed out.
package typealias OutboxRewriting = (OutboxEntry, Checksum?, OutboxParts, @escaping PartSink) throws -> OutboxEntry
