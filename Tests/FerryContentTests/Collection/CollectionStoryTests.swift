import XCTest

/// Histories that random ones seldom meet: told by hand, with the rules and with one of them left out.
final class CollectionStoryTests: XCTestCase {
    /// Device 0 has stored content 0, nothing uses it any more, and device 1 has deleted it. Device 0 does not know that yet.
    private func world(_ fault: CollectionModel.Fault?) -> (
        CollectionModel, CollectionModel.Device, CollectionModel.Device
    ) {
        let model = CollectionModel(lists: [[0], [1]], devices: 2, fault: fault)
        let (first, second) = (model.devices[0], model.devices[1])
        let pack = CollectionModel.Pack(owner: 0, chunks: [0])
        model.commit(
            [.insertPack(pack), .insertContent(0), .insertReference(1, isVersion: false, content: 0, parent: nil)],
            first)
        model.commit([.deleteReference(1)], first)
        model.publish(first)
        model.pass(second, replaying: [0: 2])
        model.publish(second)
        model.expire(second)
        XCTAssertEqual(model.standing(0, second), .deleted)
        return (model, first, second)
    }

    /// Device 0 replays the deletion, and forgets it as soon as it may, with its pack.
    private func forget(_ model: CollectionModel, _ device: CollectionModel.Device, _ other: CollectionModel.Device) {
        model.publish(other)
        model.readHeads(device, completely: true)
        model.pass(device, replaying: [other.number: other.log.count])
        model.forget(device)
        model.collect(device)
        model.publish(device)
        model.removeFiles(device)
    }

    /// A row came to hold content 0 and then another one, before its author knew of the deletion. So nobody held the content. Another
    /// device sees the first half of that alone.
    func testAReferenceThatIsGoneElsewhereBringsNoContentBackWithoutItsBytes() throws {
        for fault in [nil, .lookPacksNothing] as [CollectionModel.Fault?] {
            let (model, first, second) = world(fault)
            let over = CollectionModel.Stamp(time: first.clock + 1, device: 0, sequence: first.log.count + 1)
            model.commit([.insertReference(2, isVersion: false, content: 0, parent: nil)], first)
            let other = CollectionModel.Pack(owner: 0, chunks: [1])
            model.commit([.insertPack(other), .insertContent(1), .setReference(2, content: 1, over: over)], first)
            forget(model, first, second)
            XCTAssertEqual(model.files, [other])

            model.pass(second, replaying: [0: 3])
            let writes = model.writes(referringTo: 0, packed: [], second, isStored: false)
            if fault == nil {
                XCTAssertEqual(model.standing(0, second), .deleted)
                XCTAssertNil(writes, "the bytes are gone, and a new reference is refused")
            } else {
                XCTAssertEqual(model.standing(0, second), .living)
                XCTAssertEqual(writes?.count, 0, "a new reference counts on bytes that are gone")
            }
        }
    }

    /// Of a device that has the bytes the same look brings row and chunks.
    func testAReferenceThatComesLateBringsTheContentBackWithItsBytes() {
        let (model, first, second) = world(nil)
        model.commit([.insertReference(2, isVersion: false, content: 0, parent: nil)], first)
        model.publish(first)
        second.whole = [0]
        model.pass(second, replaying: [0: 3])
        model.publish(second)
        XCTAssertEqual(model.standing(0, second), .living)
        XCTAssertTrue(model.files.contains(.init(owner: 1, chunks: [0])))
    }

    /// A row with content 0 was deleted before its author knew of the content's deletion. Another device writes to the row later.
    func testARowThatComesBackFindsItsContent() {
        for fault in [nil, .hastyWithRows] as [CollectionModel.Fault?] {
            let (model, first, second) = world(fault)
            model.commit([.insertReference(2, isVersion: false, content: 0, parent: nil)], first)
            model.commit([.deleteReference(2)], first)
            forget(model, first, second)
            model.pass(second, replaying: [0: 3])
            for _ in 0..<4 { model.commit([.touchReference(2)], second) }
            model.publish(second)
            model.pass(first, replaying: [1: second.log.count])
            model.checkBytes()
            XCTAssertEqual(model.losses.isEmpty, fault == nil)
            XCTAssertEqual(model.standing(0, first), fault == nil ? .living : nil)
        }
    }
}
