import CSQLiteSession
import Foundation

// Measures Ferry beside plain SQLite: same statements, same run, medians of several rounds. Docs/Performance.md tells
// what the figures say.

struct Options {
    var rows = 100_000
    var rounds = 5
    var isQuick = false
    var isJSON = false
    /// Only sections whose name contains this.
    var only = ""
    var disk = FileManager.default.currentDirectoryPath + "/.build"

    static let usage = """
        usage: FerryBenchmark [--quick] [--rows N] [--rounds N] [--disk FOLDER] [--only PART] [--json]
          --quick    10,000 rows, one round
          --rows     rows of each workload (100,000)
          --rounds   rounds of which medians are taken (5)
          --disk     a folder on the disk to measure (the build folder)
          --only     a part: songs, shop, sync, latency
          --json     the figures as JSON
        """

    init(_ arguments: [String]) {
        var rest = arguments[...]
        func fail(_ message: String) -> Never {
            FileHandle.standardError.write(Data((message + "\n" + Self.usage + "\n").utf8))
            exit(64)
        }
        while let argument = rest.popFirst() {
            switch argument {
            case "--quick": (isQuick, rows, rounds) = (true, 10_000, 1)
            case "--json": isJSON = true
            case "--rows", "--rounds":
                guard let number = rest.popFirst().flatMap({ Int($0) }), number > 0 else {
                    fail("\(argument) needs a number above 0")
                }
                if argument == "--rows" { rows = max(number, 100) } else { rounds = number }
            case "--only":
                guard let part = rest.popFirst() else { fail("--only needs the name of a part") }
                only = part
            case "--disk":
                guard let folder = rest.popFirst() else { fail("--disk needs a folder") }
                disk = folder
            case "--help", "-h":
                print(Self.usage)
                exit(0)
            default: fail("unknown option \(argument)")
            }
        }
    }
}

func measure(_ options: Options) throws -> Measurements {
    var results = Measurements()
    let shared = "/dev/shm"
    let memory = FileManager.default.isWritableFile(atPath: shared) ? shared : NSTemporaryDirectory()
    func progress(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
    func isWanted(_ part: String) -> Bool { options.only.isEmpty || part.contains(options.only) }
    for (medium, folder) in [("memory", memory), ("disk", options.disk)] {
        for workload in [Songs(rows: options.rows), RecordShop(rows: options.rows)] as [any Workload] {
            guard isWanted(workload.name) else { continue }
            let updates = min(options.rows, workload.updatableRows)
            let benchmark = WorkloadBenchmark(
                workload: workload, medium: medium, folder: folder, updates: updates, singles: updates / 5)
            for round in 1...options.rounds {
                progress("\(workload.name), \(medium), round \(round)")
                try benchmark.round(&results)
            }
        }
    }
    if isWanted("sync") {
        progress("sync")
        try SyncBenchmark(folder: memory, changesets: options.rows / 5, history: options.rows).run(&results)
    }
    if isWanted("latency") {
        progress("latency")
        try LatencyBenchmark(folder: memory, count: options.isQuick ? 100 : 1000).run(&results)
    }
    return results
}

let options = Options(Array(CommandLine.arguments.dropFirst()))
do {
    let results = try measure(options)
    if options.isJSON {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        print(String(decoding: try encoder.encode(results.lines), as: UTF8.self))
    } else {
        print("SQLite \(String(cString: sqlite3_libversion())), \(options.rows) rows, \(options.rounds) rounds")
        print(results.table())
    }
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(1)
}
