/// Writes elements as HTML: the XHTML of an Atom entry, or markup that an RSS item contains without escaping it.
enum Markup {
    /// What is inside an element. For Atom's `type="xhtml"`, that is what is inside the one `div` it has.
    static func inner(of element: FeedElement) -> String {
        let elements = element.elements
        let content =
            elements.count == 1 && elements[0].name == "div"
                && element.children.allSatisfy { $0.isElement || $0.isWhiteSpace }
            ? elements[0] : element
        var html = ""
        for child in content.children { write(child, to: &html) }
        return html
    }

    private static func write(_ node: FeedNode, to html: inout String) {
        switch node {
        case .text(let text): html += escaped(text)
        case .element(let element):
            html += "<\(element.name)"
            for attribute in element.attributes { html += " \(attribute.name)=\"\(escaped(attribute.value))\"" }
            html += ">"
            for child in element.children { write(child, to: &html) }
            if !voidElements.contains(element.name) || !element.children.isEmpty { html += "</\(element.name)>" }
        }
    }

    private static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: { "&<>\"".utf8.contains($0) }) else { return text }
        return text.reduce(into: "") { html, character in
            switch character {
            case "&": html += "&amp;"
            case "<": html += "&lt;"
            case ">": html += "&gt;"
            case "\"": html += "&quot;"
            default: html.append(character)
            }
        }
    }

    private static let voidElements: Set<String> = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
    ]
}
