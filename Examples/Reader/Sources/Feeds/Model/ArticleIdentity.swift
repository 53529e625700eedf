/// How an article is told from the others of its feed.
///
/// An article is identified by its feed and its GUID. The GUID is, in this order:
///
/// 1. what the feed declares: RSS's `guid`, Atom's and JSON Feed's `id`, RDF's `rdf:about`;
/// 2. the article's link, as the feed writes it, before it is made absolute;
/// 3. a SHA-256 of title, date and content, as the feed writes them.
///
/// White space around each is not part of it. Nothing of the device, the time or the address that was fetched is part
/// of it either, so every device finds the same GUID in the same document. Two articles of one feed with the same GUID
/// are the same article; the one that stands first in the document is the newer one.
public enum ArticleIdentity {
    /// Where a GUID comes from.
    public enum Source: String, Sendable, Hashable, Codable {
        case declared, link, hash
    }

    /// Chooses the GUID. All parameters are as the feed writes them.
    static func choose(
        declared: String?, link: String?, title: String?, date: String?, content: String?
    ) -> (guid: String, source: Source) {
        if let declared = declared?.trimmedOrNil { return (declared, .declared) }
        if let link = link?.trimmedOrNil { return (link, .link) }
        // Each part is preceded by its length, so that no two different articles are hashed from the same bytes.
        var bytes: [UInt8] = []
        for part in [title, date, content] {
            let part = Array((part?.trimmed ?? "").utf8)
            bytes += Array("\(part.count):".utf8)
            bytes += part
        }
        return ("sha256:" + SHA256.hexadecimalDigest(of: bytes), .hash)
    }
}
