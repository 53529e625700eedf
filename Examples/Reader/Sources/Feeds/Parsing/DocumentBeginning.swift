import Foundation

/// The first bytes of a document, and what it is by them.
struct DocumentBeginning {
    enum Kind: Equatable {
        case xml, json, webPage, empty
        /// Neither; with a few legible characters of it.
        case other(String)
    }

    /// How many bytes may come before a document's first element.
    private static let maximumBytes = 128 << 10

    /// What was read to find out, as UTF-8.
    private(set) var bytes: [UInt8] = []
    private(set) var kind: Kind

    init(_ text: DecodedText) throws {
        kind = .empty
        while let piece = try text.next() {
            bytes += piece
            if let kind = Self.kind(of: bytes, isAll: bytes.count >= Self.maximumBytes) {
                self.kind = kind
                return
            }
        }
        kind = Self.kind(of: bytes, isAll: true) ?? .empty
    }

    /// nil if more bytes are needed to tell.
    private static func kind(of bytes: [UInt8], isAll: Bool) -> Kind? {
        var rest = bytes[...]
        var isHTMLDeclared = false
        while true {
            rest = rest.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
            if rest.starts(with: [0xEF, 0xBB, 0xBF]) {  // a byte order mark that was there twice
                rest = rest.dropFirst(3)
                continue
            }
            guard let first = rest.first else { return isAll ? .empty : nil }
            if first == UInt8(ascii: "{") { return .json }
            guard first == UInt8(ascii: "<") else { return .other(excerpt(of: rest)) }
            guard rest.count > 9 || isAll else { return nil }
            let ending: String
            if rest.starts(with: "<!--".utf8) {
                ending = "-->"
            } else if rest.starts(with: "<?".utf8) {
                ending = "?>"
            } else if rest.starts(with: "<!".utf8) {
                let declaration = String(decoding: rest.prefix(14), as: UTF8.self).lowercased()
                if declaration.hasPrefix("<!doctype html") { return .webPage }
                isHTMLDeclared = declaration.hasPrefix("<!doctype")
                ending = rest.prefix(400).contains(UInt8(ascii: "[")) ? "]>" : ">"
            } else {
                return kind(ofElement: rest, isAll: isAll)
            }
            guard let end = rest.firstRange(of: Array(ending.utf8)) else {
                // A declaration without an end: the parser says so.
                return isAll ? (isHTMLDeclared ? .xml : .other(excerpt(of: rest))) : nil
            }
            rest = rest[end.upperBound...]
        }
    }

    private static func kind(ofElement bytes: ArraySlice<UInt8>, isAll: Bool) -> Kind? {
        let name = bytes.dropFirst().prefix { $0 > 0x20 && $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "/") }
        if name.endIndex == bytes.endIndex, !isAll { return nil }
        let local = String(decoding: name, as: UTF8.self).lowercased()
        return webPageElements.contains(local) ? .webPage : .xml
    }

    private static let webPageElements: Set<String> = [
        "html", "head", "body", "title", "meta", "script", "style", "link", "div", "p", "h1", "table", "center", "font",
        "a", "br", "span", "main",
    ]

    private static func excerpt(of bytes: ArraySlice<UInt8>) -> String {
        let text = String(decoding: bytes.prefix(80), as: UTF8.self).unicodeScalars.map { scalar in
            let isLegible = scalar.value >= 0x20 && scalar != "\u{FFFD}" && !(0x7F...0x9F).contains(scalar.value)
            return isLegible ? Character(scalar) : " "
        }
        return String(text.prefix(30)).collapsed
    }
}
