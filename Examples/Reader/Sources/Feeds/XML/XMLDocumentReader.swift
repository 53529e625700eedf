import Foundation

#if canImport(FoundationXML)
import FoundationXML
#endif

/// Drives `XMLParser` over a document and hands a feed's parts on, one complete element at a time.
///
/// What is in memory at a time is one article, or the element of the feed itself that is being read, and 200 kilobytes
/// of the document. The parser sees only what `XMLRepair` lets through.
final class XMLDocumentReader: NSObject {
    /// What receives a feed's parts.
    protocol Receiver: AnyObject {
        /// The outermost element, without its content.
        func begin(root: FeedElement) throws -> FeedFormat.Kind
        /// The channel of RSS, without its content.
        func begin(channel: FeedElement) throws
        /// An element of the feed's own, complete.
        func receive(feedElement: FeedElement) throws
        /// An article, complete.
        func receive(articleElement: FeedElement) throws
    }

    private let receiver: any Receiver
    private let maximumElementBytes: Int
    private let skipsArticles: Bool
    private var scope = NamespaceScope()
    private var kind: FeedFormat.Kind?
    /// How many elements are open.
    private var depth = 0
    /// The depth at which the feed's own elements begin: 1, or 2 within RSS's channel.
    private var channelDepth = 1
    /// The open elements of the part that is being read, outermost first.
    private var open: [FeedElement] = []
    private var openBytes = 0
    /// The bytes of the feed's own elements that were handed on.
    private var feedBytes = 0
    /// Text that was read since the last tag, in UTF-8: parsers deliver it in small pieces.
    private var pendingText: [UInt8] = []
    /// The depth of an element that is passed over with all that it contains.
    private var skippedDepth: Int?
    private var isRootClosed = false
    private var lastOpened = ""
    private var failure: (any Error)?
    /// The first fault of the XML and its line. Nothing that the parser says after it counts: it guesses.
    private var fault: (code: Int, line: Int)?

    /// - Parameter maximumElementBytes: how much text and how many names a part may have.
    init(receiver: any Receiver, maximumElementBytes: Int, skipsArticles: Bool) {
        self.receiver = receiver
        self.maximumElementBytes = maximumElementBytes
        self.skipsArticles = skipsArticles
    }

    /// Reads the document to its end, or throws after all that came before the fault was handed on.
    func read(_ text: DecodedText, beginning: [UInt8]) throws -> [String] {
        let stream = RepairedStream(text, beginning: beginning)
        let parser = XMLParser(stream: stream)
        parser.shouldResolveExternalEntities = false
        parser.delegate = self
        // Its result is not asked for: it is true for documents that end too early, and false after harmless faults.
        _ = parser.parse()
        parser.delegate = nil
        if let failure { throw failure }
        if let failure = stream.failure { throw failure }
        if isRootClosed { return stream.repairs }
        if depth == 0 { throw FeedError(.empty, "there is no feed here: the document has no element") }
        let fault = fault ?? (Self.endOfDocument, parser.lineNumber)
        if stream.isAtEnd, Self.endings.contains(fault.code) {
            throw FeedError(.cutOff, "the feed ends in the middle of its <\(lastOpened)>; fetch it again")
        }
        let reason = Self.reasons[fault.code].map { " (\($0))" } ?? ""
        throw FeedError(
            .malformed, "the feed is not well-formed XML at line \(fault.line)\(reason); tell its publisher")
    }

    private func attempt(_ parser: XMLParser, _ work: () throws -> Void) {
        guard failure == nil, fault == nil else { return }
        do { try work() } catch {
            failure = error
            parser.abortParsing()
        }
    }

    // MARK: Elements

    private func start(_ element: FeedElement) throws {
        depth += 1
        lastOpened = element.name
        if skippedDepth != nil { return }
        if depth == 1 {
            kind = try receiver.begin(root: element)
        } else if open.isEmpty, kind == .rss, depth == 2, element.name == "channel" {
            channelDepth = 2
            try receiver.begin(channel: element)
        } else if open.isEmpty, skipsArticles, isArticle(element) {
            skippedDepth = depth
        } else {
            openBytes += 64 + element.attributes.reduce(0) { $0 + $1.value.utf8.count }
            guard openBytes <= maximumElementBytes else { throw tooLarge }
            flushText()
            open.append(element)
        }
    }

    private func isArticle(_ element: FeedElement) -> Bool {
        switch (Vocabulary(element.namespace), element.name) {
        case (.atom, "entry"): kind == .atom
        case (.rss, "item"): kind == .rss || kind == .rdf
        default: false
        }
    }

    private func end() throws {
        defer { depth -= 1 }
        if let skipped = skippedDepth {
            if skipped == depth { skippedDepth = nil }
            return
        }
        if depth == 1 { isRootClosed = true }
        flushText()
        guard var element = open.popLast() else { return }
        if Vocabulary(element.namespace) != .xhtml, element.children.contains(where: \.isElement) {
            element.children.removeAll(where: \.isWhiteSpace)
        }
        if open.isEmpty {
            let bytes = openBytes
            openBytes = 0
            if isArticle(element) {
                try receiver.receive(articleElement: element)
            } else {
                feedBytes += bytes
                guard feedBytes <= maximumElementBytes else {
                    throw FeedError(
                        .tooLarge, "what the feed says of itself is larger than \(maximumElementBytes.asByteCount)")
                }
                try receiver.receive(feedElement: element)
            }
        } else if isTableOfContents(element) {
            return
        } else {
            open[open.count - 1].children.append(.element(element))
        }
    }

