/// An element of a feed as it was written: what this reader has no field for is kept with the article in this form.
///
/// A tree of values that encodes to compact JSON, so that a store can keep it in one column and a later version can
/// find in it what this one did not know. Comments, processing instructions, namespace prefixes and the white space
/// between elements are not part of it. JSON Feed's members become elements too, see `JSONValue.element(named:)`.
public struct FeedElement: Sendable, Hashable {
    /// The name without its prefix; with it, if the feed never declares the prefix.
    public var name: String
    /// The address that the prefix stands for, exactly as the feed writes it; nil if there is none.
    public var namespace: String?
    /// Sorted by name, then by namespace; declarations of namespaces are not among them.
    public var attributes: [FeedAttribute]
    public var children: [FeedNode]

    public init(
        name: String, namespace: String? = nil, attributes: [FeedAttribute] = [], children: [FeedNode] = []
    ) {
        self.name = name
        self.namespace = namespace
        self.attributes = attributes
        self.children = children
    }

    /// All text in it and in what it contains, in the order of the document.
    public var text: String {
        if children.count == 1, case .text(let text) = children[0] { return text }
        return children.reduce(into: "") { text, child in
            switch child {
            case .text(let part): text += part
            case .element(let element): text += element.text
            }
        }
    }

    /// The elements directly in it.
    public var elements: [FeedElement] {
        children.compactMap { child in
            if case .element(let element) = child { element } else { nil }
        }
    }

    /// The value of an attribute without a namespace.
    public func attribute(_ name: String) -> String? {
        attributes.first { $0.name == name && $0.namespace == nil }?.value
    }

    /// The first element directly in it that has the name, whatever its namespace.
    public func first(_ name: String) -> FeedElement? {
        for case .element(let element) in children where element.name == name { return element }
        return nil
    }
}

/// An attribute of a `FeedElement`.
public struct FeedAttribute: Sendable, Hashable, Codable {
    /// The name without its prefix.
    public var name: String
    /// What the prefix stands for; nil for an attribute without one.
    public var namespace: String?
    public var value: String

    public init(name: String, namespace: String? = nil, value: String) {
        self.name = name
        self.namespace = namespace
        self.value = value
    }
}

/// What a `FeedElement` contains: text or an element.
public enum FeedNode: Sendable, Hashable {
    case text(String)
    case element(FeedElement)
}

extension FeedElement: Codable {
    enum CodingKeys: String, CodingKey {
        case name, namespace, attributes, children
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        namespace = try container.decodeIfPresent(String.self, forKey: .namespace)
        attributes = try container.decodeIfPresent([FeedAttribute].self, forKey: .attributes) ?? []
        children = try container.decodeIfPresent([FeedNode].self, forKey: .children) ?? []
    }

    /// Leaves out what is empty.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encodeIfPresent(namespace, forKey: .namespace)
        if !attributes.isEmpty { try container.encode(attributes, forKey: .attributes) }
        if !children.isEmpty { try container.encode(children, forKey: .children) }
    }
}

/// Text is written as a string, an element as an object.
extension FeedNode: Codable {
    public init(from decoder: any Decoder) throws {
        if let text = try? decoder.singleValueContainer().decode(String.self) {  // not a string: an element
            self = .text(text)
        } else {
            self = .element(try FeedElement(from: decoder))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .text(let text):
            var container = encoder.singleValueContainer()
            try container.encode(text)
        case .element(let element): try element.encode(to: encoder)
        }
    }
}
