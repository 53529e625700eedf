import Foundation

/// Makes a feed's own fields and its articles of a document's parts, and hands them on.
final class XMLFeedMapper: XMLDocumentReader.Receiver {
    private let deliver: (FeedEvent) throws -> Void
    private var base: BaseAddress
    private var kind = FeedFormat.Kind.rss
    private var feed = ParsedFeed(format: FeedFormat(.rss))
    private var fields = FieldCollector()
    private var title = FieldCollector.Field<String>()
    private var link = FieldCollector.Field<String>()
    private var summary = FieldCollector.Field<String>()
    private var updated = FieldCollector.Field<Date>()
    private var image = FieldCollector.Field<String>()
    private var language = FieldCollector.Field<String>()
    private var copyright = FieldCollector.Field<String>()
    private var generator = FieldCollector.Field<String>()
    private var period = 60
    private var periodIsSaid = false
    private var frequency = 1
    private var isFeedDelivered = false

    init(documentURL: URL?, deliver: @escaping (FeedEvent) throws -> Void) {
        base = BaseAddress(documentURL)
        self.deliver = deliver
    }

    /// The feed's own fields as far as they are known.
    var currentFeed: ParsedFeed {
        var feed = feed
        feed.title = title.value
        feed.link = link.value
        feed.summary = summary.value
        feed.updated = updated.value
        feed.image = image.value
        feed.language = language.value
        feed.copyright = copyright.value
        feed.generator = generator.value
        if feed.minutesToLive == nil, periodIsSaid { feed.minutesToLive = max(1, period / max(1, frequency)) }
        feed.extensions = fields.extensions
        return feed
    }

    /// Delivers the feed's fields, unless that was done.
    func deliverFeed() throws {
        if isFeedDelivered { return }
        isFeedDelivered = true
        try deliver(.feed(currentFeed))
    }

    // MARK: Parts

    func begin(root: FeedElement) throws -> FeedFormat.Kind {
        switch (Vocabulary(root.namespace), root.name) {
        case (_, "rss"): feed.format = FeedFormat(.rss, version: root.attribute("version")?.trimmedOrNil)
        case (.atom, "feed"), (.rss, "feed"):
            let isOld = root.namespace?.contains("purl.org") == true
            feed.format = FeedFormat(.atom, version: isOld ? root.attribute("version") ?? "0.3" : "1.0")
        case (.rdf, "RDF"), (.rss, "RDF"): feed.format = FeedFormat(.rdf)
        default:
            throw FeedError(
                .notAFeed, "this is XML, but not a feed: it begins with <\(root.name.prefix(60))>; check the address")
        }
        kind = feed.format.kind
        takeAttributes(of: root, taking: ["version"])
        return kind
    }

    func begin(channel: FeedElement) throws { takeAttributes(of: channel, taking: []) }

    func receive(articleElement: FeedElement) throws {
        try deliverFeed()
        try deliver(.article(XMLArticleMapper.article(from: articleElement, kind: kind, base: articleBase)))
    }

    func receive(feedElement: FeedElement) throws {
        if kind == .rdf, feedElement.name == "channel" {
            if let version = feedElement.namespace { feed.format.version = version.contains("1.0") ? "1.0" : "0.90" }
            takeAttributes(of: feedElement, taking: [])
            for element in feedElement.elements { take(element) }
        } else {
            take(feedElement)
        }
    }

    /// Without an address of its own a feed's articles are relative to its site.
    private var articleBase: BaseAddress {
        base.url == nil ? BaseAddress(link.value.flatMap { URL(string: $0) }) : base
    }

    private func takeAttributes(of element: FeedElement, taking attributes: [String]) {
        base = base.within(element)
        var rest = element
        rest.children = []
        if let own = rest.attributes.first(where: { $0.name == "lang" && $0.namespace == Vocabulary.xmlNamespace }) {
            language.fill(own.value.trimmedOrNil, rank: 2)
            rest.attributes.removeAll { $0 == own }
        }
        rest.attributes.removeAll { $0.name == "about" && Vocabulary($0.namespace) == .rdf }
        fields.keepRest(of: rest, taking: attributes)
    }

    // MARK: Elements

