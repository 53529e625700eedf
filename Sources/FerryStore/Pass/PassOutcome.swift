import FerryCore

/// The effects of a sync's transaction on the store.
package struct PassOutcome: Sendable {
    /// Number of changes packed into the outbox.
    package var packed = 0
    /// Numbers of replayed changes, and of conflicts caused by them.
    package var replayed = 0
    package var conflicts = 0
    /// Devices whose logs continue in a table under a policy unknown here.
    package var refused: [DeviceID: FerryError] = [:]
    /// Number of new rows with a NULL in their key; such rows are local.
    package var rowsWithoutKey = 0

    /// True if a reference leads to a content that is deleted here, and the content's bytes are to be packed again.
    package var lacksContents = false

    package init() {}
}

/// Encodes a changeset as a segment; provided by the layer with the format. The second argument is the checksum of the
/// preceding segment, `nil` for the first segment. The third takes the parts of large values.
package typealias SegmentEncoding = (Changeset, Checksum?, @escaping PartSink) throws -> OutboxEntry
