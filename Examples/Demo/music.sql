-- A small music shop, all invented: integer keys, a compound key, a table that refers to itself, a UNIQUE column.
-- Tables and columns are named as in the Chinook sample database, so that the demo runs on either.

CREATE TABLE Artist(ArtistId INTEGER PRIMARY KEY, Name TEXT NOT NULL);
CREATE TABLE Genre(GenreId INTEGER PRIMARY KEY, Name TEXT NOT NULL);
CREATE UNIQUE INDEX GenreName ON Genre(Name);
CREATE TABLE Album(
    AlbumId INTEGER PRIMARY KEY, Title TEXT NOT NULL,
    ArtistId INTEGER NOT NULL REFERENCES Artist(ArtistId));
CREATE TABLE MediaType(MediaTypeId INTEGER PRIMARY KEY, Name TEXT NOT NULL);
CREATE TABLE Track(
    TrackId INTEGER PRIMARY KEY, Name TEXT NOT NULL,
    AlbumId INTEGER REFERENCES Album(AlbumId),
    MediaTypeId INTEGER NOT NULL REFERENCES MediaType(MediaTypeId),
    GenreId INTEGER REFERENCES Genre(GenreId),
    Composer TEXT, Milliseconds INTEGER NOT NULL CHECK (Milliseconds > 0), Bytes INTEGER,
    UnitPrice NUMERIC NOT NULL);
CREATE INDEX TrackAlbum ON Track(AlbumId);
CREATE TABLE Playlist(PlaylistId INTEGER PRIMARY KEY, Name TEXT);
CREATE TABLE PlaylistTrack(
    PlaylistId INTEGER NOT NULL REFERENCES Playlist(PlaylistId),
    TrackId INTEGER NOT NULL REFERENCES Track(TrackId),
    PRIMARY KEY (PlaylistId, TrackId));
CREATE TABLE Employee(
    EmployeeId INTEGER PRIMARY KEY, LastName TEXT NOT NULL, FirstName TEXT NOT NULL, Title TEXT,
    ReportsTo INTEGER REFERENCES Employee(EmployeeId), City TEXT, Phone TEXT, Email TEXT);

INSERT INTO MediaType VALUES (1, 'FLAC file'), (2, 'MPEG file');
INSERT INTO Genre(GenreId, Name) VALUES
    (1, 'Rock'), (2, 'Jazz'), (3, 'Folk'), (4, 'Classical'), (5, 'Blues'), (6, 'Soul'), (7, 'Tango'), (8, 'Fado');

WITH RECURSIVE
    n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 29),
    how(i, word) AS (VALUES (0, 'Quiet'), (1, 'Early'), (2, 'Distant'), (3, 'Amber'), (4, 'Narrow')),
    what(i, word) AS (VALUES (0, 'Rivers'), (1, 'Lamps'), (2, 'Hills'), (3, 'Birds'), (4, 'Roads'), (5, 'Tides'))
INSERT INTO Artist(ArtistId, Name)
SELECT n.i + 1, 'The ' || how.word || ' ' || what.word
FROM n JOIN how ON how.i = n.i % 5 JOIN what ON what.i = n.i % 6;

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 48)
INSERT INTO Album(AlbumId, Title, ArtistId)
SELECT i, 'Album no. ' || i, 1 + i % 30 FROM n;

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 480)
INSERT INTO Track(TrackId, Name, AlbumId, MediaTypeId, GenreId, Composer, Milliseconds, Bytes, UnitPrice)
SELECT i, 'Track no. ' || i, 1 + (i - 1) / 10, 1 + i % 2, 1 + i % 8,
    CASE WHEN i % 3 THEN 'Composer ' || i % 17 END, 120000 + i * 7919 % 240000, 3000000 + i * 104729 % 5000000,
    CASE WHEN i % 10 THEN 0.99 ELSE 1.99 END
FROM n;

INSERT INTO Playlist VALUES (1, 'Everything'), (2, 'Morning'), (3, 'On the road'), (4, 'Late evening'), (5, 'Empty');
INSERT INTO PlaylistTrack SELECT 1, TrackId FROM Track;
INSERT INTO PlaylistTrack SELECT 2, TrackId FROM Track WHERE TrackId % 7 = 0;
INSERT INTO PlaylistTrack SELECT 3, TrackId FROM Track WHERE TrackId % 11 = 0;
INSERT INTO PlaylistTrack SELECT 4, TrackId FROM Track WHERE TrackId % 13 = 0;

INSERT INTO Employee VALUES
    (1, 'Marsh', 'Ida', 'General Manager', NULL, 'Lisbon', '+351 1', 'ida@example.com'),
    (2, 'Okafor', 'Ben', 'Sales Manager', 1, 'Porto', '+351 2', 'ben@example.com'),
    (3, 'Lindt', 'Eva', 'Sales Support', 2, 'Porto', '+351 3', 'eva@example.com'),
    (4, 'Costa', 'Rui', 'Sales Support', 2, 'Braga', '+351 4', 'rui@example.com'),
    (5, 'Sato', 'Mei', 'IT Manager', 1, 'Lisbon', '+351 5', 'mei@example.com');
