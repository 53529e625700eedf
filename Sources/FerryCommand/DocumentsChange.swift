import ArgumentParser
import Ferry
import FerryDocuments

/// `ferry documents add`.
struct DocumentsAdd: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add files, or directories with all their files.",
        usage: "ferry documents <database> add <files> ... [--to <path>] [<options>]",
        discussion: """
            With one file, --to is the document's path; a path that ends with a slash, or is a folder, means a folder. Several files \
            and directories go into that folder. A file that is there with the same bytes stays as it is.

            Examples:
              ferry documents music.sqlite add Trio.pdf
              ferry documents music.sqlite add Trio.pdf --to Scores/
              ferry documents music.sqlite add ~/Papers --to Archive/
            """)

    @OptionGroup var argument: DatabaseArgument
    @Argument(help: "Files and directories.", completion: .file()) var files: [String]
    @Option(help: "The document's path, or a folder.") var to: String?
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let documents = try argument.documents()
        let (sources, left) = try DiskFiles.sources(files, to: to) { path in
            (try? documents.entry(path))?.kind == .folder  // a path without an entry is no folder
        }
        if sources.isEmpty {
            throw FerryError(
                .nothingFound,
                left.isEmpty
                    ? "There is no file to add."
                    : "\(left[0]) is no file and no directory that a document can be made of, such as a link. Name the file itself."
            )
        }
        let (outcomes, newBytes) = try documents.add(sources)
        for path in left {
            console.warn(
                "\(Wording.oneLine(path)) was left out: it is no file and no directory, or has a name that no document can have."
            )
        }
        if console.isJSON { return try console.emit(DocumentChangeJSON(outcomes, newBytes: newBytes)) }
        let new = outcomes.filter { $0.version != nil }
        if new.isEmpty { return try console.say("All of it is there already.") }
        let bytes = new.reduce(0) { $0 + $1.byteCount }
        let what = new.count == 1 ? Wording.oneLine(new[0].path.description) : Wording.count(new.count, "document")
        try console.say(
            "Added \(what): \(Wording.bytes(bytes)), \(Wording.bytes(newBytes)) of packs for the container.")
    }
}

/// `ferry documents put`.
struct DocumentsPut: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Save a file as a document's new version.",
        usage: "ferry documents <database> put <file> <path> [<options>]",
        discussion: """
            A document that is not there is made. The version before stays: `versions` lists it.

            Example:
              ferry documents music.sqlite put trio.pdf Scores/Trio.pdf
            """)

    @OptionGroup var argument: DatabaseArgument
    @Argument(help: "The file.", completion: .file()) var file: String
    @OptionGroup var document: DocumentArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let documents = try argument.documents()
        let source = try DocumentSource(reading: file, at: document.parsed())
        let (outcomes, newBytes) = try documents.add([source], replacing: true)
        if console.isJSON { return try console.emit(DocumentChangeJSON(outcomes, newBytes: newBytes)) }
        let path = Wording.oneLine(outcomes[0].path.description)
        try console.say(
            outcomes[0].version == nil
                ? "\(path) has these bytes already."
                : "Saved \(path): \(Wording.bytes(outcomes[0].byteCount)), \(Wording.bytes(newBytes)) of packs for the container."
        )
    }
}

