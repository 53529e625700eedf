import FerryContainer
import FerryCore
import FerryLog
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// Devices with values that are large at a kilobyte, so that stories about them are short.
extension MemoryHome {
    static let photoSchema = [
        "CREATE TABLE photo(id INTEGER PRIMARY KEY, title TEXT, image BLOB, note TEXT)",
        "CREATE TABLE page(path TEXT PRIMARY KEY NOT NULL, body, mark TEXT UNIQUE) WITHOUT ROWID",
        "CREATE TABLE label(id INTEGER PRIMARY KEY, page TEXT REFERENCES page(path) ON DELETE RESTRICT, text TEXT)",
    ]

    static func withLargeValues(_ count: Int, retention: RetentionSettings = .init()) throws -> MemoryHome {
        let home = try MemoryHome(retention: retention)
        home.largeValues.threshold = 1000
        home.largeValues.partBytes = 400
        home.schema = photoSchema
        for _ in 0..<count { try home.addDevice() }
        try home.settleAll()
        return home
    }

    /// Syncs all devices until nothing is new.
    func settleAll(file: StaticString = #filePath, line: UInt = #line) throws {
        for _ in 0..<20 {
            var hasNews = false
            for replica in replicas { hasNews = try replica.sync().hasNews || hasNews }
            if !hasNews { return }
        }
        XCTFail("the devices do not come to rest", file: file, line: line)
    }

    func execute(_ index: Int, _ sql: String, _ values: FieldValue...) throws {
        try replicas[index].store.write { connection in _ = try connection.rows(sql, values: values) }
    }

    func values(_ index: Int, _ sql: String) throws -> [[FieldValue]] {
        try replicas[index].store.read { try $0.rows(sql) }
    }

    static let everything =
        "SELECT title, image, note, typeof(image) FROM photo UNION ALL SELECT path, body, mark, typeof(body) FROM page ORDER BY 1, 2"

    /// Fails unless all devices come to rest, show the same, are what their states say, and are in step.
    func assertInStep(_ indices: [Int]? = nil, file: StaticString = #filePath, line: UInt = #line) throws {
        try settleAll(file: file, line: line)
        let indices = indices ?? Array(replicas.indices)
        let expected = try values(indices[0], Self.everything)
        for index in indices {
            XCTAssertEqual(try values(index, Self.everything), expected, "device \(index)", file: file, line: line)
            XCTAssertEqual(try replicas[index].verify(deep: true).differences, [], file: file, line: line)
            XCTAssertEqual(try replicas[index].status().tablesApart, [], file: file, line: line)
            XCTAssertEqual(
                try replicas[index].store.statePosition().digests,
                try replicas[indices[0]].store.statePosition().digests,
                file: file, line: line)
        }
    }

    /// A copy of a device's database, as a backup program makes one.
    func copyDatabase(_ index: Int, to path: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["sqlite3", "-bail", databasePath(index), "VACUUM INTO '\(path)'"]
        try process.run()
        process.waitUntilExit()
        XCTAssertEqual(process.terminationStatus, 0)
    }

    /// The parts in a device's directory.
    func parts(_ index: Int) throws -> Set<PartName> { try container.parts(of: replicas[index].identity.device) }

    private func directory(_ index: Int) -> String { "/shared/c/devices/\(replicas[index].identity.device.hex)/values" }

    /// Takes a part out of the folder, as a syncer that has not brought it yet.
    func take(_ part: PartName, of index: Int) throws -> [UInt8] {
        let path = directory(index) + "/" + part.fileName
        let bytes = try XCTUnwrap(try files.readFile(at: path, maximumBytes: 1 << 28))
        _ = try files.removeFile(at: path)
        return bytes
    }

    func bring(_ part: PartName, _ bytes: [UInt8], of index: Int) throws {
        try files.write(bytes, toNewFileAt: directory(index) + "/" + part.fileName)
    }

    /// Whether the parts in a device's directory are just those to which its segments and snapshots refer.
    func assertPartsAreNeeded(_ index: Int, file: StaticString = #filePath, line: UInt = #line) throws {
        let device = replicas[index].identity.device
        var needed: Set<PartName> = []
        for name in try container.segments(of: device) {
            let bytes = try XCTUnwrap(try container.readSegment(name, of: device))
            let header = try SegmentDecoder.decode(bytes, container: container.id, device: device, parts: .leftOut).0
            for part in header.largeValues.flatMap(\.parts) { needed.insert(PartName(checksum: part.checksum)) }
        }
        for entry in try SnapshotCatalog(container).entries() where entry.device == device {
            needed.formUnion(try SnapshotCatalog(container).partNames(of: entry))
        }
        XCTAssertEqual(try parts(index), needed, file: file, line: line)
    }
}

/// Bytes that do not get smaller by compression.
func largeNoise(_ count: Int, seed: UInt64) -> FieldValue {
    var chance = Chance(seed: seed)
    return .blob((0..<count).map { _ in UInt8(truncatingIfNeeded: chance.next()) }[...])
}

func largeText(_ count: Int, _ letter: Character = "a") -> FieldValue {
    .text(String((0..<count).map { $0 % 50 == 0 ? "\n" : letter }))
}
