import FerryCore
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// A real database, two devices, concurrent edits by plain SQL on both.
final class ChinookTests: XCTestCase {
    /// The Chinook sample database (MIT licence, https://github.com/lerocha/chinook-database), where it is at hand.
    private static let chinook = packageRoot.deletingLastPathComponent().appending(path: "shared/data/chinook.sqlite")

    private static let tables = [
        "Album", "Artist", "Customer", "Employee", "Genre", "Invoice", "InvoiceLine", "MediaType", "Playlist",
        "PlaylistTrack", "Track",
    ]

    func testTwoCopiesOfChinookStayEqualThroughConcurrentEdits() throws {
        guard FileManager.default.fileExists(atPath: Self.chinook.path) else {
            throw XCTSkip("the Chinook database is not at hand; the test of the project's own music shop does the same")
        }
        let fleet = try Fleet()
        try FileManager.default.copyItem(at: Self.chinook, to: URL(fileURLWithPath: fleet.databasePath(0)))
        try fleet.start("")
        try exercise(fleet)
    }

    func testTwoCopiesOfAMusicShopStayEqualThroughConcurrentEdits() throws {
        let fleet = try Fleet()
        try fleet.start(Self.musicShop)
        try exercise(fleet)
    }

    /// Joins, edits both sides at once, and compares every table.
    private func exercise(_ fleet: Fleet) throws {
        let report = try fleet.join()
        XCTAssertEqual(Set(report.createdTables), Set(Self.tables))
        try compareTables(fleet)
        try fleet.shell(
            0,
            """
            INSERT INTO Artist VALUES (5000, 'Nina Simone');
            INSERT INTO Album VALUES (5000, 'Pastel Blues', 5000);
            UPDATE Track SET UnitPrice = 1.5, Name = 'First' WHERE TrackId = 1;
            UPDATE Customer SET City = 'Lyon' WHERE CustomerId = 2;
            DELETE FROM InvoiceLine WHERE InvoiceId = 1;
            DELETE FROM PlaylistTrack WHERE PlaylistId = 1 AND TrackId <= 3;
            UPDATE Employee SET ReportsTo = 1 WHERE EmployeeId = 3;
            """)
        try fleet.shell(
            1,
            """
            INSERT INTO Artist VALUES (6000, 'Miles Davis');
            INSERT INTO Album VALUES (6000, 'Sketches', 6000);
            INSERT INTO Track(TrackId, Name, AlbumId, MediaTypeId, Milliseconds, UnitPrice)
                VALUES (9000, 'Solea', 6000, 1, 720000, 0.99);
            INSERT INTO PlaylistTrack VALUES (1, 9000);
            UPDATE Track SET Milliseconds = 1 WHERE TrackId = 1;
            UPDATE Customer SET City = 'Nice', Fax = NULL WHERE CustomerId = 2;
            DELETE FROM PlaylistTrack WHERE PlaylistId = 1 AND TrackId BETWEEN 2 AND 5;
            """)
        try fleet.settle()
        try compareTables(fleet)
        XCTAssertEqual(
            try fleet.shell(0, "SELECT Name, Milliseconds, UnitPrice FROM Track WHERE TrackId = 1"), "First|1|1.5\n")
        XCTAssertEqual(try fleet.shell(0, "SELECT City, Fax IS NULL FROM Customer WHERE CustomerId = 2"), "Nice|1\n")
        XCTAssertEqual(
            try fleet.shell(0, "SELECT count(*) FROM PlaylistTrack WHERE PlaylistId = 1 AND TrackId < 6"), "0\n")
        XCTAssertEqual(try fleet.replicas[0].status().unpublished, 0)
        XCTAssertEqual(try fleet.replicas[1].status().devices.map(\.behind), [0])
    }

    private func compareTables(_ fleet: Fleet, file: StaticString = #filePath, line: UInt = #line) throws {
        for table in Self.tables {
            try fleet.assertEqual("SELECT * FROM \(table) ORDER BY 1, 2", file: file, line: line)
        }
    }

