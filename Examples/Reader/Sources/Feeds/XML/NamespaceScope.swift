/// Which addresses the prefixes stand for, at a place in a document.
///
/// Done here and not by the XML parser, because a prefix that is not declared is a fault that many feeds have and that
/// loses nothing if it is tolerated, and because parsers differ in what they then report.
struct NamespaceScope {
    /// The declarations in force, by prefix; "" is the default one.
    private var declarations: [String: String] = [:]
    /// What was in force before, for each open element that declares something.
    private var saved: [(depth: Int, declarations: [String: String])] = []
    private var depth = 0

    /// Enters an element: takes its declarations, and says its name and attributes with their namespaces.
    mutating func open(_ qualifiedName: String, _ attributes: [String: String]) -> FeedElement {
        depth += 1
        var others: [FeedAttribute] = []
        var isSaved = false
        for (name, value) in attributes where name == "xmlns" || name.hasPrefix("xmlns:") {
            if !isSaved { saved.append((depth, declarations)) }
            isSaved = true
            declarations[name == "xmlns" ? "" : String(name.dropFirst(6))] = value.trimmed
        }
        for (name, value) in attributes where name != "xmlns" && !name.hasPrefix("xmlns:") {
            let (prefix, local) = Self.split(name)
            let namespace = prefix.flatMap(address(ofPrefix:))
            others.append(
                FeedAttribute(
                    name: prefix == nil || namespace != nil ? local : name, namespace: namespace, value: value))
        }
        if others.count > 1 { others.sort { ($0.name, $0.namespace ?? "") < ($1.name, $1.namespace ?? "") } }
        let (prefix, local) = Self.split(qualifiedName)
        guard let prefix else {
            let namespace = declarations[""].flatMap { $0.isEmpty ? nil : $0 }
            return FeedElement(name: local, namespace: namespace, attributes: others)
        }
        guard let namespace = address(ofPrefix: prefix) else {
            return FeedElement(name: qualifiedName, attributes: others)
        }
        return FeedElement(name: local, namespace: namespace, attributes: others)
    }

    /// Leaves the element that was entered last.
    mutating func close() {
        if let last = saved.last, last.depth == depth {
            declarations = last.declarations
            saved.removeLast()
        }
        depth -= 1
    }

    private func address(ofPrefix prefix: String) -> String? {
        declarations[prefix] ?? Vocabulary.usualPrefixes[prefix]
    }

    private static func split(_ name: String) -> (prefix: String?, local: String) {
        guard let colon = name.utf8.firstIndex(of: UInt8(ascii: ":")), colon != name.startIndex else {
            return (nil, name)
        }
        let local = name[name.utf8.index(after: colon)...]
        return local.isEmpty ? (nil, name) : (String(name[..<colon]), String(local))
    }
}
