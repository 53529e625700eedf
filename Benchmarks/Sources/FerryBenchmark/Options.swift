import Foundation

/// What the command line asks for.
struct Options {
    var rows = 100_000
    var rounds = 5
    var isQuick = false
    var isLarge = false
    /// Only parts whose name contains this.
    var only: [String] = []
    var disk = FileManager.default.currentDirectoryPath + "/.build"
    var output = Output.text
    /// A Markdown file whose figures are replaced.
    var document: String?
    /// Where plots are written.
    var plots: String?

    enum Output { case text, json, markdown }

    static let usage = """
        usage: FerryBenchmark [--quick] [--large] [--rows N] [--rounds N] [--disk FOLDER] [--only PART]…
                              [--json | --markdown] [--into FILE] [--plots FOLDER]
          --quick     10,000 rows, one round, small sizes, in less than two minutes: to see that it works
          --large     sizes of ten million as well, on the disk: some 20 GB there, and half an hour; hard cases
                      with 16 and 32 times as much as well
          --rows      rows of each workload (100,000)
          --rounds    rounds, whose best counts (5)
          --disk      a folder on the disk to measure (the build folder)
          --only      parts whose name contains this, or one of several; on two cores all of them take some 25 minutes:
                        songs, record shop    5 and 3 minutes: capture, pack, join, replay, conflicts
                        bounds                7 minutes: the least that any design would do, in plain SQLite
                        shell                 the sqlite3 shell as writer
                        rules                 with UNIQUE and foreign keys, and without
                        small changesets      1 minute
                        hard cases            2 minutes: chains, many tables, rows that become one, conflicts, triggers;
                                              a part of a case's name measures that one
                        history               nothing new after many changes
                        size                  3 minutes: join, memory and merge against the size of the store
                        key-value             sets of up to a million members
                        sealed                4 minutes: a sealed container beside an open one
                        latency, idle         2 minutes each, with 10, 100 and 1,000 devices in the container
                        requests              a month's requests to an object storage, in simulated time
                        gateway               8 minutes: through Ceph's gateway on loopback, where it is installed
          --json      the figures as JSON
          --markdown  the figures as tables of Markdown
          --into      puts those tables into a file, between its lines "<!-- figures -->" and "<!-- end of figures -->"
          --plots     writes plots (SVG) into a folder
        """

    init(_ arguments: [String]) {
        var rest = arguments[...]
        func text(_ option: String, _ what: String) -> String {
            guard let value = rest.popFirst() else { Self.fail("\(option) needs \(what)") }
            return value
        }
        func number(_ option: String) -> Int {
            guard let value = Int(text(option, "a number")), value > 0 else {
                Self.fail("\(option) needs a number above 0")
            }
            return value
        }
        while let argument = rest.popFirst() {
            switch argument {
            case "--quick": (isQuick, rows, rounds) = (true, 10_000, 1)
            case "--large": isLarge = true
            case "--json": output = .json
            case "--markdown": output = .markdown
            case "--rows": rows = max(number(argument), 100)
            case "--rounds": rounds = number(argument)
            case "--only": only.append(text(argument, "the name of a part"))
            case "--disk": disk = text(argument, "a folder")
            case "--into": document = text(argument, "a file")
            case "--plots": plots = text(argument, "a folder")
            case "--help", "-h":
                print(Self.usage)
                exit(0)
            default: Self.fail("unknown option \(argument)")
            }
        }
    }

    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data((message + "\n" + usage + "\n").utf8))
        exit(64)
    }

    func isWanted(_ part: String) -> Bool { only.isEmpty || only.contains { part.contains($0) } }

    /// A folder in memory, where the system has one.
    let memory =
        FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()

    /// Where a database of a number of rows is made: large ones do not fit into memory.
    func folder(rows: Int) -> String { rows > 1_000_000 ? disk : memory }

    // MARK: Sizes

    /// Powers of ten from a thousand on.
    var sizes: [Int] {
        isQuick ? [1000, 10_000] : [1000, 10_000, 100_000, 1_000_000] + (isLarge ? [10_000_000] : [])
    }

    /// Devices in the container.
    var crowds: [Int] { isQuick ? [10, 100] : [10, 100, 1000] }
}
