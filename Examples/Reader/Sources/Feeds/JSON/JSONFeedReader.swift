import Foundation

/// Reads a JSON Feed, or RSS in JSON, in pieces: the members of the outermost objects one by one, and articles each for itself.
///
/// What is in memory at a time is one value and the piece of the document that it is in.
final class JSONFeedReader {
    private let maximumValueBytes: Int
    private let skipsArticles: Bool
    private let deliver: (FeedEvent) throws -> Void
    private let documentURL: URL?
    private var mapper: JSONFeedMapper
    /// Takes the parts of RSS in JSON; `nil` in a JSON Feed.
    private var rssMapper: XMLFeedMapper?
    private var isFeedDelivered = false

    private var text: DecodedText?
    private var buffer: [UInt8] = []
    private var position = 0
    /// The bytes of the document before `buffer`.
    private var offset = 0

    init(
        documentURL: URL?, maximumValueBytes: Int, skipsArticles: Bool, deliver: @escaping (FeedEvent) throws -> Void
    ) {
        mapper = JSONFeedMapper(base: BaseAddress(documentURL))
        self.documentURL = documentURL
        self.maximumValueBytes = maximumValueBytes
        self.skipsArticles = skipsArticles
        self.deliver = deliver
    }

    /// Reads the document to its end, or throws after all that came before the fault was handed on.
    func read(_ text: DecodedText, beginning: [UInt8]) throws -> ParsedFeed {
        self.text = text
        buffer = beginning
        defer { self.text = nil }
        var hasItems = false
        try members { name in
            if name == "items", try peek() == UInt8(ascii: "[") {
                hasItems = true
                try items { try deliverItem($0) }
            } else if name == "rss", rssMapper == nil, try peek() == UInt8(ascii: "{") {
                try rss()
            } else {
                mapper.take(name, try value())
            }
        }
        if let rssMapper {
            try rssMapper.deliverFeed()
            return rssMapper.currentFeed
        }
        guard hasItems || mapper.saysItIsAFeed else {
            throw FeedError(.notAFeed, "this is JSON, but not a JSON Feed: it has no items; check the address")
        }
        try deliverFeed()
        return mapper.feed
    }

    /// Reads an object, and calls `body` where the value of each member begins.
    private func members(_ body: (_ name: String) throws -> Void) throws {
        try expect("{")
        if try skip("}") { return }
        repeat {
            guard case .string(let name) = try value() else { throw malformed() }
            try expect(":")
            try body(name)
        } while try skip(",")
        try expect("}")
    }

    /// Reads a list of articles.
    private func items(_ take: (JSONValue) throws -> Void) throws {
        try expect("[")
        if try skip("]") { return }
        repeat {
            if skipsArticles { try passValue() } else { try take(value()) }
        } while try skip(",")
        try expect("]")
    }

    private func deliverItem(_ item: JSONValue) throws {
        try deliverFeed()
        try deliver(.article(mapper.article(from: item)))
    }

    // MARK: RSS in JSON

    private func rss() throws {
        let mapper = XMLFeedMapper(documentURL: documentURL, deliver: deliver)
        var root = FeedElement(name: "rss")
        try members { name in
            if name == "channel", rssMapper == nil, try peek() == UInt8(ascii: "{") {
                _ = try mapper.begin(root: root)
                rssMapper = mapper
                try channel(mapper)
            } else if name == "version", let version = try value().text {
                root.attributes = [FeedAttribute(name: "version", value: version)]
                if rssMapper != nil { _ = try mapper.begin(root: root) }
            } else {
                try passValue()
            }
        }
    }

    private func channel(_ mapper: XMLFeedMapper) throws {
        func take(_ item: JSONValue) throws {
            for element in item.rssElements(named: "item") { try mapper.receive(articleElement: element) }
        }
        try members { name in
            if name == "item", try peek() == UInt8(ascii: "[") {
                try items(take)
            } else if name == "item" {
                if skipsArticles { try passValue() } else { try take(value()) }
            } else {
                for element in try value().rssElements(named: name) { try mapper.receive(feedElement: element) }
            }
        }
    }

    private func deliverFeed() throws {
        if isFeedDelivered { return }
        isFeedDelivered = true
        try deliver(.feed(mapper.feed))
    }

    // MARK: Bytes

    /// Reads more of the document; false at its end.
    private func refill() throws -> Bool {
        guard let piece = try text?.next() else { return false }
        if position > 0 {
            offset += position
            buffer.removeFirst(position)
            position = 0
        }
        buffer += piece
        return true
    }

    /// The next byte that is no white space.
    private func peek() throws -> UInt8 {
        while true {
            while position < buffer.count {
                let byte = buffer[position]
                guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 || isMark() else { return byte }
                position += 1
            }
            guard try refill() else { throw cutOff }
        }
    }

    /// Whether this byte is of a byte order mark, which some feeds have twice.
    private func isMark() -> Bool { offset == 0 && position < 3 && [0xEF, 0xBB, 0xBF].contains(buffer[position]) }

    private func skip(_ character: Unicode.Scalar) throws -> Bool {
        guard try peek() == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private func expect(_ character: Unicode.Scalar) throws {
        guard try skip(character) else { throw malformed() }
    }

    private func value() throws -> JSONValue {
        let range = try nextValue()
        defer { position = range.upperBound }
        do {
            return try JSONValueReader.value(of: buffer[range])
        } catch {
            throw malformed(at: range.lowerBound + error.offset)
        }
    }

    private func passValue() throws { position = try nextValue().upperBound }

    /// Reads on until the next value is in the buffer as a whole.
    private func nextValue() throws -> Range<Int> {
        _ = try peek()
        var scanner = JSONExtentScanner()
        var scanned = 0
        while true {
            let end = buffer.withUnsafeBufferPointer { scanner.end(in: $0, from: position + scanned) }
            if let end { return position..<end }
            scanned = buffer.count - position
            guard scanned <= maximumValueBytes else {
                throw FeedError(
                    .tooLarge,
                    "one article of the feed is larger than \(maximumValueBytes.asByteCount); "
                        + "raise the limit if it may be"
                )
            }
            guard try refill() else { throw cutOff }
        }
    }

    private var cutOff: FeedError {
        FeedError(.cutOff, "the feed ends too early, after \(offset + buffer.count) bytes; fetch it again")
    }

    private func malformed(at place: Int? = nil) -> FeedError {
        FeedError(
            .malformed, "the feed is not well-formed JSON at byte \(offset + (place ?? position)); tell its publisher")
    }
}

/// Finds where a value ends without decoding it, in pieces.
struct JSONExtentScanner {
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private var isInWord = false

    /// The position after the value's last byte; nil if it goes on after `bytes`.
    mutating func end(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        var index = start
        while index < bytes.count {
            let byte = bytes[index]
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                    if depth == 0 { return index + 1 }
                }
            } else {
                switch byte {
                case UInt8(ascii: "\""):
                    if isInWord { return index }
                    isInString = true
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    if isInWord { return index }
                    depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    if depth == 0 { return index }
                    depth -= 1
                    if depth == 0 { return index + 1 }
                case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x09, 0x0A, 0x0D:
                    if depth == 0 { return index }
                default:
                    isInWord = depth == 0
                }
            }
            index += 1
        }
        return nil
    }
}
