import FerryCore

/// The effects of a sync's transaction on the store.
public struct PassOutcome: Sendable {
    /// Number of changes packed into the outbox.
    public var packed = 0
    /// Numbers of replayed changes, and of conflicts caused by them.
    public var replayed = 0
    public var conflicts = 0
    /// Devices whose logs continue in a table under a policy unknown here.
    public var refused: [DeviceID: FerryError] = [:]
    /// Number of new rows with a NULL in their key; such rows are local.
    public var rowsWithoutKey = 0

    public init() {}
}

/// Encodes a changeset as a segment; provided by the layer with the format. The second argument is the checksum of the
/// preceding segment, `nil` for the first segment.
public typealias SegmentSealer = (Changeset, Checksum?) throws -> OutboxEntry
