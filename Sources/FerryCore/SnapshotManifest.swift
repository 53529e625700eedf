/// The content of a snapshot: its version vector, and the list of its chunks (Docs/Format.md, "Snapshots").
public struct SnapshotManifest: Sendable, Equatable {
    /// How far a snapshot goes in a device's log.
    public struct Position: Hashable, Sendable {
        /// The last changeset, and the latest time up to there.
        public var log: LogPosition
        /// The checksum of the segment that ends there, for telling forks; `nil` if the writer does not know the
        /// checksum.
        public var checksum: Checksum?
        /// The last backdated changeset up to there; 0 without any, or if the writer does not know.
        public var lastLate: UInt64

        public init(log: LogPosition, checksum: Checksum? = nil, lastLate: UInt64 = 0) {
            self.log = log
            self.checksum = checksum
            self.lastLate = lastLate
        }
    }

    /// From `time` on, `author` had seen `other`'s log up to `seen`: only what goes beyond the snapshot.
    public struct Context: Hashable, Sendable {
        public var author: DeviceID
        public var other: DeviceID
        public var time: HybridTime
        public var seen: HybridTime

        public init(author: DeviceID, other: DeviceID, time: HybridTime, seen: HybridTime) {
            self.author = author
            self.other = other
            self.time = time
            self.seen = seen
        }
    }

    /// A table's objects.
    public struct Table: Sendable, Equatable {
        /// In lower case.
        public var name: String
        public var identity: TableIdentity
        /// In the order of the objects' IDs.
        public var chunks: [Chunk]

        public init(name: String, identity: TableIdentity, chunks: [Chunk]) {
            self.name = name
            self.identity = identity
            self.chunks = chunks
        }
    }

    /// A file with a chunk.
    public struct Chunk: Hashable, Sendable {
        /// Of the file; also the file's name.
        public var checksum: Checksum
        /// The file's length.
        public var bytes: Int
        /// The number of objects inside.
        public var objects: Int

        public init(checksum: Checksum, bytes: Int, objects: Int) {
            self.checksum = checksum
            self.bytes = bytes
            self.objects = objects
        }
    }

    public var container: ContainerID
    /// How far the snapshot goes in each device's log.
    public var positions: [DeviceID: Position]
    public var contexts: [Context]
    /// The newest schema that a device had published by then.
    public var schema: StampedSchema?
    /// By name.
    public var tables: [Table]

    public init(
        container: ContainerID, positions: [DeviceID: Position] = [:], contexts: [Context] = [],
        schema: StampedSchema? = nil, tables: [Table] = []
    ) {
        self.container = container
        self.positions = positions
        self.contexts = contexts
        self.schema = schema
        self.tables = tables
    }

    /// The changesets that the snapshot covers.
    public var vector: VersionVector { VersionVector(positions.mapValues(\.log)) }
    /// The last backdated changesets of logs.
    public var lateChanges: [DeviceID: UInt64] { positions.mapValues(\.lastLate).filter { $0.value > 0 } }
    /// The latest covered time.
    public var time: HybridTime { positions.values.map(\.log.time).max() ?? .zero }
    /// The length of all chunks.
    public var chunkBytes: Int { tables.reduce(0) { $0 + $1.chunks.reduce(0) { $0 + $1.bytes } } }
    /// The number of all objects.
    public var objects: Int { tables.reduce(0) { $0 + $1.chunks.reduce(0) { $0 + $1.objects } } }
}

/// A schema, and the time and author of the changeset that published the schema.
public struct StampedSchema: Sendable, Equatable {
    public var record: SchemaRecord
    public var stamp: Stamp

    public init(record: SchemaRecord, stamp: Stamp) {
        self.record = record
        self.stamp = stamp
    }
}
