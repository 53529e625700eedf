import FerryContainer
import FerryContent
import FerryCore
import FerryStore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// Which bytes leave a container, and which stay, told by hand with real stores (Docs/Architecture/content-collection.md).
final class ContentCollectionTests: XCTestCase {
    private let bytes = noise(50_000, seed: 1)

    private func home(_ count: Int = 2) throws -> MemoryHome {
        var retention = RetentionSettings()
        retention.collectionMilliseconds = 3_600_000
        retention.tombstoneMilliseconds = 3_600_000
        return try MemoryHome.withPhotos(count, retention: retention)
    }

    /// Lets days pass on which all devices sync.
    private func pass(_ days: Int, _ home: MemoryHome) throws {
        for _ in 0..<days {
            home.clock.advance(days: 1)
            try home.settle()
        }
    }

    private func contents(_ home: MemoryHome, _ index: Int) throws -> Int {
        try home.photos(index).count("SELECT count(*) FROM ferry_content")
    }

    @discardableResult
    private func resolveConflicts(_ home: MemoryHome) throws -> Int {
        try home.replicas.map { replica in
            try replica.store.resolveConflicts(replica.store.conflicts(after: 0).map(\.number))
        }.reduce(0, +)
    }

    func testWhatNothingUsesGoesAfterThirtyDays() throws {
        let home = try home()
        let first = home.photos(0)
        try first.attach("sunset", bytes)
        try home.settle()
        XCTAssertEqual(try first.packs().count, 1)
        try home.photos(1).write("DELETE FROM photo")
        try pass(29, home)
        XCTAssertEqual(try contents(home, 0), 1)
        XCTAssertEqual(try first.packs().count, 1)
        try pass(5, home)
        for index in 0...1 {
            XCTAssertEqual(try contents(home, index), 0)
            XCTAssertEqual(try home.photos(index).count("SELECT count(*) FROM ferry_pack"), 0)
            XCTAssertEqual(try home.photos(index).count("SELECT count(*) FROM ferry_content_unused"), 0)
        }
        XCTAssertEqual(try first.packs(), [])
    }

    func testWhatIsUsedAgainStays() throws {
        let home = try home()
        try home.photos(0).attach("sunset", bytes)
        let image = try home.photos(0).image("sunset")
        try home.settle()
        try home.photos(0).write("DELETE FROM photo")
        try pass(20, home)
        try home.photos(1).write("INSERT INTO photo(title, image) VALUES ('again', x'\(image.hex)')")
        try pass(40, home)
        for index in 0...1 { XCTAssertTrue(try home.photos(index).bytes("again") == bytes, "device \(index)") }
    }

    /// Device 1 deletes a content that nothing uses, while device 0, away from the folder, gives it to a new row.
    func testAContentThatIsDeletedElsewhereMeanwhileIsInsertedAgain() throws {
        for isStored in [true, false] {
            let home = try home()
            try home.photos(0).attach("sunset", bytes)
            let image = try home.photos(0).image("sunset")
            try home.settle()
            try home.photos(0).write("DELETE FROM photo")
            try home.settle()
            for _ in 0..<32 {
                home.clock.advance(days: 1)
                try home.settle([1])
            }
            XCTAssertEqual(try contents(home, 1), 0)
            if isStored {
                try home.photos(0).attach("new", bytes)
            } else {
                try home.photos(0).write("INSERT INTO photo(title, image) VALUES ('new', x'\(image.hex)')")
            }
            try pass(40, home)
            for index in 0...1 { XCTAssertTrue(try home.photos(index).bytes("new") == bytes, "device \(index)") }
        }
    }

    /// A reference comes that a third device made before it knew of a deletion which the others have forgotten already, but for the
    /// device that waits for the third.
    func testAReferenceThatComesLateFindsItsBytes() throws {
        let home = try home(3)
        try home.photos(0).attach("sunset", bytes)
        let image = try home.photos(0).image("sunset")
        try home.settle()
        try home.photos(1).write("DELETE FROM photo")
        try home.settle()
        try home.photos(2).write("INSERT INTO photo(title, image) VALUES ('late', x'\(image.hex)')")
        for _ in 0..<40 {
            home.clock.advance(days: 1)
            try home.settle([0, 1])
        }
        XCTAssertEqual(try home.photos(0).packs().count, 1, "device 2 has not seen the deletion")
        try pass(3, home)
        for index in 0...2 { XCTAssertTrue(try home.photos(index).bytes("late") == bytes, "device \(index)") }
    }

