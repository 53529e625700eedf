/// Something in a directory that cannot be brought into step before somebody helps. It stays as it is, and so does its document. The words
/// are fixed: they stand in the database.
package struct StuckItem: Codable, Hashable, Sendable {
    package enum Reason: String, Codable, Hashable, Sendable, CaseIterable {
        /// The name is outside UTF-8.
        case name
        /// The file's bytes cannot be read.
        case file
        /// The folder's names cannot be listed.
        case folder
        /// The file is not taken: there is no room for its bytes beside the database.
        case untaken
        /// The file is a database whose last rows lie in a journal beside it: in use, or left by a program that died.
        case inUse
        /// A program has the file open for writing: the file is neither taken nor replaced before the program closes it.
        case writing
        /// The document is not written: the mirror's disk has no room for it.
        case unwritten
        /// The file is not written, moved or removed: the system refuses the change.
        case unchanged

        /// Why nothing of it travels, with the remedy.
        package var words: String {
            switch self {
            case .name: "its name is not UTF-8; rename it"
            case .file: "it cannot be read; give Ferry's account the right to read it"
            case .folder:
                "it cannot be listed, so what is in it stays as it is; give Ferry's account the right to list it"
            case .untaken: "there is no room for it beside the database: free some space there"
            case .inUse:
                "it is a database in use, or a program that died left its journal: it is taken once a program has opened and closed it; "
                    + "`ferry init` keeps a database itself in step"
            case .writing: "a program has it open for writing: it travels once the program closes it"
            case .unwritten: "there is no room for it: free some space, or raise the limit of a file's size"
            case .unchanged:
                "the system refuses its change, so it stays as it is; give Ferry's account the right to change its folder"
            }
        }
    }

    package var path: String
    package var reason: Reason

    /// True where somebody should look: names outside UTF-8 stay out for good, and a file in use is mostly closed later.
    package var needsLook: Bool { ![.name, .inUse, .writing].contains(reason) }

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

extension [StuckItem] {
    /// What is kept out of step, in a sentence or two with the remedy for each reason.
    /// - Parameter directory: the mirror's.
    package func sentences(in directory: String) -> [String] {
        func paths(_ reasons: Set<StuckItem.Reason>) -> [String] { filter { reasons.contains($0.reason) }.map(\.path) }
        var sentences: [String] = []
        func add(_ reasons: Set<StuckItem.Reason>, _ sentence: ([String]) -> String) {
            let paths = paths(reasons)
            if !paths.isEmpty { sentences.append(sentence(paths)) }
        }
        add([.name]) {
            "\(Self.count($0, "name")) in \(directory) \($0.count == 1 ? "is" : "are") not UTF-8: \(Self.list($0)). Nothing of it "
                + "travels. Rename it."
        }
        add([.file, .folder]) { paths in
            let reasons = Set(lazy.map(\.reason)).intersection([.file, .folder])
            let what = reasons == [.file] ? "file" : reasons == [.folder] ? "folder" : "item"
            return
                "\(Self.count(paths, what)) in \(directory) cannot be read: \(Self.list(paths)). Nothing of it travels, and nothing "
                + "is deleted. Give Ferry's account the right to read it; the next pass goes on then."
        }
        add([.untaken]) {
            "There is no room beside the database for \(Self.some($0)), saved in \(directory). All other files go on; free some "
                + "space beside the database."
        }
        add([.inUse]) {
            "\(Self.count($0, "database")) in \(directory) \($0.count == 1 ? "waits" : "wait"): \(Self.list($0)). In use, or left by a "
                + "program that died, the last rows lie in a journal beside. Opened and closed by a program, it travels."
        }
        add([.writing]) {
            "\(Self.count($0, "file")) in \(directory) \($0.count == 1 ? "waits" : "wait"): \(Self.list($0)). A program has "
                + "\($0.count == 1 ? "it" : "them") open for writing. The changes travel once the program closes the file."
        }
        add([.unwritten]) {
            "There is no room in \(directory) for \(Self.some($0)). All other documents go on; free some space there."
        }
        add([.unchanged]) {
            "The system refuses changes in \(directory): \(Self.list($0)). All other files go on. Give Ferry's account the right to "
                + "change the folder; the next pass goes on then."
        }
        return sentences
    }

    private static func count(_ paths: [String], _ noun: String) -> String {
        paths.count == 1 ? "1 \(noun)" : "\(paths.count) \(noun)s"
    }

    private static func some(_ paths: [String]) -> String {
        paths[0] + (paths.count > 1 ? " and \(paths.count - 1) more" : "")
    }

    private static func list(_ paths: [String]) -> String {
        let most = 3
        return paths.prefix(most).map { "“\($0)”" }.joined(separator: ", ") + (paths.count > most ? ", and more" : "")
    }
}
