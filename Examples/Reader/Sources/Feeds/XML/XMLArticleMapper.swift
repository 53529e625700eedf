import Foundation

/// Makes an article of an RSS item, an RDF item or an Atom entry. One value for each article.
struct XMLArticleMapper {
    private let kind: FeedFormat.Kind
    private let item: FeedElement
    private let base: BaseAddress
    private var fields = FieldCollector()
    private var guid = FieldCollector.Field<String>()
    private var title = FieldCollector.Field<String>()
    private var link = FieldCollector.Field<String>()
    private var published = FieldCollector.Field<Date>()
    private var updated = FieldCollector.Field<Date>()
    private var summary = FieldCollector.Field<String>()
    private var content = FieldCollector.Field<String>()
    private var image = FieldCollector.Field<String>()
    private var authors: [ParsedAuthor] = []
    private var artists: [ParsedAuthor] = []
    private var categories: [ParsedCategory] = []
    private var enclosures: [ParsedEnclosure] = []
    private var chartImageHeight = -1
    private var duration: Double?

    /// What the item says of itself as it stands there, for a GUID that does not depend on how this reader sees it.
    private var rawLink: String?
    private var rawTitle: String?
    private var rawDate: String?
    private var rawContent: String?

    private init(_ item: FeedElement, kind: FeedFormat.Kind, base: BaseAddress) {
        self.item = item
        self.kind = kind
        self.base = base.within(item)
    }

    /// - Parameter base: what the item's addresses are relative to, if it has no base of its own.
    static func article(from item: FeedElement, kind: FeedFormat.Kind, base: BaseAddress) -> ParsedArticle {
        var mapper = XMLArticleMapper(item, kind: kind, base: base)
        for child in item.children {
            if case .element(let element) = child { mapper.take(element) }
        }
        return mapper.article()
    }

    private mutating func article() -> ParsedArticle {
        takeItemItself()
        let identity = ArticleIdentity.choose(
            declared: guid.value, link: rawLink, title: rawTitle, date: rawDate, content: rawContent)
        if enclosures.count == 1, enclosures[0].durationSeconds == nil { enclosures[0].durationSeconds = duration }
        return ParsedArticle(
            guid: identity.guid, guidSource: identity.source, title: title.value, link: link.value,
            authors: authors.isEmpty ? artists : authors, categories: categories, published: published.value,
            updated: updated.value, summary: summary.value, content: content.value, enclosures: enclosures,
            image: image.value, baseURL: base.url?.absoluteString, extensions: fields.extensions)
    }

    /// The item's own attributes and text that stands between its elements.
    private mutating func takeItemItself() {
        var rest = item
        rest.children.removeAll { $0.isElement || $0.isWhiteSpace }
        if let about = rest.attributes.first(where: { $0.name == "about" && Vocabulary($0.namespace) == .rdf }) {
            guid.fill(about.value.trimmedOrNil, rank: 2)
            rest.attributes.removeAll { $0 == about }
        }
        fields.keepRest(of: rest, taking: [], takesContent: false)
    }

    // MARK: Elements

    private mutating func take(_ element: FeedElement) {
        switch Vocabulary(element.namespace) {
        case .rss: takeRSS(element)
        case .atom: takeAtom(element)
        case .dublinCore, .dublinCoreTerms: takeDublinCore(element)
        case .media: takeMedia(element)
        case .itunes: takeITunes(element)
        case .chart: takeChart(element)
        case .content where element.name == "encoded":
            takeContent(element, rank: 0)
        case .xhtml where element.name == "body" || element.name == "div":
            takeContent(element, rank: 2)
        default: fields.keep(element)
        }
    }

    private mutating func takeRSS(_ element: FeedElement) {
        switch element.name {
        case "title": takeTitle(element, rank: 0)
        case "link":
            let address = element.text.trimmedOrNil ?? element.attribute("href")
            if rawLink == nil { rawLink = address?.trimmedOrNil }
            fields.offer(
                base.within(element).resolve(address), from: element, to: &link,
                taking: element.text.trimmedOrNil == nil ? ["href"] : [])
        case "guid":
            let value = element.text.trimmedOrNil
            if let value, element.attribute("isPermaLink")?.lowercased() != "false", Self.isWebAddress(value) {
                link.fill(value, rank: 5)
            }
            fields.offer(value, from: element, to: &guid, taking: ["isPermaLink"])
        case "description": takeSummary(element, rank: 0)
        case "pubDate": takePublished(element, rank: 0)
        case "author": takeAuthor(ParsedAuthor(line: element.text), element)
        case "category": takeCategory(element, term: element.text.collapsed, taking: ["domain"])
        case "enclosure": takeEnclosure(element, address: "url", byteCount: "length")
        default: fields.keep(element)
        }
    }

