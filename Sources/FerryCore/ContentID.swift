/// Names a content: a sequence of bytes that never changes. Also names a package, the files of a directory together.
public typealias ContentID = UniqueID<ContentKind>
public enum ContentKind {}

/// Names a chunk of contents, by a keyed hash of the chunk's bytes (Docs/Format.md, "Contents").
package typealias ChunkID = UniqueID<ChunkKind>
package enum ChunkKind {}

/// Names a pack: a file with chunks. The ID is the checksum at the pack's end.
package typealias PackID = UniqueID<ChecksumKind>