/// `ferry documents folder`.
struct DocumentsFolder: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "folder",
        abstract: "Make a folder, with the folders around it.",
        usage: "ferry documents <database> folder <path> [<options>]",
        discussion: """
            Example:
              ferry documents music.sqlite folder Scores/2026
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var document: DocumentArgument
    @OptionGroup var output: OutputOptions

    private struct Report: Encodable {
        var path: String
        var id: String?
    }

    func perform(_ console: Console) throws {
        let path = try document.parsed()
        let id = try argument.documents().makeFolder(path)
        if console.isJSON { return try console.emit(Report(path: path.description, id: id?.hex)) }
        try console.say(
            path.names.isEmpty ? "The top is always there." : "\(Wording.oneLine(path.description))/ is there.")
    }
}

/// The JSON report of `move`, `remove` and `put-back`.
private struct PlaceJSON: Encodable {
    var path: String
    var id: String
    /// How many documents and folders were concerned.
    var count: Int
}

/// `ferry documents move`.
struct DocumentsMove: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Rename or move a document or a folder.",
        usage: "ferry documents <database> move <path> <target> [<options>]",
        discussion: """
            A path that ends with a slash, or is a folder, means a folder to move into.

            Examples:
              ferry documents music.sqlite move Trio.pdf "Piano Trio.pdf"
              ferry documents music.sqlite move Trio.pdf Scores/
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var document: DocumentArgument
    @Argument(help: "The new path, or a folder.") var target: String
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let documents = try argument.documents()
        let entry = try documents.entry(document.parsed())
        var path = try DocumentPath(target)
        // A path without an entry is no folder.
        let isFolder =
            target.hasSuffix("/") || ((try? documents.entry(path))?.kind == .folder && path.description != entry.path)
        if isFolder { path = try path.appending(entry.name) }
        try documents.move(entry.id, to: path)
        if console.isJSON {
            return try console.emit(PlaceJSON(path: path.description, id: entry.id.hex, count: 1))
        }
        try console.say("\(Wording.oneLine(entry.path)) is \(Wording.oneLine(path.description)) now.")
    }
}

/// `ferry documents remove`.
struct DocumentsRemove: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Put a document into the trash; a folder with everything in it.",
        usage: "ferry documents <database> remove <path> [<options>]",
        discussion: """
            The trash keeps a document for thirty days, or as `retention` says. Until then \
            `ferry documents put-back` brings it back.

            Example:
              ferry documents music.sqlite remove Scores/Trio.pdf
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var document: DocumentArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let documents = try argument.documents()
        let entry = try documents.entry(document.parsed())
        let count = try documents.remove(entry.id)
        if console.isJSON {
            return try console.emit(PlaceJSON(path: entry.path, id: entry.id.hex, count: count))
        }
        let rest = count > 1 ? ", with \(Wording.count(count - 1, "document")) in it" : ""
        try console.say("\(Wording.oneLine(entry.path)) is in the trash\(rest).")
    }
}

/// `ferry documents put-back`.
struct DocumentsPutBack: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "put-back",
        abstract: "Bring a document back from the trash; a folder with everything in it.",
        usage: "ferry documents <database> put-back <path> [--id <id>] [<options>]",
        discussion: """
            Where several deleted documents had the path, the one that was deleted last comes back. --id chooses another one.

            Examples:
              ferry documents music.sqlite put-back Scores/Trio.pdf
              ferry documents music.sqlite put-back Scores/Trio.pdf --id 3f2a9c41
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var document: DocumentArgument
    @Option(help: "The document's ID, or the beginning of it, as `list --deleted` shows it.") var id: String?
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let documents = try argument.documents()
        let path = try document.parsed()
        let ofPath = try documents.list(.deleted).filter { $0.path == path.description }
        let chosen = ofPath.filter { entry in id.map { entry.id.hex.hasPrefix($0.lowercased()) } ?? true }
        guard let entry = chosen.max(by: { ($0.modifiedMicroseconds ?? 0) < ($1.modifiedMicroseconds ?? 0) }) else {
            let what = ofPath.isEmpty ? "“\(path)”" : "“\(path)” with the ID \(id ?? "")"
            throw FerryError(
                .nothingFound, "The trash has no \(what). `ferry documents list --deleted` shows what it has.")
        }
        if id != nil, chosen.count > 1 {
            throw FerryError(
                .invalidArgument, "Several IDs in the trash begin with \(id ?? ""). Name more digits of the ID.")
        }
        let count = try documents.putBack(entry.id)
        if console.isJSON {
            return try console.emit(PlaceJSON(path: entry.path, id: entry.id.hex, count: count))
        }
        try console.say("\(Wording.oneLine(entry.path)) is back.")
        if ofPath.count > 1, id == nil {
            console.hint(
                "The trash has \(ofPath.count - 1) more of this path: `ferry documents list --deleted` shows their IDs, for --id."
            )
        }
    }
}
