import FerryCore
import FerryEngine
import FerryStore
import FerryTestSupport
import Foundation
import GRDB
import XCTest

@testable import FerryLive

/// Lists on devices that share a folder.
final class LiveReplayTests: XCTestCase {
    private struct Note: Codable, FetchableRecord, PersistableRecord, Sendable {
        var id: Int64?
        var text: String
    }

    private func device(_ folder: ScratchFolder, _ name: String) throws -> (pool: DatabasePool, replica: Replica) {
        let pool = try DatabasePool(path: folder.path("\(name).sqlite"))
        try pool.write { try $0.execute(sql: "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)") }
        let container = folder.path("container")
        if FileManager.default.fileExists(atPath: container) {
            let joined = try Replica.join(Store(pool), containerPath: container, name: name)
            return (pool, try XCTUnwrap(joined.replica))
        }
        return (pool, try Replica.create(Store(pool), containerPath: container, sealing: .open, name: name).replica)
    }

    func testTheFirstDeliveryHasObjectIDs() async throws {
        let folder = try ScratchFolder()
        let (pool, replica) = try device(folder, "laptop")
        try await pool.write { try Note(id: 1, text: "a").insert($0) }
        _ = try replica.sync()
        for _ in 0..<10 {
            let notes = try LiveResults(in: pool, store: replica.store) { _ in Note.order(Column("text")) }
            var deliveries = notes.deliveries.makeAsyncIterator()
            let delivery = try await deliveries.next()
            XCTAssertNotNil(delivery?.object(at: 0))
        }
    }

    /// Two devices give one integer to two rows: one of them gets another, and is no other row for it.
    func testReplayIsToldByObjectID() async throws {
        let folder = try ScratchFolder()
        let (laptop, first) = try device(folder, "laptop")
        let (phone, second) = try device(folder, "phone")
        let notes = try LiveResults(in: phone, store: second.store) { _ in Note.order(Column("text")) }
        var deliveries = notes.deliveries.makeAsyncIterator()
        _ = try await deliveries.next()

        try await phone.write { try Note(id: 1, text: "b, from the phone").insert($0) }
        var delivery = try await deliveries.next()
        XCTAssertEqual(delivery?.difference.changes.map(\.kind), [.inserted])
        try await laptop.write { try Note(id: 1, text: "a, from the laptop").insert($0) }
        _ = try second.sync()
        _ = try first.sync()
        _ = try second.sync()
        _ = try first.sync()

        // The phone's row was there first by its clock, or the laptop's: one of them has another key on each device.
        delivery = try await deliveries.next()
        let difference = try XCTUnwrap(delivery?.difference)
        XCTAssertEqual(difference.changes(.deleted).count, 0, "\(difference)")
        XCTAssertEqual(difference.changes(.inserted).count, 1, "\(difference)")
        let texts = try await delivery?.records(in: 0..<2)
        XCTAssertEqual(texts?.map { $0?.text }, ["a, from the laptop", "b, from the phone"])
        let object = try XCTUnwrap(difference.changes(.inserted).first?.object)
        let key = try XCTUnwrap(first.store.key(of: object, in: "note"))
        let row = try await laptop.read { try Note.fetchOne($0, key: key[0].databaseValue) }
        XCTAssertEqual(row?.text, "a, from the laptop")
    }
}
