import FerryCore
import FerryStore
import Foundation
import GRDB
import XCTest

@testable import FerryEngine

/// An app has a collation and a function that the command does not have, and both sync the same database in turn.
final class AppFunctionStoryTests: XCTestCase {
    private func pool(_ path: String) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            database.add(
                collation: DatabaseCollation("de") { left, right in left.lowercased().compare(right.lowercased()) })
            database.add(
                function: DatabaseFunction("slug", argumentCount: 1, pure: true) { values in
                    String.fromDatabaseValue(values[0])?.lowercased()
                })
        }
        return try DatabasePool(path: path, configuration: configuration)
    }

    func testWhatWaitedForTheAppIsShownOnceTheAppHasSynced() throws {
        let fleet = try Fleet()
        let pools = try (0..<2).map { try pool(fleet.databasePath($0)) }
        for pool in pools {
            try pool.write { database in
                try database.execute(
                    sql: """
                        CREATE TABLE word(id INTEGER PRIMARY KEY, v TEXT COLLATE de UNIQUE, note TEXT);
                        CREATE UNIQUE INDEX word_slug ON word(slug(note));
                        CREATE TABLE usage(id INTEGER PRIMARY KEY, word INTEGER REFERENCES word(id), text TEXT);
                        CREATE TABLE other(k TEXT PRIMARY KEY, v)
                        """)
            }
        }
        let apps = [
            try Replica.create(Store(pools[0]), containerPath: fleet.containerPath, sealing: .open, name: "first")
                .replica,
            try XCTUnwrap(Replica.join(Store(pools[1]), containerPath: fleet.containerPath, name: "second").replica),
        ]
        for app in apps + apps { _ = try app.sync() }
        func write(_ index: Int, _ sql: String) throws { try pools[index].write { try $0.execute(sql: sql) } }
        func read(_ index: Int, _ sql: String) throws -> [String] {
            try pools[index].read { try Row.fetchAll($0, sql: sql) }.map { row in
                row.databaseValues.map(\.description).joined(separator: "|")
            }
        }
        try write(
            0,
            """
            INSERT INTO word VALUES (1, 'Rock', 'a'); INSERT INTO usage VALUES (1, 1, 'u'), (2, NULL, 'free');
            INSERT INTO other VALUES ('a', 1)
            """)
        _ = try apps[0].sync()
        // The command, which lacks both.
        let command = try Replica(path: fleet.databasePath(1))
        let report = try command.sync()
        XCTAssertEqual(report.waiting, [])
        XCTAssertEqual(report.waitingTables?.map(\.table), ["usage", "word"])
        XCTAssertEqual(try read(1, "SELECT k FROM other"), ["\"a\""])
        XCTAssertEqual(try read(1, "SELECT text FROM usage"), ["\"free\""])
        // Nothing is done again for what waits.
        XCTAssertFalse(try command.sync().hasNews)
        XCTAssertFalse(try command.store.needsPass())
        XCTAssertEqual(try command.status().waitingTables.map(\.rows), [1, 1])
        // The app writes meanwhile; the command sends it, and the first device has the same word under two rows.
        try write(1, "INSERT INTO word VALUES (5, 'rock', 'b'); INSERT INTO usage VALUES (5, 5, 'mine')")
        XCTAssertEqual(try command.sync().published.changes, 2)
        _ = try apps[0].sync()
        XCTAssertEqual(try read(0, "SELECT count(*) FROM word"), ["1"])
        _ = try command.sync()
        let standing = try apps[0].status().devices
        XCTAssertEqual(standing.map(\.standing), [.waits])
        XCTAssertEqual(standing.map(\.waitingTables), [["usage", "word"]])
        _ = try apps[1].sync()
        for app in apps + apps { _ = try app.sync() }
        for index in 0..<2 {
            XCTAssertEqual(try read(index, "SELECT v, note FROM word"), ["\"rock\"|\"b\""])
            XCTAssertEqual(
                try read(index, "SELECT text, word IS NULL FROM usage ORDER BY text"),
                ["\"free\"|1", "\"mine\"|0", "\"u\"|0"])
            XCTAssertEqual(try apps[index].status().waitingTables, [])
            XCTAssertEqual(try apps[index].status().devices.map(\.standing), [.inStep])
            XCTAssertTrue(try apps[index].verify(deep: true).isSound)
        }
    }
}
