import Feeds
import Foundation

#if canImport(FoundationXML)
import FoundationXML
#endif

/// A list of subscriptions in OPML, the format in which feed readers exchange them.
public struct OPMLDocument: Sendable, Hashable {
    public struct Entry: Sendable, Hashable {
        public var url: String
        public var title: String?
        public var site: String?
        /// The outlines around it, joined by " / ".
        public var folder: String?

        public init(url: String, title: String? = nil, site: String? = nil, folder: String? = nil) {
            self.url = url
            self.title = title
            self.site = site
            self.folder = folder
        }
    }

    static let maximumBytes = 16 << 20
    private static let folderSeparator = " / "

    public var title: String?
    public var entries: [Entry]

    public init(title: String? = nil, entries: [Entry]) {
        self.title = title
        self.entries = entries
    }

    // MARK: Reading

    /// - Parameter name: what to call it in errors.
    /// - Throws: `badData`.
    public init(_ data: Data, name: String) throws {
        guard data.count <= Self.maximumBytes else {
            throw ReaderError(
                .badData, "\(name) is larger than \(Self.maximumBytes >> 20) MiB, which no list of feeds is")
        }
        let parser = XMLParser(data: data)
        let reader = OutlineReader()
        parser.delegate = reader
        guard parser.parse(), reader.isWhole else {
            let place = parser.parserError == nil ? "" : " (line \(parser.lineNumber))"
            throw ReaderError(
                .badData,
                "\(name) is not a list of feeds in OPML\(place); export one from your other reader, or give the "
                    + "address of a feed")
        }
        title = reader.title.isEmpty ? nil : reader.title
        entries = reader.entries
    }

    /// Whether a file looks like OPML rather than a feed.
    public static func isLikely(_ data: Data) -> Bool {
        String(decoding: data.prefix(2000), as: UTF8.self).range(of: "<opml", options: .caseInsensitive) != nil
    }

    // MARK: Writing

    /// OPML 2.0; reading it gives the same entries.
    public var xml: String {
        var lines = ["<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "<opml version=\"2.0\">"]
        lines.append("  <head><title>\(Self.escaped(title ?? "Subscriptions"))</title></head>")
        lines.append("  <body>")
        var folders: [String?] = []
        for entry in entries where !folders.contains(entry.folder) { folders.append(entry.folder) }
        for folder in folders {
            let names = folder?.components(separatedBy: Self.folderSeparator) ?? []
            for (depth, name) in names.enumerated() {
                lines.append(Self.indent(depth) + "<outline text=\"\(Self.escaped(name))\">")
            }
            for entry in entries where entry.folder == folder {
                lines.append(Self.indent(names.count) + Self.outline(entry))
            }
            for depth in names.indices.reversed() { lines.append(Self.indent(depth) + "</outline>") }
        }
        return (lines + ["  </body>", "</opml>", ""]).joined(separator: "\n")
    }

    private static func indent(_ depth: Int) -> String { String(repeating: "  ", count: depth + 2) }

    private static func outline(_ entry: Entry) -> String {
        var text = "<outline type=\"rss\" text=\"\(escaped(entry.title ?? entry.url))\""
        if let title = entry.title { text += " title=\"\(escaped(title))\"" }
        text += " xmlUrl=\"\(escaped(entry.url))\""
        if let site = entry.site { text += " htmlUrl=\"\(escaped(site))\"" }
        return text + "/>"
    }

    /// Characters that XML cannot hold at all are left out.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\n", "\r", "\t": escaped += "&#\(scalar.value);"
            case "\u{0}"..<" ", "\u{FFFE}", "\u{FFFF}": break
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// Collects outlines with an `xmlUrl`; those around them are folders.
    private final class OutlineReader: NSObject, XMLParserDelegate {
        /// Whether the end of the outermost `opml` was seen: not every parser takes a document that is cut off for a fault.
        var isWhole = false
        private var isOPML = false
        var title = ""
        var entries: [Entry] = []
        private var isInTitle = false
        /// A name for each outline that is open; nil for a feed.
        private var path: [String?] = []

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) {
            switch name.lowercased() {
            case "opml": isOPML = true
            case "title" where path.isEmpty: isInTitle = true
            case "outline": begin(Dictionary(attributes.map { ($0.lowercased(), $1) }) { first, _ in first })
            default: break
            }
        }

        private func begin(_ attributes: [String: String]) {
            func value(_ name: String) -> String? {
                let text = attributes[name]?.trimmingCharacters(in: .whitespacesAndNewlines)
                return text?.isEmpty ?? true ? nil : text
            }
            guard let url = value("xmlurl") else { return path.append(value("text") ?? value("title") ?? "") }
            let names = path.compactMap(\.self).filter { !$0.isEmpty }
            let folder = names.isEmpty ? nil : names.joined(separator: folderSeparator)
            // A title that is the address is none: it is how `xml` writes a feed without one.
            let title = value("title") ?? value("text")
            entries.append(Entry(url: url, title: title == url ? nil : title, site: value("htmlurl"), folder: folder))
            path.append(nil)
        }

        func parser(_ parser: XMLParser, foundCharacters string: String) {
            if isInTitle { title += string }
        }

        func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
            switch name.lowercased() {
            case "title": isInTitle = false
            case "opml": isWhole = isOPML
            case "outline": path.removeLast()
            default: break
            }
        }
    }
}
