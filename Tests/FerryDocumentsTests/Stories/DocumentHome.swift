import FerryContainer
import FerryCore
import FerrySQL
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryDocuments
@testable import FerryEngine

/// Devices with documents. Their databases are on the disk; the container, and what lies beside the databases, is in a file system in
/// memory. The clock goes on by a second with each change, so the later change is the later one by the clock, too.
final class DocumentHome {
    static let containerPath = "/shared/c"

    let files = MemoryFileSystem()
    let clock = Clock()
    let folder: URL
    private(set) var devices: [DocumentAccess] = []
    private var sourceCount = 0
    /// How long files stay in the container, for databases that are opened from now on.
    var retention = RetentionSettings()

    final class Clock: WallClock {
        private let now = Locked<Int64>(1_700_000_000_000)
        func milliseconds() -> Int64 { now.withLock { $0 } }
        func milliseconds(captured: Int64) -> Int64 { milliseconds() }
        func advance(seconds: Int64) { now.withLock { $0 += seconds * 1000 } }
        func advance(days: Int64) { advance(seconds: days * 86_400) }
    }

    init(devices count: Int = 2) throws {
        folder = try ScratchFolder.make("ferry-documents")
        try makeDirectory("/shared")
        try makeDirectory("/source")
        try makeDirectory(folder.path)
        for _ in 0..<count { try addDevice() }
    }

    deinit {
        for device in devices { try? device.replica.store.close() }
        try? FileManager.default.removeItem(at: folder)  // a temporary folder
    }

    private func makeDirectory(_ path: String) throws {
        var parent = ""
        for name in path.split(separator: "/") {
            try files.createDirectory(at: parent + "/" + name)
            try files.synchronizeDirectory(at: parent + "/")
            parent += "/" + name
        }
    }

    // MARK: Devices

    var environment: ReplicaEnvironment { ReplicaEnvironment(clock: clock, random: SystemRandom(), fileSystem: files) }

    func databasePath(_ index: Int) -> String { folder.appendingPathComponent("db\(index).sqlite").path }
    func shelfPath(_ index: Int) -> String { databasePath(index) + "-ferry-content" }
    func replica(_ index: Int) -> Replica { devices[index].replica }
    func deviceID(_ index: Int) -> DeviceID { replica(index).identity.device }

    /// Makes the container with the first device; a further one joins.
    func addDevice(_ sql: String = "CREATE TABLE photo(id INTEGER PRIMARY KEY, title TEXT, image BLOB)") throws {
        let index = devices.count
        XCTAssertTrue(FileManager.default.createFile(atPath: databasePath(index), contents: nil))
        let store = try Store(path: databasePath(index), clock: clock)
        try store.write { try $0.executeScript(sql) }
        let setup = ReplicaSetup(environment: environment)
        let path = Self.containerPath
        let made =
            try index == 0
            ? setup.create(store, containerPath: path, name: "device0").replica
            : setup.join(store, containerPath: path, name: "device\(index)").replica
        devices.append(DocumentAccess(made))
    }

    /// Begins anew with a device's database, as after a crash.
    func reopen(_ index: Int) throws {
        try replica(index).store.close()
        devices[index] = DocumentAccess(
            try Replica(
                Store(path: databasePath(index), clock: clock), environment: environment,
                retention: retention))
    }

    /// Syncs these devices until nothing goes either way any more.
    func settle(_ indices: [Int]? = nil, file: StaticString = #filePath, line: UInt = #line) throws {
        for _ in 0..<20 {
            var hasNews = false
            for index in indices ?? Array(devices.indices) { hasNews = try replica(index).sync().hasNews || hasNews }
            if !hasNews { return }
        }
        XCTFail("the devices do not come to rest", file: file, line: line)
    }

    // MARK: Changes

    /// A file with some bytes, somewhere else.
    func source(_ bytes: [UInt8]) throws -> String {
        sourceCount += 1
        let path = "/source/\(sourceCount)"
        try files.write(bytes, toNewFileAt: path)
        return path
    }

    private func change<Result>(_ index: Int, _ body: (DocumentAccess) throws -> Result) throws -> Result {
        clock.advance(seconds: 1)
        return try body(devices[index])
    }

    @discardableResult
    func add(_ index: Int, _ path: String, _ bytes: [UInt8], replacing: Bool = false) throws -> DocumentOutcome {
        let source = DocumentSource(file: try source(bytes), path: try DocumentPath(path), modifiedMicroseconds: 7)
        return try change(index) { try $0.add([source], replacing: replacing).outcomes[0] }
    }

    @discardableResult
    func add(_ index: Int, _ path: String, _ text: String) throws -> DocumentOutcome {
        try add(index, path, Array(text.utf8))
    }

    @discardableResult
    func put(_ index: Int, _ path: String, _ text: String) throws -> DocumentOutcome {
        try add(index, path, Array(text.utf8), replacing: true)
    }

    func makeFolder(_ index: Int, _ path: String) throws {
        _ = try change(index) { try $0.makeFolder(DocumentPath(path)) }
    }

    func move(_ index: Int, _ path: String, to newPath: String) throws {
        try change(index) { try $0.move(id(index, path), to: DocumentPath(newPath)) }
    }

