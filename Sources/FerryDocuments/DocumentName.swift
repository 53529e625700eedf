import FerryCore
import Foundation

/// The rules of documents' names, all of them pure.
///
/// A name stays as written. Two names are equal if their composed forms (NFC) are equal; Swift's `==` of strings
/// compares so. Letter case counts.
package enum DocumentName {
    /// UTF-8 bytes of a name.
    package static let maximumBytes = ContentLimits.nameBytes

    /// The reason against a name, in words that follow "The name"; `nil` for a good name.
    package static func refusal(of name: String) -> String? {
        if name.isEmpty { return "is empty" }
        if name.utf8.elementsEqual(".".utf8) || name.utf8.elementsEqual("..".utf8) {
            return "means a folder itself, or the folder around it"
        }
        if name.utf8.contains(0) { return "has a NUL" }
        if name.utf8.contains(UInt8(ascii: "/")) { return "has a slash" }
        let count = name.utf8.count
        return count > maximumBytes ? "has \(count) bytes, and \(maximumBytes) are allowed" : nil
    }

    /// - Throws: `invalidArgument` for a name forbidden to documents.
    package static func check(_ name: String) throws(FerryError) {
        guard let reason = refusal(of: name) else { return }
        throw FerryError(.invalidArgument, "The name “\(printable(name))” \(reason). Choose another name.")
    }

    /// A name for a message: short, and without a NUL.
    private static func printable(_ name: String) -> String {
        let beginning = name.unicodeScalars.prefix(60).map { $0.value == 0 ? "␀" : String($0) }.joined()
        return name.unicodeScalars.count > 60 ? beginning + "…" : beginning
    }

    /// The composed form (NFC), the same for all spellings of a name.
    package static func composed(_ name: String) -> String {
        name.utf8.allSatisfy { $0 < 0x80 } ? name : name.precomposedStringWithCanonicalMapping
    }

    /// Makes a name for a path from the name in a row. A good name stays as it is. Nobody can write a bad name by
    /// Ferry's interface, but a row may have one all the same.
    package static func shown(_ name: String) -> String {
        guard refusal(of: name) != nil else { return name }
        var scalars = String.UnicodeScalarView()
        for scalar in name.unicodeScalars { scalars.append(scalar == "/" || scalar.value == 0 ? "_" : scalar) }
        let text = String(scalars)
        if text.isEmpty || text.utf8.allSatisfy({ $0 == UInt8(ascii: ".") }) {
            return "_" + cut(text, maximumBytes - 1)
        }
        return adding("", to: text)
    }

    /// Divides a name before the extension. A name whose only dot comes first has no extension.
    package static func divided(_ name: String) -> (stem: Substring, suffix: Substring) {
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex, name.index(after: dot) < name.endIndex else {
            return (name[...], "")
        }
        return (name[..<dot], name[dot...])
    }

    /// Puts a text before a name's extension, and cuts the name down to `maximumBytes` at most.
    ///
    /// The cut removes whole characters at the end of the part before the extension. An extension of more than half a
    /// name counts as none. If even the first character is too long, the cut falls between Unicode scalars.
    /// - Parameter text: much shorter than `maximumBytes`.
    package static func adding(_ text: String, to name: String) -> String {
        var (stem, suffix) = divided(name)
        if suffix.utf8.count > maximumBytes / 2 { (stem, suffix) = (name[...], "") }
        return cut(stem, maximumBytes - text.utf8.count - suffix.utf8.count) + text + suffix
    }

    /// The beginning of a text of so many bytes at most.
    private static func cut(_ text: some StringProtocol, _ maximum: Int) -> String {
        if text.utf8.count <= maximum { return String(text) }
        var (result, count) = ("", 0)
        for character in text {
            count += character.utf8.count
            if count > maximum { break }
            result.append(character)
        }
        if !result.isEmpty { return result }
        var scalars = String.UnicodeScalarView()
        count = 0
        for scalar in text.unicodeScalars {
            count += UTF8.width(scalar)
            if count > maximum { break }
            scalars.append(scalar)
        }
        return String(scalars)
    }
}

extension DocumentName {
    /// The names shown by the documents of one folder. The first of equal names stays. Each later name, in order, gets
    /// the least number from 2 on that makes a free name in the folder.
    /// - Parameter names: in the order of `DocumentRow.isNamedBefore`.
    static func told(_ names: [String]) -> [String] {
        var taken: Set<String> = []
        let others = names.indices.filter { !taken.insert(names[$0]).inserted }
        var result = names
        // A taken number stays taken. The bytes of a name decide the cut.
        var numbers: [[UInt8]: Int] = [:]
        for place in others {
            let key = Array(names[place].utf8)
            var number = numbers[key, default: 2]
            while !taken.insert(adding(" (\(number))", to: names[place])).inserted { number += 1 }
            result[place] = adding(" (\(number))", to: names[place])
            numbers[key] = number + 1
        }
        return result
    }
}
