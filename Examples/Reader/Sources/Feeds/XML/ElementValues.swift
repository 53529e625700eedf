import Foundation

/// What the elements of RSS, Atom and their modules mean, for each kind of value.
extension FeedElement {
    /// The text as a line without markup; nil if there is none.
    var lineOfText: String? {
        let text =
            switch textType {
            case .plain: self.text.collapsed
            case .html: HTMLText.singleLine(self.text)
            case .guess: HTMLText.looksLikeHTML(self.text) ? HTMLText.singleLine(self.text) : self.text.collapsed
            case .markup: self.text.collapsed
            case .other: ""
            }
        return text.isEmpty ? nil : text
    }

    /// The text as HTML; nil if there is none, or if the element contains something else.
    var html: String? {
        switch textType {
        case .plain: text.trimmedOrNil.map(HTMLText.html(fromPlainText:))
        case .html, .guess:
            // Elements here are markup that was not escaped.
            children.contains(where: \.isElement) ? Markup.inner(of: self).trimmedOrNil : text.trimmedOrNil
        case .markup: Markup.inner(of: self).trimmedOrNil
        case .other: nil
        }
    }

    private enum TextType {
        case plain, html, markup, other
        /// RSS does not say whether a title is HTML.
        case guess
    }

    private var textType: TextType {
        let vocabulary = Vocabulary(namespace)
        guard vocabulary == .atom || vocabulary == .media else {
            return vocabulary == .xhtml ? .markup : .guess
        }
        if attribute("src") != nil { return .other }
        switch attribute("mode") {  // Atom 0.3
        case "escaped": return .html
        case "xml": return .markup
        default: break
        }
        switch (attribute("type") ?? "text").trimmed.lowercased() {
        case "text", "text/plain", "plain", "": return .plain
        case "html", "text/html": return .html
        case "xhtml", "application/xhtml+xml": return .markup
        default: return .other
        }
    }

    var date: Date? { FeedDate.parse(text) }

    /// An Atom person; nil if nothing is said of them.
    var person: ParsedAuthor? {
        let author = ParsedAuthor(
            name: first("name")?.text.collapsed.trimmedOrNil, email: first("email")?.text.trimmedOrNil,
            url: (first("uri") ?? first("url"))?.text.trimmedOrNil)
        return author == ParsedAuthor() ? ParsedAuthor(line: text) : author
    }
}

extension ParsedAuthor {
    /// Reads `ann@example.org (Ann)`, `Ann <ann@example.org>`, a name or an address; nil if nothing is there.
    init?(line: String) {
        let line = (HTMLText.looksLikeHTML(line) && !line.contains("@") ? HTMLText.singleLine(line) : line).collapsed
        guard !line.isEmpty else { return nil }
        for (opening, closing, nameIsInside) in [("(", ")", true), ("<", ">", false)] {
            guard line.hasSuffix(closing), let start = line.range(of: opening) else { continue }
            let inside = line[start.upperBound...].dropLast().trimmedOrNil
            let outside = line[..<start.lowerBound].trimmedOrNil
            let (name, email) = nameIsInside ? (inside, outside) : (outside, inside)
            guard let email, email.contains("@"), !email.contains(" ") else { continue }
            self.init(name: name, email: email)
            return
        }
        let isAddress = line.contains("@") && !line.contains(" ")
        self.init(name: isAddress ? nil : line, email: isAddress ? line : nil)
    }
}

/// Makes addresses absolute.
struct BaseAddress {
    private(set) var url: URL?

    init(_ url: URL?) {
        // A feed from a file has its addresses relative to its site, which is not known here.
        self.url = url?.scheme == "http" || url?.scheme == "https" ? url : nil
    }

    /// The base within an element, which may have an `xml:base` of its own.
    func within(_ element: FeedElement) -> BaseAddress {
        let own = element.attributes.first { $0.name == "base" && $0.namespace == Vocabulary.xmlNamespace }
        guard let own else { return self }
        return BaseAddress(URL(string: own.value.trimmed, relativeTo: url)?.absoluteURL ?? url)
    }

    /// The absolute address; the one that was given if it is absolute already or cannot be made so; nil if it is empty.
    func resolve(_ address: String?) -> String? {
        guard var address = address?.trimmedOrNil else { return nil }
        if address.contains(where: \.isNewline) { address = address.filter { !$0.isNewline && $0 != "\t" } }
        if Self.hasScheme(address) { return address }
        guard let url, let absolute = URL(string: address, relativeTo: url) else { return address }
        return absolute.absoluteString
    }

    private static func hasScheme(_ address: String) -> Bool {
        for (index, byte) in address.utf8.enumerated() {
            if byte == UInt8(ascii: ":") { return index > 1 }
            let isLetter = (0x41...0x5A).contains(byte & 0xDF)
            guard isLetter || index > 0 && ((0x30...0x39).contains(byte) || "+-.".utf8.contains(byte)) else {
                return false
            }
        }
        return false
    }
}
