import FerryCore
import FerryTestSupport
import Foundation
import GRDB
import XCTest

@testable import FerryLive

struct Album: Codable, FetchableRecord, PersistableRecord, Sendable, Equatable {
    var id: Int64
    var artist: String
    var title: String

    static let songs = hasMany(Song.self)
}

struct Song: Codable, FetchableRecord, PersistableRecord, Sendable, Equatable {
    var id: Int64
    var albumId: Int64
    var title: String

    static let album = belongsTo(Album.self)
}

/// Three albums with songs, in a folder.
func musicPool(in folder: ScratchFolder) throws -> DatabasePool {
    let pool = try DatabasePool(path: folder.path("music.sqlite"))
    try pool.write { database in
        try database.execute(
            sql: """
                CREATE TABLE album(id INTEGER PRIMARY KEY, artist TEXT NOT NULL, title TEXT NOT NULL);
                CREATE TABLE song(id INTEGER PRIMARY KEY, albumId INTEGER NOT NULL REFERENCES album(id), title TEXT NOT NULL);
                CREATE TABLE pair(a TEXT, b INTEGER, note TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID;
                INSERT INTO album VALUES (1, 'Joni', 'Blue'), (2, 'Joni', 'Hejira'), (3, 'Nick', 'Pink Moon');
                INSERT INTO song VALUES (1, 1, 'Carey'), (2, 1, 'River'), (3, 3, 'Road');
                """)
    }
    return pool
}

final class LiveResultsTests: XCTestCase {
    private var folder: ScratchFolder!

    override func setUpWithError() throws { folder = try ScratchFolder() }

    private func pool() throws -> DatabasePool { try musicPool(in: folder) }

    @Sendable private static func byArtist(_ database: Database) -> QueryInterfaceRequest<Album> {
        Album.order(Column("artist"), Column("title"))
    }

    // MARK: What is told

    func testSectionsAndPages() async throws {
        let pool = try pool()
        let albums = try LiveResults(
            in: pool, sections: .column("artist"), options: LiveOptions(pageSize: 2), Self.byArtist)
        var deliveries = albums.deliveries.makeAsyncIterator()
        let next = try await deliveries.next()
        let first = try XCTUnwrap(next)
        XCTAssertTrue(first.isFirst)
        XCTAssertFalse(first.isFromCache)
        XCTAssertTrue(first.difference.isEmpty)
        XCTAssertEqual(first.count, 3)
        XCTAssertEqual(first.sections.map(\.name), ["Joni", "Nick"])
        XCTAssertEqual(first.sections.map(\.count), [2, 1])
        XCTAssertEqual(first.sections.map(\.indexTitle), ["J", "N"])
        XCTAssertEqual(first.section(forIndexTitle: "K"), 1)
        XCTAssertEqual(first.row(of: .integer(3)), 2)
        XCTAssertEqual(first.position(ofRow: 2), LivePosition(section: 1, item: 0))
        let all = try await first.records(in: 0..<10)
        XCTAssertEqual(all.map { $0?.title }, ["Blue", "Hejira", "Pink Moon"])
        let one = try await first.record(at: LivePosition(section: 1, item: 0))
        XCTAssertEqual(one, Album(id: 3, artist: "Nick", title: "Pink Moon"))
    }

    func testWhatThisProcessAnotherConnectionAndAnotherProcessWrite() async throws {
        let pool = try pool()
        let albums = try LiveResults(in: pool, sections: .column("artist"), Self.byArtist)
        var deliveries = albums.deliveries.makeAsyncIterator()
        _ = try await deliveries.next()
        try await pool.write { try Album(id: 4, artist: "Amy", title: "Frank").insert($0) }
        var delivery = try await deliveries.next()
        XCTAssertEqual(delivery?.difference.insertedSections, ["Amy"])
        XCTAssertEqual(delivery?.difference.changes.map(\.kind), [.inserted])

        let other = try DatabaseQueue(path: folder.path("music.sqlite"))
        try await other.write { try $0.execute(sql: "UPDATE album SET title = 'Bleu' WHERE id = 1") }
        delivery = try await deliveries.next()
        XCTAssertEqual(delivery?.difference.changes.map(\.kind), [.updated])
        XCTAssertEqual(delivery?.difference.changes.map(\.key), [.integer(1)])
        let record = try await delivery?.record(at: LivePosition(section: 1, item: 0))
        XCTAssertEqual(record?.title, "Bleu")

        try runSQLite("DELETE FROM song; DELETE FROM album WHERE artist = 'Joni'")
        delivery = try await deliveries.next()
        XCTAssertEqual(delivery?.difference.deletedSections, ["Joni"])
        XCTAssertEqual(delivery?.difference.changes(.deleted).map(\.key), [.integer(2), .integer(1)])
    }

