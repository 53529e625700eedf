import ArgumentParser
import Ferry
import FerryDocuments
import Foundation

/// A version in the JSON output.
struct VersionJSON: Encodable {
    var number: Int
    var id: String
    var content: String?
    var bytes: Int?
    var device: String?
    var madeMilliseconds: Int64
    var isCurrent: Bool
    var isRival: Bool
    var state: String

    init(_ version: DocumentVersion) {
        number = version.number
        id = version.id.hex
        content = version.content?.hex
        bytes = version.byteCount
        device = version.device
        madeMilliseconds = version.madeMilliseconds
        isCurrent = version.isCurrent
        isRival = version.isRival
        state = version.availability.word
    }
}

/// `ferry documents versions`.
struct DocumentsVersions: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "versions",
        abstract: "List the versions of a document.",
        usage: "ferry documents <database> versions <path> [<options>]",
        discussion: """
            Version 1 is shown. Rivals follow, then the past, the latest first.

            Example:
              ferry documents music.sqlite versions Scores/Trio.pdf
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var document: DocumentArgument
    @OptionGroup var output: OutputOptions

    private struct Report: Encodable {
        var path: String
        var versions: [VersionJSON]
    }

    func perform(_ console: Console) throws {
        let documents = try argument.documents()
        let entry = try documents.entry(document.parsed())
        let versions = try documents.versions(of: entry.id)
        if console.isJSON {
            return try console.emit(Report(path: entry.path, versions: versions.map(VersionJSON.init)))
        }
        for line in VersionTable.lines(versions, console) { try console.answer(line) }
    }
}

/// Versions as a table.
enum VersionTable {
    static func lines(_ versions: [DocumentVersion], _ console: Console) -> [String] {
        var table = TextTable("No.#", "Size#", "Made", "By", "What")
        for version in versions {
            let what = version.isCurrent ? "shown" : version.isRival ? "rival" : ""
            table.add(
                "\(version.number)", version.byteCount.map(Wording.bytes) ?? "deletion",
                Wording.dateAndTime(version.madeMilliseconds), Wording.oneLine(version.device ?? "a merge"), what)
        }
        return table.lines(console.style)
    }
}

/// `ferry documents conflicts`.
struct DocumentsConflicts: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "List documents with rival versions, and the versions.",
        usage: "ferry documents <database> conflicts [<options>]",
        discussion: """
            Example:
              ferry documents music.sqlite conflicts
              ferry documents music.sqlite settle Notes.md --keep 2
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var output: OutputOptions

    private struct Report: Encodable {
        struct Conflict: Encodable {
            var path: String
            var versions: [VersionJSON]
        }

        var conflicts: [Conflict]
        var total: Int
    }

    func perform(_ console: Console) throws {
        let documents = try argument.documents()
        let entries = try documents.list(.conflicts)
        let versions = try entries.map { entry in
            try documents.versions(of: entry.id).filter { $0.isCurrent || $0.isRival }
        }
        if console.isJSON {
            let conflicts = zip(entries, versions).map { entry, versions in
                Report.Conflict(path: entry.path, versions: versions.map(VersionJSON.init))
            }
            return try console.emit(Report(conflicts: conflicts, total: entries.count))
        }
        if entries.isEmpty { return try console.answer("No document has rival versions.") }
        for (entry, versions) in zip(entries, versions) {
            try console.answer(console.style.bold(Wording.oneLine(entry.path)))
            for line in VersionTable.lines(versions, console) { try console.answer(line) }
        }
        console.hint("Settle one: `ferry documents <database> settle PATH --keep N`, or `--both`.")
    }
}

