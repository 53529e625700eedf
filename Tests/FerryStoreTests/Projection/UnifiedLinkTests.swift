import FerryCore
import XCTest

@testable import FerryReferenceModel
@testable import FerryStore

/// References by RESTRICT to keys that are made of references: a link may be shown under the key of another one, which was
/// deleted, because what it refers to became one with an older row.
final class UnifiedLinkTests: XCTestCase {
    private static let plain = TestSchema.retainedLinks[0]
    /// The reference is in the key.
    private static let inKey = TestSchema.retainedLinks[1]

    private let links = """
        SELECT title, name, note, text FROM song_tag JOIN song ON song.id = song_tag.song JOIN tag ON tag.id = song_tag.tag
        LEFT JOIN remark USING(song, tag) ORDER BY 1, 2, 3, 4
        """

    private func check(
        _ devices: [TestDevice], _ query: String, shows expected: [String], file: StaticString = #filePath,
        line: UInt = #line
    ) throws {
        for device in devices {
            let name = "device \(device.id.low)"
            XCTAssertEqual(try device.query(query), expected, name, file: file, line: line)
            let complaints = try Oracle(device.schema).complaints(about: device)
            XCTAssertEqual(complaints, [], name, file: file, line: line)
            let problems = try device.store.verify(deep: true).differences.map { "\($0.key): \($0.problem)" }
            XCTAssertEqual(problems, [], name, file: file, line: line)
        }
        let digests = try devices.map { try $0.store.statePosition().digests }
        XCTAssertTrue(digests.allSatisfy { $0 == digests[0] }, "digests differ", file: file, line: line)
    }

    private func exchange(_ devices: [TestDevice]) throws {
        for device in devices { try device.flush() }
        for device in devices {
            try device.pass(devices.filter { $0.id != device.id }.flatMap { device.news(from: $0) })
        }
    }

    /// The second device's reference makes a link of the older product. The first device deletes the link with the shown row. Both
    /// changes reach the third device in one pass.
    func testALinkThatAReferenceMadeTakesTheRowOfADeletedLink() throws {
        let devices = try (1...3).map { try TestDevice($0, .retainedLinks[2]) }
        devices[1].clock.now += 1000
        try devices[0].run("INSERT INTO product VALUES (2, 'old', 'x')")
        try devices[1].run("INSERT INTO product VALUES (2, 'new', 'x'); INSERT INTO stock VALUES (2, 1)")
        try devices[1].run("INSERT INTO remark(id) VALUES (1)")
        try exchange(devices)
        try devices[0].run("DELETE FROM stock")
        try devices[1].run("UPDATE remark SET product = (SELECT product FROM stock)")
        try exchange(devices)
        let query =
            "SELECT title, amount, remark.id FROM product JOIN stock ON stock.product = product.id JOIN remark USING(product)"
        try check(devices, query, shows: ["new|1|1"])
    }

    /// The link of the older tag was deleted and perhaps forgotten; then both tags are given one name, and the other tag's
    /// link is shown under the older tag.
    /// - Parameter forgetting: who has forgotten the deleted link.
    private func devices(_ schema: TestSchema, forgetting: [Int]) throws -> [TestDevice] {
        let devices = try (1...4).map { try TestDevice($0, schema) }
        try devices[0].run(
            """
            INSERT INTO song(id, title) VALUES (1, 's'); INSERT INTO tag VALUES (1, 'x');
            INSERT INTO song_tag VALUES (1, 1, 'first')
            """)
        try exchange(devices)
        for device in devices { device.clock.now += 1000 }
        try devices[1].run("INSERT INTO tag VALUES (2, 'y'); INSERT INTO song_tag VALUES (1, 2, 'second')")
        try exchange(devices)
        try devices[0].run("DELETE FROM song_tag WHERE tag = 1")
        for _ in 0..<2 {
            for device in devices { device.clock.now += 1000 }
            // So that they know of each other that they know.
            for device in devices { try device.run("UPDATE song SET title = 's\(device.id.low)'") }
            try exchange(devices)
        }
        for device in forgetting {
            XCTAssertEqual(try devices[device].collectTombstones(devices), 1, "device \(device + 1) forgets")
        }
        for device in devices { device.clock.now += 1000 }
        try devices[0].run("UPDATE tag SET name = 'z' WHERE id = 1; UPDATE song SET title = 's'")
        try devices[0].flush()
        try devices[1].run("UPDATE tag SET name = 'z' WHERE id = 2; UPDATE song SET title = 's'")
        try devices[1].flush()
        // The fourth hears of it later.
        let others = Array(devices[..<3])
        try exchange(others)
        try check(others, links, shows: ["s|z|second|NULL"])
        XCTAssertEqual(try devices[2].query("SELECT tag FROM song_tag"), ["1"])
        return devices
    }

