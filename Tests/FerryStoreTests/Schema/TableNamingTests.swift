import FerrySchema
import XCTest

/// Which table is which after names have changed.
final class TableNamingTests: XCTestCase {
    private let columns: Set<String> = ["id", "name", "size"]

    private func present(_ name: String, _ owner: String? = nil, _ columns: Set<String>? = nil) -> TableNaming.Present {
        .init(name: name, owner: owner, columns: columns ?? self.columns)
    }

    private func names(
        _ present: [TableNaming.Present], registered: [String], _ before: [String: String] = [:],
        ofOthers: Set<String> = []
    ) -> [String: String] {
        TableNaming(
            present, registered: Dictionary(uniqueKeysWithValues: registered.map { ($0, ["name", "size"]) }),
            wereHere: Set(registered).subtracting(ofOthers), TableNames(before)
        ).decided().local
    }

    func testATriggerTellsOfARename() {
        XCTAssertEqual(names([present("thing", "item")], registered: ["item"]), ["item": "thing"])
        XCTAssertEqual(names([present("object", "item")], registered: ["item"], ["item": "thing"]), ["item": "object"])
        XCTAssertEqual(names([present("item", "item")], registered: ["item"], ["item": "thing"]), [:])
        XCTAssertEqual(names([present("thing", "item")], registered: ["item"], ["item": "thing"]), ["item": "thing"])
    }

    func testNamesMoveAlongAndChangePlaces() {
        let along = [present("yesterday", "today"), present("older", "yesterday")]
        XCTAssertEqual(
            names(along, registered: ["today", "yesterday"]), ["today": "yesterday", "yesterday": "older"])
        XCTAssertEqual(names([present("b", "a"), present("a", "b")], registered: ["a", "b"]), ["a": "b", "b": "a"])
    }

    func testATableWithOtherColumnsUnderTheFormerNameIsANewTable() {
        let tables = [present("thing", "item"), present("item", nil, ["id", "colour"])]
        let found = names(tables, registered: ["item"])
        XCTAssertEqual(found, ["item": "thing", "item (2)": "item"])
        // Also if Ferry looked in between, and where another device's table of that name is known.
        XCTAssertEqual(names(tables, registered: ["item"], ["item": "thing"]), found)
        XCTAssertEqual(names(tables, registered: ["item", "item (2)"], ["item": "thing"]), found)
        let later = [present("thing", "item"), present("item", "item (2)", ["id", "colour"])]
        XCTAssertEqual(names(later, registered: ["item", "item (2)"], found), found)
        let third = later + [present("next", nil)]
        XCTAssertEqual(names(third, registered: ["item", "item (2)"], found), found)
    }

    func testATableTakesTheNameOfADroppedOne() {
        let taker = present("item", "item_2")
        XCTAssertEqual(
            names([taker], registered: ["item", "item_2"]), [:], "a rebuild, and Ferry looked in the middle")
        var other = taker
        other.isOther = true
        XCTAssertEqual(names([other], registered: ["item", "item_2"]), ["item_2": "item"])
    }

    func testATableMadeAnewUnderTheFormerNameIsTheTable() {
        let half = [present("old_item", "item"), present("item", nil, ["id", "name", "size", "more"])]
        XCTAssertEqual(names(half, registered: ["item"]), [:])
        XCTAssertEqual(names(half, registered: ["item"], ["item": "old_item"]), [:])
        XCTAssertEqual(names([present("item")], registered: ["item"]), [:])
        XCTAssertEqual(names([present("item")], registered: ["item"], ["item": "old_item"]), [:])
    }

    func testATableThatIsPutInThePlaceOfADroppedOneIsThatTable() {
        // Ferry looked while `new_item` was being filled.
        XCTAssertEqual(names([present("item", "new_item")], registered: ["item", "new_item"]), [:])
        let another = [present("item", "new_item", ["id", "colour"])]
        XCTAssertEqual(names(another, registered: ["item", "new_item"]), ["new_item": "item"])
    }

    func testAnotherDevicesTableOfTheNewNameIsAnotherTable() {
        let tables = [present("thing", "item")]
        XCTAssertEqual(names(tables, registered: ["item", "thing"], ofOthers: ["thing"]), ["item": "thing"])
    }

    func testADroppedTableKeepsItsName() {
        XCTAssertEqual(names([present("other")], registered: ["item", "other"], ["item": "thing"]), ["item": "thing"])
        XCTAssertEqual(
            names([present("thing")], registered: ["item"], ["item": "thing"]), ["item": "thing"], "made again")
    }

    func testEachTableHasOneTravellingName() {
        let names = TableNames(["item": "thing"])
        XCTAssertEqual(names.travelling(among: ["thing", "item"]), ["thing": "item", "item": "item (2)"])
        XCTAssertEqual(names.travelling(among: ["item"]), [:])
        XCTAssertEqual(
            names.travelling(among: ["thing", "item", "item (2)"]), ["thing": "item", "item": "item (3)"])
    }
}
