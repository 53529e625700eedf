import FerryContainer
import FerryCore
import FerrySchema
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// A container in a temporary folder and devices whose databases anybody writes to with plain SQLite.
final class Fleet {
    let folder: URL
    var replicas: [Replica] = []

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("ferry-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }  // a temporary folder

    var containerPath: String { folder.appendingPathComponent("container").path }
    func databasePath(_ index: Int) -> String { folder.appendingPathComponent("db\(index).sqlite").path }

    /// Two devices with the tables and rows of a script.
    static func two(_ sql: String) throws -> Fleet {
        let fleet = try Fleet()
        try fleet.start(sql)
        try fleet.join()
        return fleet
    }

    /// Makes a database by a script, and its container.
    func start(_ sql: String, selection: TableSelection = TableSelection()) throws {
        try shell(0, sql)
        let store = try Store(path: databasePath(0))
        replicas.append(
            try Replica.create(
                store, containerPath: containerPath, sealing: .open, name: "device0", selection: selection
            ).replica)
    }

    /// Joins another device.
    @discardableResult
    func join(_ sql: String? = nil, options: JoinOptions = JoinOptions()) throws -> JoinReport {
        let index = replicas.count
        if let sql { try shell(index, sql) }
        let (replica, report) = try Replica.join(
            databasePath: databasePath(index), containerPath: containerPath, name: "device\(index)", options: options)
        replicas.append(try XCTUnwrap(replica))
        return report
    }

    /// Runs SQL in another process: the `sqlite3` shell, with foreign keys on.
    @discardableResult
    func shell(_ index: Int, _ sql: String, foreignKeys: Bool = true) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["sqlite3", "-bail", "-cmd", ".timeout 10000", databasePath(index)]
        let input = Pipe()
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        try process.run()
        input.fileHandleForWriting.write(Data(("PRAGMA foreign_keys=\(foreignKeys ? "ON" : "OFF");\n" + sql).utf8))
        try input.fileHandleForWriting.close()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let text = String(decoding: data, as: UTF8.self)
        if process.terminationStatus != 0 { throw FerryError(.database, "sqlite3 says: \(text)") }
        return text
    }

    /// Syncs all devices until nothing goes either way any more.
    func settle(file: StaticString = #filePath, line: UInt = #line) throws {
        for _ in 0..<20 {
            var hasNews = false
            for replica in replicas { hasNews = try replica.sync().hasNews || hasNews }
            if !hasNews { return }
        }
        XCTFail("the devices do not come to rest", file: file, line: line)
    }

    /// Fails where two devices show different rows for a query, or a database is not sound.
    func assertEqual(_ query: String, file: StaticString = #filePath, line: UInt = #line) throws {
        let first = try shell(0, query)
        for index in replicas.indices.dropFirst() {
            XCTAssertEqual(first, try shell(index, query), query, file: file, line: line)
        }
        try assertSound(file: file, line: line)
    }

    /// Fails unless all devices come to rest with these rows, are sound, and are in step.
    func assertSettled(
        _ query: String, _ expected: String, file: StaticString = #filePath, line: UInt = #line
    ) throws {
        try settle(file: file, line: line)
        for index in replicas.indices {
            XCTAssertEqual(try shell(index, query), expected, "device \(index)", file: file, line: line)
        }
        try assertSoundAndInStep(file: file, line: line)
    }

    /// Fails where a device's rows are not what its state says, or where a device does not call all others in step.
    func assertSoundAndInStep(file: StaticString = #filePath, line: UInt = #line) throws {
        for replica in replicas {
            XCTAssertEqual(try replica.verify(deep: true).differences, [], file: file, line: line)
            let status = try replica.status()
            XCTAssertEqual(status.tablesApart, [], file: file, line: line)
            XCTAssertEqual(
                status.devices.map(\.standing), status.devices.map { _ in .inStep }, file: file, line: line)
        }
        try assertSound(file: file, line: line)
    }

    func assertSound(file: StaticString = #filePath, line: UInt = #line) throws {
        for index in replicas.indices {
            XCTAssertEqual(
                try shell(index, "PRAGMA foreign_key_check; PRAGMA integrity_check;"), "ok\n", file: file, line: line)
        }
    }
}
