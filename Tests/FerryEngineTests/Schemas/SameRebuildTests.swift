import FerryCore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// Two devices run the same migration, and write to different columns of one row before Ferry looks.
final class SameRebuildTests: XCTestCase {
    private let plain = """
        CREATE TABLE t(id INTEGER PRIMARY KEY, title TEXT, va, vb, vc, modified INTEGER);
        INSERT INTO t VALUES (1, 'r', 'a', 'b', 'c', 1);
        """
    private let rebuild = """
        BEGIN; CREATE TABLE n(id INTEGER PRIMARY KEY, title TEXT, va, vb, vc, modified INTEGER); INSERT INTO n SELECT * FROM t;
        DROP TABLE t; ALTER TABLE n RENAME TO t; COMMIT;
        """
    private let row = "SELECT title, va, vb, vc FROM t"

    /// Of two values of one time the device's ID decides, so each story is told with several pairs of devices.
    private func play(_ body: (Fleet) throws -> Void) throws {
        for _ in 0..<4 {
            let fleet = try Fleet.two(plain)
            // The columns of the row have different times from then on.
            try fleet.shell(0, "UPDATE t SET vc = 'c2', modified = 2")
            try fleet.settle()
            try fleet.shell(1, "UPDATE t SET vb = 'b2', modified = 3")
            try fleet.settle()
            try body(fleet)
        }
    }

    private func assertRow(_ fleet: Fleet, _ expected: String) throws {
        try fleet.settle()
        for device in fleet.replicas.indices { XCTAssertEqual(try fleet.shell(device, row), expected) }
        try fleet.assertSoundAndInStep()
    }

    func testWritesToDifferentColumnsBothStay() throws {
        try play { fleet in
            try fleet.shell(0, rebuild + "UPDATE t SET vc = 'of a', modified = 10;")
            try fleet.shell(1, rebuild + "UPDATE t SET vb = 'of b', modified = 11;")
            try assertRow(fleet, "r|a|of b|of a\n")
        }
    }

    func testAWriteFromBeforeTheRebuildTakesNoOtherAlong() throws {
        try play { fleet in
            try fleet.shell(0, "UPDATE t SET vc = 'of a';" + rebuild)
            try fleet.shell(1, rebuild + "UPDATE t SET va = 'of b', vb = 'new';")
            try assertRow(fleet, "r|of b|new|of a\n")
        }
    }

    /// Where both devices wrote one column, one of the values wins, and the other one is in the conflicts.
    func testOfTwoWritesOneWinsAndTheOtherIsInTheConflicts() throws {
        try play { fleet in
            try fleet.shell(0, rebuild + "UPDATE t SET va = 'of a', vb = 'x';")
            try fleet.shell(1, rebuild + "UPDATE t SET va = 'of b', vc = 'y';")
            try fleet.settle()
            let shown = try fleet.shell(0, row)
            XCTAssertTrue(["r|of a|x|y\n", "r|of b|x|y\n"].contains(shown), shown)
            try assertRow(fleet, shown)
            let lost = shown.contains("of a") ? "of b" : "of a"
            let listed = try fleet.replicas.flatMap { try $0.store.conflicts() }
            XCTAssertTrue(listed.contains { $0.lost.value == .text(Array(lost.utf8)[...]) })
        }
    }

    /// The value of a rebuilt row counts as written a tick after the former value, so a later write wins. That write knew nothing of it.
    func testATouchedValueThatLosesToALaterWriteIsInTheConflicts() throws {
        try play { fleet in
            try fleet.shell(0, rebuild + "UPDATE t SET va = 'of a', vb = 'x';")
            try fleet.shell(1, "UPDATE t SET va = 'of b'")
            try fleet.settle()
            XCTAssertEqual(try fleet.shell(0, row), "r|of b|x|c2\n")
            let listed = try fleet.replicas.flatMap { try $0.store.conflicts() }
            XCTAssertTrue(listed.contains { $0.lost.value == .text(Array("of a".utf8)[...]) })
        }
    }

