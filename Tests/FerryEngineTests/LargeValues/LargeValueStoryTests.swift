import FerryContainer
import FerryCore
import FerryLog
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// Large values on their way between devices: they travel as any value does, and their parts are there before what refers to them.
final class LargeValueStoryTests: XCTestCase {
    func testTextsAndBlobsTravelAndAreChangedAndDeleted() throws {
        let home = try MemoryHome.withLargeValues(3)
        try home.execute(
            0, "INSERT INTO photo(title, image, note) VALUES ('a', ?, ?)", largeNoise(5000, seed: 1), largeText(3000))
        try home.execute(0, "INSERT INTO photo(title, image) VALUES ('small', x'0102')")
        try home.execute(1, "INSERT INTO page VALUES ('p', ?, 'm')", largeText(1001))
        try home.execute(2, "INSERT INTO page VALUES ('q', ?, NULL)", largeNoise(1000, seed: 2))
        try home.assertInStep()
        XCTAssertEqual(try home.values(2, "SELECT image FROM photo WHERE title = 'a'")[0][0], largeNoise(5000, seed: 1))
        // 5000 bytes in 13 parts; equal stretches of the text are one file.
        XCTAssertGreaterThan(try home.parts(0).count, 13)
        XCTAssertEqual(try home.parts(1).count, 2)
        // At the threshold a value stands in the segment.
        XCTAssertEqual(try home.parts(2).count, 0)
        for index in 0..<3 { try home.assertPartsAreNeeded(index) }

        try home.execute(1, "UPDATE photo SET image = ?, note = 'short' WHERE title = 'a'", largeNoise(9000, seed: 3))
        try home.execute(2, "UPDATE page SET body = ? WHERE path = 'p'", largeNoise(2000, seed: 4))
        try home.assertInStep()
        XCTAssertEqual(
            try home.values(0, "SELECT length(image), note FROM photo WHERE title = 'a'"),
            [[.integer(9000), .text("short")]])

        try home.execute(0, "DELETE FROM photo WHERE title = 'a'")
        try home.execute(0, "DELETE FROM page WHERE path = 'p'")
        try home.assertInStep()
        XCTAssertEqual(try home.values(1, "SELECT count(*) FROM photo")[0][0], .integer(1))
    }

    func testAValueThatIsChangedInPlaceSendsOnlyItsChangedParts() throws {
        let home = try MemoryHome.withLargeValues(2)
        try home.execute(0, "INSERT INTO photo VALUES (1, 'a', ?, NULL)", largeNoise(8000, seed: 1))
        try home.assertInStep()
        XCTAssertEqual(try home.parts(0).count, 20)
        guard case .blob(var bytes) = largeNoise(8000, seed: 1) else { return }
        bytes[bytes.startIndex + 4100] ^= 1
        try home.execute(0, "UPDATE photo SET image = ? WHERE id = 1", .blob(bytes))
        try home.assertInStep()
        XCTAssertEqual(try home.parts(0).count, 21)
    }

    func testSegmentsBesideLargeValuesStayAsTheyWere() throws {
        let home = try MemoryHome.withLargeValues(2)
        try home.execute(0, "INSERT INTO photo(title) VALUES ('small')")
        try home.settleAll()
        try home.execute(0, "INSERT INTO photo(image) VALUES (?)", largeNoise(5000, seed: 1))
        try home.settleAll()
        let device = home.replicas[0].identity.device
        let versions = try home.segments(0).map { try XCTUnwrap(try home.container.readSegment($0, of: device))[4] }
        XCTAssertEqual(versions.filter { $0 == 4 }.count, 1, "\(versions)")
        XCTAssertEqual(versions.last, 4, "\(versions)")
    }

    func testAConflictKeepsALargeValueAndRestoresIt() throws {
        let home = try MemoryHome.withLargeValues(2)
        try home.execute(0, "INSERT INTO photo VALUES (1, 'a', NULL, NULL)")
        try home.assertInStep()
        try home.execute(0, "UPDATE photo SET image = ? WHERE id = 1", largeNoise(5000, seed: 1))
        _ = try home.replicas[0].sync()
        home.clock.advance(hours: 1)
        try home.execute(1, "UPDATE photo SET image = ? WHERE id = 1", largeNoise(6000, seed: 2))
        try home.assertInStep()
        XCTAssertEqual(try home.values(0, "SELECT length(image) FROM photo")[0][0], .integer(6000))
        let conflict = try XCTUnwrap(try home.replicas[0].store.conflicts(after: 0).first)
        XCTAssertTrue(conflict.lost.value == largeNoise(5000, seed: 1))
        try home.replicas[0].restoreConflict(conflict.number)
        try home.assertInStep()
        XCTAssertEqual(try home.values(1, "SELECT image FROM photo")[0][0], largeNoise(5000, seed: 1))
    }