    private func take(_ element: FeedElement) {
        switch (Vocabulary(element.namespace), element.name) {
        case (.rss, "title"): offerLine(element, to: &title)
        case (.atom, "title"): offerLine(element, rank: 1, to: &title)
        case (.dublinCore, "title"): offerLine(element, rank: 2, to: &title)
        case (.rss, "link"): takeLink(element)
        case (.atom, "link"): takeAtomLink(element)
        case (.rss, "description"), (.atom, "subtitle"), (.atom, "tagline"): offerHTML(element, to: &summary)
        case (.dublinCore, "description"): offerHTML(element, rank: 1, to: &summary)
        case (.itunes, "summary"): offerHTML(element, rank: 2, to: &summary)
        case (.rss, "language"): offerLine(element, to: &language)
        case (.dublinCore, "language"): offerLine(element, rank: 1, to: &language)
        case (.rss, "copyright"), (.atom, "rights"), (.atom, "copyright"): offerLine(element, to: &copyright)
        case (.dublinCore, "rights"): offerLine(element, rank: 1, to: &copyright)
        case (.rss, "generator"), (.atom, "generator"): offerLine(element, to: &generator)
        case (.atom, "updated"), (.atom, "modified"): fields.offer(element.date, from: element, to: &updated)
        case (.rss, "lastBuildDate"): fields.offer(element.date, rank: 1, from: element, to: &updated)
        case (.rss, "pubDate"): fields.offer(element.date, rank: 2, from: element, to: &updated)
        case (.dublinCore, "date"): fields.offer(element.date, rank: 3, from: element, to: &updated)
        case (.rss, "image"): takeImage(element)
        case (.atom, "logo"), (.atom, "icon"):
            offerAddress(element, element.text, rank: element.name == "logo" ? 0 : 2, taking: [])
        case (.itunes, "image"): offerAddress(element, element.attribute("href"), rank: 1, taking: ["href"])
        case (.atom, "author"): takeAuthor(element.person, element)
        case (.rss, "managingEditor"), (.dublinCore, "creator"), (.itunes, "author"):
            takeAuthor(ParsedAuthor(line: element.text), element)
        case (.rss, "category"), (.atom, "category"), (.dublinCore, "subject"): takeCategory(element)
        case (.rss, "ttl"), (.syndication, "updatePeriod"), (.syndication, "updateFrequency"): takePeriod(element)
        default: fields.keep(element)
        }
    }

    private func takeLink(_ element: FeedElement) {
        let address = element.text.trimmedOrNil ?? element.attribute("href")
        fields.offer(
            base.within(element).resolve(address), from: element, to: &link,
            taking: element.text.trimmedOrNil == nil ? ["href"] : [])
    }

    private func takeAtomLink(_ element: FeedElement) {
        let address = base.within(element).resolve(element.attribute("href"))
        switch (element.attribute("rel") ?? "alternate").trimmed.lowercased() {
        case "alternate":
            fields.offer(
                address, rank: kind == .atom ? 0 : 1, from: element, to: &link, taking: ["href", "rel", "type"])
        case "self" where feed.selfURL == nil: take(address, element, into: \.selfURL)
        case "next" where feed.nextURL == nil: take(address, element, into: \.nextURL)
        default: fields.keep(element)
        }
    }

    private func take(_ address: String?, _ element: FeedElement, into path: WritableKeyPath<ParsedFeed, String?>) {
        feed[keyPath: path] = address
        fields.keepRest(of: element, taking: ["href", "rel", "type"])
    }

    /// RSS's image has a title, a link and a size besides its address.
    private func takeImage(_ element: FeedElement) {
        guard let address = element.first("url")?.text ?? element.attribute("href") else { return fields.keep(element) }
        image.fill(base.within(element).resolve(address), rank: 0)
        if element.elements.contains(where: { !["url", "title", "link"].contains($0.name) }) { fields.keep(element) }
    }

    private func takeAuthor(_ author: ParsedAuthor?, _ element: FeedElement) {
        guard feed.authors.count < ParsedArticle.maximumListCount else { return fields.keep(element) }
        if let author, !feed.authors.contains(author) { feed.authors.append(author) }
        fields.keepRest(of: element, taking: [])
    }

    private func takeCategory(_ element: FeedElement) {
        let isAtom = Vocabulary(element.namespace) == .atom
        guard let term = (isAtom ? element.attribute("term") : element.text)?.collapsed.trimmedOrNil else {
            return fields.keep(element)
        }
        feed.categories.append(
            ParsedCategory(
                term: term, label: isAtom ? element.attribute("label") : nil,
                scheme: element.attribute(isAtom ? "scheme" : "domain")))
        fields.keepRest(of: element, taking: isAtom ? ["term", "label", "scheme"] : ["domain"])
    }

    private func takePeriod(_ element: FeedElement) {
        let text = element.text.trimmed
        switch element.name {
        case "ttl":
            guard let minutes = Int(text), (0...10_000_000).contains(minutes) else { return fields.keep(element) }
            feed.minutesToLive = minutes
        case "updateFrequency":
            guard let number = Int(text), number > 0 else { return fields.keep(element) }
            frequency = number
            periodIsSaid = true
        default:
            let minutes = ["hourly": 60, "daily": 1440, "weekly": 10_080, "monthly": 43_200, "yearly": 525_600]
            guard let number = minutes[text.lowercased()] else { return fields.keep(element) }
            period = number
            periodIsSaid = true
        }
        fields.keepRest(of: element, taking: [])
    }

    private func offerLine(_ element: FeedElement, rank: Int = 0, to field: inout FieldCollector.Field<String>) {
        fields.offer(element.lineOfText, rank: rank, from: element, to: &field, taking: ["type", "mode"])
    }

    private func offerHTML(_ element: FeedElement, rank: Int = 0, to field: inout FieldCollector.Field<String>) {
        fields.offer(element.html, rank: rank, from: element, to: &field, taking: ["type", "mode"])
    }

    private func offerAddress(_ element: FeedElement, _ address: String?, rank: Int, taking: [String]) {
        fields.offer(base.within(element).resolve(address), rank: rank, from: element, to: &image, taking: taking)
    }
}
