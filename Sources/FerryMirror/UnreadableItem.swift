/// Something in a directory that Ferry cannot read: no document is made of it, and the document of such a file stays as it is. The words are
/// fixed: they stand in the database.
package struct UnreadableItem: Codable, Hashable, Sendable {
    package enum Reason: String, Codable, Hashable, Sendable {
        /// The name is outside UTF-8.
        case name
        /// The file's bytes cannot be read.
        case file
        /// The folder's names cannot be listed.
        case folder

        /// Why nothing of it travels, with the remedy.
        package var words: String {
            switch self {
            case .name: "its name is not UTF-8; rename it"
            case .file: "it cannot be read; give Ferry's account the right to read it"
            case .folder:
                "it cannot be listed, so what is in it stays as it is; give Ferry's account the right to list it"
            }
        }
    }

    package var path: String
    package var reason: Reason

    package init(_ path: String, _ reason: Reason) { (self.path, self.reason) = (path, reason) }

    private enum CodingKeys: String, CodingKey { case path, reason }

    /// An earlier Ferry wrote the names outside UTF-8 alone, as texts.
    package init(from decoder: any Decoder) throws {
        if let path = try? decoder.singleValueContainer().decode(String.self) {  // otherwise it is an object
            self.init(path, .name)
            return
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            try container.decode(String.self, forKey: .path), try container.decode(Reason.self, forKey: .reason))
    }
}

extension [UnreadableItem] {
    /// What is kept out of a mirror, in a sentence or two with the remedy for each reason.
    /// - Parameter directory: the mirror's.
    package func sentences(in directory: String) -> [String] {
        let names = filter { $0.reason == .name }.map(\.path)
        let closed = filter { $0.reason != .name }
        var sentences: [String] = []
        if !names.isEmpty {
            sentences.append(
                "\(Self.count(names, "name")) in \(directory) \(names.count == 1 ? "is" : "are") not UTF-8: \(Self.list(names)). "
                    + "Nothing of it travels. Rename it.")
        }
        if !closed.isEmpty {
            let reasons = Set(closed.map(\.reason))
            let what = reasons == [.file] ? "file" : reasons == [.folder] ? "folder" : "item"
            let paths = closed.map(\.path)
            sentences.append(
                "\(Self.count(paths, what)) in \(directory) cannot be read: \(Self.list(paths)). Nothing of it travels, and nothing "
                    + "is deleted. Give Ferry's account the right to read it; the next pass goes on then.")
        }
        return sentences
    }

    private static func count(_ paths: [String], _ noun: String) -> String {
        paths.count == 1 ? "1 \(noun)" : "\(paths.count) \(noun)s"
    }

    private static func list(_ paths: [String]) -> String {
        let most = 3
        return paths.prefix(most).map { "“\($0)”" }.joined(separator: ", ") + (paths.count > most ? ", and more" : "")
    }
}
