import FerryCore
import FerrySchema
import FerryTestSupport
import XCTest

@testable import FerryStore

/// What was read of the database is read again once anything in it has changed, whoever changed it.
final class StoreSummaryTests: XCTestCase {
    private struct Refusal: Error {}

    private let device = DeviceID(high: 0xd, low: 1)
    private let other = DeviceID(high: 0xd, low: 2)

    /// Two stores over one database, each with a connection of its own, as two processes have them.
    private func stores() throws -> (Store, Store) {
        let folder = try ScratchFolder.make("ferry-reading")
        addTeardownBlock { try FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("app.sqlite").path
        XCTAssertTrue(FileManager.default.createFile(atPath: path, contents: nil))
        let first = try Store(path: path)
        try first.write { try $0.execute("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)") }
        _ = try first.beginTracking(
            StoreIdentity(
                device: device, deviceName: "here", container: ContainerID(high: 1, low: 1), containerName: "",
                containerPath: "/container"), TableSelection())
        return (first, try Store(path: path))
    }

    func testWhatEitherConnectionCommitsIsRead() throws {
        let (first, second) = try stores()
        for (number, writer) in [first, second, first, first, second, second].enumerated() {
            try writer.recordName("name \(number)", of: other)
            for reader in [first, second, first] {
                XCTAssertEqual(try reader.reading().names[other], "name \(number)")
            }
        }
    }

    func testWhatAPassMovesIsRead() throws {
        let (first, second) = try stores()
        for number in 1...3 {
            let before = try first.versionVector()[device].sequence
            try second.write { try $0.execute("INSERT INTO item(name) VALUES ('\(number)')") }
            XCTAssertEqual(try first.versionVector()[device].sequence, before)
            _ = try second.pass(replaying: []) { changeset, _, _ in
                OutboxEntry(
                    first: changeset.sequence, last: changeset.sequence, changes: 1,
                    checksum: Checksum(high: 0, low: 0), bytes: [])
            }
            for reader in [first, second] {
                XCTAssertEqual(try reader.versionVector()[device].sequence, before + 1)
                XCTAssertEqual(try reader.reading().vector, try reader.versionVector())
                XCTAssertFalse(try reader.reading().isPublished)
            }
        }
    }

    func testWhatIsRolledBackIsNotRemembered() throws {
        let (first, second) = try stores()
        try first.recordName("kept", of: other)
        _ = try first.reading()
        for store in [first, second] {
            XCTAssertThrowsError(
                try store.write { connection in
                    try connection.execute("UPDATE ferry_device SET name = 'lost'")
                    throw Refusal()
                })
            for reader in [first, second] { XCTAssertEqual(try reader.reading().names[other], "kept") }
        }
    }

    func testWhoCountsThisDeviceIsReadAnew() throws {
        let (first, second) = try stores()
        for (number, writer) in [first, second, first].enumerated() {
            let counting = MemberAcknowledgements(first: UInt64(number) + 5, known: [other.hex])
            try writer.note { try counting.save(MetaTable(connection: $0)) }
            for reader in [first, second] {
                let known = try reader.countingDevices()
                XCTAssertEqual(known.acknowledging, UInt64(number) + 5)
                XCTAssertEqual(known.devices, [other])
            }
        }
    }
}
