import FerryCore
import FerrySQL
import FerrySchema

/// The packed and published end of this device's log, as remembered by the store.
struct OwnLogPosition {
    private let connection: SQLConnection

    init(_ connection: SQLConnection) { self.connection = connection }

    /// The packed changesets without the outbox.
    /// - Returns: the number of the last published changeset; with time and checksum if the outbox is empty.
    func published() throws -> (sequence: UInt64, last: LogPosition?, checksum: Checksum?) {
        guard let end = try DeviceTable(connection).ownEnd() else {
            throw FerryError(.internalInconsistency, "The store does not say which device it is.")
        }
        if let first = try Outbox(connection).first() { return (max(first, 1) - 1, nil, nil) }
        return (end.position.sequence, end.position, end.checksum)
    }

    /// True if a head naming the log up to `sequence`, with the last segment's checksum `checksum`, can be this store's
    /// own.
    func includes(_ sequence: UInt64, _ checksum: Checksum) throws -> Bool {
        // Published and not yet removed from the outbox: left by a crash in between.
        if let waiting = try Outbox(connection).checksum(endingWith: sequence) { return waiting == checksum }
        guard let end = try DeviceTable(connection).ownEnd() else { return true }
        // The file may have gathered several outbox entries.
        if let isOwn = try OwnSegmentList(connection).holds(checksum, endingWith: sequence) { return isOwn }
        if let first = try Outbox(connection).first() { return sequence < first }
        guard sequence == end.position.sequence, let known = end.checksum else {
            return sequence <= end.position.sequence
        }
        return known == checksum
    }
}
