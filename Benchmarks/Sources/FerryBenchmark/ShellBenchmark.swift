import Foundation

/// The `sqlite3` shell as the writer: the same statements, as text, with and without Ferry's triggers. Reading the text
/// is a part of both.
struct ShellBenchmark {
    let workload: any Workload
    let folder: String
    let updates: Int
    static let shell = "/usr/bin/sqlite3"

    private var section: String { "sqlite3 shell, \(workload.name), memory" }

    static var isThere: Bool { FileManager.default.isExecutableFile(atPath: shell) }

    func run(rounds: Int, progress: (Int) -> Void, _ results: Measurements) throws {
        let place = try Place(below: folder)
        defer { place.remove() }
        let scripts = try scripts(place)
        for round in 1...rounds {
            progress(round)
            try self.round(scripts, .plain, results) { try Self.plain(workload, $0).database("plain") }
            try self.round(scripts, .ferry, results) {
                _ = try Device.first(workload, in: $0)
                return $0.database("first")
            }
        }
    }

    private static func plain(_ workload: some Workload, _ place: Place) throws -> Place {
        try Database(path: place.database("plain")).execute(workload.schema)
        return place
    }

    private struct Script {
        var name: String
        var path: String
        var rows: Int
    }

    /// The statements as files, which the shell reads from its standard input.
    private func scripts(_ place: Place) throws -> [Script] {
        let writer = try Database(path: place.database("writer"))
        try writer.execute(workload.schema)
        func script(_ name: String, _ body: () throws -> Int) throws -> Script {
            writer.script = "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 10000;\n"
            let rows = try body()
            let path = place.folder + "/\(name).sql"
            try Data((writer.script ?? "").utf8).write(to: URL(fileURLWithPath: path))
            writer.script = nil
            return Script(name: name, path: path, rows: rows)
        }
        return [
            try script(WorkloadBenchmark.inserting) { try workload.insert(writer) },
            try script(WorkloadBenchmark.updating) {
                try workload.update(writer, first: 0, count: updates, transactionSize: 1000)
                return updates
            },
            try script(WorkloadBenchmark.updatingSingly) {
                try workload.update(writer, first: updates, count: updates / 5, transactionSize: 1)
                return updates / 5
            },
        ]
    }

    private func round(
        _ scripts: [Script], _ variant: Measurements.Variant, _ results: Measurements,
        make: (Place) throws -> String
    ) throws {
        let place = try Place(below: folder)
        defer { place.remove() }
        let path = try make(place)
        for script in scripts {
            let time = try seconds { try run(script, path) }
            results.add(section, script.name, "rows/s", variant, Double(script.rows) / time)
        }
        let fingerprint = try Database(path: path).integer(workload.fingerprint)
        if fingerprint == 0 { throw BenchmarkError("the shell wrote nothing") }
    }

    private func run(_ script: Script, _ database: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.shell)
        process.arguments = ["-batch", "-bail", database]
        guard let input = FileHandle(forReadingAtPath: script.path) else {
            throw BenchmarkError("\(script.path) is missing")
        }
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        if process.terminationStatus != 0 { throw BenchmarkError("the sqlite3 shell failed at \(script.name)") }
    }
}