    /// Another device has the new column for longer, and inserted a row without a word about that column.
    func testAValueThatYieldsToAnothersDefaultIsInTheConflicts() throws {
        let fleet = try Fleet.two("CREATE TABLE t(id INTEGER PRIMARY KEY, title TEXT)")
        try fleet.shell(0, "ALTER TABLE t ADD COLUMN c TEXT; INSERT INTO t(title) VALUES ('new');")
        try fleet.settle()
        try fleet.shell(1, "ALTER TABLE t ADD COLUMN c TEXT; UPDATE t SET c = 'of b';")
        try fleet.settle()
        for device in 0...1 { XCTAssertEqual(try fleet.shell(device, "SELECT title, c FROM t"), "new|\n") }
        let conflicts = try fleet.replicas[1].store.conflicts()
        XCTAssertEqual(conflicts.map(\.lost.value), [.text(Array("of b".utf8)[...])])
        try fleet.replicas[1].restoreConflict(try XCTUnwrap(conflicts.first).number)
        try fleet.settle()
        for device in 0...1 { XCTAssertEqual(try fleet.shell(device, "SELECT title, c FROM t"), "new|of b\n") }
        try fleet.assertSoundAndInStep()
    }
}

/// A marker that a syncer damaged, or lost.
final class DamagedMarkerTests: XCTestCase {
    func testADeviceWithFilesInTheContainerWritesTheMarkerAgain() throws {
        for damage in ["", "{\"form", nil] {
            let fleet = try Fleet.two("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
            try fleet.settle()
            let marker = fleet.containerPath + "/container.json"
            let former = try String(contentsOfFile: marker, encoding: .utf8)
            if let damage {
                try damage.write(toFile: marker, atomically: false, encoding: .utf8)
            } else {
                try FileManager.default.removeItem(atPath: marker)
            }
            try fleet.shell(0, "INSERT INTO t(x) VALUES ('a')")
            XCTAssertThrowsError(try fleet.replicas[0].sync())
            let report = try fleet.replicas[0].examine()
            XCTAssertTrue(report.findings.contains { $0.subject == "folder" && $0.canBeRepaired })
            XCTAssertTrue(try fleet.replicas[0].examine(isRepairing: true).isHealthy)
            let present = try String(contentsOfFile: marker, encoding: .utf8)
            for line in former.split(separator: "\n") where !line.contains("created") {
                XCTAssertTrue(present.contains(line), present)
            }
            try fleet.settle()
            XCTAssertEqual(try fleet.shell(1, "SELECT x FROM t"), "a\n")
            try fleet.assertSoundAndInStep()
        }
    }

    /// A folder without any file of this device is not mounted, or not synced yet.
    func testNoMarkerIsWrittenIntoAnotherFolder() throws {
        let fleet = try Fleet.two("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
        let aside = fleet.containerPath + "-aside"
        try FileManager.default.moveItem(atPath: fleet.containerPath, toPath: aside)
        try FileManager.default.createDirectory(
            atPath: fleet.containerPath + "/devices", withIntermediateDirectories: true)
        let report = try fleet.replicas[0].examine(isRepairing: true)
        XCTAssertFalse(report.isHealthy)
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: fleet.containerPath), ["devices"])
    }

    /// A row without any value beside its key: nothing but the missing row tells of the deletion.
    func testADeletionAfterARebuildOfATableWithNothingButAKey() throws {
        for key in ["id INTEGER PRIMARY KEY", "id INTEGER PRIMARY KEY AUTOINCREMENT", "id TEXT PRIMARY KEY"] {
            let fleet = try Fleet.two("CREATE TABLE t(\(key)); INSERT INTO t VALUES (1), (2);")
            try fleet.settle()
            try fleet.shell(
                0,
                """
                BEGIN; CREATE TABLE q(\(key)); INSERT INTO q SELECT id FROM t; DROP TABLE t; ALTER TABLE q RENAME TO t; COMMIT;
                DELETE FROM t WHERE id = 1;
                """)
            try fleet.settle()
            for device in 0...1 { XCTAssertEqual(try fleet.shell(device, "SELECT id FROM t"), "2\n", key) }
            try fleet.assertSoundAndInStep()
        }
    }
}