    func testHiddenRowsKeepLargeValues() throws {
        let home = try MemoryHome.withLargeValues(2)
        // Both take one mark: one row is shown for both on all devices.
        try home.execute(0, "INSERT INTO page VALUES ('p', ?, 'one')", largeNoise(3000, seed: 1))
        try home.execute(1, "INSERT INTO page VALUES ('q', ?, 'one')", largeNoise(4000, seed: 2))
        try home.assertInStep()
        XCTAssertEqual(try home.values(0, "SELECT count(*) FROM page")[0][0], .integer(1))
        try home.execute(0, "UPDATE page SET mark = NULL")
        try home.assertInStep()
        XCTAssertEqual(
            try home.values(1, "SELECT length(body) FROM page ORDER BY 1"), [[.integer(3000)], [.integer(4000)]])
        // A row that others still refer to comes back whole.
        try home.execute(0, "INSERT INTO label(page, text) VALUES ('q', 'kept')")
        try home.execute(1, "DELETE FROM page WHERE path = 'q'")
        try home.assertInStep()
        XCTAssertEqual(try home.values(1, "SELECT body FROM page WHERE path = 'q'"), [[largeNoise(4000, seed: 2)]])
    }

    func testKeysMayBeLarge() throws {
        let home = try MemoryHome.withLargeValues(2)
        let key = String(repeating: "k", count: 3000)
        try home.execute(0, "INSERT INTO page VALUES (?, 'body', ?)", .text(key), largeText(2000, "m"))
        try home.assertInStep()
        try home.execute(1, "INSERT INTO label(page, text) VALUES (?, ?)", .text(key), largeText(2000, "t"))
        try home.execute(0, "UPDATE page SET body = 7")
        try home.assertInStep()
        XCTAssertEqual(
            try home.values(0, "SELECT length(page), length(text), body FROM label JOIN page ON page = path"),
            [[.integer(3000), .integer(2000), .integer(7)]])
    }

    func testHistoryShowsAndRestoresLargeValues() throws {
        let home = try MemoryHome.withLargeValues(2)
        try home.execute(0, "INSERT INTO photo VALUES (1, 'a', ?, NULL)", largeNoise(5000, seed: 1))
        try home.settleAll()
        let before = home.clock.milliseconds()
        home.clock.advance(hours: 1)
        try home.execute(1, "UPDATE photo SET image = ? WHERE id = 1", largeNoise(6000, seed: 2))
        try home.settleAll()
        let histories = try home.replicas[0].history(table: "photo", key: ["1"])
        XCTAssertEqual(histories.rows.first?.changes.count, 2)
        XCTAssertEqual(histories.gaps, [])
        XCTAssertFalse(try home.replicas[0].log().isEmpty)
        _ = try home.replicas[0].restoreRow(table: "photo", key: ["1"], at: before)
        try home.assertInStep()
        XCTAssertEqual(try home.values(1, "SELECT image FROM photo")[0][0], largeNoise(5000, seed: 1))
    }

    // MARK: Parts that are late, lost or damaged

    func testALogWaitsForAPartAndOthersGoOn() throws {
        let home = try MemoryHome.withLargeValues(3)
        try home.execute(0, "INSERT INTO photo(title, image) VALUES ('a', ?)", largeNoise(5000, seed: 1))
        _ = try home.replicas[0].sync()
        let part = try XCTUnwrap(try home.parts(0).min())
        let bytes = try home.take(part, of: 0)
        // A thorough sync would notice, and put a snapshot in its place.
        try home.execute(0, "INSERT INTO photo(title) VALUES ('behind')")
        _ = try home.replicas[0].sync(isThorough: false)
        try home.execute(1, "INSERT INTO photo(title) VALUES ('other')")
        _ = try home.replicas[1].sync()
        let waiting = try home.replicas[2].sync().waiting
        XCTAssertEqual(waiting.map(\.code), [FerryError.Code.fileNotThereYet.rawValue])
        XCTAssertEqual(waiting.first?.file.map { $0.hasSuffix("values/" + part.fileName) }, true)
        XCTAssertEqual(waiting.first?.reason.contains("1 of the 13 parts of a large value"), true)
        XCTAssertEqual(try home.values(2, "SELECT title FROM photo"), [[.text("other")]])
        // Nothing of the value is read as long as one of its parts is missing.
        let reads = home.files.readCount
        _ = try home.replicas[2].sync(isThorough: false)
        XCTAssertLessThan(home.files.readCount - reads, 10)
        // A piece of it changes nothing.
        try home.bring(part, Array(bytes.prefix(100)), of: 0)
        XCTAssertEqual(
            try home.replicas[2].sync().waiting.map(\.code), [FerryError.Code.fileNotThereYet.rawValue])
        _ = try home.take(part, of: 0)
        try home.bring(part, bytes, of: 0)
        XCTAssertEqual(try home.replicas[2].sync().waiting, [])
        try home.assertInStep()
        XCTAssertEqual(try home.values(2, "SELECT count(*) FROM photo")[0][0], .integer(3))
    }

