import FerryEngine
import FerryKeyValue

/// A set of more and more members: what one addition, one look-up and a sync of a thousand new members take.
struct KeyValueBenchmark {
    let folder: String
    /// Numbers of members, in ascending order.
    let sizes: [Int]

    static let section = "a set of the key-value store, memory"
    static let news = 1000
    static func name(_ what: What, _ size: Int) -> String { "\(what.rawValue), \(grouped(size)) members" }

    enum What: String, CaseIterable {
        case addition = "an addition"
        case additionAfterReplay = "an addition after a sync"
        case lookup = "a look-up"
        case sync = "a sync of 1,000 new ones"
    }

    func run(progress: (Int) -> Void, _ results: Measurements) throws {
        results.name(.plain, "plain table", in: Self.section)
        let place = try Place(below: folder)
        defer { place.remove() }
        let first = try Device.first(Songs(rows: 1), in: place)
        try first.sync()
        let second = try Device.joining(place)
        var limits = KeyValueLimits()
        limits.members = 100_000_000
        let own = try KeyValueStore(SyncEngine(first.replica), limits: limits)
        let other = try KeyValueStore(SyncEngine(second.replica), limits: limits)
        let plain = try PlainSet(place)
        var count = 0
        for size in sizes {
            progress(size)
            while count < size {
                let members = (count..<min(size, count + 10_000)).map { "member \($0)" }
                try own.add(contentsOf: members, toSet: Self.set)
                try plain.add(members)
                count += members.count
            }
            try accesses(size, own, plain, results)
            for device in [first, second, first] { try device.sync() }
            for round in 0..<5 {
                // The second device's store knows nothing of its set's size: others' additions came in.
                let addition = try seconds { try other.add("another \(round) of \(size)", toSet: Self.set) }
                add(.additionAfterReplay, size, .ferry, addition, results)
                for device in [second, first, second] { try device.sync() }
                try own.add(contentsOf: (0..<Self.news).map { "news \($0), \(round) of \(size)" }, toSet: Self.set)
                let sync = try seconds {
                    try first.sync(isThorough: false)
                    try second.sync(isThorough: false)
                }
                add(.sync, size, .ferry, sync, results)
            }
            let (left, right) = try (own.count(ofSet: Self.set), other.count(ofSet: Self.set))
            if left != right || left < size + Self.news { throw BenchmarkError("the sets have \(left) and \(right)") }
        }
    }

    private static let set = "read"

    private func accesses(
        _ size: Int, _ own: KeyValueStore, _ plain: PlainSet, _ results: Measurements
    ) throws {
        func measure(_ members: [String], _ body: (String) throws -> Void) rethrows -> Double {
            median(try members.map { member in try seconds { try body(member) } }) ?? 0
        }
        let new = (0..<200).map { "new \($0) of \(size)" }
        add(.addition, size, .ferry, try measure(new) { try own.add($0, toSet: Self.set) }, results)
        add(.addition, size, .plain, try measure(new) { try plain.add($0) }, results)
        let known = (0..<1000).map { "member \($0 * 7_919 % size)" }
        add(.lookup, size, .ferry, try measure(known) { _ = try own.contains($0, inSet: Self.set) }, results)
        add(.lookup, size, .plain, try measure(known) { _ = try plain.contains($0) }, results)
    }

    private func add(
        _ what: What, _ size: Int, _ variant: Measurements.Variant, _ time: Double, _ results: Measurements
    ) {
        let (factor, unit) = what == .sync ? (1e3, "ms") : (1e6, "µs")
        results.add(Self.section, Self.name(what, size), unit, variant, time * factor)
        if variant == .ferry { results.plot(.keyValue, what.rawValue, x: Double(size), y: time * 1e3) }
    }
}

/// The set's table in a plain database, each access a transaction.
private struct PlainSet {
    private let database: Database

    init(_ place: Place) throws {
        database = try Database(path: place.database("plain"))
        try database.execute(
            """
            CREATE TABLE member(
                "set" TEXT NOT NULL, member TEXT NOT NULL, PRIMARY KEY("set", member)) WITHOUT ROWID
            """)
    }

    func add(_ members: [String]) throws {
        let statement = try insertion
        try database.inTransactions(of: members.count, count: members.count) {
            try statement.bind("read").bind(members[$0]).run()
        }
    }

    func add(_ member: String) throws { try insertion.bind("read").bind(member).run() }

    func contains(_ member: String) throws -> Bool {
        try database.prepare("SELECT EXISTS(SELECT 1 FROM member WHERE \"set\" = ? AND member = ?)")
            .bind("read").bind(member).integer() != 0
    }

    private var insertion: Statement {
        get throws { try database.prepare("INSERT INTO member VALUES (?, ?)") }
    }
}
