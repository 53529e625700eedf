import FerryCore

/// The packed and published end of this device's log, as remembered by the store.
struct OwnLogPosition {
    private let connection: SQLConnection

    init(_ connection: SQLConnection) { self.connection = connection }

    /// The packed changesets without the outbox.
    /// - Returns: the number of the last published changeset; with time and checksum if the outbox is empty.
    func published() throws -> (sequence: UInt64, last: LogPosition?, checksum: Checksum?) {
        let row = try ownRow()
        guard case .integer(let sequence)? = row?[0], case .integer(let time)? = row?[1] else {
            throw FerryError(.internalInconsistency, "The store does not say which device it is.")
        }
        if let first = try Outbox(connection).first() { return (max(first, 1) - 1, nil, nil) }
        let position = LogPosition(
            sequence: UInt64(clamping: sequence), time: HybridTime(rawValue: UInt64(bitPattern: time)))
        if case .blob(let bytes)? = row?[2] { return (position.sequence, position, Checksum(bytes: bytes)) }
        return (position.sequence, position, nil)
    }

    /// True if a head naming the log up to `sequence`, with the last segment's checksum `checksum`, can be this store's
    /// own.
    func includes(_ sequence: UInt64, _ checksum: Checksum) throws -> Bool {
        // Published and not yet removed from the outbox: left by a crash in between.
        if let waiting = try Outbox(connection).checksum(endingWith: sequence) { return waiting == checksum }
        let row = try ownRow()
        guard case .integer(let last)? = row?[0] else { return true }
        // The file may have gathered several outbox entries.
        if let isOwn = try OwnSegmentList(connection).holds(checksum, endingWith: sequence) { return isOwn }
        if let first = try Outbox(connection).first() { return sequence < first }
        guard Int64(clamping: sequence) == last, case .blob(let known)? = row?[2] else {
            return Int64(clamping: sequence) <= last
        }
        return known == checksum.bytes[...]
    }

    /// Sequence, time and checksum of this device's log.
    private func ownRow() throws -> [FieldValue]? {
        try connection.rows(
            """
            SELECT sequence, time, checksum FROM ferry_device
            WHERE number = (SELECT value FROM ferry_meta WHERE name = 'device')
            """
        ).first
    }
}
