/// What files of a snapshot may hold at most. Encoders refuse what is larger, and decoders take it for damage, so that no
/// file makes a device use unbounded memory or time. Names, schemas and single values have the limits of segments.
public enum SnapshotLimits {
    /// Bytes of a manifest before compression.
    public static let manifestBytes = 64 << 20
    /// Bytes of a chunk before compression: one object may be large.
    public static let chunkBytes = 1 << 30
    /// Objects in one chunk.
    public static let objects = 1 << 16
    /// Fields of all objects in one chunk.
    public static let cells = 1 << 20
    /// Bytes that all texts and blobs of one chunk, keys included, each as often as it stands, may have more than its body,
    /// where equal ones stand once. A chunk ends at a megabyte of them, and what an object of more has stands in full, so
    /// writers need little of it.
    public static let repeatedBytes = 1 << 26
    /// Devices in one manifest or chunk.
    public static let devices = 1 << 16
    /// Contexts in one manifest.
    public static let contexts = 1 << 20
    /// Tables in one manifest.
    public static let tables = 32_767
    /// Chunks of all tables in one manifest.
    public static let chunks = 1 << 20
}
