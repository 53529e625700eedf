import CSQLiteSession
import Foundation

// Measures Ferry beside plain SQLite: same statements, same run, medians of several rounds. Docs/Performance.md tells
// what the figures say.

struct Options {
    var rows = 100_000
    var rounds = 5
    var isQuick = false
    var isJSON = false
    var disk = FileManager.default.currentDirectoryPath + "/.build"

    static let usage = """
        usage: FerryBenchmark [--quick] [--rows N] [--rounds N] [--disk FOLDER] [--json]
          --quick    10,000 rows, one round
          --rows     rows of each workload (100,000)
          --rounds   rounds of which medians are taken (5)
          --disk     a folder on the disk to measure (the build folder)
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
    let workloads: [any Workload] = [Songs(rows: options.rows), RecordShop(rows: options.rows)]
    for (medium, folder) in [("memory", memory), ("disk", options.disk)] {
        for workload in workloads {
            let benchmark = WorkloadBenchmark(
                workload: workload, medium: medium, folder: folder, updates: options.rows, singles: options.rows / 5)
            for round in 1...options.rounds {
                FileHandle.standardError.write(Data("\(workload.name), \(medium), round \(round)\n".utf8))
                try benchmark.round(&results)
            }
        }
    }
    FileHandle.standardError.write(Data("sync\n".utf8))
    try SyncBenchmark(folder: memory, changesets: options.rows / 5, history: options.rows).run(&results)
    FileHandle.standardError.write(Data("latency\n".utf8))
    try LatencyBenchmark(folder: memory, count: options.isQuick ? 100 : 1000).run(&results)
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
