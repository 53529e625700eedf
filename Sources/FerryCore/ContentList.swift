/// What a content is made of, as its row has it: the bytes themselves, chunks, or the files of a package (Docs/Format.md, "Lists of contents").
///
/// A list is always whole in the row, so a device knows all chunks of a content without any pack.
package enum ContentList: Hashable, Sendable {
    /// A writer puts longer contents into packs, in bytes.
    package static let inlineBytes = 4096

    /// A part of a content.
    package struct Chunk: Hashable, Sendable {
        package var id: ChunkID
        /// In bytes, at least 1.
        package var count: Int

        package init(id: ChunkID, count: Int) {
            self.id = id
            self.count = count
        }
    }

    /// The bytes of one file.
    package enum Body: Hashable, Sendable {
        case bytes([UInt8])
        case chunks([Chunk])
    }

    /// A file of a package.
    package struct File: Hashable, Sendable {
        /// Relative, with slashes between names: see `PackagePath`.
        @ComparedByBytes package var path: String
        package var isExecutable: Bool
        /// When the file was last written to, in microseconds since the Unix epoch.
        package var modifiedMicroseconds: Int64
        package var body: Body

        package init(path: String, isExecutable: Bool = false, modifiedMicroseconds: Int64, body: Body) {
            self.path = path
            self.isExecutable = isExecutable
            self.modifiedMicroseconds = modifiedMicroseconds
            self.body = body
        }
    }

    case file(Body)
    /// In the order of `PackagePath.precedes`.
    case package([File])

    /// The number of bytes of the content; of a package, of all its files.
    /// - Throws: `limitExceeded` above `ContentLimits.contentBytes`.
    package func byteCount() throws(FerryError) -> Int {
        var total = Total()
        try forEachBody { (body) throws(FerryError) in try total.add(body) }
        return total.bytes
    }

    /// Calls `body` with each file's bytes, in the order of the list.
    package func forEachBody(_ visit: (Body) throws(FerryError) -> Void) throws(FerryError) {
        switch self {
        case .file(let body): try visit(body)
        case .package(let files): for file in files { try visit(file.body) }
        }
    }

    /// All chunks in the order of the list, as often as they stand there.
    package var chunks: [Chunk] {
        switch self {
        case .file(.bytes): []
        case .file(.chunks(let chunks)): chunks
        case .package(let files):
            files.flatMap { file -> [Chunk] in if case .chunks(let chunks) = file.body { chunks } else { [] } }
        }
    }

    /// Sums of a list, held against the limits at each step, so that nothing overflows.
    struct Total {
        var bytes = 0
        var chunks = 0

        mutating func add(_ body: Body) throws(FerryError) {
            switch body {
            case .bytes(let content):
                guard content.count <= ContentLimits.inlineBytes else { throw ContentList.exceeded("bytes in a row") }
                try add(bytes: content.count)
            case .chunks(let parts): for part in parts { try add(part.count) }
            }
        }

        /// Adds a chunk.
        mutating func add(_ count: Int) throws(FerryError) {
            guard (1...ContentLimits.chunkBytes).contains(count) else { throw ContentList.exceeded("bytes of a chunk") }
            chunks += 1
            guard chunks <= ContentLimits.chunks else { throw ContentList.exceeded("chunks") }
            try add(bytes: count)
        }

        private mutating func add(bytes count: Int) throws(FerryError) {
            bytes += count
            guard bytes <= ContentLimits.contentBytes else { throw ContentList.exceeded("bytes") }
        }
    }

    static func exceeded(_ what: String) -> FerryError {
        FerryError(.limitExceeded, "A content has more \(what) than Ferry keeps.")
    }
}
