import Foundation

/// Sorts elements into fields and keeps whatever no field takes.
///
/// Several elements can stand for one field, RSS's `title` and Dublin Core's for example. The one of the lowest rank
/// wins, among equals the first. The others are kept as extensions, unless they say the same.
struct FieldCollector {
    /// A field and the element that it is from.
    struct Field<Value: Equatable> {
        fileprivate(set) var value: Value?
        fileprivate var rank = Int.max
        fileprivate var element: FeedElement?
        fileprivate var position = 0

        init() {}

        fileprivate init(value: Value, rank: Int, element: FeedElement?, position: Int) {
            self.value = value
            self.rank = rank
            self.element = element
            self.position = position
        }

        /// Takes a value that is from an element which is kept anyway, or from none.
        mutating func fill(_ value: Value?, rank: Int) {
            guard let value, rank < self.rank else { return }
            self = Field(value: value, rank: rank, element: nil, position: 0)
        }
    }

    /// What no field takes, with its place in the document.
    private var kept: [(position: Int, element: FeedElement)] = []
    private var position = 0

    /// The elements that were kept, in the order of the document.
    var extensions: [FeedElement] { kept.sorted { $0.position < $1.position }.map(\.element) }

    /// Keeps a whole element.
    mutating func keep(_ element: FeedElement) {
        position += 1
        kept.append((position, element))
    }

    /// Keeps what is left of an element of which some attributes and, if `takesContent`, the content were taken.
    mutating func keepRest(of element: FeedElement, taking attributes: [String], takesContent: Bool = true) {
        position += 1
        var rest = element
        rest.attributes.removeAll { attribute in
            attribute.namespace == nil && attributes.contains(attribute.name)
                || attribute.namespace == Vocabulary.xmlNamespace && attribute.name == "base"
        }
        if takesContent { rest.children = [] }
        if !rest.attributes.isEmpty || !rest.children.isEmpty { kept.append((position, rest)) }
    }

    /// Offers an element to a field. If it is not taken, or makes no sense (`value` is nil although there is content),
    /// it is kept.
    mutating func offer<Value>(
        _ value: Value?, rank: Int = 0, from element: FeedElement, to field: inout Field<Value>,
        taking attributes: [String] = []
    ) {
        guard let value else {
            if element.children.isEmpty, element.attributes.isEmpty { return }
            return keep(element)
        }
        if value == field.value {
            field.rank = min(rank, field.rank)
            return keepRest(of: element, taking: attributes)
        }
        guard rank < field.rank else { return keep(element) }
        if let earlier = field.element { kept.append((field.position, earlier)) }
        keepRest(of: element, taking: attributes)
        field = Field(value: value, rank: rank, element: element, position: position)
    }
}