    private func runSQLite(_ sql: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["sqlite3", folder.path("music.sqlite"), sql]
        try process.run()
        process.waitUntilExit()
        XCTAssertEqual(process.terminationStatus, 0)
    }

    func testARowThatMovesToAnotherSection() async throws {
        let pool = try pool()
        let albums = try LiveResults(in: pool, sections: .column("artist"), Self.byArtist)
        var deliveries = albums.deliveries.makeAsyncIterator()
        _ = try await deliveries.next()
        try await pool.write { try $0.execute(sql: "UPDATE album SET artist = 'Nick' WHERE id = 1") }
        let delivery = try await deliveries.next()
        let change = try XCTUnwrap(delivery?.difference.changes.first)
        XCTAssertEqual(change.kind, .moved)
        XCTAssertTrue(change.isUpdated)
        XCTAssertEqual(change.from, LivePosition(section: 0, item: 0))
        XCTAssertEqual(change.to, LivePosition(section: 1, item: 0))
    }

    func testWhatConcernsOtherTablesIsNoDelivery() async throws {
        let pool = try pool()
        let albums = try LiveResults(in: pool, Self.byArtist)
        var deliveries = albums.deliveries.makeAsyncIterator()
        _ = try await deliveries.next()
        try await pool.write { try $0.execute(sql: "INSERT INTO pair VALUES ('x', 1, NULL)") }
        try await pool.write { try $0.execute(sql: "DELETE FROM song; DELETE FROM album WHERE id = 2") }
        let delivery = try await deliveries.next()
        XCTAssertEqual(delivery?.difference.changes.map(\.kind), [.deleted])
    }

    /// Who reads slowly gets one difference in place of several.
    func testASlowReaderMissesNothing() async throws {
        let pool = try pool()
        let albums = try LiveResults(in: pool, Self.byArtist)
        var slow = albums.deliveries.makeAsyncIterator()
        _ = try await slow.next()
        var quick = albums.deliveries.makeAsyncIterator()
        _ = try await quick.next()
        for id in Int64(10)..<15 {
            try await pool.write { try Album(id: id, artist: "Zoe", title: "\(id)").insert($0) }
            _ = try await quick.next()
        }
        let delivery = try await slow.next()
        XCTAssertEqual(delivery?.difference.changes(.inserted).map(\.key), (10..<15).map { .integer($0) })
    }

    // MARK: Requests of every kind

    func testAssociationsAreFetchedWithThePage() async throws {
        struct AlbumInfo: Decodable, FetchableRecord, Sendable {
            var album: Album
            var songs: [Song]
        }
        struct SongInfo: Decodable, FetchableRecord, Sendable {
            var song: Song
            var album: Album
        }
        let pool = try pool()
        let songs = try LiveResults<SongInfo>(in: pool, key: ["id"], sections: .column("albumId")) { _ in
            Song.including(required: Song.album).order(Column("title")).asRequest(of: SongInfo.self)
        }
        var deliveries = songs.deliveries.makeAsyncIterator()
        let next = try await deliveries.next()
        let delivery = try XCTUnwrap(next)
        XCTAssertEqual(delivery.sections.map(\.name), ["1", "3"])
        let records = try await delivery.records(in: 0..<3)
        XCTAssertEqual(records.map { $0?.song.title }, ["Carey", "River", "Road"])
        XCTAssertEqual(records.map { $0?.album.title }, ["Blue", "Blue", "Pink Moon"])

        let albums = try LiveResults(in: pool) { _ in Album.including(all: Album.songs).order(Column("title")) }
        var others = albums.deliveries.makeAsyncIterator()
        let other = try await others.next()
        let page = try await other?.records(in: 0..<2)
        XCTAssertEqual(page?.map { $0?.title }, ["Blue", "Hejira"])
    }