    /// RDF's channel lists the addresses of all items that follow; they come with the items.
    private func isTableOfContents(_ element: FeedElement) -> Bool {
        guard kind == .rdf, open.first?.name == "channel" else { return false }
        if open.count == 1, element.name == "items" { return true }
        let isListed = open.count == 3 && open[1].name == "items" && Vocabulary(element.namespace) == .rdf
        if isListed { openBytes -= 64 + element.attributes.reduce(0) { $0 + $1.value.utf8.count } }
        return isListed
    }

    private func add(_ text: some Sequence<UInt8>) throws {
        guard skippedDepth == nil, !open.isEmpty else { return }
        pendingText.append(contentsOf: text)
        guard openBytes + pendingText.count <= maximumElementBytes else { throw tooLarge }
    }

    private func flushText() {
        guard !pendingText.isEmpty, let last = open.indices.last else { return }
        openBytes += pendingText.count
        open[last].children.append(.text(String(decoding: pendingText, as: UTF8.self)))
        pendingText.removeAll(keepingCapacity: pendingText.count < 1 << 20)
    }

    private var tooLarge: FeedError {
        FeedError(
            .tooLarge,
            "one article of the feed is larger than \(maximumElementBytes.asByteCount); raise the limit if it may be")
    }

    // MARK: Errors

    private static let endOfDocument = 5

    /// libxml2's numbers (`xmlParserErrors`) of faults that a document has which ends too early: constructs that are
    /// not finished, and names that do not fit because their end is missing.
    private static let endings: Set<Int> = [
        3, 4, 5, 35, 37, 38, 39, 40, 41, 44, 45, 46, 47, 63, 65, 68, 73, 74, 76, 77,
    ]

    /// Its numbers of warnings and of faults with namespaces, which are tolerated here.
    private static let harmless: Set<Int> = [27, 93, 97, 98, 99, 100, 102, 106, 107, 200, 201, 202, 203, 204, 205]

    /// What libxml2's errors mean, for those that feeds have.
    private static let reasons: [Int: String] = [
        9: "a character that XML does not have", 38: "a < in an attribute", 39: "an attribute without quotes",
        41: "an attribute without a value", 42: "an attribute that is there twice", 62: "]]> in text",
        64: "an XML declaration that is not at the start", 65: "a missing space", 68: "a name that is none",
        73: "a tag without its >", 76: "a tag that is closed but was not opened last", 77: "a tag that is never closed",
        110: "an entity that leads to itself", 1549: "elements within elements without end",
    ]
}

extension XMLDocumentReader: XMLParserDelegate {
    func parser(
        _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        attempt(parser) { try start(scope.open(elementName, attributes)) }
    }

    func parser(
        _ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?, qualifiedName: String?
    ) {
        attempt(parser) {
            try end()
            scope.close()
        }
    }

    func parser(_ parser: XMLParser, parseErrorOccurred parseError: any Error) {
        let code = (parseError as NSError).code
        if fault == nil, !Self.harmless.contains(code) { fault = (code, parser.lineNumber) }
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) { attempt(parser) { try add(string.utf8) } }

    func parser(_ parser: XMLParser, foundCDATA block: Data) {
        attempt(parser) { try add(block) }
    }
}

extension FeedNode {
    var isElement: Bool { if case .element = self { true } else { false } }

    var isWhiteSpace: Bool { if case .text(let text) = self { text.allSatisfy(\.isWhitespace) } else { false } }
}

/// What `XMLRepair` makes of a text, as the stream that `XMLParser` reads.
private final class RepairedStream: InputStream {
    private let text: DecodedText
    private var repair = XMLRepair()
    private var piece: [UInt8] = []
    private var position = 0
    private var pending: [UInt8]?
    private var status = Stream.Status.notOpen
    private(set) var isAtEnd = false
    private(set) var failure: (any Error)?

    init(_ text: DecodedText, beginning: [UInt8]) {
        self.text = text
        pending = beginning
        super.init(data: Data())
    }

    var repairs: [String] { repair.repairs }

    override func open() { status = .open }
    override func close() { status = .closed }
    override var streamStatus: Stream.Status { status }
    override var streamError: (any Error)? { failure }
    override var hasBytesAvailable: Bool { !isAtEnd && failure == nil }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
    ) -> Bool { false }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        do {
            while position == piece.count, !isAtEnd { try fill() }
        } catch {
            failure = error
            return -1
        }
        let count = min(maxLength, piece.count - position)
        piece.withUnsafeBufferPointer { piece in
            if let start = piece.baseAddress { buffer.update(from: start + position, count: count) }
        }
        position += count
        if count == 0 { status = .atEnd }
        return count
    }

    private func fill() throws {
        if let failure = repair.failure { throw failure }
        let next = try pending ?? text.next()
        pending = nil
        piece = repair.pass(next ?? [], isLast: next == nil)
        position = 0
        isAtEnd = next == nil && repair.failure == nil
    }
}
