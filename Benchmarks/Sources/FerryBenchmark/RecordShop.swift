/// A record shop in the manner of Chinook: integer keys, foreign keys with indexes, a many-to-many table.
struct RecordShop: Workload {
    let tracks: Int
    let updated = (table: "track", column: "milliseconds")
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
