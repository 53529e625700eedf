/// What 1,000 new members of a set cost in plain SQLite, where each has a state under a random ID, as hashes are: in a small
/// set, and in a large one.
struct SetBounds {
    let folder: String
    /// The sizes of the sets.
    let small: Int
    let large: Int
    private let rounds = 5

    static let withStates = "1,000 new members and their states"
    static let section = "\(BoundsBenchmark.title), key-value, memory"

    func run(_ results: Measurements) throws {
        results.name(.ferry, "a set of \(grouped(large))", in: Self.section)
        results.name(.plain, "a set of \(grouped(small))", in: Self.section)
        for (name, hasStates) in [(Self.withStates, true), ("1,000 new members alone", false)] {
            let place = try Place(below: folder)
            defer { place.remove() }
            var set = try LeastSet(place, hasStates: hasStates)
            for (variant, size) in [(Measurements.Variant.plain, small), (.ferry, large)] {
                try set.fill(to: size)
                for round in 1...rounds {
                    let members = (0..<KeyValueBenchmark.news).map { "news \($0), \(round) of \(size)" }
                    let time = try seconds { try set.add(members) }
                    results.add(Self.section, name, "ms", variant, time * 1000)
                }
            }
        }
    }
}

/// A set's members, and perhaps a state of each.
private struct LeastSet {
    private let database: Database
    private let insertion: Statement
    private let states: LeastStates?
    private var random = Random(seed: 5)
    private var count = 0

    init(_ place: Place, hasStates: Bool) throws {
        database = try Database(path: place.database("set"))
        try database.execute(
            """
            \(Database.pageCache);
            CREATE TABLE member("set" TEXT NOT NULL, member TEXT NOT NULL, PRIMARY KEY("set", member)) WITHOUT ROWID;
            CREATE TABLE least_state(
                object BLOB PRIMARY KEY, time INTEGER, device INTEGER, shown INTEGER, "check" INTEGER) WITHOUT ROWID
            """)
        insertion = try database.prepare("INSERT INTO member VALUES (?, ?)")
        states = hasStates ? try LeastStates(database, "least_state", isMapped: false) : nil
    }

    mutating func fill(to size: Int) throws {
        while count < size { try add((count..<min(size, count + 10_000)).map { "member \($0)" }) }
    }

    /// Adds members in one transaction.
    mutating func add(_ members: [String]) throws {
        try database.prepare("BEGIN IMMEDIATE").run()
        for member in members {
            try insertion.bind("read").bind(member).run()
            try states?.append(LeastID(high: random.next(), low: random.next()))
        }
        try states?.finish()
        try database.prepare("COMMIT").run()
        count += members.count
    }
}
