import ArgumentParser
import Feeds
import Foundation
import ReaderStore

/// `reader keep`.
struct KeepCommand: ReaderCommand {
    static let sendsChanges = true
    static let configuration = CommandConfiguration(
        commandName: "keep", abstract: "Keep an article's files and its picture, on all devices.",
        discussion: """
            Fetches what belongs to the article, such as a podcast's episode. The bytes go through the shared folder to the \
            other devices. With --remove the files are kept no longer.

            Examples:
              reader keep 12
              reader keep 12 --remove
            """)

    @Argument(help: "The article's number, as `reader list` shows it.")
    var article: Int64

    @Flag(help: "Let the files go, on all devices.")
    var remove = false

    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws {
        struct Report: Encodable { var files: [KeptFile] }
        struct Removal: Encodable { var removed: Int }
        let kept = try KeptFiles(library, library.engine())
        let article = try library.article(article)
        if remove {
            let count = try kept.remove(of: article)
            if output.isJSON { return try output.emit(Removal(removed: count)) }
            return try output.say(count == 0 ? "None of its files is kept." : "\(count) files are kept no longer.")
        }
        let new = try await kept.keep(article)
        if output.isJSON { return try output.emit(Report(files: new)) }
        if new.isEmpty { return try output.say("Its files are kept already.") }
        for file in new { try output.say("Kept \(file.name), \(file.bytes.asByteCount).") }
    }
}

/// `reader files`.
struct FilesCommand: ReaderCommand {
    static let configuration = CommandConfiguration(
        commandName: "files", abstract: "List the kept files of an article, or write them into a folder.",
        discussion: """
            Examples:
              reader files 12
              reader files 12 --into ~/Podcasts
            """)

    @Argument(help: "The article's number, as `reader list` shows it.")
    var article: Int64

    @Option(help: ArgumentHelp("Write the files there.", valueName: "folder"), completion: .directory)
    var into: String?

    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws {
        struct Report: Encodable {
            var files: [KeptFile]
            /// Where they were written.
            var paths: [String]?
        }
        let kept = try KeptFiles(library, library.engine())
        let files = try kept.files(of: library.article(article))
        guard let into else {
            if output.isJSON { return try output.emit(Report(files: files)) }
            if files.isEmpty { return try output.say("None of its files is kept; `reader keep \(article)` does.") }
            for file in files { try output.say("\(file.name)  \(file.bytes.asByteCount)  \(file.url)") }
            return
        }
        let folder = URL(fileURLWithPath: (into as NSString).expandingTildeInPath)
        var paths: [String] = []
        for file in files { paths.append(try await kept.save(file, into: folder).path) }
        if output.isJSON { return try output.emit(Report(files: files, paths: paths)) }
        for path in paths { try output.say("Wrote \(path).") }
    }
}
