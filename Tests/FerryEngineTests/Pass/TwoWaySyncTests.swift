import XCTest

final class TwoWaySyncTests: XCTestCase {
    let music = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT NOT NULL,
            artist_id INTEGER NOT NULL REFERENCES artist ON DELETE CASCADE);
        CREATE TABLE tag(name TEXT PRIMARY KEY, colour TEXT);
        CREATE TABLE album_tag(album_id INTEGER NOT NULL REFERENCES album ON DELETE CASCADE,
            tag TEXT NOT NULL REFERENCES tag ON DELETE CASCADE, PRIMARY KEY(album_id, tag));
        INSERT INTO artist VALUES (1, 'Bach'), (2, 'Brahms');
        INSERT INTO album VALUES (1, 'Partitas', 1), (2, 'Sonatas', 2);
        INSERT INTO tag VALUES ('calm', 'blue');
        INSERT INTO album_tag VALUES (1, 'calm');
        """
    let rows = """
        SELECT * FROM artist ORDER BY name; SELECT album.title, artist.name FROM album JOIN artist ON artist.id = artist_id
        ORDER BY 1; SELECT * FROM tag ORDER BY 1; SELECT title, tag FROM album_tag JOIN album ON album.id = album_id ORDER BY 1, 2;
        """

    func testADeviceThatJoinsShowsTheSameRows() throws {
        let fleet = try Fleet()
        try fleet.start(music)
        try fleet.join()
        try fleet.assertEqual("SELECT * FROM artist; SELECT * FROM album; SELECT * FROM tag; SELECT * FROM album_tag;")
        XCTAssertTrue(try fleet.shell(1, "SELECT * FROM album;").contains("1|Partitas|1"))
    }

    func testBothSidesChangeThings() throws {
        let fleet = try Fleet()
        try fleet.start(music)
        try fleet.join()
        try fleet.shell(
            0,
            "INSERT INTO artist VALUES (3, 'Chopin'); INSERT INTO album VALUES (3, 'Nocturnes', 3); UPDATE tag SET colour = 'green';"
        )
        try fleet.shell(
            1,
            "INSERT INTO artist VALUES (3, 'Debussy'); INSERT INTO album VALUES (3, 'Images', 3); DELETE FROM album WHERE id = 2; INSERT INTO album_tag VALUES (3, 'calm');"
        )
        try fleet.settle()
        try fleet.assertEqual(
            "SELECT name FROM artist ORDER BY 1; SELECT title, name FROM album JOIN artist ON artist.id = artist_id ORDER BY 1; SELECT * FROM tag; SELECT title, tag FROM album_tag JOIN album ON album.id = album_id ORDER BY 1;"
        )
        XCTAssertEqual(try fleet.shell(0, "SELECT title FROM album ORDER BY 1;"), "Images\nNocturnes\nPartitas\n")
    }
}