    @discardableResult
    func remove(_ index: Int, _ path: String) throws -> Int { try change(index) { try $0.remove(id(index, path)) } }

    @discardableResult
    func putBack(_ index: Int, _ path: String) throws -> Int {
        let entry = try XCTUnwrap(try devices[index].list(.deleted).first { $0.path == path })
        return try change(index) { try $0.putBack(entry.id) }
    }

    @discardableResult
    func settle(_ index: Int, _ path: String, keeping text: String) throws -> VersionID {
        let version = try XCTUnwrap(
            try devices[index].versions(of: id(index, path)).first { try bytes(index, path, $0.id) == Array(text.utf8) }
        )
        return try change(index) { try $0.settle(id(index, path), keeping: version.id) }
    }

    func keepBoth(_ index: Int, _ path: String) throws {
        _ = try change(index) { try $0.settleKeepingBoth(id(index, path)) }
    }

    func settle(_ index: Int, _ path: String, with text: String) throws {
        let stored = try replica(index).storeContents([source(Array(text.utf8))])[0]
        try change(index) { _ = try $0.settle(id(index, path), with: stored, modifiedMicroseconds: 7) }
    }

    // MARK: Looking

    func entry(_ index: Int, _ path: String) throws -> DocumentEntry { try devices[index].entry(DocumentPath(path)) }
    func id(_ index: Int, _ path: String) throws -> DocumentID { try entry(index, path).id }

    /// The bytes of a document's shown version, or of another one, as a reader gets them from the disk.
    func bytes(_ index: Int, _ path: String, _ version: VersionID? = nil) throws -> [UInt8] {
        let file = try devices[index].file(of: id(index, path), version: version)
        return try XCTUnwrap(try files.readFile(at: file.path, maximumBytes: 1 << 28))
    }

    /// What a device shows: each document's path with its text, each folder's with a slash at the end and no text. Rivals follow
    /// their document's text behind a bar.
    func shown(_ index: Int) throws -> [String: String] {
        var found: [String: String] = [:]
        for entry in try devices[index].list(.below(.top)) {
            if entry.kind == .folder {
                found[entry.path + "/"] = ""
                continue
            }
            let versions = [nil] + entry.rivals.map(Optional.some)
            found[entry.path] = try versions.map { version in
                String(decoding: try bytes(index, entry.path, version), as: UTF8.self)
            }.joined(separator: "|")
        }
        return found
    }

    /// Fails unless all devices come to rest and show this, have equal rows, and are sound.
    func assertSettled(
        _ expected: [String: String], _ indices: [Int]? = nil, file: StaticString = #filePath, line: UInt = #line
    ) throws {
        let indices = indices ?? Array(devices.indices)
        try settle(indices, file: file, line: line)
        for index in indices {
            XCTAssertEqual(try shown(index), expected, "device \(index)", file: file, line: line)
            try assertSound(index, file: file, line: line)
        }
        try assertEqualRows(indices, file: file, line: line)
    }

    /// Fails where devices have other rows of documents, contents and packs.
    func assertEqualRows(_ indices: [Int], file: StaticString = #filePath, line: UInt = #line) throws {
        for table in ["ferry_content", "ferry_pack", "ferry_document", "ferry_version", "ferry_attachment", "photo"] {
            let rows = try indices.map { index in
                try replica(index).store.read { try $0.rows("SELECT * FROM \(table) ORDER BY 1") }
            }
            for (other, index) in zip(rows, indices).dropFirst() {
                XCTAssertEqual(other, rows[0], "\(table) of device \(index)", file: file, line: line)
            }
        }
    }

    func assertSound(_ index: Int, file: StaticString = #filePath, line: UInt = #line) throws {
        XCTAssertEqual(try replica(index).verify(deep: true).differences, [], file: file, line: line)
        let store = replica(index).store
        XCTAssertEqual(
            try store.read { try $0.rows("PRAGMA foreign_key_check") }, [], "device \(index)", file: file, line: line)
        XCTAssertEqual(
            try store.read { try $0.rows("PRAGMA integrity_check") }, [[.text("ok")]], "device \(index)", file: file,
            line: line)
    }

    // MARK: The disk

    /// The names below a directory, from there on; directories are left out.
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

    /// The names of a device's packs in the container.
    func packs(_ index: Int) throws -> [String] {
        try names(below: "\(Self.containerPath)/devices/\(deviceID(index).hex)/packs")
    }

    func packPath(_ index: Int, _ name: String) -> String {
        "\(Self.containerPath)/devices/\(deviceID(index).hex)/packs/\(name)"
    }

    func sql(_ index: Int, _ sql: String) throws -> [[FieldValue]] {
        try replica(index).store.read { try $0.rows(sql) }
    }
    func write(_ index: Int, _ sql: String) throws { try replica(index).store.write { try $0.execute(sql) } }
}

/// Bytes that no compression makes smaller.
func noise(_ count: Int, seed: UInt64) -> [UInt8] {
    var chance = Chance(seed: seed)
    return (0..<count / 8 + 1).flatMap { _ in withUnsafeBytes(of: chance.next(), Array.init) }.prefix(count).map { $0 }
}
