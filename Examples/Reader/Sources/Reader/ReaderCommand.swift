import ArgumentParser
import Ferry
import Foundation
import ReaderStore

/// A command on the reader's database. Failures are told here, once for all commands.
protocol ReaderCommand: AsyncParsableCommand {
    var common: CommonOptions { get }
    /// Whether it changes what other devices see, so that a sync follows.
    static var sendsChanges: Bool { get }

    func perform(_ library: Library, _ output: Output) async throws
}

extension ReaderCommand {
    static var sendsChanges: Bool { false }

    func run() async throws {
        let output = common.output
        do {
            let library = try Library(path: common.path)
            try await perform(library, output)
            if Self.sendsChanges { await Self.sync(try library.engine(), output) }
        } catch let code as ExitCode {
            throw code
        } catch {
            let failure = Failure(error)
            output.fail(failure)
            throw ExitCode(failure.status.rawValue)
        }
    }

    /// Makes a pass both ways. Where the folder is away, what the command did is done all the same, and goes out later.
    static func sync(_ engine: SyncEngine, _ output: Output) async {
        do {
            _ = try await engine.sync()
        } catch {
            output.warn("not synced: \(Failure(error).message)")
        }
    }
}

/// What every command takes.
struct CommonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The database. Without it READER_DATABASE, or else ~/.reader.sqlite.", valueName: "file"),
        completion: .file())
    var database: String?

    @Flag(help: "Write the result as one JSON object, for scripts; errors too.")
    var json = false

    func validate() throws {
        if database?.isEmpty ?? false { throw ValidationError("--database names no file.") }
    }

    var path: String {
        if let database { return (database as NSString).expandingTildeInPath }
        let environment = ProcessInfo.processInfo.environment["READER_DATABASE"] ?? ""
        return ((environment.isEmpty ? "~/.reader.sqlite" : environment) as NSString).expandingTildeInPath
    }

    var output: Output { Output(isJSON: json) }
}

/// Feeds as people name them.
struct FeedArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "A feed: its number, its address, or a part of its title or address that no other feed has.",
            valueName: "feed"))
    var feeds: [String] = []
}
