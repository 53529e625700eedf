import ArgumentParser
import ContactBook
import Foundation

struct Measure: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure every technique beside what it replaces.",
        discussion: "Both sides take turns. Times are medians of the rounds, ratios medians of the rounds' ratios.")

    @Argument(help: "The database, as `make` left it.")
    var path: String
    @Option(help: "How often each is measured.")
    var rounds = 7
    @Option(help: "Measure only techniques whose name contains this.")
    var only: String?

    func run() async throws {
        let bench = try Bench(path: path)
        print("\(bench.count) contacts, \(rounds) rounds\n")
        if only == nil { try await measureFirstScreens() }
        print("| | slow way, ms | well done, ms | ratio |\n| --- | ---: | ---: | ---: |")
        for technique in Technique.all where only.map({ technique.name.contains($0) }) ?? true {
            let pairs = try (0..<rounds).map { try measure(technique, bench, isNaiveFirst: $0 % 2 == 0) }
            let (naive, wellDone) = (median(pairs.map(\.naive)), median(pairs.map(\.wellDone)))
            let ratio = median(pairs.map { $0.naive / $0.wellDone })
            print("| \(technique.name) | \(figure(naive)) | \(figure(wellDone)) | \(figure(ratio)) |")
        }
    }

    // MARK: Techniques

    private func measure(
        _ technique: Technique, _ bench: Bench, isNaiveFirst: Bool
    ) throws -> (naive: Double, wellDone: Double) {
        var (naive, wellDone) = (0.0, 0.0)
        for isNaive in isNaiveFirst ? [true, false] : [false, true] {
            let work = isNaive ? technique.naive : technique.wellDone
            let time = try technique.scratch.map { try timeWriting(work, $0) } ?? timeReading(work, bench)
            if isNaive { naive = time } else { wellDone = time }
        }
        return (naive, wellDone)
    }

    /// Again and again for 20 milliseconds at least, so that what is short is measured as well.
    private func timeReading(_ work: Technique.Work, _ bench: Bench) throws -> Double {
        let start = ContinuousClock.now
        var times = 0.0
        repeat {
            _ = try work(bench)
            times += 1
        } while start.duration(to: .now) < .milliseconds(20)
        return start.duration(to: .now) / .milliseconds(1) / times
    }

    private func timeWriting(_ work: Technique.Work, _ count: Int) throws -> Double {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("contacts-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer {
            // What is left of it is in a folder for what is temporary.
            try? FileManager.default.removeItem(at: folder)  // a temporary folder
        }
        let bench = try Bench.make(
            at: folder.appendingPathComponent("scratch.sqlite").path,
            container: folder.appendingPathComponent("container").path, count: count, pictureBytes: 1_024)
        let start = ContinuousClock.now
        _ = try work(bench)
        return start.duration(to: .now) / .milliseconds(1)
    }

    // MARK: First screens

    /// Each in a process of its own.
    private func measureFirstScreens() async throws {
        try await FirstScreen.prepareCache(path)
        var times: [FirstScreen: [Double]] = [:]
        var peaks: [FirstScreen: [Double]] = [:]
        for round in 0..<rounds {
            for way in round % 2 == 0 ? FirstScreen.allCases : FirstScreen.allCases.reversed() {
                let (milliseconds, kilobytes) = try run(way)
                times[way, default: []].append(milliseconds)
                peaks[way, default: []].append(kilobytes / 1_024)
            }
        }
        print("| first screen | ms | ratio | MiB at most | ratio |\n| --- | ---: | ---: | ---: | ---: |")
        for way in FirstScreen.allCases {
            let (time, peak) = (times[way] ?? [], peaks[way] ?? [])
            let faster = median(zip(times[.naive] ?? [], time).map { $0 / $1 })
            let smaller = median(zip(peaks[.naive] ?? [], peak).map { $0 / $1 })
            print(
                "| \(way) | \(figure(median(time))) | \(figure(faster)) | \(figure(median(peak)))"
                    + " | \(figure(smaller)) |")
        }
        print("")
    }

    struct ScreenFailed: Error, CustomStringConvertible {
        var description: String
    }

    private func run(_ way: FirstScreen) throws -> (milliseconds: Double, kilobytes: Double) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["first-screen", path, "--\(way)", "--brief"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        let figures = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard process.terminationStatus == 0, figures.count == 2 else {
            throw ScreenFailed(description: "first-screen --\(way) ended with \(process.terminationStatus): \(text)")
        }
        return (figures[0], figures[1])
    }

    // MARK: Figures

    private func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        if sorted.isEmpty { return .nan }
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }

    /// Three digits.
    private func figure(_ value: Double) -> String {
        String(format: value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : value >= 1 ? "%.2f" : "%.3f", value)
    }
}