    func testTheAuthorMendsALostPart() throws {
        let home = try MemoryHome.withLargeValues(2)
        try home.execute(0, "INSERT INTO photo(title, image) VALUES ('a', ?)", largeNoise(5000, seed: 1))
        try home.execute(0, "INSERT INTO photo(title) VALUES ('behind')")
        _ = try home.replicas[0].sync()
        _ = try home.take(XCTUnwrap(try home.parts(0).min()), of: 0)
        XCTAssertEqual(try home.replicas[1].sync().waiting.count, 1)
        let report = try home.replicas[0].examine()
        XCTAssertTrue(report.findings.contains { $0.problem.contains("part of a large value") }, "\(report.findings)")
        home.clock.advance(hours: 2)
        _ = try home.replicas[0].sync(isThorough: true)
        XCTAssertEqual(try home.replicas[1].sync().waiting, [])
        try home.assertInStep()
        XCTAssertEqual(try home.values(1, "SELECT title, length(image) FROM photo ORDER BY 1").count, 2)
        home.clock.advance(days: 2)
        try home.assertInStep()
        try home.assertPartsAreNeeded(0)
    }

    func testADamagedPartIsBridgedByASnapshot() throws {
        let home = try MemoryHome.withLargeValues(2)
        try home.execute(0, "INSERT INTO photo(title, image) VALUES ('a', ?)", largeNoise(5000, seed: 1))
        _ = try home.replicas[0].sync()
        let part = try XCTUnwrap(try home.parts(0).min())
        var bytes = try home.take(part, of: 0)
        bytes[60] ^= 1
        try home.bring(part, bytes, of: 0)
        XCTAssertEqual(
            try home.replicas[1].sync().waiting.map(\.code), [FerryError.Code.damagedFile.rawValue])
        _ = try home.replicas[0].examine(isRepairing: true)
        try home.assertInStep()
        XCTAssertEqual(try home.values(1, "SELECT length(image) FROM photo")[0][0], .integer(5000))
    }

    func testAnotherDeviceStandsInForAnAuthorThatIsGone() throws {
        let home = try MemoryHome.withLargeValues(3)
        try home.execute(0, "INSERT INTO photo(title, image) VALUES ('a', ?)", largeNoise(5000, seed: 1))
        _ = try home.replicas[0].sync()
        _ = try home.replicas[1].sync()
        _ = try home.take(XCTUnwrap(try home.parts(0).min()), of: 0)
        for _ in 0..<4 {
            for index in [1, 2] { _ = try home.replicas[index].sync() }
            home.clock.advance(days: 1)
        }
        XCTAssertEqual(try home.values(2, "SELECT length(image) FROM photo"), [[.integer(5000)]])
    }

    // MARK: Snapshots