    func testSomebodyRefersToALinkUnderTheKeyOfOneThatWasDeleted() throws {
        for schema in [Self.plain, Self.inKey] {
            for forgetting in [[], [0], [1], [2], [0, 1, 2]] {
                let devices = try devices(schema, forgetting: forgetting)
                let others = Array(devices[..<3])
                for device in devices { device.clock.now += 1000 }
                try devices[2].run("INSERT INTO remark(song, tag, text) SELECT song, tag, 'r' FROM song_tag")
                try exchange(others)
                try check(others, links, shows: ["s|z|second|r"])
                // The tags come apart, by somebody who does not know that they are one.
                devices[3].clock.now += 5000
                try devices[3].run("UPDATE tag SET name = 'w' WHERE id = 2")
                try exchange(devices)
                try check(devices, links, shows: ["s|w|second|NULL", "s|z|second|r"])
            }
        }
    }

    /// A row for each product: its key is a reference. The first product's row was never there.
    func testSomebodyRefersToARowWhoseKeyIsAReference() throws {
        let schema = TestSchema.retainedLinks[2]
        let devices = try (1...4).map { try TestDevice($0, schema) }
        try devices[0].run("INSERT INTO product VALUES (1, 'a', 'x')")
        try exchange(devices)
        for device in devices { device.clock.now += 1000 }
        try devices[1].run("INSERT INTO product VALUES (2, 'b', 'y'); INSERT INTO stock VALUES (2, 5)")
        try exchange(devices)
        for device in devices { device.clock.now += 1000 }
        try devices[0].run("UPDATE product SET name = 'z' WHERE id = 1")
        try devices[1].run("UPDATE product SET name = 'z' WHERE id = 2")
        for device in devices[..<2] { try device.flush() }
        let others = Array(devices[..<3])
        try exchange(others)
        let query = """
            SELECT name, amount, text FROM product JOIN stock ON product = product.id LEFT JOIN remark USING(product)
            ORDER BY 1
            """
        try check(others, query, shows: ["z|5|NULL"])
        try devices[2].run("INSERT INTO remark(product, text) SELECT product, 'r' FROM stock")
        try exchange(others)
        try check(others, query, shows: ["z|5|r"])
        devices[3].clock.now += 5000
        try devices[3].run("UPDATE product SET name = 'w' WHERE id = 2")
        try exchange(devices)
        try check(devices, query, shows: ["w|5|NULL", "z|5|r"])
    }

    /// Who refers to the row again, or writes something else, inserts nothing again.
    func testALinkIsInsertedOnce() throws {
        let devices = try devices(Self.plain, forgetting: [])
        try devices[2].run("INSERT INTO remark(song, tag, text) SELECT song, tag, 'r' FROM song_tag")
        try devices[2].flush()
        XCTAssertEqual(devices[2].log.last?.operationCount, 2)
        try devices[2].run("INSERT INTO remark(song, tag, text) SELECT song, tag, 'q' FROM song_tag")
        try devices[2].flush()
        XCTAssertEqual(devices[2].log.last?.operationCount, 1)
        try devices[2].run("UPDATE remark SET text = 'p'")
        try devices[2].flush()
        XCTAssertEqual(devices[2].log.last?.operationCount, 2)
        try exchange(Array(devices[..<3]))
        for device in devices[..<3] {
            XCTAssertEqual(try device.query("SELECT DISTINCT kind FROM ferry_conflict WHERE kind <> 'field'"), [])
        }
    }

    /// The row is deleted with what refers to it: all that it shows goes.
    func testTheLinkGoesWithTheRow() throws {
        let devices = try devices(Self.plain, forgetting: [1])
        let others = Array(devices[..<3])
        try devices[2].run("INSERT INTO remark(song, tag, text) SELECT song, tag, 'r' FROM song_tag")
        try exchange(others)
        try devices[0].run("DELETE FROM remark; DELETE FROM song_tag")
        try exchange(devices)
        try check(devices, links, shows: [])
    }

    /// Somebody deletes the row without knowing of the reference: it holds its link, and so the row.
    func testTheLinkIsHeldBack() throws {
        let devices = try devices(Self.plain, forgetting: [1])
        let others = Array(devices[..<3])
        try devices[2].run("INSERT INTO remark(song, tag, text) SELECT song, tag, 'r' FROM song_tag")
        devices[0].clock.now += 5000
        try devices[0].run("DELETE FROM song_tag")
        try exchange(others)
        try check(others, links, shows: ["s|z|second|r"])
    }
}
