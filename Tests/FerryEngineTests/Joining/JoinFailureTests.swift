import FerryContainer
import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// A join that fails leaves the database as it was, and can be repeated.
final class JoinFailureTests: XCTestCase {
    private let schema = """
        CREATE TABLE item(k TEXT PRIMARY KEY, v);
        """
    private let dump = "SELECT type, name, sql FROM sqlite_schema ORDER BY name; SELECT * FROM item ORDER BY k"

    private func assertFails(
        _ fleet: Fleet, _ index: Int, _ rows: JoinOptions.Rows, _ environment: ReplicaEnvironment,
        line: UInt = #line
    ) {
        XCTAssertThrowsError(
            try ReplicaSetup(environment: environment).join(
                databasePath: fleet.databasePath(index), containerPath: fleet.containerPath,
                options: JoinOptions(rows: rows)), line: line)
    }

    private var fullDisk: ReplicaEnvironment {
        var environment = ReplicaEnvironment.live
        environment.fileSystem = FullFileSystem()
        return environment
    }

    func testADatabaseWithRowsIsAsItWas() throws {
        for rows in JoinOptions.Rows.allCases {
            let fleet = try Fleet()
            try fleet.start(schema + "INSERT INTO item VALUES ('x', 'of a'), ('y', 'of a')")
            try fleet.shell(1, schema + "INSERT INTO item VALUES ('x', 'of b'), ('z', 'of b')")
            let before = try fleet.shell(1, dump)
            assertFails(fleet, 1, rows, fullDisk)
            XCTAssertEqual(try fleet.shell(1, dump), before, rows.rawValue)
            try fleet.join(options: JoinOptions(rows: rows))
            try fleet.settle()
            try fleet.assertEqual("SELECT * FROM item ORDER BY k")
            XCTAssertEqual(try fleet.replicas[0].status().devices.count, 1, "the failed attempt left a device")
        }
    }

    func testADatabaseWithEmptyTablesIsAsItWas() throws {
        let fleet = try Fleet()
        try fleet.start(schema + "INSERT INTO item VALUES ('x', 'of a')")
        try fleet.shell(1, schema)
        let before = try fleet.shell(1, dump)
        assertFails(fleet, 1, .merge, fullDisk)
        XCTAssertEqual(try fleet.shell(1, dump), before)
        try fleet.join()
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM item")
    }

    func testADatabaseThatWasMadeIsGone() throws {
        let fleet = try Fleet()
        try fleet.start(schema + "INSERT INTO item VALUES ('x', 'of a')")
        assertFails(fleet, 1, .merge, fullDisk)
        XCTAssertFalse(FileManager.default.fileExists(atPath: fleet.databasePath(1)))
        try fleet.join()
        try fleet.assertEqual("SELECT * FROM item")
    }

    func testTablesThatWereMadeAreGone() throws {
        let fleet = try Fleet()
        try fleet.start(schema + "CREATE TABLE other(k TEXT PRIMARY KEY); INSERT INTO other VALUES ('o')")
        try fleet.shell(1, schema + "INSERT INTO item VALUES ('z', 'of b')")
        let before = try fleet.shell(1, dump)
        assertFails(fleet, 1, .merge, fullDisk)
        XCTAssertEqual(try fleet.shell(1, dump), before)
    }
}

/// A disk on which nothing can be written.
private struct FullFileSystem: FileSystem {
    private let disk = PosixFileSystem()

    func readFile(at path: String, maximumBytes: Int) throws -> [UInt8]? {
        try disk.readFile(at: path, maximumBytes: maximumBytes)
    }
    func entryNames(ofDirectoryAt path: String, maximumCount: Int) throws -> [String]? {
        try disk.entryNames(ofDirectoryAt: path, maximumCount: maximumCount)
    }
    func item(at path: String) throws -> FileItem { try disk.item(at: path) }
    func createDirectory(at path: String) throws -> Bool { try disk.createDirectory(at: path) }
    func write(_ bytes: [UInt8], toNewFileAt path: String) throws {
        throw FerryError(.inputOutput, "No space is left for \(path).", path: path)
    }
    func rename(_ path: String, to newPath: String) throws { try disk.rename(path, to: newPath) }
    func synchronizeDirectory(at path: String) throws { try disk.synchronizeDirectory(at: path) }
    func removeFile(at path: String) throws -> Bool { try disk.removeFile(at: path) }
    func openFile(at path: String) throws -> (any ReadableFile)? { try disk.openFile(at: path) }
    func createFile(at path: String) throws -> any WritableFile {
        throw FerryError(.inputOutput, "No space is left for \(path).", path: path)
    }
    func continueFile(at path: String) throws -> (any WritableFile)? {
        throw FerryError(.inputOutput, "No space is left for \(path).", path: path)
    }
    func makeReadOnly(at path: String) throws { try disk.makeReadOnly(at: path) }
    func link(_ path: String, to newPath: String) throws -> Bool { try disk.link(path, to: newPath) }
}