/// `ferry documents get`.
struct DocumentsGet: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Write a document to a file, or to standard output.",
        usage: """
            ferry documents <database> get <path> [--version <n>]
            [-o <file>] [--force] [<options>]
            """,
        discussion: """
            Without -o the file gets the document's name, in the present directory. A file that is there stays, but with --force.

            Examples:
              ferry documents music.sqlite get Scores/Trio.pdf
              ferry documents music.sqlite get Notes.md -o - | less
              ferry documents music.sqlite get Notes.md --version 2 -o older.md
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var document: DocumentArgument
    @Option(help: "The version's number, as `versions` lists it.") var version: Int?
    @Option(name: [.customShort("o"), .customLong("output")], help: "The file; - is standard output.")
    var file: String?
    @Flag(help: "Write over a file that is there.") var force = false
    @OptionGroup var output: OutputOptions

    private struct Report: Encodable {
        var path: String
        var id: String
        var version: String
        var file: String
        var bytes: Int
    }

    func validate() throws {
        if file == "-" && output.json {
            throw ValidationError("--json has no room for the document. Name a file by -o.")
        }
    }

    func perform(_ console: Console) throws {
        let documents = try argument.documents()
        let path = try document.parsed()
        let entry = try documents.entry(path)
        if entry.kind == .folder {
            throw FerryError(
                .invalidArgument, "“\(path)” is a folder. Name a document; `list` shows what is in the folder.")
        }
        let chosen = try version.map { number in
            guard let found = try documents.versions(of: entry.id).first(where: { $0.number == number }) else {
                throw FerryError(
                    .nothingFound, "The document has no version \(number). `ferry documents versions` lists them.")
            }
            return found.id
        }
        let source = try documents.file(of: entry.id, version: chosen)
        if file == "-" { return try DiskFiles.copyToStandardOutput(source.path) }
        let target = file ?? entry.name
        if DiskFiles.isOwn(target, of: argument.database) {
            throw FerryError(
                .invalidArgument, "The file \(target) is the database, or a file that belongs to it. Name another one.")
        }
        let bytes = try DiskFiles.copy(
            source.path, to: target, overwriting: force, isExecutable: source.isExecutable,
            modifiedMicroseconds: source.modifiedMicroseconds)
        if console.isJSON {
            return try console.emit(
                Report(
                    path: entry.path, id: entry.id.hex, version: source.version.hex, file: target, bytes: bytes))
        }
        try console.say("\(Wording.oneLine(target)): \(Wording.bytes(bytes)).")
    }
}

/// `ferry documents settle`.
struct DocumentsSettle: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "settle",
        abstract: "End a conflict: keep one version, keep both, or give merged bytes.",
        usage: """
            ferry documents <database> settle <path>
            --keep <n> | --both | --with <file> [<options>]
            """,
        discussion: """
            Examples:
              ferry documents music.sqlite settle Notes.md --keep 2
              ferry documents music.sqlite settle Notes.md --both
              ferry documents music.sqlite settle Notes.md --with merged.md
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var document: DocumentArgument
    @Option(help: "The number of the version that stands.") var keep: Int?
    @Flag(help: "Each rival becomes a document of its own.") var both = false
    @Option(help: "A file with what stands.", completion: .file()) var with: String?
    @OptionGroup var output: OutputOptions

    private struct Report: Encodable {
        var path: String
        var id: String
        var version: String
    }

    func validate() throws {
        let ways = [keep != nil, both, with != nil].count { $0 }
        if ways != 1 { throw ValidationError("Say how: --keep N, --both, or --with FILE.") }
    }

    func perform(_ console: Console) throws {
        let documents = try argument.documents()
        let entry = try documents.entry(document.parsed())
        let version: VersionID
        if let keep {
            guard let chosen = try documents.versions(of: entry.id).first(where: { $0.number == keep }) else {
                throw FerryError(
                    .nothingFound, "The document has no version \(keep). `ferry documents versions` lists them.")
            }
            version = try documents.settle(entry.id, keeping: chosen.id)
        } else if let with {
            let source = try DocumentSource(reading: with, at: document.parsed())
            let stored = try documents.replica.storeContents([with])
            version = try documents.settle(
                entry.id, with: stored[0], modifiedMicroseconds: source.modifiedMicroseconds)
        } else {
            version = try documents.settleKeepingBoth(entry.id)
        }
        if console.isJSON {
            return try console.emit(Report(path: entry.path, id: entry.id.hex, version: version.hex))
        }
        try console.say("\(Wording.oneLine(entry.path)) is settled.")
    }
}