    func testSQLWithArgumentsAndALimit() async throws {
        let pool = try pool()
        let albums = try LiveResults<Album>(in: pool, key: ["id"]) { _ in
            SQLRequest(
                sql: "SELECT * FROM album WHERE artist <> ? ORDER BY title DESC LIMIT 2;  -- newest", arguments: ["Amy"]
            )
        }
        var deliveries = albums.deliveries.makeAsyncIterator()
        let next = try await deliveries.next()
        let records = try await next?.records(in: 0..<2)
        XCTAssertEqual(records?.map { $0?.title }, ["Pink Moon", "Hejira"])
        let limited = try LiveResults(in: pool) { _ in Album.order(Column("title")).limit(2, offset: 1) }
        var others = limited.deliveries.makeAsyncIterator()
        let other = try await others.next()
        let page = try await other?.records(in: 0..<2)
        XCTAssertEqual(page?.map { $0?.title }, ["Hejira", "Pink Moon"])
    }

    func testKeysOfSeveralColumns() async throws {
        struct Pair: Codable, FetchableRecord, PersistableRecord, Sendable {
            static let databaseTableName = "pair"
            var a: String
            var b: Int
            var note: String?
        }
        let pool = try pool()
        try await pool.write { try $0.execute(sql: "INSERT INTO pair VALUES ('x', 1, 'one'), ('x', 2, 'two')") }
        let pairs = try LiveResults(in: pool) { _ in Pair.order(Column("b").desc) }
        var deliveries = pairs.deliveries.makeAsyncIterator()
        let next = try await deliveries.next()
        let records = try await next?.records(in: 0..<2)
        XCTAssertEqual(records?.map { $0?.note }, ["two", "one"])
        XCTAssertEqual(next?.key(at: 0), .values(["x".databaseValue, 2.databaseValue]))
        try await pool.write { try $0.execute(sql: "UPDATE pair SET note = 'II' WHERE b = 2") }
        let delivery = try await deliveries.next()
        XCTAssertEqual(delivery?.difference.changes.map(\.kind), [.updated])
    }

    func testADatabaseInMemoryFollowsItsConnection() async throws {
        let queue = try DatabaseQueue()
        try await queue.write { try $0.execute(sql: "CREATE TABLE album(id INTEGER PRIMARY KEY, artist, title)") }
        let albums = try LiveResults(in: queue, Self.byArtist)
        var deliveries = albums.deliveries.makeAsyncIterator()
        _ = try await deliveries.next()
        try await queue.write { try Album(id: 1, artist: "Amy", title: "Frank").insert($0) }
        let delivery = try await deliveries.next()
        XCTAssertEqual(delivery?.difference.changes.map(\.kind), [.inserted])
        let records = try await delivery?.records(in: 0..<1)
        XCTAssertEqual(records?.map { $0?.title }, ["Frank"])
    }

    // MARK: What goes wrong

    func testARequestThatCannotBeReadIsToldAndReadAgainLater() async throws {
        let pool = try pool()
        let albums = try LiveResults<Album>(in: pool, key: ["id"]) { _ in SQLRequest(sql: "SELECT * FROM record") }
        var deliveries = albums.deliveries.makeAsyncIterator()
        do {
            _ = try await deliveries.next()
            XCTFail("There is no such table.")
        } catch let error as DatabaseError {
            XCTAssertTrue("\(error)".contains("no such table"), "\(error)")
        }
        try await pool.write { try $0.execute(sql: "CREATE VIEW record AS SELECT * FROM album") }
        let delivery = try await deliveries.next()
        XCTAssertEqual(delivery?.count, 3)
    }

    /// Whoever iterates anew hears of the request as it is now, and not of the former failure.
    func testAnotherReaderHearsNothingOfAFormerFailure() async throws {
        let pool = try pool()
        let albums = try LiveResults<Album>(in: pool, key: ["id"]) { _ in SQLRequest(sql: "SELECT * FROM record") }
        for _ in 0..<2 {
            do {
                for try await _ in albums.deliveries { XCTFail("There is no such table.") }
            } catch let error as DatabaseError {
                XCTAssertTrue("\(error)".contains("no such table"), "\(error)")
            }
        }
        try await pool.write { try $0.execute(sql: "CREATE VIEW record AS SELECT * FROM album") }
        for try await delivery in albums.deliveries {
            XCTAssertEqual(delivery.count, 3)
            break
        }
    }

