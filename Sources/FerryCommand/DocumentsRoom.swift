import ArgumentParser
import Ferry
import FerryDocuments
import FerryStore

/// Some documents by their paths; a folder means everything in it.
struct DocumentsArgument: ParsableArguments {
    @Argument(help: "Documents and folders; / means all.") var paths: [String]

    func entries(_ documents: DocumentAccess) throws -> [DocumentEntry] {
        var (found, seen): ([DocumentEntry], Set<DocumentID>) = ([], [])
        for text in paths {
            let path = try DocumentPath(text)
            var chosen: [DocumentEntry]
            if path.names.isEmpty {
                chosen = try documents.list(.below(.top))
            } else {
                let entry = try documents.entry(path)
                chosen = entry.kind == .folder ? try documents.list(.below(path)) : [entry]
            }
            chosen.removeAll { $0.content == nil || !seen.insert($0.id).inserted }
            found += chosen
        }
        return found
    }
}

/// The JSON report of `fetch` and `evict`.
private struct RoomJSON: Encodable {
    struct Waiting: Encodable {
        var path: String
        var code: String
        var reason: String
        var file: String?
    }

    var count: Int
    var bytes: Int
    var unfetched: [Waiting]
}

/// `ferry documents fetch`.
struct DocumentsFetch: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Bring the bytes of documents to this device.",
        usage: "ferry documents <database> fetch <paths> ... [<options>]",
        discussion: """
            Small documents come by themselves: `ferry documents keep` says up to what size. Exit status 75 where some of it is \
            still to come.

            Examples:
              ferry documents music.sqlite fetch Scores/Recording.wav
              ferry documents music.sqlite fetch /
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var documents: DocumentsArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let access = try argument.documents()
        let entries = try documents.entries(access)
        if entries.isEmpty, !console.isJSON { return try console.say("There are no documents here.") }
        let results = try access.replica.fetchContents(entries.compactMap(\.content))
        let pairs = Array(zip(entries, results))
        let waiting = pairs.compactMap { entry, result in
            result.problem.map {
                RoomJSON.Waiting(path: entry.path, code: $0.code.rawValue, reason: $0.message, file: $0.path)
            }
        }
        let here = pairs.filter { $1.path != nil }
        let bytes = here.reduce(0) { $0 + ($1.0.byteCount ?? 0) }
        if console.isJSON {
            try console.emit(RoomJSON(count: here.count, bytes: bytes, unfetched: waiting))
        } else {
            try console.say(
                "\(Wording.count(here.count, "document is", "documents are")) here, \(Wording.bytes(bytes)).")
            for item in waiting { console.warn("\(Wording.oneLine(item.path)): \(item.reason)", isReason: true) }
        }
        if !waiting.isEmpty {
            let isLost = waiting.allSatisfy { $0.code == FerryError.Code.contentLost.rawValue }
            throw ExitCode(ExitStatus(isLost ? .contentLost : .contentNotHere).rawValue)
        }
    }
}

/// `ferry documents evict`.
struct DocumentsEvict: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict",
        abstract: "Make room: remove bytes from this device that the container has.",
        usage: "ferry documents <database> evict <paths> ... [<options>]",
        discussion: """
            Nothing is deleted: the documents stay, and opening one brings it again. What is pinned, or not in the container yet, stays.

            Example:
              ferry documents music.sqlite evict Scores
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var documents: DocumentsArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let access = try argument.documents()
        let entries = try documents.entries(access)
        let result = try access.replica.evictContents(entries.compactMap(\.content))
        let waiting = result.left.compactMap { item in
            entries.first { $0.content == item.content }.map {
                RoomJSON.Waiting(path: $0.path, code: item.reason.code.rawValue, reason: item.reason.message)
            }
        }
        if console.isJSON {
            return try console.emit(
                RoomJSON(count: result.evicted.count, bytes: result.bytes, unfetched: waiting))
        }
        try console.say(
            "\(Wording.count(result.evicted.count, "document")) went from this device, \(Wording.bytes(result.bytes)).")
        for item in waiting { console.warn("\(Wording.oneLine(item.path)) stays. \(item.reason)") }
    }
}

/// `ferry documents pin`.
struct DocumentsPin: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "Keep the bytes of documents on this device, and fetch them.",
        usage: "ferry documents <database> pin <paths> ... [<options>]",
        discussion: """
            Example:
              ferry documents music.sqlite pin Scores
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var documents: DocumentsArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws { try PinReport.set(true, argument, documents, console) }
}

/// `ferry documents unpin`.
struct DocumentsUnpin: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin", abstract: "Let the bytes of documents go again where room is needed.",
        usage: "ferry documents <database> unpin <paths> ... [<options>]",
        discussion: """
            Example:
              ferry documents music.sqlite unpin Scores
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var documents: DocumentsArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws { try PinReport.set(false, argument, documents, console) }
}

private struct PinReport: Encodable {
    var count: Int
    var pinned: Bool

