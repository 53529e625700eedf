import ArgumentParser
import Ferry
import FerryDocuments
import FerryMirror

/// `ferry documents list`.
struct DocumentsList: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List documents, with where their bytes are.",
        usage: """
            ferry documents <database> [list] [<folder>]
            [--deleted | --conflicts] [--state <state>] [<options>]
            """,
        discussion: """
            Examples:
              ferry documents music.sqlite list
              ferry documents music.sqlite list Scores
              ferry documents music.sqlite list --deleted
            """)

    @OptionGroup var argument: DatabaseArgument
    @Argument(help: "A folder; all of the documents where it is left out.") var folder: String?
    @Flag(help: "List the trash.") var deleted = false
    @Flag(help: "List documents with rival versions.") var conflicts = false
    @Option(help: "List what is in this state: here, inContainer, waiting, lost.") var state: String?
    @OptionGroup var output: OutputOptions

    private struct Report: Encodable {
        var documents: [DocumentJSON]
        var total: Int
        var bytes: Int
        /// The mirrors into which documents are not written; `nil` without any.
        var mirrors: [MirrorJSON]?
    }

    func validate() throws {
        if deleted && conflicts { throw ValidationError("Choose --deleted or --conflicts.") }
        if folder != nil && (deleted || conflicts) {
            throw ValidationError("--deleted and --conflicts list all folders. Leave the folder out.")
        }
        if let state, !["here", "inContainer", "waiting", "lost"].contains(state) {
            throw ValidationError("A state is here, inContainer, waiting or lost.")
        }
    }

    func perform(_ console: Console) throws {
        let documents = try argument.documents()
        let selection: DocumentAccess.Selection
        if deleted {
            selection = .deleted
        } else if conflicts {
            selection = .conflicts
        } else {
            selection = .below(try folder.map { try DocumentPath($0) } ?? .top)
        }
        let entries = try documents.list(selection).filter { state == nil || $0.availability.word == state }
        let files = entries.filter { $0.kind != .folder }
        let bytes = files.reduce(0) { $0 + ($1.byteCount ?? 0) }
        let blocking = try Mirrors(documents.replica).list().filter {
            $0.standing.blocked > 0 || !$0.standing.stuck.isEmpty
        }
        if console.isJSON {
            return try console.emit(
                Report(
                    documents: entries.map(DocumentJSON.init), total: entries.count, bytes: bytes,
                    mirrors: blocking.isEmpty ? nil : blocking.map { MirrorJSON($0) }))
        }
        if entries.isEmpty {
            for mirror in blocking { MirrorPage.warnStanding(mirror, console) }
            return try console.answer(deleted ? "The trash is empty." : "There are no documents here.")
        }
        if deleted {
            for line in TrashTable.lines(entries, console) { try console.answer(line) }
            return try console.answer("\(Wording.count(entries.count, "document is", "documents are")) in the trash.")
        }
        var table = TextTable("Name", "Size#", "Changed", "Where")
        let now = ReplicaEnvironment.live.clock.milliseconds()
        for entry in entries {
            table.add(
                Wording.oneLine(entry.path + (entry.kind == .folder ? "/" : "")),
                entry.byteCount.map(Wording.bytes) ?? "",
                entry.kind == .folder
                    ? "" : entry.modifiedMicroseconds.map { Wording.age(sinceMilliseconds: $0 / 1000, now: now) } ?? "",
                DocumentWords.place(of: entry, now: now))
        }
        for line in table.lines(console.style) { try console.answer(line) }
        for mirror in blocking { MirrorPage.warnStanding(mirror, console) }
        try console.answer("\(Wording.count(files.count, "document")), \(Wording.bytes(bytes)).")
    }
}

/// The trash as a table. The IDs tell documents of the same path apart.
enum TrashTable {
    /// At least so many digits of an ID are shown.
    private static let leastDigits = 8

    static func lines(_ entries: [DocumentEntry], _ console: Console) -> [String] {
        var table = TextTable("Name", "Size#", "Deleted", "ID")
        let digits = digits(entries)
        for entry in entries {
            table.add(
                Wording.oneLine(entry.path + (entry.kind == .folder ? "/" : "")),
                entry.formerByteCount.map(Wording.bytes) ?? "",
                entry.modifiedMicroseconds.map { Wording.dateAndTime($0 / 1000) } ?? "",
                String(entry.id.hex.prefix(digits)))
        }
        return table.lines(console.style)
    }

    /// How many digits tell all IDs apart.
    private static func digits(_ entries: [DocumentEntry]) -> Int {
        var digits = leastDigits
        while Set(entries.map { $0.id.hex.prefix(digits) }).count < entries.count { digits += 1 }
        return digits
    }
}

/// Words about documents for people.
enum DocumentWords {
    /// The place of a document's bytes, and remarkable facts about the document.
    static func place(of entry: DocumentEntry, now: Int64) -> String {
        var parts: [String] = []
        switch entry.availability {
        case .here: parts.append("here")
        case .inContainer: parts.append("in the container")
        case .waiting(let reason, _, let file, let since):
            let name = file.map { " " + Wording.oneLine(String($0.split(separator: "/").last ?? ""), limit: 16) } ?? ""
            parts.append("waits: \(reason)\(name)\(Wording.waiting(sinceMilliseconds: since, now: now))")
        case .lost(let since): parts.append("lost\(Wording.waiting(sinceMilliseconds: since, now: now))")
        case .none: break
        }
        if !entry.rivals.isEmpty { parts.append("\(entry.rivals.count + 1) versions") }
        if entry.wasDeletedElsewhere { parts.append("another device deleted it") }
        switch entry.misplacement {
        case .cycle: parts.append("two devices moved folders into each other")
        case .noFolder: parts.append("its folder has not arrived")
        case nil: break
        }
        return parts.joined(separator: "; ")
    }
}
