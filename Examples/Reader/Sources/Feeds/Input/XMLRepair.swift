import Foundation

/// Passes XML on to a parser that is stricter than feeds are, and takes out what could harm it.
///
/// What it changes, outside of CDATA sections and comments:
/// - HTML's named characters (`&nbsp;`) become numbers, an `&` that begins no reference becomes `&amp;`, and numbers that
///   no character has become U+FFFD;
/// - the XML declaration goes, since the text is in UTF-8 by now, and with it white space before it;
/// - the document type declaration goes, so no entity ever reaches the parser: nothing is expanded, nothing external
///   loaded. A reference to an entity that the document declares is an error.
///
/// And everywhere: control characters that XML forbids are dropped. Line ends are kept, so that the parser's line
/// numbers are those of the feed.
struct XMLRepair {
    private enum State {
        case text
        case tag(quote: UInt8?)
        case cdata
        case comment
        case instruction(isDropped: Bool)
        case documentType(quote: UInt8?, depth: Int)
    }

    private static let maximumDocumentTypeBytes = 64 << 10
    private static let maximumReferenceBytes = 40

    private var state = State.text
    private var input: [UInt8] = []
    private var position = 0
    private var output: [UInt8] = []
    private var documentType: [UInt8] = []
    private var declaredEntities: Set<String> = []
    /// Why nothing more is passed on.
    private(set) var failure: FeedError?
    private(set) var droppedCharacters = 0
    private(set) var mendedAmpersands = 0

    /// What had to be mended so far.
    var repairs: [String] {
        var sentences: [String] = []
        if mendedAmpersands > 0 { sentences.append("& stood for itself in \(mendedAmpersands) place(s)") }
        if droppedCharacters > 0 { sentences.append("\(droppedCharacters) forbidden character(s) were dropped") }
        return sentences
    }

    /// What the parser is to be given for the next bytes. What cannot be decided yet waits for the next call. After a
    /// fault, which `failure` then tells, it is what came before it.
    mutating func pass(_ bytes: [UInt8], isLast: Bool = false) -> [UInt8] {
        input = position < input.count ? Array(input[position...]) + bytes : bytes
        position = 0
        output = []
        output.reserveCapacity(input.count + input.count / 16)
        while position < input.count {
            let before = position
            do {
                try passNext(isLast: isLast)
            } catch {
                failure = error
                break
            }
            if position == before { break }
        }
        return output
    }

    private mutating func passNext(isLast: Bool) throws(FeedError) {
        switch state {
        case .text: try passText(isLast: isLast)
        case .tag(let quote): try passTag(quote, isLast: isLast)
        case .cdata: pass(until: "]]>", isLast: isLast)
        case .comment: pass(until: "-->", isLast: isLast)
        case .instruction(let isDropped): passInstruction(isDropped: isDropped)
        case .documentType(let quote, let depth): try passDocumentType(quote, depth)
        }
    }

    // MARK: Text and tags

