/// The most that lists of contents and packs may hold. Writers refuse larger content, and readers take larger content for damage.
/// So no bytes from outside make a device use unbounded memory or time.
package enum ContentLimits {
    /// Bytes of a content.
    package static let contentBytes = 1 << 40
    /// Bytes of a content that stands in its list. Writers end at `ContentList.inlineBytes`.
    package static let inlineBytes = 1 << 16
    /// Bytes of a chunk. The chunker ends at 2 MiB.
    package static let chunkBytes = 1 << 23
    /// Chunks of a list, over all files of a package.
    package static let chunks = 1 << 21
    /// Bytes of an encoded list.
    package static let listBytes = 1 << 26
    /// Files of a package.
    package static let files = 1 << 17
    /// UTF-8 bytes of a file's path in a package, and of each name in the path.
    package static let pathBytes = 4096
    package static let nameBytes = 255
    /// Bytes of a pack that a reader takes. A writer ends a pack at `packEndBytes`.
    package static let packBytes = 32 << 20
    package static let packEndBytes = 16 << 20
    /// Chunks of a pack.
    package static let packChunks = 1 << 16
    /// How many times larger than its stored form a chunk may be; zlib's own bound is about 1032.
    package static let chunkRatio = 1100
}