    func testANewcomerReadsASnapshotAndPartsGoWithWhatReferredToThem() throws {
        var retention = RetentionSettings()
        retention.snapshotMinimumBytes = 4096
        retention.firstSnapshotChangesPerRow = 0
        let home = try MemoryHome.withLargeValues(2, retention: retention)
        for number in 0..<6 {
            try home.execute(
                0, "INSERT OR REPLACE INTO photo VALUES (1, 'a', ?, NULL)", largeNoise(5000, seed: UInt64(number)))
            try home.execute(0, "INSERT INTO page VALUES (?, ?, NULL)", .text("p\(number)"), largeText(2000))
            try home.settleAll()
            home.clock.advance(hours: 2)
        }
        _ = try home.replicas[0].compact()
        home.clock.advance(hours: 2)
        try home.settleAll()
        _ = try home.replicas[0].compact()
        XCTAssertGreaterThan(try home.replicas[0].store.reading().logStart, 1)
        try home.assertPartsAreNeeded(0)
        // Of six images of 13 parts each, and of the pages.
        XCTAssertLessThan(try home.parts(0).count, 45)
        try home.addDevice()
        try home.assertInStep()
        XCTAssertEqual(try home.values(2, "SELECT image FROM photo"), [[largeNoise(5000, seed: 5)]])

        try home.execute(1, "DELETE FROM photo")
        try home.execute(1, "DELETE FROM page")
        try home.assertInStep()
        for _ in 0..<4 {
            home.clock.advance(days: 2)
            for _ in 0..<30 {
                try home.execute(0, "INSERT INTO photo(title, image) VALUES ('filler', ?)", largeNoise(900, seed: 9))
            }
            try home.settleAll()
            for index in 0..<3 { _ = try home.replicas[index].compact() }
        }
        try home.assertInStep()
        for index in 0..<3 { try home.assertPartsAreNeeded(index) }
        XCTAssertEqual(try home.parts(0).count, 0)
    }

    func testASnapshotWithoutOneOfItsPartsIsNotTaken() throws {
        let home = try MemoryHome.withLargeValues(1)
        try home.execute(0, "INSERT INTO photo(title, image) VALUES ('a', ?)", largeNoise(5000, seed: 1))
        _ = try home.replicas[0].sync()
        let container = try home.container
        let replica = home.replicas[0]
        let written = try SnapshotWriter(
            container: container, store: replica.store, identity: replica.identity, largeValues: home.largeValues
        ).write()
        let catalog = SnapshotCatalog(container)
        let entry = try XCTUnwrap(try catalog.entries().first)
        XCTAssertEqual(entry.name, written.name)
        XCTAssertTrue(try catalog.isWhole(entry))
        let part = try XCTUnwrap(try home.parts(0).max())
        var bytes = try home.take(part, of: 0)
        XCTAssertTrue(try catalog.entries().isEmpty)
        bytes[50] ^= 1
        try home.bring(part, bytes, of: 0)
        XCTAssertFalse(try catalog.isWhole(XCTUnwrap(try catalog.entries().first)))
    }

    func testAnArchiveHasThePartsAndADeviceComesOfIt() throws {
        let home = try MemoryHome.withLargeValues(1)
        try home.execute(0, "INSERT INTO photo(title, image) VALUES ('a', ?)", largeNoise(5000, seed: 1))
        try home.execute(0, "INSERT INTO page VALUES ('p', ?, NULL)", largeText(4000))
        _ = try home.replicas[0].sync()
        let path = home.folder.appendingPathComponent("x.ferry").path
        _ = try home.replicas[0].exportSnapshot(to: path)
        if let lines = try IndependentReader.lines(
            of: Array(Data(contentsOf: URL(fileURLWithPath: path))))
        {
            XCTAssertTrue(lines.contains { $0.hasPrefix("part ") })
        }
        try home.addDevice()
        try home.assertInStep()
    }

    // MARK: Copies

    func testACopyWithAWaitingLargeValueSendsItUnderItsNewID() throws {
        let home = try MemoryHome.withLargeValues(2)
        try home.execute(0, "INSERT INTO photo(title, image) VALUES ('a', ?)", largeNoise(5000, seed: 1))
        let replica = home.replicas[0]
        _ = try replica.store.pass(replaying: [], encode: replica.segmentEncoding(for: replica.identity))
        XCTAssertFalse(try replica.store.segmentParts().isEmpty)
        let path = home.folder.appendingPathComponent("copy.sqlite").path
        try home.copyDatabase(0, to: path)
        try home.settleAll()
        XCTAssertTrue(try replica.store.segmentParts().allSatisfy(\.isPublished))
        let copy = try Replica(Store(path: path, clock: home.clock), environment: home.environment)
        XCTAssertNotNil(try copy.sync().renewed)
        XCTAssertNotEqual(copy.identity.device, replica.identity.device)
        for _ in 0..<3 {
            _ = try copy.sync()
            try home.settleAll()
        }
        XCTAssertEqual(try copy.store.read { try $0.rows("SELECT count(*) FROM photo") }, [[.integer(1)]])
        XCTAssertEqual(try copy.verify(deep: true).differences, [])
        try home.assertInStep()
    }

