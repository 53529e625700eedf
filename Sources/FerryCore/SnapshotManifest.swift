/// The content of a snapshot: its version vector, and the list of its chunks (Docs/Format.md, "Snapshots").
package struct SnapshotManifest: Sendable, Equatable {
    /// How far a snapshot goes in a device's log.
    package struct Position: Hashable, Sendable {
        /// The last changeset, and the latest time up to there.
        package var log: LogPosition
        /// The checksum of the segment that ends there, for telling forks; `nil` if the writer does not know the
        /// checksum.
        package var checksum: Checksum?
        /// The last backdated changeset up to there; 0 without any, or if the writer does not know.
        package var lastLate: UInt64

        package init(log: LogPosition, checksum: Checksum? = nil, lastLate: UInt64 = 0) {
            self.log = log
            self.checksum = checksum
            self.lastLate = lastLate
        }
    }

    /// From `time` on, `author` had seen `other`'s log up to `seen`: only what goes beyond the snapshot.
    package struct Context: Hashable, Sendable {
        package var author: DeviceID
        package var other: DeviceID
        package var time: HybridTime
        package var seen: HybridTime

        package init(author: DeviceID, other: DeviceID, time: HybridTime, seen: HybridTime) {
            self.author = author
            self.other = other
            self.time = time
            self.seen = seen
        }
    }

    /// A table's objects.
    package struct Table: Sendable, Equatable {
        /// In lower case.
        @ComparedByBytes package var name: String
        package var identity: TableIdentity
        /// In the order of the objects' IDs.
        package var chunks: [Chunk]

        package init(name: String, identity: TableIdentity, chunks: [Chunk]) {
            self.name = name
            self.identity = identity
            self.chunks = chunks
        }
    }

    /// A file with a chunk.
    package struct Chunk: Hashable, Sendable {
        /// Of the file; also the file's name.
        package var checksum: Checksum
        /// The file's length.
        package var bytes: Int
        /// The number of objects inside.
        package var objects: Int
        /// The files with the bytes of the chunk's large values, in the order of their first use; each once.
        package var parts: [Part]

        package init(checksum: Checksum, bytes: Int, objects: Int, parts: [Part] = []) {
            self.checksum = checksum
            self.bytes = bytes
            self.objects = objects
            self.parts = parts
        }
    }

    /// A file with a part of a large value.
    package struct Part: Hashable, Sendable {
        /// Of the file; also the file's name.
        package var checksum: Checksum
        /// The file's length.
        package var bytes: Int

        package init(checksum: Checksum, bytes: Int) {
            self.checksum = checksum
            self.bytes = bytes
        }
    }

    package var container: ContainerID
    /// How far the snapshot goes in each device's log.
    package var positions: [DeviceID: Position]
    package var contexts: [Context]
    /// The newest schema that a device had published by then.
    package var schema: StampedSchema?
    /// By name.
    package var tables: [Table]

    package init(
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
    package var vector: VersionVector { VersionVector(positions.mapValues(\.log)) }
    /// The last backdated changesets of logs.
    package var lateChanges: [DeviceID: UInt64] { positions.mapValues(\.lastLate).filter { $0.value > 0 } }
    /// The latest covered time.
    package var time: HybridTime { positions.values.map(\.log.time).max() ?? .zero }
    /// The length of all chunks, and of the parts of their large values.
    package var chunkBytes: Int {
        tables.reduce(0) { $0 + $1.chunks.reduce(0) { $0 + $1.bytes + $1.parts.reduce(0) { $0 + $1.bytes } } }
    }
    /// The number of all objects.
    package var objects: Int { tables.reduce(0) { $0 + $1.chunks.reduce(0) { $0 + $1.objects } } }
}

/// A schema, and the time and author of the changeset that published the schema.
package struct StampedSchema: Sendable, Equatable {
    package var record: SchemaRecord
    package var stamp: Stamp

    package init(record: SchemaRecord, stamp: Stamp) {
        self.record = record
        self.stamp = stamp
    }
}
