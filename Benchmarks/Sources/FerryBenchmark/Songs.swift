/// Rows of about 120 bytes under a random 16-byte key.
struct Songs: Workload {
    let rows: Int
    let updated = (table: "songs", column: "rank")
    let name = "songs"

    let schema = """
        CREATE TABLE songs(
            id BLOB(16) PRIMARY KEY, title TEXT NOT NULL, artist TEXT NOT NULL, category_id INTEGER, price REAL,
            released TEXT, rank INTEGER, note TEXT);
        """
    let fingerprint = "SELECT count(*) + sum(rank) + sum(unicode(note)) FROM songs"

    private struct Song {
        var title, artist, released, note: String
        var category, rank: Int
        var price: Double
    }

    /// As random as UUIDs.
    private let keys: [[UInt8]]
    private let songs: [Song]
    /// The rows in random order.
    private let order: [Int]

    /// - Parameter seed: rows of different seeds have different keys.
    init(rows: Int, seed: UInt64 = 1) {
        self.rows = rows
        var random = Random(seed: seed)
        keys = (0..<rows).map { _ in
            let (high, low) = (random.next(), random.next())
            return (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? high : low) >> UInt64(8 * ($0 & 7))) }
        }
        songs = (0..<rows).map { index in
            Song(
                title: "\(random.word()) \(random.word()) No. \(index)", artist: "\(random.word()) \(random.word())",
                released: "\(1950 + random.below(75))-0\(1 + random.below(9))-1\(random.below(10))",
                note: "\(random.word()) \(random.word()) \(random.word())", category: random.below(20),
                rank: random.below(rows), price: Double(random.below(2000)) / 100)
        }
        order = random.shuffled(rows)
    }

    func insert(_ database: Database) throws -> Int {
        let statement = try database.prepare("INSERT INTO songs VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        try database.inTransactions(of: 1000, count: rows) { index in
            let song = songs[index]
            try statement.bind(keys[index]).bind(song.title).bind(song.artist).bind(song.category).bind(song.price)
                .bind(song.released).bind(song.rank).bind(song.note).run()
        }
        return rows
    }

    var updatableRows: Int { rows }

    func update(_ database: Database, first: Int, count: Int, transactionSize: Int) throws {
        let statement = try database.prepare("UPDATE songs SET rank = ? WHERE id = ?")
        try database.inTransactions(of: transactionSize, count: count) { index in
            let place = first + index
            try statement.bind(1_000_000 + place).bind(keys[order[place % rows]]).run()
        }
    }

    func delete(_ database: Database) throws -> Int {
        let statement = try database.prepare("DELETE FROM songs WHERE id = ?")
        try database.inTransactions(of: 1000, count: rows / 2) { try statement.bind(keys[$0 * 2]).run() }
        return rows / 2
    }
}