    /// A queue has a rollback journal and waits for nobody, unless the app says otherwise: a list over it keeps no write from committing.
    func testAListOverAQueueKeepsNobodyFromWriting() async throws {
        let queue = try DatabaseQueue(path: folder.path("queue.sqlite"))
        try await queue.write { try $0.execute(sql: "CREATE TABLE album(id INTEGER PRIMARY KEY, artist, title)") }
        let albums = try LiveResults(in: queue, Self.byArtist)
        /// Reads deliveries with their records until the list has a number of rows.
        @Sendable func follow(to count: Int) async throws {
            for try await delivery in albums.deliveries {
                _ = try await delivery.records(in: 0..<delivery.count)
                if delivery.count >= count { return }
            }
            XCTFail("The deliveries ended.")
        }
        let reader = Task { try await follow(to: 300) }
        for id in 1...300 {
            try await queue.write { try Album(id: Int64(id), artist: "Amy", title: "\(id)").insert($0) }
        }
        try await reader.value
        // What another connection writes is told, too.
        var configuration = Configuration()
        configuration.busyMode = .timeout(20)
        let other = try DatabaseQueue(path: folder.path("queue.sqlite"), configuration: configuration)
        try await other.write { try Album(id: 301, artist: "Nina", title: "Other").insert($0) }
        try await follow(to: 301)
    }

    func testOddArgumentsAreNoTrap() async throws {
        let pool = try pool()
        for size in [Int.min, -1, 0, 1, Int.max] {
            let albums = try LiveResults(in: pool, options: LiveOptions(pageSize: size), Self.byArtist)
            var deliveries = albums.deliveries.makeAsyncIterator()
            let next = try await deliveries.next()
            let delivery = try XCTUnwrap(next)
            for (rows, count) in [(0..<3, 3), (Int.min..<2, 2), (-5 ..< -1, 0), (1..<Int.max, 2), (9..<12, 0)] {
                let records = try await delivery.records(in: rows)
                XCTAssertEqual(records.count, count, "\(rows) by \(size)")
            }
            for (section, item) in [(-1, 0), (1, 0), (0, -1), (0, 3), (0, Int.max), (Int.max, 0)] {
                let record = try await delivery.record(at: LivePosition(section: section, item: item))
                XCTAssertNil(record)
            }
        }
    }

    func testAKeyThatIsNoneIsRefused() async throws {
        let pool = try pool()
        for (key, sql, word) in [
            ("number", "SELECT * FROM album", "no column number"),
            ("id", "SELECT NULL AS id, artist, title FROM album", "NULL in its key"),
        ] {
            let albums = try LiveResults<Album>(in: pool, key: [key]) { _ in SQLRequest(sql: sql) }
            var deliveries = albums.deliveries.makeAsyncIterator()
            do {
                _ = try await deliveries.next()
                XCTFail("It has no such key.")
            } catch let error as FerryError {
                XCTAssertEqual(error.code, .invalidArgument)
                XCTAssertTrue(error.message.contains(word), error.message)
            }
        }
    }

    func testClosingEndsTheDeliveriesAndRecordsStayAtHand() async throws {
        let pool = try pool()
        let albums = try LiveResults(in: pool, Self.byArtist)
        var deliveries = albums.deliveries.makeAsyncIterator()
        let first = try await deliveries.next()
        albums.close()
        let end = try await deliveries.next()
        XCTAssertNil(end)
        let records = try await first?.records(in: 0..<3)
        XCTAssertEqual(records?.count, 3)
    }

    func testACancelledTaskEndsItsDeliveries() async throws {
        let albums = try LiveResults(in: pool(), Self.byArtist)
        let task = Task {
            var count = 0
            for try await _ in albums.deliveries { count += 1 }
            return count
        }
        var deliveries = albums.deliveries.makeAsyncIterator()
        _ = try await deliveries.next()
        task.cancel()
        let count = try await task.value
        XCTAssertLessThanOrEqual(count, 1)
    }

    func testARowThatIsGoneIsNoRecord() async throws {
        let pool = try pool()
        let albums = try LiveResults(in: pool, Self.byArtist)
        var deliveries = albums.deliveries.makeAsyncIterator()
        let first = try await deliveries.next()
        try await pool.write { try $0.execute(sql: "DELETE FROM album WHERE id = 2") }
        _ = try await deliveries.next()
        let records = try await first?.records(in: 0..<3)
        XCTAssertEqual(records?.map { $0?.id }, [1, nil, 3])
    }
}
