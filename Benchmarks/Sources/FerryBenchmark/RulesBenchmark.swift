/// The same rows with UNIQUE and foreign keys, and without: what the rules cost that answer for them.
struct RulesBenchmark {
    let rows: Int
    let folder: String

    static let section = "UNIQUE and foreign keys, memory"
    static let names = [
        "pack and encode insertions", "join with an empty database", "replay insertions", "replay updates",
        "replay updates of the unique column", "replay updates of the reference",
    ]

    func round(_ results: Measurements) throws {
        results.name(.plain, "without them", in: Self.section)
        try round(Catalogue(rows: rows, hasRules: false), .plain, results)
        try round(Catalogue(rows: rows, hasRules: true), .ferry, results)
    }

    private func round(
        _ catalogue: Catalogue, _ variant: Measurements.Variant, _ results: Measurements
    ) throws {
        let place = try Place(below: folder)
        defer { place.remove() }
        let first = try Device.first(catalogue, in: place)
        let second = try Device.joining(place)
        var measured: [Double] = []
        func measure(_ count: Int, _ body: () throws -> Void) rethrows {
            measured.append(Double(count) / (try seconds(body)))
        }
        let inserted = try catalogue.insert(first.app)
        try measure(inserted) { try first.pack() }
        try first.sync()
        var third = first
        try measure(inserted) { third = try Device.joining(place, name: "third") }
        try measure(inserted) { try second.sync() }
        for column in Catalogue.Column.allCases {
            try catalogue.update(column, first.app)
            try first.sync()
            try measure(rows) { try second.sync() }
        }
        for (name, rate) in zip(Self.names, measured) { results.add(Self.section, name, "rows/s", variant, rate) }
        try third.sync()
        try Device.compare(first, second, catalogue)
        try Device.compare(first, third, catalogue)
    }
}

/// Items of makers under text keys, with rules and without. The indexes are the same, so that only the rules differ.
struct Catalogue: Workload {
    let rows: Int
    let hasRules: Bool
    let name = "catalogue"
    let updated = (table: "item", column: "quantity")
    let fingerprint = "SELECT count(*) + sum(quantity) + sum(unicode(maker)) + sum(length(code)) FROM item"

    enum Column: CaseIterable { case quantity, code, maker }

    private let codes: [String]
    private let order: [Int]
    private var makers: Int { max(rows / 100, 1) }

    init(rows: Int, hasRules: Bool) {
        self.rows = rows
        self.hasRules = hasRules
        var random = Random(seed: 3)
        codes = (0..<rows).map { "\(random.word())-\($0)" }
        order = random.shuffled(rows)
    }

    var schema: String {
        let unique = hasRules ? "UNIQUE INDEX" : "INDEX"
        let reference = hasRules ? "REFERENCES maker ON DELETE CASCADE" : ""
        return """
            CREATE TABLE maker(id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL);
            CREATE \(unique) maker_name ON maker(name);
            CREATE TABLE item(
                id TEXT PRIMARY KEY NOT NULL, code TEXT NOT NULL, maker TEXT NOT NULL \(reference),
                quantity INTEGER NOT NULL);
            CREATE \(unique) item_code ON item(code);
            CREATE INDEX item_maker ON item(maker);
            """
    }

    func insert(_ database: Database) throws -> Int {
        let maker = try database.prepare("INSERT INTO maker VALUES (?, ?)")
        try database.inTransactions(of: 1000, count: makers) {
            try maker.bind(makerKey($0)).bind("maker no. \($0)").run()
        }
        let item = try database.prepare("INSERT INTO item VALUES (?, ?, ?, ?)")
        try database.inTransactions(of: 1000, count: rows) {
            try item.bind(key($0)).bind(codes[$0]).bind(makerKey($0 % makers)).bind($0).run()
        }
        return makers + rows
    }

    var updatableRows: Int { rows }

    func update(_ database: Database, first: Int, count: Int, transactionSize: Int) throws {
        let statement = try database.prepare("UPDATE item SET quantity = ? WHERE id = ?")
        try database.inTransactions(of: transactionSize, count: count) { index in
            let place = first + index
            try statement.bind(1_000_000 + place).bind(key(order[place % rows])).run()
        }
    }

    /// Updates a column of every row.
    func update(_ column: Column, _ database: Database) throws {
        if column == .quantity { return try update(database, first: 0, count: rows, transactionSize: 1000) }
        let name = column == .code ? "code" : "maker"
        let statement = try database.prepare("UPDATE item SET \(name) = ? WHERE id = ?")
        try database.inTransactions(of: 1000, count: rows) { index in
            let row = order[index]
            let value = column == .code ? codes[row] + "-new" : makerKey((row + 1) % makers)
            try statement.bind(value).bind(key(row)).run()
        }
    }

    func delete(_ database: Database) throws -> Int {
        let statement = try database.prepare("DELETE FROM item WHERE id = ?")
        try database.inTransactions(of: 1000, count: rows / 2) { try statement.bind(key($0 * 2)).run() }
        return rows / 2
    }

    private func key(_ row: Int) -> String { "item/\(row &* 7_919 % 1_000_003)/\(row)" }
    private func makerKey(_ maker: Int) -> String { "maker/\(maker)" }
}