    /// Two photos with one title are one row, and the other one's image stays for whoever parts them.
    func testARowThatIsNotShownKeepsItsContent() throws {
        let home = try home()
        for index in 0...1 { try home.photos(index).write("CREATE UNIQUE INDEX IF NOT EXISTS one ON photo(title)") }
        try home.settle()
        try home.photos(0).attach("sunset", bytes)
        try home.photos(1).attach("sunset", noise(40_000, seed: 2))
        try pass(70, home)
        for index in 0...1 {
            XCTAssertEqual(try home.photos(index).count("SELECT count(*) FROM photo"), 1)
            XCTAssertEqual(try contents(home, index), 2, "device \(index)")
        }
        try resolveConflicts(home)
        try home.photos(0).write("DELETE FROM photo")
        try pass(40, home)
        for index in 0...1 { XCTAssertEqual(try contents(home, index), 0) }
        XCTAssertEqual(try home.photos(0).packs() + home.photos(1).packs(), [])
    }

    func testAConflictKeepsTheContentThatLost() throws {
        let home = try home()
        let other = noise(40_000, seed: 2)
        try home.photos(0).attach("sunset", bytes)
        try home.settle()
        let second = home.photos(1)
        let stored = [try home.photos(0).store(noise(30_000, seed: 5)), try second.store(other)]
        for (index, content) in stored.enumerated() {
            home.clock.advance(hours: 1)
            try home.replicas[index].store.write { connection in
                try content.insert(connection)
                try connection.execute("UPDATE photo SET image = ?", .blob(content.id.bytes[...]))
            }
        }
        try pass(70, home)
        for index in 0...1 {
            XCTAssertTrue(try home.photos(index).bytes("sunset") != bytes, "device \(index)")
            XCTAssertEqual(try contents(home, index), 2, "device \(index)")
        }
        XCTAssertGreaterThan(try resolveConflicts(home), 0)
        try pass(40, home)
        for index in 0...1 { XCTAssertEqual(try contents(home, index), 1) }
    }

    /// A table that this database has not is known by what arrives of it.
    func testADeviceWithoutTheTableDeletesNothing() throws {
        let home = try home()
        try home.photos(0).write("CREATE TABLE album(id INTEGER PRIMARY KEY, cover BLOB)")
        try home.photos(0).write("INSERT INTO ferry_attachment(target) VALUES ('album.cover')")
        let stored = try home.photos(0).store(bytes)
        try home.replicas[0].store.write { connection in
            try stored.insert(connection)
            try connection.execute("INSERT INTO album(cover) VALUES (?)", .blob(stored.id.bytes[...]))
        }
        try home.settle()
        XCTAssertEqual(try home.photos(1).count("SELECT count(*) FROM sqlite_schema WHERE name = 'album'"), 0)
        for _ in 0..<40 {
            home.clock.advance(days: 1)
            try home.settle([1])
        }
        XCTAssertEqual(try contents(home, 1), 1)
        try pass(3, home)
        XCTAssertEqual(try contents(home, 0), 1)
    }

    func testAPackOfWhichLittleIsNeededIsPackedAnew() throws {
        var retention = RetentionSettings()
        retention.collectionMilliseconds = 3_600_000
        retention.tombstoneMilliseconds = 3_600_000
        retention.sparsePackBytes = 60_000
        let home = try MemoryHome.withPhotos(2, retention: retention)
        let stored = try home.replicas[0].storeContents([
            home.photos(0).source(bytes), home.photos(0).source(noise(20_000, seed: 3)),
        ])
        for (title, content) in zip(["large", "small"], stored) { try home.photos(0).insert(title, content) }
        try home.settle()
        let packs = try home.photos(0).packs()
        XCTAssertEqual(packs.count, 1)
        try home.photos(0).write("DELETE FROM photo WHERE title = 'large'")
        try pass(36, home)
        XCTAssertEqual(try home.photos(0).packs().count, 1)
        XCTAssertNotEqual(try home.photos(0).packs(), packs)
        _ = try home.replicas[1].evictContents([home.photos(1).image("small")])
        XCTAssertTrue(try home.photos(1).bytes("small") == noise(20_000, seed: 3), "device 1")
    }
}