    private mutating func passText(isLast: Bool) throws(FeedError) {
        copy { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "&") }
        guard position < input.count else { return }
        if input[position] == UInt8(ascii: "&") { return try passReference(isLast: isLast) }
        let rest = input[position...]
        for (opening, next) in Self.openings {
            if rest.starts(with: opening) { return begin(next, opening) }
            if !isLast, opening.starts(with: rest) { return }  // wait for more
        }
        begin(.tag(quote: nil), [UInt8(ascii: "<")])
    }

    private static let openings: [([UInt8], State)] = [
        (Array("<![CDATA[".utf8), .cdata), (Array("<!--".utf8), .comment),
        (Array("<?xml ".utf8), .instruction(isDropped: true)), (Array("<?".utf8), .instruction(isDropped: false)),
        (Array("<!DOCTYPE".utf8), .documentType(quote: nil, depth: 0)),
        (Array("<!doctype".utf8), .documentType(quote: nil, depth: 0)),
    ]

    private mutating func begin(_ next: State, _ opening: [UInt8]) {
        state = next
        position += opening.count
        switch next {
        case .instruction(isDropped: true), .documentType: break
        default: output += opening
        }
    }

    private mutating func passTag(_ quote: UInt8?, isLast: Bool) throws(FeedError) {
        let (greater, single, double) = (UInt8(ascii: ">"), UInt8(ascii: "'"), UInt8(ascii: "\""))
        if let quote {
            copy { $0 == quote || $0 == UInt8(ascii: "&") }
        } else {
            copy { $0 == greater || $0 == single || $0 == double || $0 == UInt8(ascii: "&") }
        }
        guard position < input.count else { return }
        let byte = input[position]
        if byte == UInt8(ascii: "&") { return try passReference(isLast: isLast) }
        output.append(byte)
        position += 1
        if byte == greater, quote == nil {
            state = .text
        } else {
            state = .tag(quote: quote == nil ? byte : nil)
        }
    }

    // MARK: References

    private mutating func passReference(isLast: Bool) throws(FeedError) {
        let rest = input[(position + 1)...].prefix(Self.maximumReferenceBytes)
        let nameEnd = rest.firstIndex { byte in
            let isNumberSign = byte == UInt8(ascii: "#")
            return !(isNumberSign || byte >= 0x80 || Self.isLetterOrDigit(byte) || "._-:".utf8.contains(byte))
        }
        guard let nameEnd else {
            if rest.endIndex == input.endIndex, !isLast { return }  // wait for more
            return mendAmpersand()
        }
        guard input[nameEnd] == UInt8(ascii: ";"), nameEnd > position + 1 else { return mendAmpersand() }
        let name = String(decoding: input[(position + 1)..<nameEnd], as: UTF8.self)
        if declaredEntities.contains(name) {
            throw FeedError(
                .entities,
                "the feed uses an XML entity of its own (“\(name)”), which is not read because it can be made to "
                    + "attack readers; tell its publisher")
        }
        if ["amp", "lt", "gt", "quot", "apos"].contains(name) {
            output += input[position...nameEnd]
        } else if let scalar = Self.numericReference(name) {
            output += "&#\(scalar.value);".utf8
        } else if let codePoint = HTMLEntities.codePoint(named: name) {
            output += "&#\(codePoint);".utf8
        } else {
            return mendAmpersand()
        }
        position = nameEnd + 1
    }

    private mutating func mendAmpersand() {
        output += "&amp;".utf8
        position += 1
        mendedAmpersands += 1
    }

    /// The character of `#233` or `#xE9`.
    private static func numericReference(_ name: String) -> Unicode.Scalar? {
        guard name.hasPrefix("#") else { return nil }
        let digits = name.dropFirst()
        let isHexadecimal = digits.first == "x" || digits.first == "X"
        let value = isHexadecimal ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
        return value.map(HTMLEntities.scalar(numbered:))
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }

    // MARK: Sections that are passed as they are, and those that are dropped

    /// Copies up to and with an ending of three bytes, the first two of which are the same.
    private mutating func pass(until ending: StaticString, isLast: Bool) {
        let ending = ending.withUTF8Buffer { Array($0) }
        copy { $0 == ending[0] }
        guard position < input.count else { return }
        let rest = input[position...].prefix(3)
        if rest.elementsEqual(ending) {
            output += ending
            position += 3
            state = .text
        } else if rest.count == 3 || isLast {
            output.append(input[position])
            position += 1
        }
    }

    private mutating func passInstruction(isDropped: Bool) {
        let greater = UInt8(ascii: ">")
        if isDropped {
            let end = input[position...].firstIndex(of: greater)
            dropKeepingLines(to: end ?? input.count)
            guard end != nil else { return }
            position += 1
        } else {
            copy { $0 == greater }
            guard position < input.count else { return }
            output.append(greater)
            position += 1
            // `>` alone does not end an instruction.
            guard output.dropLast().last == UInt8(ascii: "?") || output.count == 1 else { return }
        }
        state = .text
    }

    private mutating func passDocumentType(_ quote: UInt8?, _ depth: Int) throws(FeedError) {
        let byte = input[position]
        documentType.append(byte)
        if byte == 0x0A { output.append(byte) }
        position += 1
        guard documentType.count <= Self.maximumDocumentTypeBytes else {
            throw FeedError(
                .entities, "the feed's document type declaration is too long to be honest; tell its publisher")
        }
        if let quote {
            if byte == quote { state = .documentType(quote: nil, depth: depth) }
            return
        }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): state = .documentType(quote: byte, depth: depth)
        case UInt8(ascii: "["), UInt8(ascii: "<"): state = .documentType(quote: nil, depth: depth + 1)
        case UInt8(ascii: "]"): state = .documentType(quote: nil, depth: depth - 1)
        case UInt8(ascii: ">") where depth <= 0:
            noteDeclaredEntities()
            state = .text
        case UInt8(ascii: ">"): state = .documentType(quote: nil, depth: depth - 1)
        default: break
        }
    }

    /// Remembers the names of the entities that the document type declares, but not of HTML's, which are known.
    private mutating func noteDeclaredEntities() {
        let text = String(decoding: documentType, as: UTF8.self)
        documentType = []
        for declaration in text.components(separatedBy: "<!ENTITY").dropFirst() {
            let name = declaration.split(maxSplits: 1, whereSeparator: \.isWhitespace).first.map(String.init) ?? ""
            if name != "%", HTMLEntities.codePoint(named: name) == nil { declaredEntities.insert(name) }
        }
    }

    // MARK: Copying

    /// Copies to `output` until a byte that `stops` or the input's end, without characters that XML forbids.
    private mutating func copy(until stops: (UInt8) -> Bool) {
        var dropped = 0
        var index = position
        input.withUnsafeBufferPointer { input in
            var start = position
            while index < input.count {
                let byte = input[index]
                if stops(byte) { break }
                let isForbidden =
                    byte < 0x20
                    ? byte != 0x0A && byte != 0x0D && byte != 0x09
                    // U+FFFE and U+FFFF: their third byte is dropped, and with it, below, the first two.
                    : byte >= 0xBE && index >= 2 && input[index - 1] == 0xBF && input[index - 2] == 0xEF
                        && byte <= 0xBF
                if isForbidden {
                    output.append(contentsOf: input[start..<index])
                    if byte >= 0x20 { output.removeLast(2) }
                    dropped += 1
                    start = index + 1
                }
                index += 1
            }
            output.append(contentsOf: input[start..<index])
        }
        droppedCharacters += dropped
        position = index
    }

    private mutating func dropKeepingLines(to end: Int) {
        for byte in input[position..<end] where byte == 0x0A { output.append(byte) }
        position = end
    }
}