    static func set(
        _ isPinned: Bool, _ argument: DatabaseArgument, _ documents: DocumentsArgument, _ console: Console
    ) throws {
        let access = try argument.documents()
        let entries = try documents.entries(access)
        try access.replica.pinContents(entries.compactMap(\.content), isPinned)
        if console.isJSON { return try console.emit(PinReport(count: entries.count, pinned: isPinned)) }
        try console.say(
            "\(Wording.count(entries.count, "document is", "documents are")) \(isPinned ? "pinned" : "not pinned any more")."
        )
    }
}

/// `ferry documents keep`.
struct DocumentsKeep: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "keep",
        abstract: "Say what this device fetches by itself, and how much it keeps.",
        usage: """
            ferry documents <database> keep [--fetch <size>] [--most <size>]
            [--leave-free <size>] [<options>]
            """,
        discussion: """
            Sizes are numbers with kB, MB or GB. Without an option the present choice is printed. It is this device's alone.

            Examples:
              ferry documents music.sqlite keep
              ferry documents music.sqlite keep --fetch all --most all
              ferry documents music.sqlite keep --fetch on-request --most 200MB
            """)

    @OptionGroup var argument: DatabaseArgument
    @Option(help: "Fetch documents up to this size by themselves: a size, all, or on-request.") var fetch: String?
    @Option(help: "Keep at most so much beside the database: a size, or all.") var most: String?
    @Option(help: "Leave so much of the disk free: a size.") var leaveFree: String?
    @OptionGroup var output: OutputOptions

    private struct Report: Encodable {
        /// Absent: all.
        var fetchBytes: Int?
        var keepBytes: Int?
        var leaveFreeBytes: Int
    }

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        var settings = try replica.store.contentSettings()
        if let fetch { settings.fetchBytes = fetch == "on-request" ? 0 : try ByteSize.parse(fetch) }
        if let most { settings.keepBytes = try ByteSize.parse(most) }
        if let leaveFree {
            guard let bytes = try ByteSize.parse(leaveFree) else {
                throw FerryError(.invalidArgument, "--leave-free is a size, such as 2GB.")
            }
            settings.leaveFreeBytes = bytes
        }
        if fetch != nil || most != nil || leaveFree != nil { try replica.store.setContentSettings(settings) }
        if console.isJSON {
            return try console.emit(
                Report(
                    fetchBytes: settings.fetchBytes, keepBytes: settings.keepBytes,
                    leaveFreeBytes: settings.leaveFreeBytes))
        }
        switch settings.fetchBytes {
        case nil: try console.answer("All documents are fetched by themselves.")
        case 0: try console.answer("Documents are fetched on request alone.")
        case let bytes?: try console.answer("Documents up to \(Wording.bytes(bytes)) are fetched by themselves.")
        }
        try console.answer(
            settings.keepBytes.map { "At most \(Wording.bytes($0)) stay beside the database." }
                ?? "All of them stay beside the database.")
        try console.answer("\(Wording.bytes(settings.leaveFreeBytes)) of the disk stay free.")
    }
}

/// Sizes as people write them.
enum ByteSize {
    /// Reads `200MB`, `1.5 GB` or `4096`; `nil` for `all`.
    /// - Throws: `invalidArgument` for anything else.
    static func parse(_ text: String) throws -> Int? {
        if text.lowercased() == "all" { return nil }
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = text.dropFirst(number.count).trimmingPrefix(while: \.isWhitespace).lowercased()
        let factors = ["": 1.0, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12]
        guard let value = Double(number), let factor = factors[unit], value * factor < 1e18 else {
            throw FerryError(.invalidArgument, "“\(text)” is no size. Write one as 200MB or 1.5GB.")
        }
        return Int(value * factor)
    }
}

/// `ferry documents attachments`.
struct DocumentsAttachments: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "attachments",
        abstract: "List and declare the columns of the app's that hold IDs of contents.",
        usage: """
            ferry documents <database> attachments [--add <table.column>]
            [--remove <table.column>] [<options>]
            """,
        discussion: """
            A declaration travels: all devices keep and fetch what such a column names.

            Examples:
              ferry documents music.sqlite attachments
              ferry documents music.sqlite attachments --add photo.image
            """)

    @OptionGroup var argument: DatabaseArgument
    @Option(help: "Declare a column.") var add: String?
    @Option(help: "Take a column's declaration back.") var remove: String?
    @OptionGroup var output: OutputOptions

    private struct Report: Encodable { var columns: [String] }

    func perform(_ console: Console) throws {
        let documents = try argument.documents()
        if let target = try add.map(Self.parsed) { try documents.declareAttachments(target.table, target.column) }
        if let target = try remove.map(Self.parsed) { try documents.withdrawAttachments(target.table, target.column) }
        let columns = try documents.attachments()
        if console.isJSON { return try console.emit(Report(columns: columns)) }
        if columns.isEmpty { return try console.answer("No column is declared for attachments.") }
        for column in columns { try console.answer(Wording.oneLine(column)) }
    }

    private static func parsed(_ text: String) throws -> AttachmentTarget {
        if let target = AttachmentTarget(text) { return target }
        throw FerryError(.invalidArgument, "“\(text)” is no column. Write it as table.column, such as photo.image.")
    }
}
