import Foundation

/// The `sqlite3` shell as the writer: the same statements, as text, with and without Ferry's triggers. Reading the text
/// is a part of both.
struct ShellBenchmark {
    let workload: any Workload
    let folder: String
    let updates: Int
    /// What stands beside plain SQLite.
    var tracked = [
        Tracked { workload, place in
            _ = try Device.first(workload, in: place)
            return place.database("first")
        }
    ]
    static let shell = "/usr/bin/sqlite3"

    /// A database with triggers.
    struct Tracked {
        /// What the lines are called, by the names of the scripts.
        var name: (String) -> String = { $0 }
        /// Makes the database and tells its path.
        var make: (any Workload, Place) throws -> String
    }

    static func section(_ workload: any Workload) -> String { "sqlite3 shell, \(workload.name), memory" }

    static var isThere: Bool { FileManager.default.isExecutableFile(atPath: shell) }

    func round(into section: String, _ results: Measurements) throws {
        let place = try Place(below: folder)
        defer { place.remove() }
        let scripts = try scripts(place)
        let plain = try rates(scripts, Self.makePlain)
        for kind in tracked {
            for ((name, rate), (_, base)) in zip(try rates(scripts, kind.make), plain) {
                results.add(section, kind.name(name), "rows/s", .plain, base)
                results.add(section, kind.name(name), "rows/s", .ferry, rate)
            }
        }
    }

    private static func makePlain(_ workload: any Workload, _ place: Place) throws -> String {
        try Database(path: place.database("plain")).execute(workload.schema)
        return place.database("plain")
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
            try script(WorkloadBenchmark.deleting) { try workload.delete(writer) },
        ]
    }

    /// - Returns: the rates, in rows a second.
    private func rates(
        _ scripts: [Script], _ make: (any Workload, Place) throws -> String
    ) throws -> [(name: String, rate: Double)] {
        let place = try Place(below: folder)
        defer { place.remove() }
        let path = try make(workload, place)
        let rates = try scripts.map { script in
            (script.name, Double(script.rows) / (try seconds { try run(script, path) }))
        }
        let fingerprint = try Database(path: path).integer(workload.fingerprint)
        if fingerprint == 0 { throw BenchmarkError("the shell wrote nothing") }
        return rates
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
