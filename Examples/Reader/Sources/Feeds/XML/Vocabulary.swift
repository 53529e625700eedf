/// The vocabularies that this reader knows, each under all the addresses that feeds use for it.
enum Vocabulary: Sendable {
    case rss, atom, rdf, dublinCore, dublinCoreTerms, content, media, itunes, chart, xhtml, syndication, xml
    /// JSON Feed's members, as `JSONValue.element(named:)` makes them.
    case json
    case unknown

    /// The vocabulary of a namespace; that of elements without one is RSS.
    init(_ namespace: String?) {
        guard let namespace else {
            self = .rss
            return
        }
        self = Self.exact[namespace] ?? Self.exact[Self.normalized(namespace)] ?? .unknown
    }

    static let jsonFeedNamespace = "https://jsonfeed.org/version/1.1"
    static let xmlNamespace = "http://www.w3.org/XML/1998/namespace"
    static let chartNamespace = "http://itunes.apple.com/rss"

    /// Without scheme, letter case and the sign at the end, in which feeds differ.
    private static func normalized(_ namespace: String) -> String {
        var text = namespace.trimmed.lowercased()[...]
        for scheme in ["https://", "http://"] where text.hasPrefix(scheme) { text = text.dropFirst(scheme.count) }
        while let last = text.last, last == "/" || last == "#" { text.removeLast() }
        return String(text)
    }

    private static let exact: [String: Vocabulary] = {
        let addresses: [(Vocabulary, [String])] = [
            (
                .rss,
                [
                    "http://purl.org/rss/1.0/", "http://my.netscape.com/rdf/simple/0.9/",
                    "http://channel.netscape.com/rdf/simple/0.9/", "http://backend.userland.com/rss2",
                    "http://blogs.law.harvard.edu/tech/rss", "http://backend.userland.com/rss", "",
                ]
            ),
            (.atom, ["http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#"]),
            (.rdf, ["http://www.w3.org/1999/02/22-rdf-syntax-ns#"]),
            (.dublinCore, ["http://purl.org/dc/elements/1.1/", "http://purl.org/dc/elements/1.0/"]),
            (.dublinCoreTerms, ["http://purl.org/dc/terms/"]),
            (.content, ["http://purl.org/rss/1.0/modules/content/"]),
            (.media, ["http://search.yahoo.com/mrss/", "http://search.yahoo.com/rss/"]),
            (.itunes, ["http://www.itunes.com/dtds/podcast-1.0.dtd"]),
            (.chart, [chartNamespace]),
            (.xhtml, ["http://www.w3.org/1999/xhtml"]),
            (.syndication, ["http://purl.org/rss/1.0/modules/syndication/"]),
            (.xml, [xmlNamespace]),
            (.json, [jsonFeedNamespace, "https://jsonfeed.org/version/1"]),
        ]
        var result: [String: Vocabulary] = [:]
        for (vocabulary, list) in addresses {
            for address in list {
                result[address] = vocabulary
                result[normalized(address)] = vocabulary
            }
        }
        return result
    }()

    /// What a prefix means that a feed uses and does not declare.
    static let usualPrefixes: [String: String] = [
        "xml": xmlNamespace,
        "atom": "http://www.w3.org/2005/Atom",
        "content": "http://purl.org/rss/1.0/modules/content/",
        "dc": "http://purl.org/dc/elements/1.1/",
        "im": chartNamespace,
        "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
        "media": "http://search.yahoo.com/mrss/",
        "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "sy": "http://purl.org/rss/1.0/modules/syndication/",
    ]
}
