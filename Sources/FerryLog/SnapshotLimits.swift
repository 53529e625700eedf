/// The most that files of a snapshot may hold. Encoders refuse larger content, and decoders take larger content for
/// damage. So no file makes a device use unbounded memory or time. Names, schemas and single values have the limits of
/// segments.
package enum SnapshotLimits {
    /// Bytes of a manifest before compression.
    package static let manifestBytes = 64 << 20
    /// Bytes of a chunk before compression: an object may be large.
    package static let chunkBytes = 1 << 30
    /// Objects in a chunk.
    package static let objects = 1 << 16
    /// Fields of all objects in a chunk.
    package static let cells = 1 << 20
    /// The bytes by which all texts and blobs of a chunk, keys and repetitions included, may exceed its body, where
    /// equal contents stand once. A chunk ends at a megabyte of them, and larger objects stand in full, so writers need
    /// little of this limit.
    package static let repeatedBytes = 1 << 26
    /// Devices in a manifest or chunk.
    package static let devices = 1 << 16
    /// Contexts in a manifest.
    package static let contexts = 1 << 20
    /// Tables in a manifest.
    package static let tables = 32_767
    /// Chunks of all tables in a manifest.
    package static let chunks = 1 << 20
    /// Parts of the large values of all chunks in a manifest.
    package static let parts = 1 << 20
}
