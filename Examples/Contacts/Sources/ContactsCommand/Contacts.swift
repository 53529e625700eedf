import ArgumentParser
import ContactBook
import Foundation

@main
struct Contacts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "contacts", abstract: "Contacts with pictures, fetched the slow way and the fast way.",
        subcommands: [Make.self, Measure.self, Screen.self])
}

struct Make: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make a database of contacts that Ferry keeps in step.")

    @Argument(help: "The database to make.")
    var path: String
    @Option(help: "How many contacts.")
    var count = 1_000
    @Option(help: "The shared folder. By default the database's name with “-container” after it.")
    var container: String?
    @Option(help: "What everything is made from.")
    var seed: UInt64 = 137
    @Option(help: "Bytes of a picture, give or take half. By default 8192 up to 10,000 contacts, and 1024 above.")
    var pictureBytes: Int?

    func validate() throws {
        if count < 500 { throw ValidationError("Make 500 contacts at least; the measurements need as many.") }
        if FileManager.default.fileExists(atPath: path) { throw ValidationError("\(path) is there already.") }
    }

    func run() throws {
        let start = ContinuousClock.now
        let bench = try Bench.make(
            at: path, container: container ?? path + "-container", count: count, seed: seed,
            pictureBytes: pictureBytes ?? (count > 10_000 ? 1_024 : 8_192))
        let bytes = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        print("\(bench.count) contacts, \(bytes / 1_000_000) MB, \(start.duration(to: .now) / .seconds(1)) s")
    }
}

struct Screen: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "first-screen",
        abstract: "Show the first page of the list, and tell the time it took and the memory of this process.")

    @Argument(help: "The database.")
    var path: String
    @Flag(help: "How it is made.")
    var way: FirstScreen = .paged
    @Flag(help: "Print milliseconds and kilobytes alone.")
    var brief = false

    func run() async throws {
        let start = ContinuousClock.now
        let contents = try await way.show(path)
        let milliseconds = start.duration(to: .now) / .milliseconds(1)
        let peak = try PeakMemory.kilobytes()
        if brief { return print(milliseconds, peak) }
        print(contents.lines.prefix(5).joined(separator: "\n"))
        let rows = contents.sections.values.reduce(0, +)
        print("… \(rows) contacts in \(contents.sections.count) sections")
        print("\(Int(milliseconds)) ms, \(peak / 1_024) MiB at most")
    }
}

extension FirstScreen: EnumerableFlag {}
