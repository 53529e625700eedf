import Foundation

/// A web page that was found where a feed should be, and the feeds that it offers.
enum WebPage {
    /// How much of a page is searched for `<link rel="alternate">`.
    private static let maximumBytes = 512 << 10

    /// The error for the page, with the feeds it offers.
    static func error(for beginning: DocumentBeginning, _ text: DecodedText, documentURL: URL?) throws -> FeedError {
        var page = beginning.bytes
        while page.count < maximumBytes, let piece = try text.next() { page += piece }
        let links = feeds(in: page, documentURL: documentURL)
        guard !links.isEmpty else {
            return FeedError(.webPage, "this is a web page, not a feed, and it names no feed; look on it for a link")
        }
        let names = links.prefix(5).map { link in link.title.map { "\(link.url) (\($0))" } ?? link.url }
        return FeedError(
            .webPage, "this is a web page, not a feed; it offers \(names.joined(separator: ", "))", alternates: links)
    }

    private static func feeds(in page: [UInt8], documentURL: URL?) -> [FeedLink] {
        var base = BaseAddress(documentURL)
        var links: [FeedLink] = []
        var tokens = HTMLTokens(page)
        while let token = tokens.next() {
            guard case .tag(let name, false, let attributes) = token else { continue }
            if name == "body", !links.isEmpty { break }
            if name == "base", let address = base.resolve(attributes["href"]) {
                base = BaseAddress(URL(string: address))
            }
            guard name == "link", let address = base.resolve(attributes["href"]) else { continue }
            let relations = (attributes["rel"] ?? "").lowercased().split(whereSeparator: \.isWhitespace)
            let type = (attributes["type"] ?? "").lowercased().prefix { $0 != ";" }.trimmed
            guard relations.contains("alternate"), feedTypes.contains(type) else { continue }
            let link = FeedLink(url: address, title: attributes["title"]?.collapsed.trimmedOrNil)
            if !links.contains(where: { $0.url == link.url }) { links.append(link) }
        }
        return links
    }

    private static let feedTypes: Set<String> = [
        "application/rss+xml", "application/atom+xml", "application/feed+json", "application/json",
        "application/rdf+xml", "text/xml", "application/xml",
    ]
}