    /// A music shop of the project's own making, in the shape of Chinook: the same tables and some hundred rows.
    static let musicShop = """
        CREATE TABLE Artist(ArtistId INTEGER NOT NULL PRIMARY KEY, Name TEXT);
        CREATE TABLE Album(AlbumId INTEGER NOT NULL PRIMARY KEY, Title TEXT NOT NULL,
            ArtistId INTEGER NOT NULL REFERENCES Artist(ArtistId));
        CREATE TABLE Genre(GenreId INTEGER NOT NULL PRIMARY KEY, Name TEXT);
        CREATE TABLE MediaType(MediaTypeId INTEGER NOT NULL PRIMARY KEY, Name TEXT);
        CREATE TABLE Track(TrackId INTEGER NOT NULL PRIMARY KEY, Name TEXT NOT NULL,
            AlbumId INTEGER REFERENCES Album(AlbumId), MediaTypeId INTEGER NOT NULL REFERENCES MediaType(MediaTypeId),
            GenreId INTEGER REFERENCES Genre(GenreId), Milliseconds INTEGER NOT NULL, UnitPrice NUMERIC(10,2) NOT NULL);
        CREATE INDEX TrackByAlbum ON Track(AlbumId);
        CREATE TABLE Playlist(PlaylistId INTEGER NOT NULL PRIMARY KEY, Name TEXT);
        CREATE TABLE PlaylistTrack(PlaylistId INTEGER NOT NULL REFERENCES Playlist(PlaylistId),
            TrackId INTEGER NOT NULL REFERENCES Track(TrackId), PRIMARY KEY(PlaylistId, TrackId));
        CREATE TABLE Employee(EmployeeId INTEGER NOT NULL PRIMARY KEY, LastName TEXT NOT NULL,
            ReportsTo INTEGER REFERENCES Employee(EmployeeId));
        CREATE TABLE Customer(CustomerId INTEGER NOT NULL PRIMARY KEY, LastName TEXT NOT NULL, City TEXT, Fax TEXT,
            SupportRepId INTEGER REFERENCES Employee(EmployeeId));
        CREATE TABLE Invoice(InvoiceId INTEGER NOT NULL PRIMARY KEY,
            CustomerId INTEGER NOT NULL REFERENCES Customer(CustomerId), Total NUMERIC(10,2) NOT NULL);
        CREATE TABLE InvoiceLine(InvoiceLineId INTEGER NOT NULL PRIMARY KEY,
            InvoiceId INTEGER NOT NULL REFERENCES Invoice(InvoiceId),
            TrackId INTEGER NOT NULL REFERENCES Track(TrackId), UnitPrice NUMERIC(10,2) NOT NULL);
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 40)
            INSERT INTO Artist SELECT i, 'Artist ' || i FROM n;
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 80)
            INSERT INTO Album SELECT i, 'Album ' || i, 1 + i % 40 FROM n;
        INSERT INTO Genre VALUES (1, 'Rock'), (2, 'Jazz'), (3, NULL);
        INSERT INTO MediaType VALUES (1, 'MPEG'), (2, 'AAC');
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 600)
            INSERT INTO Track SELECT i, 'Track ' || i, 1 + i % 80, 1 + i % 2, 1 + i % 3, i * 1000, 0.99 FROM n;
        INSERT INTO Playlist VALUES (1, 'Music'), (2, 'Nineties');
        INSERT INTO PlaylistTrack SELECT 1, TrackId FROM Track;
        INSERT INTO Employee VALUES (3, 'Peacock', 2), (2, 'Edwards', 1), (1, 'Adams', NULL);
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 50)
            INSERT INTO Customer SELECT i, 'Customer ' || i, 'Paris', '+33 ' || i, 1 + i % 3 FROM n;
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100)
            INSERT INTO Invoice SELECT i, 1 + i % 50, i * 0.99 FROM n;
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 300)
            INSERT INTO InvoiceLine SELECT i, 1 + i % 100, i, 0.99 FROM n;
        """
}
