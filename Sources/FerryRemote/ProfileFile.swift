/// A file of profiles, as `~/.aws/credentials` and `~/.aws/config` are: sections with names and values. A pure reading.
struct ProfileFile {
    /// A longer file is not read, in bytes.
    static let maximumBytes = 1 << 20

    private var sections: [String: [String: String]] = [:]

    /// Reads a file's text. Lines without a meaning are passed over, as by the AWS tools.
    init(_ text: String) {
        var section: String?
        for line in text.split(omittingEmptySubsequences: true, whereSeparator: \.isNewline) {
            let trimmed = Self.trimmed(line)
            if trimmed.isEmpty || trimmed.hasPrefix("#") || trimmed.hasPrefix(";") { continue }
            if trimmed.hasPrefix("["), let end = trimmed.firstIndex(of: "]") {
                section = Self.name(of: trimmed[trimmed.index(after: trimmed.startIndex)..<end])
                continue
            }
            // An indented line continues a nested setting. Ferry uses no nested setting.
            guard let section, line.first?.isWhitespace == false, let equals = trimmed.firstIndex(of: "=") else {
                continue
            }
            let name = Self.trimmed(trimmed[..<equals]).lowercased()
            sections[section, default: [:]][name] = String(Self.trimmed(trimmed[trimmed.index(after: equals)...]))
        }
    }

    /// A profile's settings; `nil` without such a profile.
    func profile(_ name: String) -> [String: String]? { sections[name] }

    /// `[profile music]` and `[music]` are the same profile.
    private static func name(of text: Substring) -> String {
        let words = trimmed(text)
        guard words.hasPrefix("profile"), let space = words.firstIndex(where: \.isWhitespace) else {
            return String(words)
        }
        return String(trimmed(words[space...]))
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop(while: \.isWhitespace)
        guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return start[...end]
    }
}
