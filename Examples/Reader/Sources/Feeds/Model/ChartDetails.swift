import Foundation

/// What an entry of an iTunes chart says besides an article's fields: Apple's elements with the prefix `im`.
///
/// It is read from an article's `extensions`, so it is there too for an article that was stored before somebody asked.
public struct ChartDetails: Sendable, Hashable {
    public struct Price: Sendable, Hashable {
        /// As Apple writes it, "$0.99" or "Get".
        public var label: String?
        public var amount: Decimal?
        /// A code such as "USD".
        public var currency: String?
    }

    public struct Image: Sendable, Hashable {
        public var url: String
        /// In pixels, as Apple says.
        public var height: Int?
    }

    public var name: String?
    public var artist: String?
    public var artistURL: String?
    public var price: Price?
    /// Smallest first, as Apple lists them.
    public var images: [Image] = []
    public var releaseDate: Date?
    /// What it is, from the general to the particular: "Music", "Album".
    public var contentTypes: [String] = []
    /// The number under which Apple has it.
    public var identifier: String?

    /// nil if the elements are not those of a chart's entry.
    public init?(extensions: [FeedElement]) {
        let own = extensions.filter { Vocabulary($0.namespace) == .chart }
        guard !own.isEmpty else { return nil }
        for element in own {
            let text = element.text.collapsed.trimmedOrNil
            switch element.name {
            case "name": name = text
            case "artist": (artist, artistURL) = (text, element.attribute("href"))
            case "price":
                price = Price(
                    label: text,
                    amount: element.attribute("amount").flatMap {
                        Decimal(string: $0, locale: Locale(identifier: "en_US_POSIX"))
                    },
                    currency: element.attribute("currency"))
            case "image":
                if let text {
                    images.append(Image(url: text, height: element.attribute("height").flatMap { Int($0) }))
                }
            case "releaseDate": releaseDate = element.date
            case "contentType": contentTypes = Self.contentTypes(in: element)
            default: break
            }
        }
        let identified = extensions.first { $0.name == "id" && Vocabulary($0.namespace) == .atom }
        identifier = identified?.attributes.first { $0.name == "id" && Vocabulary($0.namespace) == .chart }?.value
    }

    /// The labels of a content type, of those within it and of their categories.
    private static func contentTypes(in element: FeedElement) -> [String] {
        let own = [element.attribute("label") ?? element.attribute("term")].compactMap(\.self)
        return own + element.elements.flatMap(contentTypes(in:))
    }
}
