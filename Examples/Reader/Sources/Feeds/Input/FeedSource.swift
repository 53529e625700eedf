import Foundation

/// The bytes of a feed, and what is known of them besides.
public struct FeedSource {
    enum Bytes {
        case file(URL)
        case stream(InputStream)
    }

    let bytes: Bytes
    /// How many bytes there are, if that is known.
    let byteCount: Int?
    /// Where the document is from: what its relative addresses are relative to.
    let documentURL: URL?
    /// The encoding that HTTP's Content-Type header names.
    let charset: String?

    /// A file, whatever its name.
    /// - Parameters:
    ///   - documentURL: where the file was fetched from; nil if it was always this file.
    ///   - charset: the encoding that HTTP's Content-Type header names, if it does.
    public init(file: URL, documentURL: URL? = nil, charset: String? = nil) {
        bytes = .file(file)
        // Only for showing progress: a file without a size fails when it is opened, with a message.
        byteCount = try? file.resourceValues(forKeys: [.fileSizeKey]).fileSize  // for progress only
        self.documentURL = documentURL ?? file
        self.charset = charset
    }

    /// A stream that is not open yet. It is read once, to its end or the first error, and closed.
    public init(stream: InputStream, byteCount: Int? = nil, documentURL: URL? = nil, charset: String? = nil) {
        bytes = .stream(stream)
        self.byteCount = byteCount
        self.documentURL = documentURL
        self.charset = charset
    }

    /// Bytes in memory.
    public init(data: Data, documentURL: URL? = nil, charset: String? = nil) {
        self.init(
            stream: InputStream(data: data), byteCount: data.count, documentURL: documentURL, charset: charset)
    }
}

/// How much of a feed was read.
public struct FeedProgress: Sendable, Hashable {
    public var bytesDone: Int
    /// nil if it is not known.
    public var bytesTotal: Int?

    public init(bytesDone: Int = 0, bytesTotal: Int? = nil) {
        self.bytesDone = bytesDone
        self.bytesTotal = bytesTotal
    }
}

/// Reads a `FeedSource` in pieces, counts and limits them.
final class SourceReader {
    private static let pieceSize = 64 << 10

    private let stream: InputStream
    private let name: String
    private let maximumBytes: Int
    private(set) var progress: FeedProgress
    private var buffer = [UInt8](repeating: 0, count: SourceReader.pieceSize)
    private var isAtEnd = false

    init(_ source: FeedSource, maximumBytes: Int) throws {
        switch source.bytes {
        case .file(let url):
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory), !isDirectory.boolValue,
                FileManager.default.isReadableFile(atPath: url.path), let stream = InputStream(url: url)
            else {
                throw FeedError(.file, "the file \(url.path) cannot be read; check that it is there and may be read")
            }
            self.stream = stream
            name = "the file \(url.path)"
        case .stream(let stream):
            self.stream = stream
            name = "the feed's stream"
        }
        self.maximumBytes = maximumBytes
        progress = FeedProgress(bytesDone: 0, bytesTotal: source.byteCount)
        stream.open()
    }

    deinit { stream.close() }

    /// The next bytes; nil at the end.
    func next() throws -> ArraySlice<UInt8>? {
        if isAtEnd { return nil }
        let count = buffer.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.map { stream.read($0, maxLength: buffer.count) } ?? -1
        }
        guard count >= 0 else {
            throw FeedError(.file, "\(name) cannot be read to its end; check the disk and try again")
        }
        if count == 0 {
            isAtEnd = true
            return nil
        }
        progress.bytesDone += count
        guard progress.bytesDone <= maximumBytes else {
            throw FeedError(
                .tooLarge, "the feed is larger than \(maximumBytes.asByteCount); raise the limit if it may be")
        }
        return buffer[..<count]
    }
}

extension Int {
    /// A number of bytes to show, in binary units.
    package var asByteCount: String {
        let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)]
        for (unit, shift) in units where self >= 1 << shift {
            let tenths = (self * 10) >> shift
            return tenths % 10 == 0 ? "\(tenths / 10) \(unit)" : "\(tenths / 10).\(tenths % 10) \(unit)"
        }
        return self == 1 ? "1 byte" : "\(self) bytes"
    }
}
