import CSQLiteSession
import Foundation

// Measures Ferry beside plain SQLite and SQLite's session extension: same statements, same run, several rounds.
// Docs/Performance.md tells what the figures say, Benchmarks/README.md how they are made.

private func run(_ arguments: [String]) throws {
    if try MeasuredProcess.main(arguments) || CountedWorkload.main(arguments) { return }
    let options = Options(arguments)
    let suite = Suite(options)
    try suite.run()
    let title =
        "SQLite \(String(cString: sqlite3_libversion())), \(grouped(options.rows)) rows, best of "
        + "\(options.rounds) \(options.rounds == 1 ? "round" : "rounds"), "
        + "\(ProcessInfo.processInfo.activeProcessorCount) cores."
    let report = Report(results: suite.results, title: title)
    var markdown = report.markdown()
    if let plots = options.plots {
        try Plot.write(suite.results, into: plots)
        markdown += Plot.links(suite.results, in: plots, from: options.document)
    }
    switch options.output {
    case .text: print(report.text(), terminator: "")
    case .markdown: print(markdown, terminator: "")
    case .json:
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        print(String(decoding: try encoder.encode(suite.results.lines), as: UTF8.self))
    }
    if let document = options.document { try FigureDocument.replace(in: document, by: markdown) }
}

do {
    try run(Array(CommandLine.arguments.dropFirst()))
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(1)
}