    private mutating func takeAtom(_ element: FeedElement) {
        switch element.name {
        case "id": fields.offer(element.text.trimmedOrNil, from: element, to: &guid)
        case "title": takeTitle(element, rank: kind == .atom ? 0 : 1)
        case "summary": takeSummary(element, rank: kind == .atom ? 0 : 1)
        case "content": takeContent(element, rank: 0)
        case "published", "issued": takePublished(element, rank: 1)
        case "created": takePublished(element, rank: 2)
        case "updated", "modified": fields.offer(element.date, from: element, to: &updated)
        case "author": takeAuthor(element.person, element, named: ["name", "email", "uri", "url"])
        case "category":
            takeCategory(element, term: element.attribute("term") ?? "", taking: ["term", "label", "scheme"])
        case "link": takeAtomLink(element)
        default: fields.keep(element)
        }
        if element.name == "updated", rawDate == nil { rawDate = element.text }
    }

    private mutating func takeAtomLink(_ element: FeedElement) {
        let address = base.within(element).resolve(element.attribute("href"))
        let type = element.attribute("type")?.lowercased() ?? "text/html"
        switch (element.attribute("rel") ?? "alternate").trimmed.lowercased() {
        case "alternate":
            let isPage = type.contains("html")
            if rawLink == nil { rawLink = element.attribute("href") }
            fields.offer(
                address, rank: kind == .atom ? (isPage ? 0 : 2) : 3, from: element, to: &link,
                taking: ["href", "rel", "type"])
        case "enclosure": takeEnclosure(element, address: "href", byteCount: "length", also: ["rel", "title"])
        default: fields.keep(element)
        }
    }

    private mutating func takeDublinCore(_ element: FeedElement) {
        switch element.name {
        case "title": takeTitle(element, rank: 3)
        case "creator": takeAuthor(ParsedAuthor(line: element.text), element)
        case "date", "issued": takePublished(element, rank: 3)
        case "created": takePublished(element, rank: 4)
        case "modified": fields.offer(element.date, rank: 1, from: element, to: &updated)
        case "subject": takeCategory(element, term: element.text.collapsed, taking: [])
        case "description", "abstract": takeSummary(element, rank: 3)
        case "identifier": fields.offer(element.text.trimmedOrNil, rank: 3, from: element, to: &guid)
        default: fields.keep(element)
        }
    }

    private mutating func takeMedia(_ element: FeedElement) {
        switch element.name {
        case "title": takeTitle(element, rank: 4)
        case "description": takeSummary(element, rank: 4)
        case "thumbnail":
            fields.offer(
                base.within(element).resolve(element.attribute("url")), rank: 2, from: element, to: &image,
                taking: ["url"])
        case "content" where enclosures.count < ParsedArticle.maximumListCount:
            addMediaContent(element)
            fields.keepRest(of: element, taking: ["url", "type", "fileSize", "duration"], takesContent: false)
        case "group":
            for case .element(let inner) in element.children {
                switch inner.name {
                case "content": addMediaContent(inner)
                case "thumbnail":
                    image.fill(base.within(inner).resolve(inner.attribute("url")), rank: 3)
                case "title": title.fill(inner.lineOfText, rank: 5)
                case "description": summary.fill(inner.html, rank: 5)
                default: break
                }
            }
            fields.keep(element)
        default: fields.keep(element)
        }
    }

    private mutating func takeITunes(_ element: FeedElement) {
        switch element.name {
        case "title": takeTitle(element, rank: 5)
        case "author": takeAuthor(ParsedAuthor(line: element.text), element)
        case "summary": takeSummary(element, rank: 6)
        case "image":
            fields.offer(
                base.within(element).resolve(element.attribute("href")), rank: 1, from: element, to: &image,
                taking: ["href"])
        case "duration":
            duration = Self.seconds(element.text)
            fields.keep(element)
        default: fields.keep(element)
        }
    }

    /// The chart's elements are all kept, for `ChartDetails`; some also fill fields that nothing else fills.
    private mutating func takeChart(_ element: FeedElement) {
        switch element.name {
        case "name": title.fill(element.lineOfText, rank: 6)
        case "releaseDate": published.fill(element.date, rank: 6)
        case "artist":
            if let name = element.text.collapsed.trimmedOrNil, artists.count < ParsedArticle.maximumListCount {
                artists.append(ParsedAuthor(name: name, url: element.attribute("href")))
            }
        case "image":
            let height = element.attribute("height").flatMap { Int($0) } ?? 0
            if height > chartImageHeight, let address = base.within(element).resolve(element.text) {
                chartImageHeight = height
                image.fill(address, rank: 100_000 - min(height, 50_000))
            }
        default: break
        }
        fields.keep(element)
    }

