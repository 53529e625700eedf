import Ferry

/// The name of an article that is the same on every device, whatever number its row has there: 32 hexadecimal digits, a
/// hash of the feed's address and the article's GUID.
///
/// The sets `read` and `starred` of the key-value store have marks as members.
public enum ArticleMark {
    private enum Kind {}
    private enum Reader {}
    private static let namespace = UniqueID<Reader>(high: 0x7265_6164_6572_2061, low: 0x7274_6963_6c65_2031)

    /// - Parameter feed: the address under which the feed is subscribed to. It has no line end, so no two pairs hash the
    ///   same bytes.
    public static func mark(feed: String, guid: String) -> String {
        let id: UniqueID<Kind> = ContentHash.hash(Array("\(feed)\n\(guid)".utf8), in: namespace)
        return id.hex
    }
}
