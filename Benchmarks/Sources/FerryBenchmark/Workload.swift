/// A schema, and what is done to it. Every database, plain or tracked, gets exactly the same statements and values;
/// these are made beforehand, so that making them is not measured.
protocol Workload {
    var name: String { get }
    var schema: String { get }
    /// The query that two devices are compared by; it does not depend on local keys.
    var fingerprint: String { get }

    /// Inserts all rows in transactions of 1,000.
    /// - Returns: the number of rows.
    func insert(_ database: Database) throws -> Int
    /// The number of rows that `update` can reach.
    var updatableRows: Int { get }
    /// Updates one column of `count` rows, none of them twice, in random order from the `first` on, in transactions of
    /// `size`.
    func update(_ database: Database, first: Int, count: Int, transactionSize size: Int) throws
    /// Deletes half of the rows that nothing else is about.
    /// - Returns: the number of rows.
    func delete(_ database: Database) throws -> Int
}

/// Rows of about 120 bytes under a random 16-byte key.
struct Songs: Workload {
    let rows: Int
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

    init(rows: Int) {
        self.rows = rows
        var random = Random(seed: 1)
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

/// A record shop in the manner of Chinook: integer keys, foreign keys with indexes, a many-to-many table.
struct RecordShop: Workload {
    let tracks: Int
    let name = "record shop"
    private var albums: Int { max(tracks / 12, 1) }
    private var artists: Int { max(albums / 2, 1) }
    private let genres = 25
    private var playlistEntries: Int { tracks / 4 }

    private let names: [String]
    private let numbers: [Int]
    /// The tracks in random order.
    private let order: [Int]

    init(rows: Int) {
        tracks = max(rows * 2 / 3, 24)
        var random = Random(seed: 2)
        names = (0..<tracks).map { "\(random.word()) \(random.word()) \(random.word()) \($0)" }
        numbers = (0..<tracks).map { _ in 1 + random.below(9_000_000) }
        order = random.shuffled(tracks)
    }

    let schema = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE genre(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE album(
            id INTEGER PRIMARY KEY, title TEXT NOT NULL, artist_id INTEGER NOT NULL REFERENCES artist ON DELETE CASCADE);
        CREATE INDEX album_artist ON album(artist_id);
        CREATE TABLE track(
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, album_id INTEGER NOT NULL REFERENCES album ON DELETE CASCADE,
            genre_id INTEGER REFERENCES genre ON DELETE SET NULL, milliseconds INTEGER NOT NULL, bytes INTEGER,
            unit_price REAL NOT NULL);
        CREATE INDEX track_album ON track(album_id);
        CREATE INDEX track_genre ON track(genre_id);
        CREATE TABLE playlist(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE playlist_track(
            playlist_id INTEGER NOT NULL REFERENCES playlist ON DELETE CASCADE,
            track_id INTEGER NOT NULL REFERENCES track ON DELETE CASCADE, PRIMARY KEY(playlist_id, track_id));
        CREATE INDEX playlist_track_track ON playlist_track(track_id);
        """
    let fingerprint = """
        SELECT count(*) + sum(milliseconds) + (SELECT count(*) FROM playlist_track)
        + (SELECT sum(unicode(title)) FROM album) FROM track JOIN album ON album.id = album_id
        """

    func insert(_ database: Database) throws -> Int {
        try fill(database, "INSERT INTO artist VALUES (?, ?)", artists) { $0.bind($1 + 1).bind(names[$1]) }
        try fill(database, "INSERT INTO genre VALUES (?, ?)", genres) {
            $0.bind($1 + 1).bind(names[$1 % tracks] + " \($1)")
        }
        try fill(database, "INSERT INTO album VALUES (?, ?, ?)", albums) {
            $0.bind($1 + 1).bind(names[$1 * 7 % tracks]).bind(1 + numbers[$1] % artists)
        }
        try fill(database, "INSERT INTO track VALUES (?, ?, ?, ?, ?, ?, ?)", tracks) {
            $0.bind($1 + 1).bind(names[$1]).bind(1 + $1 / 12 % albums).bind(1 + numbers[$1] % genres)
                .bind(60_000 + numbers[$1] % 400_000).bind(numbers[$1]).bind(0.99)
        }
        try fill(database, "INSERT INTO playlist VALUES (?, ?)", 18) { $0.bind($1 + 1).bind(names[$1]) }
        try fill(database, "INSERT INTO playlist_track VALUES (?, ?)", playlistEntries) {
            $0.bind(1 + $1 % 18).bind(1 + $1)
        }
        return artists + genres + albums + tracks + 18 + playlistEntries
    }

    private func fill(
        _ database: Database, _ sql: String, _ count: Int, _ bind: (Statement, Int) -> Statement
    ) throws {
        let statement = try database.prepare(sql)
        try database.inTransactions(of: 1000, count: count) { try bind(statement, $0).run() }
    }

    var updatableRows: Int { tracks }

    func update(_ database: Database, first: Int, count: Int, transactionSize: Int) throws {
        let statement = try database.prepare("UPDATE track SET milliseconds = ? WHERE id = ?")
        try database.inTransactions(of: transactionSize, count: count) { index in
            let place = first + index
            try statement.bind(1_000_000 + place).bind(1 + order[place % tracks]).run()
        }
    }

    /// Every second album, and with it, by cascade, its tracks and their places in playlists.
    func delete(_ database: Database) throws -> Int {
        let before = try count(database)
        let statement = try database.prepare("DELETE FROM album WHERE id = ?")
        try database.inTransactions(of: 100, count: albums / 2) { try statement.bind(1 + $0 * 2).run() }
        return try before - count(database)
    }

    private func count(_ database: Database) throws -> Int {
        try database.integer(
            "SELECT (SELECT count(*) FROM album) + (SELECT count(*) FROM track) + (SELECT count(*) FROM playlist_track)"
        )
    }
}

/// Repeatable random numbers (SplitMix64).
struct Random {
    private var state: UInt64
    init(seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }

    /// The numbers below `count` in random order.
    mutating func shuffled(_ count: Int) -> [Int] {
        var numbers = Array(0..<count)
        for index in numbers.indices.reversed() { numbers.swapAt(index, below(index + 1)) }
        return numbers
    }

    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(max(limit, 1))) }

    private static let words = [
        "river", "midnight", "Sonata", "blue", "September", "window", "Requiem", "silver", "walking", "train", "heart",
        "Nocturne", "shadow", "garden", "fire", "ocean", "Prelude", "winter", "glass", "street", "moonlight", "dance",
        "stone", "golden", "letter", "Variations", "rain", "harbour", "morning", "echo", "lantern", "summer",
    ]

    mutating func word() -> String { Self.words[below(Self.words.count)] }
}
