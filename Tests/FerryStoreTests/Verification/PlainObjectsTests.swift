import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryStore

/// Random damage beside random exceptional rows: the fast path finds whatever the general path finds.
final class PlainObjectsTests: XCTestCase {
    private static let schema = TestSchema(
        name: "library",
        sql: """
            CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE COLLATE NOCASE, born INTEGER CHECK (born > 0));
            CREATE TABLE album(
                code TEXT PRIMARY KEY NOT NULL, artist INTEGER REFERENCES artist(id) ON DELETE CASCADE, title TEXT,
                gone INTEGER NOT NULL DEFAULT 0);
            CREATE UNIQUE INDEX album_title ON album(artist, title) WHERE gone = 0;
            CREATE TABLE song(
                id INTEGER PRIMARY KEY, title TEXT, album TEXT REFERENCES album(code),
                cover INTEGER REFERENCES song(id) ON DELETE SET NULL);
            CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL COLLATE NOCASE) WITHOUT ROWID;
            CREATE TABLE song_tag(
                song INTEGER NOT NULL REFERENCES song(id) ON DELETE CASCADE,
                tag TEXT NOT NULL COLLATE NOCASE REFERENCES tag(name) ON DELETE CASCADE, PRIMARY KEY(song, tag));
            """)

    /// Two devices that wrote without each other, and have met.
    private func device(_ number: (Int) -> Int) throws -> TestDevice {
        let devices = [try TestDevice(1, Self.schema), try TestDevice(2, Self.schema)]
        for _ in 0..<3 {
            for device in devices {
                device.clock.now += 1000
                for _ in 0..<6 { device.runTolerating([statement(number)], foreignKeys: true) }
                try device.flush()
            }
            if number(2) == 0 { try devices[1].receive(devices[0]) }
            try devices[0].receive(devices[1])
        }
        return devices[0]
    }

    private func statement(_ number: (Int) -> Int) -> String {
        let (a, b) = (number(6) + 1, number(6) + 1)
        switch number(11) {
        case 0, 1: return "INSERT INTO artist VALUES (\(a), '\(["x", "X", "y", "z"][number(4)])\(b)', \(b))"
        case 2: return "INSERT INTO album VALUES ('c\(a)', \(b), 't\(number(3))', \(number(2)))"
        case 3: return "INSERT INTO song VALUES (NULL, 's\(a)', 'c\(b)', (SELECT max(id) FROM song))"
        case 4: return "INSERT INTO tag VALUES ('\(["Jazz", "jazz", "Pop"][number(3)])')"
        case 5: return "INSERT INTO song_tag SELECT \(a), name FROM tag LIMIT 1"
        case 6: return "DELETE FROM artist WHERE id = \(a)"
        case 7: return "DELETE FROM album WHERE code = 'c\(a)'"
        case 8: return "UPDATE album SET title = 't\(number(3))', gone = \(number(2)) WHERE code = 'c\(a)'"
        case 9: return "DELETE FROM song WHERE id = \(a)"
        default: return "UPDATE artist SET name = 'y\(a)' WHERE id = \(b)"
        }
    }

    /// Statements that no program runs with triggers off.
    private func damage(_ number: (Int) -> Int) -> String {
        let (table, name) = [
            (1, "artist"), (2, "album"), (3, "song"), (4, "tag"), (5, "song_tag"),
        ][number(5)]
        let object = "(SELECT object FROM ferry_object_\(table) ORDER BY object LIMIT 1 OFFSET \(number(4)))"
        switch number(13) {
        case 0:
            return
                "UPDATE ferry_object_\(table) SET shown = \([0, 1, 2, 3, 4, 9, 24][number(7)]) WHERE object = \(object)"
        case 1: return "UPDATE ferry_object_\(table) SET \"check\" = \"check\" + 1 WHERE object = \(object)"
        case 2: return "UPDATE ferry_object_\(table) SET kept = NULL WHERE object = \(object)"
        case 3: return "UPDATE ferry_object_\(table) SET k0 = 77 WHERE object = \(object)"
        case 4: return "DELETE FROM ferry_exception WHERE rowid IN (SELECT 1)"
        case 5: return "DELETE FROM ferry_exception"
        case 6: return "DELETE FROM ferry_joined"
        case 7: return "DELETE FROM \"\(name)\" WHERE rowid = (SELECT min(rowid) FROM \"\(name)\")"
        case 8: return "UPDATE artist SET born = born + 1 WHERE id = \(number(6))"
        case 9: return "UPDATE album SET title = 'other' WHERE code = 'c\(number(6))'"
        case 10: return "UPDATE song SET cover = NULL WHERE id = \(number(6))"
        case 11: return "UPDATE ferry_digest SET sum = sum + 1 WHERE \"table\" = \(table)"
        default: return "INSERT INTO tag VALUES ('\(number(99))')"
        }
    }

    func testTheFastPathFindsWhateverTheGeneralPathFinds() throws {
        var found: [Bool: Int] = [:]
        for seed in Seeds(defaultCount: 60).all {
            let number = SeededRandom(seed: seed).below
            let device = try device(number)
            do {
                _ = try device.store.verifyBothWays()
                for _ in 0..<number(3) + 1 { device.damageTolerating(damage(number)) }
                let report = try device.store.verifyBothWays()
                found[report.isSound, default: 0] += 1
            } catch let error as PathDifference {
                XCTFail("FERRY_SEED=\(seed): \(error)")
            } catch let error as FerryError where [.databaseCorrupt, .internalInconsistency].contains(error.code) {
                continue
            }
        }
        if Seeds(defaultCount: 60).single == nil { XCTAssertGreaterThan(found[false] ?? 0, 10, "\(found)") }
    }
}

extension TestDevice {
    /// Runs a statement with all triggers off; one that fails has no effect.
    fileprivate func damageTolerating(_ sql: String) {
        // A table without rowids refuses some statements.
        try? store.writeAsFerry { connection in
            try connection.executeScript(sql)
            return ((), [])
        }
    }
}
