import Ferry
import Foundation
import GRDB
import XCTest

@testable import ContactBook

/// What is made of contacts is right on every device, whoever wrote them.
final class SyncTests: XCTestCase {
    private var folder: Folder!
    private var pools: [DatabasePool] = []
    private var stores: [Store] = []

    override func setUpWithError() throws {
        folder = try Folder()
        pools = try ["laptop", "phone"].map { try openContacts(at: folder.path($0)) }
        try ContactDraft.fill(pools[0], count: 50, seed: 3, pictureBytes: 64)
        stores = try zip(pools, ["laptop", "phone"]).map { pool, name in
            try trackContacts(pool, container: folder.path("container"), name: name, isFirst: name == "laptop")
        }
    }

    override func tearDown() { (pools, stores, folder) = ([], [], nil) }

    private func sync() throws {
        for _ in 0..<2 { for store in stores { try Replica(store).sync() } }
    }

    /// Keywords, full-text index and counts of both devices are what their contacts make them, and the contacts are the same.
    private func assertAllIsRight(_ line: UInt = #line) throws {
        for pool in pools {
            try pool.read { database in
                XCTAssertEqual(try groupCounts(database), try Naive.groupCounts(database), line: line)
                for word in ["ann", "mul", "gar", "wei"] {
                    let expected = try Naive.contacts(withWord: word, database)
                    XCTAssertEqual(try contacts(withWord: word, database), expected, word, line: line)
                    XCTAssertEqual(try contacts(matching: word, database), expected, word, line: line)
                }
                for contact in try Contact.fetchAll(database) {
                    XCTAssertEqual(
                        contact.sortName,
                        canonicalName(firstName: contact.firstName, lastName: contact.lastName), line: line)
                }
                XCTAssertEqual(try Picture.fetchCount(database), try Contact.fetchCount(database), line: line)
            }
        }
        let names = try pools.map { pool in
            try pool.read { try String.fetchAll($0, sql: "SELECT sortName FROM contact ORDER BY 1") }
        }
        XCTAssertEqual(names[0], names[1], line: line)
    }

    func testWhatIsMadeOfContactsFollowsWhatOtherDevicesDo() throws {
        try assertAllIsRight()
        let drafts = ContactDraft.make(40, seed: 11, pictureBytes: 64)
        // The same integer keys on both, and one contact in the same group on each.
        try importContacts(Array(drafts.prefix(20)), into: pools[0])
        try importContacts(Array(drafts.suffix(20)), into: pools[1])
        _ = try deleteContacts(in: 4, from: pools[0])
        try pools[1].write { try $0.execute(sql: "UPDATE contact SET groupID = 5 WHERE groupID = 6") }
        try pools[0].write { try $0.execute(sql: "DELETE FROM contactGroup WHERE id = 7") }
        try sync()
        try assertAllIsRight()
    }

    func testANameChangedInTwoHalvesHasItsCanonicalName() throws {
        try sync()
        let id = try XCTUnwrap(pools[0].read { try Int64.fetchOne($0, sql: "SELECT id FROM contact LIMIT 1") })
        let object = try XCTUnwrap(try objects(of: [id], in: stores[0])[0])
        for (number, pool) in pools.enumerated() {
            let known = try XCTUnwrap(try contact(object, in: stores[number], pool))
            var renamed = known
            if number == 0 { renamed.rename(firstName: "Wéi") } else { renamed.rename(lastName: "García") }
            try pool.write { try renamed.updateChanges($0, from: known) }
        }
        try sync()
        for (number, pool) in pools.enumerated() {
            XCTAssertEqual(try contact(object, in: stores[number], pool)?.sortName, "garcia wei")
        }
        try assertAllIsRight()
    }

    func testAnIDLeadsToTheContactOnAnotherThread() async throws {
        try await setCity("Oslo", of: 7, in: pools[0])
        let city = try await pools[0].read { try Contact.fetchOne($0, key: 7)?.city }
        XCTAssertEqual(city, "Oslo")
    }

    func testPicturesTravel() throws {
        let data = try pools[0].read { try picture(of: 7, $0) }
        let object = try XCTUnwrap(try objects(of: [7], in: stores[0])[0])
        let there = try XCTUnwrap(try contact(object, in: stores[1], pools[1])?.id)
        XCTAssertNotNil(data)
        XCTAssertEqual(try pools[1].read { try picture(of: there, $0) }, data)
    }
}
