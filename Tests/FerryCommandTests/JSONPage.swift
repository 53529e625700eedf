import Foundation
import XCTest

/// `Docs/JSON.md`, read as a schema: a chapter for each verb and each object, with a table of keys and types.
struct JSONPage {
    struct Field {
        var type: String
        var mayBeAbsent: Bool
    }

    /// Fields by key, by the chapter's title without quotes: `status`, `conflicts list`, `Peer`.
    private(set) var chapters: [String: [String: Field]] = [:]
    /// The keys of which the page says that they mean two things.
    private(set) var ambiguous: Set<String> = []

    init() throws {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Docs/JSON.md")
        var title = ""
        for line in try String(contentsOf: page, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("### ") {
                title = String(line.dropFirst(4)).replacing("`", with: "")
                chapters[title] = [:]
            }
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard line.hasPrefix("| `"), cells.count >= 2 else { continue }
            let key = cells[0].replacing("`", with: "")
            if title.isEmpty { ambiguous.insert(key) }
            chapters[title]?[key.replacing("?", with: "")] = Field(type: cells[1], mayBeAbsent: key.hasSuffix("?"))
        }
    }

    /// What is printed and not on the page, or the reverse; empty where both agree.
    func differences(_ json: Any, chapter: String) -> [String] {
        guard let fields = chapters[chapter] else { return ["There is no chapter \(chapter)."] }
        guard let object = json as? [String: Any] else { return ["\(chapter) is no object."] }
        var found = object.keys.filter { fields[$0] == nil }.map { "\(chapter): the page lacks \($0)." }
        for (key, field) in fields {
            guard let value = object[key] else {
                if !field.mayBeAbsent { found.append("\(chapter): \(key) is absent.") }
                continue
            }
            found += differences(value, type: field.type, at: "\(chapter).\(key)")
        }
        return found
    }

    private func differences(_ value: Any, type: String, at place: String) -> [String] {
        if type.hasPrefix("list of ") {
            guard let list = value as? [Any] else { return ["\(place) is no list."] }
            return list.flatMap { differences($0, type: String(type.dropFirst(8)), at: place) }
        }
        if type.hasPrefix("map of ") {
            guard let map = value as? [String: Any] else { return ["\(place) is no map."] }
            return map.values.flatMap { differences($0, type: String(type.dropFirst(7)), at: place) }
        }
        switch type {
        case "value": return []
        case "text": return value is String ? [] : ["\(place) is no text."]
        case "boolean": return Self.isBoolean(value) ? [] : ["\(place) is no boolean."]
        case "number": return value is NSNumber && !Self.isBoolean(value) ? [] : ["\(place) is no number."]
        default: return differences(value, chapter: type)
        }
    }

    // MARK: Help

    /// The chapter of a type; `nil` for a type without keys.
    private func chapter(ofType type: String) -> String? {
        type.split(separator: " ").last.map(String.init).flatMap { chapters[$0] == nil ? nil : $0 }
    }

    /// Keys of a list in the help that the page lacks at their places: `"device": {"id", "name"}, "tables": [{"name" (text)}]}`.
    /// - Parameter list: begins behind the first brace.
    func differences(list: Substring, chapter: String) -> [String] {
        var found: [String] = []
        /// The chapters of the open braces; `nil` where the page has none.
        var open: [String?] = [chapter]
        var last: String?
        var rest = list
        while let character = rest.popFirst(), !open.isEmpty {
            switch character {
            case "\"":
                let key = String(rest.prefix { $0 != "\"" })
                rest = rest.dropFirst(key.count + 1)
                last = nil
                guard let chapter = open[open.count - 1], let fields = chapters[chapter] else { continue }
                guard let field = fields[key] else {
                    found.append("\(chapter): the page lacks \(key).")
                    continue
                }
                last = self.chapter(ofType: field.type)
            case "{":
                open.append(last)
            case "}":
                open.removeLast()
                last = nil
            case "(":
                // A remark.
                rest = rest.drop { $0 != ")" }.dropFirst()
            default: break
            }
        }
        return found
    }

    /// Keys of a filter of `jq` that the page lacks: `.rows[].changes[].values.title`, `'.devices[] | select(.behind > 0)'`.
    func differences(filter: Substring, chapter: String) -> [String] {
        var place: String? = chapter
        // What stands behind a dot, up to the next one; a map has any key.
        for part in filter.split(separator: ".").dropFirst(filter.hasPrefix(".") ? 0 : 1) {
            let key = String(part.prefix { $0.isLetter })
            guard let fields = place.flatMap({ chapters[$0] }) else { return [] }
            guard let field = fields[key] else { return ["\(place ?? ""): the page lacks \(key)."] }
            place = self.chapter(ofType: field.type)
        }
        return []
    }

    /// Tells a boolean from the numbers 0 and 1.
    private static func isBoolean(_ value: Any) -> Bool {
        (value as? NSNumber).map { String(cString: $0.objCType) == "c" } ?? false
    }

    /// The keys that have several types, with these.
    var keysOfSeveralTypes: [String: Set<String>] {
        var types: [String: Set<String>] = [:]
        // A number is a value.
        for (key, field) in chapters.values.joined() {
            types[key, default: []].insert(key == "value" && field.type == "number" ? "value" : field.type)
        }
        return types.filter { $0.value.count > 1 }
    }

    /// Keys of a time or of a length of time that do not say so by their ends.
    var keysOfOtherTimes: [String] {
        let words = ["seconds", "minutes", "hours", "date", "time", "duration"]
        return chapters.values.flatMap(\.keys).filter { key in
            !key.hasSuffix("Milliseconds") && words.contains { key.lowercased().hasSuffix($0) }
        }
    }

    /// Chapters that no other chapter and no verb leads to.
    func unused(verbs: Set<String>) -> [String] {
        let types = chapters.values.flatMap(\.values).map { $0.type.split(separator: " ").last.map(String.init) ?? "" }
        return chapters.keys.filter { !verbs.contains($0) && !types.contains($0) }.sorted()
    }
}
