import FerryCore
import FerryDocuments
import Foundation

/// The rules of a disk for names.
package struct DiskRules: Hashable, Sendable {
    /// `a` and `A` are the same name.
    package var ignoresCase: Bool
    /// Both spellings of a name, composed and decomposed, are the same name.
    package var ignoresForm: Bool
    /// Whether the disk refuses Windows' reserved names and characters.
    package var isOfWindows: Bool
    /// The most UTF-8 bytes of a name.
    package var maximumBytes: Int

    package init(
        ignoresCase: Bool = false, ignoresForm: Bool = false, isOfWindows: Bool = false, maximumBytes: Int = 255
    ) {
        self.ignoresCase = ignoresCase
        self.ignoresForm = ignoresForm
        self.isOfWindows = isOfWindows
        self.maximumBytes = maximumBytes
    }

    /// A key with the same value for all spellings of a name for the disk.
    package func key(_ name: String) -> [UInt8] {
        var text = name
        if ignoresCase { text = text.lowercased() }
        if ignoresForm || ignoresCase { text = DocumentName.composed(text) }
        return Array(text.utf8)
    }

    /// Whether the disk refuses a name.
    package func refuses(_ name: String) -> Bool {
        if name.utf8.count > maximumBytes { return true }
        guard isOfWindows else { return false }
        if name.utf8.last == UInt8(ascii: ".") || name.utf8.last == UInt8(ascii: " ") { return true }
        if name.utf8.contains(where: { $0 < 0x20 || Self.refused.contains($0) }) { return true }
        let stem = name.utf8.prefix { $0 != UInt8(ascii: ".") }
        return Self.reserved.contains(String(Substring(stem)).uppercased().trimmingCharacters(in: .whitespaces))
    }

    private static let refused = Set("<>:\"|?*\\".utf8)
    // Microsoft, "Naming Files, Paths, and Namespaces".
    private static let reserved = Set(
        ["CON", "PRN", "AUX", "NUL"] + (1...9).flatMap { ["COM\($0)", "LPT\($0)"] })
}

/// The names of documents on one disk.
enum LocalName {
    /// A name for a document, where the disk refuses or has the document's own name: with the first digits of the document's ID.
    static func of(_ name: String, _ id: DocumentID, _ rules: DiskRules) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            let isRefused =
                rules.isOfWindows && (scalar.value < 0x20 || "<>:\"|?*\\".unicodeScalars.contains(scalar))
            scalars.append(isRefused ? "_" : scalar)
        }
        var text = String(scalars)
        if rules.isOfWindows { while text.hasSuffix(".") || text.hasSuffix(" ") { text.removeLast() } }
        let mark = " [\(id.hex.prefix(8))]"
        var (stem, suffix) = DocumentName.divided(text)
        if suffix.utf8.count > rules.maximumBytes / 2 { (stem, suffix) = (text[...], "") }
        var kept = ""
        for character in stem {
            guard kept.utf8.count + character.utf8.count + mark.utf8.count + suffix.utf8.count <= rules.maximumBytes
            else { break }
            kept.append(character)
        }
        return kept + mark + suffix
    }

    /// The name of a rival's copy: `report (conflict, phone 1 March 14.05).txt`.
    /// - Parameter number: above 1 where the name before is taken.
    static func ofCopy(_ name: String, label: String, madeMilliseconds: Int64, number: Int) -> String {
        let minutes = Int((madeMilliseconds / 60_000) % 1440 + 1440) % 1440
        let time = "\(minutes / 60)." + (minutes % 60 < 10 ? "0" : "") + "\(minutes % 60)"
        let named = CopyName.words(label: label, madeMilliseconds: madeMilliseconds)
        return DocumentName.adding(" (conflict, \(named) \(time)\(number > 1 ? ", \(number)" : ""))", to: name)
    }

    /// Whether a name is of the form of names for copies of a document's rivals.
    static func isOfCopy(_ name: String, of document: String) -> Bool {
        let (stem, suffix) = DocumentName.divided(document)
        return name.utf8.starts(with: (stem + " (conflict, ").utf8) && name.hasSuffix(")" + suffix)
    }
}
