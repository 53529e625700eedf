/// RSS in JSON: the elements of RSS as members, an element's attributes as members of an object, and its text as the member
/// `#value` (http://scripting.com/stories/2012/09/10/rssInJson.html).
extension JSONValue {
    /// The elements that a member stands for: of a list, one for each value.
    func rssElements(named name: String) -> [FeedElement] {
        switch self {
        case .null: []
        case .array(let values): values.flatMap { $0.rssElements(named: name) }
        case .bool, .number, .string, .object: [rssElement(named: name)]
        }
    }

    private func rssElement(named name: String) -> FeedElement {
        let parts = name.split(separator: ":", maxSplits: 1).map(String.init)
        let namespace = parts.count == 2 ? Vocabulary.usualPrefixes[parts[0]] : nil
        var element = FeedElement(name: namespace == nil ? name : parts[1], namespace: namespace)
        guard case .object(let members) = self else {
            element.children = scalarText.map { [.text($0)] } ?? []
            return element
        }
        let hasAttributes = Self.withAttributes.contains(name) || members.contains { $0.name == "#value" }
        for (name, value) in members {
            if name == "#value" {
                element.children += (value.scalarText?.isEmpty ?? true ? [] : [.text(value.scalarText ?? "")])
            } else if hasAttributes, let text = value.scalarText {
                element.attributes.append(FeedAttribute(name: name, value: text))
            } else {
                element.children += value.rssElements(named: name).map { .element($0) }
            }
        }
        element.attributes.sort { $0.name < $1.name }
        return element
    }

    private static let withAttributes: Set<String> = [
        "enclosure", "guid", "category", "source", "cloud", "media:content", "media:thumbnail", "itunes:image",
    ]

    private var scalarText: String? {
        switch self {
        case .bool(let value): value ? "true" : "false"
        case .number(let text), .string(let text): text
        case .null, .array, .object: nil
        }
    }
}
