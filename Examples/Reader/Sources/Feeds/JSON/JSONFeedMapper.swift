import Foundation

/// Makes a feed's fields and articles of the values of a JSON Feed (versions 1 and 1.1).
struct JSONFeedMapper {
    private let base: BaseAddress
    private(set) var feed = ParsedFeed(format: FeedFormat(.json))
    private(set) var saysItIsAFeed = false

    init(base: BaseAddress) { self.base = base }

    /// Takes a member of the outermost object.
    mutating func take(_ name: String, _ value: JSONValue) {
        switch (name, value) {
        case ("version", .string(let version)):
            saysItIsAFeed = version.contains("jsonfeed.org/version/")
            feed.format.version = version.split(separator: "/").last.map(String.init)
        case ("title", .string(let text)): feed.title = text.collapsed.trimmedOrNil
        case ("home_page_url", .string(let address)): feed.link = base.resolve(address)
        case ("feed_url", .string(let address)): feed.selfURL = base.resolve(address)
        case ("next_url", .string(let address)): feed.nextURL = base.resolve(address)
        case ("description", .string(let text)):
            feed.summary = text.trimmedOrNil.map(HTMLText.html(fromPlainText:))
        case ("language", .string(let tag)): feed.language = tag.trimmedOrNil
        case ("icon", .string(let address)): feed.image = base.resolve(address)
        case ("author", .object), ("authors", .array):
            if !takeAuthors(value, into: &feed.authors) { feed.extensions.append(value.element(named: name)) }
        case (_, .null): break
        default: feed.extensions.append(value.element(named: name))
        }
    }

    /// An article of a member of `items`. One that is no object is an article with nothing but an extension.
    func article(from item: JSONValue) -> ParsedArticle {
        var article = ParsedArticle(guid: "", guidSource: .hash)
        let articleBase = base.url == nil ? BaseAddress(feed.link.flatMap { URL(string: $0) }) : base
        article.baseURL = articleBase.url?.absoluteString
        if case .object(let members) = item {
            for (name, value) in members { take(name, value, articleBase, into: &article) }
        } else {
            article.extensions.append(item.element(named: "item"))
        }
        if article.content == nil {
            article.content = item["content_text"]?.text?.trimmedOrNil.map(HTMLText.html(fromPlainText:))
        } else if let text = item["content_text"] {
            article.extensions.append(text.element(named: "content_text"))
        }
        let identity = ArticleIdentity.choose(
            declared: item["id"]?.text, link: item["url"]?.text ?? item["external_url"]?.text,
            title: item["title"]?.text, date: item["date_published"]?.text ?? item["date_modified"]?.text,
            content: item["content_html"]?.text ?? item["content_text"]?.text ?? item["summary"]?.text)
        (article.guid, article.guidSource) = identity
        return article
    }

    private func take(_ name: String, _ value: JSONValue, _ base: BaseAddress, into article: inout ParsedArticle) {
        switch (name, value) {
        case ("id", .string), ("id", .number), ("content_text", .string), (_, .null): return
        case ("title", .string(let text)): article.title = text.collapsed.trimmedOrNil
        case ("url", .string(let address)): article.link = base.resolve(address)
        case ("content_html", .string(let html)): article.content = html.trimmedOrNil
        case ("summary", .string(let text)): article.summary = text.trimmedOrNil.map(HTMLText.html(fromPlainText:))
        case ("image", .string(let address)): article.image = base.resolve(address)
        case ("date_published", .string(let text)) where FeedDate.parse(text) != nil:
            article.published = FeedDate.parse(text)
        case ("date_modified", .string(let text)) where FeedDate.parse(text) != nil:
            article.updated = FeedDate.parse(text)
        case ("author", .object), ("authors", .array):
            if !takeAuthors(value, into: &article.authors) { article.extensions.append(value.element(named: name)) }
        case ("tags", .array(let tags)):
            for tag in tags {
                if let term = tag.text?.collapsed.trimmedOrNil {
                    article.categories.append(ParsedCategory(term: term))
                } else {
                    article.extensions.append(tag.element(named: "tags"))
                }
            }
        case ("attachments", .array(let attachments)):
            for attachment in attachments where !takeAttachment(attachment, base, into: &article) {
                article.extensions.append(attachment.element(named: "attachments"))
            }
        default: article.extensions.append(value.element(named: name))
        }
        if name == "external_url", article.link == nil { article.link = base.resolve(value.text) }
    }

    /// False if something of the value has no field.
    private func takeAuthors(_ value: JSONValue, into authors: inout [ParsedAuthor]) -> Bool {
        var isTaken = true
        for person in value.array.isEmpty ? [value] : value.array {
            guard authors.count < ParsedArticle.maximumListCount else { return false }
            let author = ParsedAuthor(
                name: person["name"]?.text?.collapsed.trimmedOrNil, url: person["url"]?.text?.trimmedOrNil)
            if author != ParsedAuthor(), !authors.contains(author) { authors.append(author) }
            if case .object(let members) = person {
                isTaken = isTaken && members.allSatisfy { ["name", "url"].contains($0.name) }
            } else if person != .array([]) {
                isTaken = false
            }
        }
        return isTaken
    }

    /// False if something of the value has no field.
    private func takeAttachment(_ value: JSONValue, _ base: BaseAddress, into article: inout ParsedArticle) -> Bool {
        guard case .object(let members) = value, let url = base.resolve(value["url"]?.text) else { return false }
        article.enclosures.append(
            ParsedEnclosure(
                url: url, type: value["mime_type"]?.text,
                byteCount: value["size_in_bytes"]?.text.flatMap { Double($0) }.flatMap { Int(exactly: $0.rounded()) },
                title: value["title"]?.text?.collapsed.trimmedOrNil,
                durationSeconds: value["duration_in_seconds"]?.text.flatMap { Double($0) }))
        let known: Set<String> = ["url", "mime_type", "size_in_bytes", "title", "duration_in_seconds"]
        return members.allSatisfy { known.contains($0.name) }
    }
}
