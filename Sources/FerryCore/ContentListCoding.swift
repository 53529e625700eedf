/// The bytes of lists (Docs/Format.md, "Lists of contents").
extension ContentList {
    /// The first byte of a list.
    private enum Form: UInt8 {
        case bytes = 0
        case chunks = 1
        case package = 2
    }

    // MARK: Writing

    /// The bytes of the list.
    /// - Throws: `limitExceeded`; `invalidArgument` for paths that no package may have.
    package func encoded() throws(FerryError) -> [UInt8] {
        var total = Total()
        var writer = ByteWriter()
        switch self {
        case .file(let body):
            try total.add(body)
            Self.write(body, to: &writer)
        case .package(let files):
            guard files.count <= ContentLimits.files else { throw Self.exceeded("files") }
            writer.write(Form.package.rawValue)
            writer.writeVarint(UInt64(files.count))
            var before: String?
            for file in files {
                guard Self.mayFollow(file.path, before) else {
                    throw FerryError(
                        .invalidArgument, "The files of a package have impossible paths, or are not in order.")
                }
                before = file.path
                try total.add(file.body)
                writer.writeCounted(file.path)
                writer.write(file.isExecutable ? 1 : 0)
                writer.writeZigzag(file.modifiedMicroseconds)
                var inner = ByteWriter()
                Self.write(file.body, to: &inner)
                writer.writeCounted(inner.bytes)
            }
        }
        guard writer.count <= ContentLimits.listBytes else { throw Self.exceeded("bytes of its list") }
        return writer.bytes
    }

    private static func write(_ body: Body, to writer: inout ByteWriter) {
        switch body {
        case .bytes(let content):
            writer.write(Form.bytes.rawValue)
            writer.write(contentsOf: content)
        case .chunks(let chunks):
            writer.write(Form.chunks.rawValue)
            for chunk in chunks { write(chunk, to: &writer) }
        }
    }

    /// Appends a chunk as lists have it.
    package static func write(_ chunk: Chunk, to writer: inout ByteWriter) {
        writer.write(chunk.id)
        writer.writeVarint(UInt64(chunk.count))
    }

    private static func mayFollow(_ path: String, _ before: String?) -> Bool {
        guard PackagePath.isAllowed(path) else { return false }
        guard let before else { return true }
        return PackagePath.precedes(before, path) && !PackagePath.isBelow(path, before)
    }

    // MARK: Reading

    /// Reads a list. All limits are checked before anything is allocated by a number from the bytes.
    /// - Parameter byteCount: how long the content is, as its row says.
    /// - Throws: `damagedFile` for anything but a list of such a content.
    package init(decoding bytes: [UInt8], byteCount: Int64) throws(FerryError) {
        guard bytes.count <= ContentLimits.listBytes else { throw ByteReader.malformed("a list is too long") }
        guard (0...Int64(ContentLimits.contentBytes)).contains(byteCount) else {
            throw ByteReader.malformed("a content has an impossible size")
        }
        var reader = ByteReader(bytes)
        var total = Total()
        let form = try Self.readForm(&reader)
        do throws(FerryError) {
            self =
                form == .package
                ? try Self.readPackage(&reader, &total) : .file(try Self.readBody(form, &reader, &total))
        } catch {
            // What is beyond a limit was not written by Ferry.
            throw error.code == .limitExceeded ? ByteReader.malformed("a list is beyond the limits") : error
        }
        guard reader.isAtEnd else { throw ByteReader.malformed("a list goes on after its end") }
        guard Int64(total.bytes) == byteCount else {
            throw ByteReader.malformed("a content has another size than its list")
        }
    }

    private static func readForm(_ reader: inout ByteReader) throws(FerryError) -> Form {
        guard let form = Form(rawValue: try reader.readByte()) else {
            throw ByteReader.malformed("a list is of no known form")
        }
        return form
    }

    /// Reads what is left of a reader as the bytes of one file.
    private static func readBody(
        _ form: Form, _ reader: inout ByteReader, _ total: inout Total
    ) throws(FerryError) -> Body {
        switch form {
        case .bytes:
            guard reader.remaining <= ContentLimits.inlineBytes else { throw exceeded("bytes in a row") }
            let body = Body.bytes(Array(try reader.read(reader.remaining)))
            try total.add(body)
            return body
        case .chunks:
            // No more is reserved than the bytes can hold, and than the limit allows.
            var chunks: [Chunk] = []
            chunks.reserveCapacity(min(reader.remaining / 17, ContentLimits.chunks))
            while !reader.isAtEnd {
                let id: ChunkID = try reader.readID()
                let count = try reader.readVarint()
                guard count <= UInt64(ContentLimits.chunkBytes) else { throw exceeded("bytes of a chunk") }
                try total.add(Int(count))
                chunks.append(Chunk(id: id, count: Int(count)))
            }
            guard !chunks.isEmpty else { throw ByteReader.malformed("a list has no chunk") }
            return .chunks(chunks)
        case .package: throw ByteReader.malformed("a package lies in a package")
        }
    }

    private static func readPackage(_ reader: inout ByteReader, _ total: inout Total) throws(FerryError) -> ContentList
    {
        // A path of a byte, the mark, a time and a list of a byte, with their counts.
        let count = try reader.readCount(minimumBytes: 6)
        guard count <= ContentLimits.files else { throw exceeded("files") }
        var files: [File] = []
        files.reserveCapacity(count)
        for _ in 0..<count {
            let path = try reader.readString()
            guard mayFollow(path, files.last?.path) else {
                throw ByteReader.malformed("a package has an impossible path, or its paths are not in order")
            }
            let mark = try reader.readByte()
            guard mark <= 1 else { throw ByteReader.malformed("a file of a package has an unknown mode") }
            let modified = try reader.readZigzag()
            var inner = ByteReader(try reader.readCounted())
            let body = try readBody(try readForm(&inner), &inner, &total)
            files.append(File(path: path, isExecutable: mark == 1, modifiedMicroseconds: modified, body: body))
        }
        return .package(files)
    }
}
