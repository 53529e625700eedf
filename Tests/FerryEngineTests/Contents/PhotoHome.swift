import FerryContainer
import FerryCore
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// A device with photos, whose images are contents: a column that is declared for attachments.
struct PhotoDevice {
    let replica: Replica
    let files: MemoryFileSystem

    /// Makes the table, and room in memory for what lies beside the database.
    func prepare() throws {
        var parent = ""
        for name in replica.store.path.split(separator: "/").dropLast() {
            try files.createDirectory(at: parent + "/" + name)
            try files.synchronizeDirectory(at: parent + "/")
            parent += "/" + name
        }
        try files.createDirectory(at: "/source")
        try files.synchronizeDirectory(at: "/")
        try write("CREATE TABLE IF NOT EXISTS photo(id INTEGER PRIMARY KEY, title TEXT, image BLOB, note TEXT)")
    }

    var device: DeviceID { replica.identity.device }
    var shelf: String { replica.shelf.root }

    func write(_ sql: String) throws { try replica.store.write { try $0.execute(sql) } }
    func rows(_ sql: String) throws -> [[FieldValue]] { try replica.store.read { try $0.rows(sql) } }
    func count(_ sql: String) throws -> Int { try replica.store.read { try $0.count(sql) } }

    func declare() throws {
        try replica.store.makeDocumentTables()
        try write("INSERT OR IGNORE INTO ferry_attachment(target) VALUES ('photo.image')")
    }

    /// A file with some bytes, elsewhere.
    func source(_ bytes: [UInt8]) throws -> String {
        let path = "/source/\(ContentHash.checksum(bytes).hex)"
        if try files.item(at: path) == .missing {
            try files.write(bytes, toNewFileAt: path)
            try files.synchronizeDirectory(at: "/source")
        }
        return path
    }

    /// Puts bytes into a file, and makes a content of it.
    func store(_ bytes: [UInt8]) throws -> StoredContent { try replica.storeContents([source(bytes)])[0] }

    /// Stores bytes, and writes the row that refers to them.
    @discardableResult
    func attach(_ title: String, _ bytes: [UInt8]) throws -> ContentID {
        let stored = try store(bytes)
        try insert(title, stored)
        return stored.id
    }

    func insert(_ title: String, _ stored: StoredContent) throws {
        try replica.store.write { connection in
            try stored.insert(connection)
            try connection.execute(
                "INSERT INTO photo(title, image) VALUES (?, ?)", .text(title), .blob(stored.id.bytes[...]))
        }
    }

    /// The content of a photo.
    func image(_ title: String) throws -> ContentID {
        let row = try XCTUnwrap(
            try replica.store.read { try $0.rows("SELECT image FROM photo WHERE title = ?", .text(title)) }.first, title
        )
        guard case .blob(let bytes) = row[0] else { throw FerryError(.damagedFile, "no image") }
        return try XCTUnwrap(ContentID(bytes: bytes))
    }

    /// The bytes of a photo, as a reader gets them from the disk; they are fetched if need be.
    func bytes(_ title: String) throws -> [UInt8] {
        let path = try replica.contentFile(image(title))
        return try XCTUnwrap(try files.readFile(at: path, maximumBytes: 1 << 28))
    }

    /// Whether the bytes are whole beside the database, by the disk.
    func isHere(_ title: String) throws -> Bool {
        let hex = try image(title).hex
        return try names(below: shelf + "/whole").contains("\(hex.prefix(2))/\(hex)")
    }

    // MARK: The disk

    func names(below path: String) throws -> [String] {
        var found: [String] = []
        for name in try files.entryNames(ofDirectoryAt: path, maximumCount: 10_000) ?? [] {
            if try files.item(at: path + "/" + name) == .directory {
                found += try names(below: path + "/" + name).map { name + "/" + $0 }
            } else {
                found.append(name)
            }
        }
        return found.sorted()
    }

    var packsPath: String { "/shared/c/devices/\(device.hex)/packs" }

    /// The names of this device's packs in the container.
    func packs() throws -> [String] { try names(below: packsPath) }

    /// Fails where a row of this device's tells of a pack that is neither in the container nor beside the database, whole.
    func checkPacks(_ context: String, file: StaticString = #filePath, line: UInt = #line) throws {
        guard try count("SELECT count(*) FROM sqlite_schema WHERE name = 'ferry_pack'") == 1 else { return }
        for row in try rows("SELECT lower(hex(id)), lower(hex(device)), bytes FROM ferry_pack") {
            let name = row[0].text + ".pack"
            let places = ["/shared/c/devices/\(row[1].text)/packs/\(name)", "\(shelf)/pending/\(name)"]
            let found = try places.map { try files.item(at: $0) }
            guard case .integer(let bytes) = row[2] else { return XCTFail(context, file: file, line: line) }
            XCTAssertTrue(
                found.contains(.file(size: Int(bytes))), "\(context): \(name) is \(found)", file: file, line: line)
        }
    }

    /// Fails where files lie about that nobody will use again.
    func checkNoLitter(_ context: String, file: StaticString = #filePath, line: UInt = #line) throws {
        let beside = try names(below: shelf).filter { !$0.hasPrefix("whole/") }
        XCTAssertEqual(beside, [], context, file: file, line: line)
        let own = try names(below: "/shared/c/devices/\(device.hex)")
        XCTAssertEqual(own.filter { $0.contains("ferry-tmp") }, [], context, file: file, line: line)
        let named = try Set(
            rows("SELECT lower(hex(id)) || '.pack' FROM ferry_pack WHERE device = x'\(device.hex)'").map { $0[0].text })
        XCTAssertEqual(Set(try packs()), named, context, file: file, line: line)
    }
}

extension MemoryHome {
    /// Devices with photos.
    static func withPhotos(
        _ count: Int = 2, retention: RetentionSettings = RetentionSettings()
    ) throws -> MemoryHome {
        let home = try MemoryHome(retention: retention)
        for index in 0..<count {
            try home.addDevice()
            try home.photos(index).prepare()
            _ = try home.replicas[index].sync()
        }
        try home.photos(0).declare()
        try home.settle()
        return home
    }

    func photos(_ index: Int) -> PhotoDevice { PhotoDevice(replica: replicas[index], files: files) }

    /// Syncs these devices until nothing goes either way any more.
    func settle(_ indices: [Int]? = nil, file: StaticString = #filePath, line: UInt = #line) throws {
        for _ in 0..<20 {
            var hasNews = false
            for index in indices ?? Array(replicas.indices) { hasNews = try replicas[index].sync().hasNews || hasNews }
            if !hasNews { return }
        }
        XCTFail("the devices do not come to rest", file: file, line: line)
    }
}

/// Bytes that no compression makes smaller.
func noise(_ count: Int, seed: UInt64) -> [UInt8] {
    var chance = Chance(seed: seed)
    return (0..<count / 8 + 1).flatMap { _ in withUnsafeBytes(of: chance.next(), Array.init) }.prefix(count).map { $0 }
}