    func testLeavingTakesTheTableOfParts() throws {
        let home = try MemoryHome.withLargeValues(1)
        try home.execute(0, "INSERT INTO photo(title, image) VALUES ('a', ?)", largeNoise(5000, seed: 1))
        _ = try home.replicas[0].sync()
        XCTAssertEqual(
            try home.values(0, "SELECT count(*) FROM sqlite_schema WHERE name = 'ferry_part'")[0][0], .integer(1))
        _ = try home.replicas[0].leave()
        XCTAssertEqual(
            try home.values(0, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'ferry!_%' ESCAPE '!'")[0][0],
            .integer(0))
        XCTAssertEqual(try home.values(0, "SELECT length(image) FROM photo"), [[.integer(5000)]])
    }

    func testPreexistingRowsWithLargeValuesJoin() throws {
        let home = try MemoryHome.withLargeValues(1)
        try home.execute(0, "INSERT INTO page VALUES ('p', ?, NULL), ('r', 1, NULL)", largeNoise(2000, seed: 1))
        _ = try home.replicas[0].sync()
        for (rows, expected) in [(JoinOptions.Rows.merge, 2000), (.mine, 3000)] {
            let store = try home.makeStore(home.replicas.count)
            try store.write {
                _ = try $0.rows(
                    "INSERT INTO page VALUES ('p', ?, NULL), ('q', ?, NULL)",
                    values: [largeNoise(3000, seed: 2), largeNoise(1500, seed: 3)])
            }
            var options = JoinOptions()
            options.rows = rows
            try home.join(store, options)
            try home.assertInStep()
            XCTAssertEqual(
                try home.values(0, "SELECT length(body) FROM page WHERE path = 'p'"), [[.integer(Int64(expected))]])
        }
    }

    func testATableOfTheAppsByTheNameIsRefusedInWords() throws {
        let home = try MemoryHome.withLargeValues(1)
        try home.execute(0, "CREATE TABLE ferry_part(a)")
        try home.execute(0, "INSERT INTO photo(title, image) VALUES ('a', ?)", largeNoise(5000, seed: 1))
        XCTAssertThrowsError(try home.replicas[0].sync()) {
            XCTAssertEqual(($0 as? FerryError)?.code, .unsupportedTable)
        }
        try home.execute(0, "ALTER TABLE ferry_part RENAME TO mine")
        _ = try home.replicas[0].sync()
        XCTAssertFalse(try home.parts(0).isEmpty)
    }

    // MARK: Sealed containers

    func testInASealedContainerPartsAreSealed() throws {
        let home = try SealedHome()
        home.largeValues.threshold = 1000
        home.largeValues.partBytes = 400
        try home.found()
        try home.invite(by: 0)
        let secret = "the secret recipe of the house; "
        let text = String(repeating: secret, count: 200)
        try home.replica(0).store.write { _ = try $0.rows("INSERT INTO item(name) VALUES (?)", values: [.text(text)]) }
        try home.settle()
        XCTAssertEqual(try home.names(1), [text])
        let files = try home.allFiles().filter { $0.key.hasSuffix(".part") }
        XCTAssertFalse(files.isEmpty)
        for file in files.values {
            XCTAssertTrue(file.starts(with: Array("FRYX".utf8)))
            XCTAssertNil(Data(file).range(of: Data(secret.utf8)))
        }
        // A member that is removed leaves an epoch behind; what comes then is sealed under another.
        try home.invite(by: 0)
        try home.settle()
        _ = try home.replica(0).remove(home.device(2).description)
        let later = String(repeating: "later; ", count: 300)
        try home.replica(1).store.write { _ = try $0.rows("INSERT INTO item(name) VALUES (?)", values: [.text(later)]) }
        try home.settle([0, 1])
        XCTAssertEqual(try home.names(0), [later, text].sorted())
        // A newcomer reads all of it.
        let newcomer = try home.invite(by: 1)
        try home.settle([0, 1, newcomer])
        XCTAssertEqual(try home.names(newcomer), [later, text].sorted())
        for index in [0, 1, newcomer] {
            XCTAssertEqual(try home.replica(index).verify(deep: true).differences, [])
        }
        // A plain part in a sealed container is not used.
        let part = try XCTUnwrap(files.keys.min())
        _ = try home.files.removeFile(at: part)
        try home.files.write(Array("FRYV plain".utf8) + Array(repeating: 0, count: 400), toNewFileAt: part)
        let findings = try home.replica(0).examine().findings
        XCTAssertTrue(findings.contains { $0.file?.hasSuffix(".part") ?? false }, "\(findings)")
    }
}