    // MARK: Fields

    private mutating func takeTitle(_ element: FeedElement, rank: Int) {
        if rawTitle == nil { rawTitle = element.text }
        fields.offer(element.lineOfText, rank: rank, from: element, to: &title, taking: ["type", "mode"])
    }

    private mutating func takeSummary(_ element: FeedElement, rank: Int) {
        if rawContent == nil { rawContent = element.text }
        fields.offer(element.html, rank: rank, from: element, to: &summary, taking: ["type", "mode"])
    }

    private mutating func takeContent(_ element: FeedElement, rank: Int) {
        if rawContent == nil { rawContent = element.text }
        fields.offer(element.html, rank: rank, from: element, to: &content, taking: ["type", "mode"])
    }

    private mutating func takePublished(_ element: FeedElement, rank: Int) {
        if rawDate == nil { rawDate = element.text }
        fields.offer(element.date, rank: rank, from: element, to: &published)
    }

    private mutating func takeAuthor(_ author: ParsedAuthor?, _ element: FeedElement, named names: [String] = []) {
        guard let author else { return fields.keepRest(of: element, taking: []) }
        guard authors.count < ParsedArticle.maximumListCount else { return fields.keep(element) }
        if !authors.contains(where: { $0 == author || author == ParsedAuthor(name: $0.name) }) {
            authors.append(author)
        }
        var rest = element
        rest.children.removeAll { child in
            if case .element(let inner) = child { names.contains(inner.name) && inner.attributes.isEmpty } else { true }
        }
        fields.keepRest(of: rest, taking: [], takesContent: false)
    }

    private mutating func takeCategory(_ element: FeedElement, term: String, taking attributes: [String]) {
        guard let term = term.trimmedOrNil ?? element.text.collapsed.trimmedOrNil else {
            return fields.keepRest(of: element, taking: [])
        }
        guard categories.count < ParsedArticle.maximumListCount else { return fields.keep(element) }
        let label = attributes.contains("label") ? element.attribute("label") : nil
        let scheme = attributes.last.flatMap { $0 == "label" ? nil : element.attribute($0) }
        let category = ParsedCategory(term: term, label: label, scheme: scheme)
        if !categories.contains(category) { categories.append(category) }
        fields.keepRest(of: element, taking: attributes)
    }

    private mutating func takeEnclosure(
        _ element: FeedElement, address: String, byteCount: String, also others: [String] = []
    ) {
        guard let url = base.within(element).resolve(element.attribute(address)) else { return fields.keep(element) }
        guard enclosures.count < ParsedArticle.maximumListCount else { return fields.keep(element) }
        // A size that is no number is kept with the rest.
        let size = element.attribute(byteCount).flatMap { Int($0.trimmed) }
        let taken = size == nil ? [address, "type"] : [address, "type", byteCount]
        add(
            ParsedEnclosure(
                url: url, type: element.attribute("type"), byteCount: size,
                title: others.contains("title") ? element.attribute("title") : nil))
        fields.keepRest(of: element, taking: taken + others)
    }

    private mutating func addMediaContent(_ element: FeedElement) {
        guard let url = base.within(element).resolve(element.attribute("url")) else { return }
        add(
            ParsedEnclosure(
                url: url, type: element.attribute("type"),
                byteCount: element.attribute("fileSize").flatMap { Int($0) },
                title: element.first("title")?.lineOfText,
                durationSeconds: element.attribute("duration").flatMap(Self.seconds)))
    }

    private mutating func add(_ enclosure: ParsedEnclosure) {
        guard enclosures.count < ParsedArticle.maximumListCount else { return }
        if !enclosures.contains(where: { $0.url == enclosure.url }) { enclosures.append(enclosure) }
    }

    /// `3723`, `62:03` or `1:02:03`.
    private static func seconds(_ text: String) -> Double? {
        var total = 0.0
        for part in text.trimmed.split(separator: ":", omittingEmptySubsequences: false) {
            guard let number = Double(part), number >= 0, number < 1e9 else { return nil }
            total = total * 60 + number
        }
        return total
    }

    private static func isWebAddress(_ text: String) -> Bool {
        let start = text.prefix(8).lowercased()
        return (start.hasPrefix("http://") || start.hasPrefix("https://")) && !text.contains(where: \.isWhitespace)
    }
}
