import FerrySchema
import XCTest

/// Which column is which after names have changed.
final class ColumnNamingTests: XCTestCase {
    private typealias Move = ColumnNaming.Move

    /// - Parameter present: each column, and after `=` the travelling name that a sign tells.
    private func naming(
        _ present: [String], wereHere: Set<String>? = [], _ before: ColumnNames = ColumnNames(),
        reserved: Set<String> = []
    ) -> (names: ColumnNames, moves: [Move]) {
        let columns = present.map { text in
            let parts = text.split(separator: "=").map(String.init)
            return ColumnNaming.Present(parts[0], former: parts.count > 1 ? parts[1] : nil)
        }
        return ColumnNaming(columns, wereHere: wereHere, reserved: reserved, before).decided()
    }

    func testASignTellsOfARename() {
        XCTAssertEqual(naming(["title=name", "size=size"]).names, ColumnNames(["title": "name"]))
        XCTAssertEqual(naming(["caption=name"], ColumnNames(["title": "name"])).names, ColumnNames(["caption": "name"]))
        XCTAssertEqual(naming(["name=name"], ColumnNames(["title": "name"])).names, ColumnNames())
        XCTAssertEqual(naming(["Title=name"]).names, ColumnNames(["title": "name"]))
    }

    func testColumnsChangePlaces() {
        XCTAssertEqual(naming(["b=a", "a=b"]).names, ColumnNames(["a": "b", "b": "a"]))
        XCTAssertEqual(
            naming(["b=a", "c=b", "a=c"]).names, ColumnNames(["a": "c", "b": "a", "c": "b"]))
        XCTAssertEqual(naming(["a=a", "b=b"], ColumnNames(["a": "b", "b": "a"])).names, ColumnNames())
    }

    func testAnotherColumnUnderTheFormerNameIsANewColumn() {
        let found = naming(["title=name", "name"]).names
        XCTAssertEqual(found, ColumnNames(["title": "name", "name": "name (2)"], guessed: ["name (2)"]))
        let again = naming(["title=name", "other=name (2)", "name"], found).names
        XCTAssertEqual(again.travelling, ["title": "name", "other": "name (2)", "name": "name (3)"])
        XCTAssertEqual(naming(["title=name", "name (2)", "name"]).names.travelling["name"], "name (3)")
    }

    func testATableMadeAnewKeepsTheNames() {
        let names = ColumnNames(["title": "name", "name": "name (2)"])
        XCTAssertEqual(naming(["title", "name", "size"], wereHere: ["title", "name", "size"], names).names, names)
        XCTAssertEqual(
            naming(["title", "name", "more"], wereHere: ["title", "name"], names).names,
            ColumnNames(names.travelling, guessed: ["more"]))
    }

    func testAColumnThatComesBackIsTheSameColumn() {
        let names = ColumnNames(["title": "name"])
        let gone = naming(["size=size"], names).names
        XCTAssertEqual(gone, names)
        XCTAssertEqual(naming(["size=size", "title"], gone).names, names)
        // The former name is in use again, so the column of the later name is another one.
        let used = naming(["size=size", "name"], gone).names
        XCTAssertEqual(used.travelling, [:])
        XCTAssertEqual(naming(["size=size", "name=name", "title"], used).names.travelling, [:])
    }

    func testAKeyTravelsUnderItsOwnName() {
        XCTAssertEqual(naming(["name"], reserved: ["name"]).names.travelling, ["name": "name (2)"])
    }

    // MARK: Other devices

    func testAColumnOfATableMadeAnewFollowsTheOtherDevices() {
        let told = ColumnNames(told: ["title": "name"])
        let heard = naming(["title", "size"], wereHere: ["name", "size"], told)
        XCTAssertEqual(heard.names, ColumnNames(["title": "name"], told: ["title": "name"]))
        XCTAssertEqual(heard.moves, [])
        // The other device's schema comes later.
        let alone = naming(["title", "size"], wereHere: ["name", "size"]).names
        XCTAssertEqual(alone, ColumnNames(guessed: ["title"]))
        var late = alone
        late.told = ["title": "name"]
        let follows = naming(["title=title", "size=size"], late)
        XCTAssertEqual(follows.names, heard.names)
        XCTAssertEqual(follows.moves, [Move(from: "title", to: "name")])
    }

    func testADeviceThatJoinedByAGuessFollowsToo() {
        let told = ColumnNames(told: ["title": "name"])
        XCTAssertEqual(naming(["title=title"], told).moves, [Move(from: "title", to: "name")])
    }

    func testADeviceThatHasNotMigratedFollowsNobody() {
        let renamed = ColumnNames(told: ["title": "name"])
        XCTAssertEqual(naming(["name=name", "size=size"], renamed).names, renamed)
        XCTAssertEqual(naming(["name=name", "title=title"], renamed).names, renamed)
        let reused = ColumnNames(told: ["title": "name", "name": "name (2)"])
        XCTAssertEqual(naming(["name=name"], reused).names, reused)
        XCTAssertEqual(naming(["name=name", "title=title"], reused).names, reused)
        let swapped = ColumnNames(told: ["a": "b", "b": "a"])
        XCTAssertEqual(naming(["a=a", "b=b"], swapped).names, swapped)
        XCTAssertEqual(naming(["a", "b"], wereHere: ["a", "b"], swapped).names, swapped)
    }

    func testAChainIsFollowedWhereItsBeginningIsNew() {
        let told = ColumnNames(told: ["title": "name", "name": "name (2)"])
        let heard = naming(["title", "name"], wereHere: ["name"], told)
        XCTAssertEqual(heard.names.travelling, told.told)
        XCTAssertEqual(heard.moves, [Move(from: "name", to: "name (2)")])
        let twice = ColumnNames(told: ["title": "name", "other": "name (2)", "name": "name (3)"])
        let found = naming(["title=name", "other", "name"], twice)
        XCTAssertEqual(found.names.travelling, twice.told)
        XCTAssertEqual(found.moves, [])
    }

    func testATableThatIsNewHereFollowsWholeChains() {
        let told = ColumnNames(told: ["title": "name", "name": "name (2)"])
        XCTAssertEqual(naming(["title", "name"], wereHere: nil, told).names.travelling, told.told)
        XCTAssertEqual(naming(["name"], wereHere: nil, told).names, told)
        let swapped = ColumnNames(told: ["a": "b", "b": "a"])
        XCTAssertEqual(naming(["a", "b"], wereHere: nil, swapped).names.travelling, swapped.told)
    }

    func testASignCountsMoreThanOtherDevices() {
        let told = ColumnNames(told: ["title": "label"])
        XCTAssertEqual(naming(["title=name"], told).names.travelling, ["title": "name"])
    }
}
