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
        return ColumnNaming(
            columns, wereHere: wereHere, reserved: reserved, order: columns.map(\.name), before
        ).decided()
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
            ColumnNames(names.travelling, guessed: ["more", "name", "name (2)"]))
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

    private func told(_ columns: [String], _ travelling: [String: String], guessed: Set<String> = []) -> ColumnNames {
        ColumnNames(guessed: guessed, told: [.init(columns: columns, travelling: travelling)])
    }

    func testAColumnOfATableMadeAnewFollowsTheOtherDevices() {
        for columns in [["title", "size"], ["title", "more"]] {
            let known = told(columns, ["title": "name"])
            let heard = naming(["title", "size"], wereHere: ["name", "size"], known)
            XCTAssertEqual(heard.names, ColumnNames(["title": "name"], guessed: ["name", "size"], told: known.told))
            XCTAssertEqual(heard.moves, [])
            // The other device's schema comes later.
            let alone = naming(["title", "size"], wereHere: ["name", "size"]).names
            XCTAssertEqual(alone, ColumnNames(guessed: ["title", "size"]))
            var late = alone
            late.told = known.told
            let follows = naming(["title=title", "size=size"], late)
            XCTAssertEqual(follows.names.travelling, heard.names.travelling)
            XCTAssertEqual(follows.moves, [Move(from: "title", to: "name")])
        }
    }

    func testADeviceThatJoinedByAGuessFollowsToo() {
        XCTAssertEqual(
            naming(["title=title"], told(["title"], ["title": "name"])).moves, [Move(from: "title", to: "name")])
    }

    func testADeviceThatHasNotMigratedFollowsNobody() {
        let renamed = told(["title", "size"], ["title": "name"])
        XCTAssertEqual(naming(["name=name", "size=size"], renamed).names, renamed)
        XCTAssertEqual(naming(["name=name", "title=title"], renamed).names, renamed)
        let reused = told(["title", "name"], ["title": "name", "name": "name (2)"])
        XCTAssertEqual(naming(["name=name"], reused).names, reused)
        XCTAssertEqual(naming(["name=name", "title=title"], reused).names, reused)
        let swapped = told(["b", "a"], ["a": "b", "b": "a"])
        XCTAssertEqual(naming(["a=a", "b=b"], swapped).names, swapped)
        XCTAssertEqual(naming(["a", "b"], wereHere: ["a", "b"], swapped).names, swapped)
        XCTAssertEqual(naming(["a", "b"], wereHere: nil, swapped).names, swapped)
    }

    func testATableMadeAnewLikeAnotherDevicesHasTheSameNames() {
        let known = told(["title", "name"], ["title": "name", "name": "name (2)"])
        let heard = naming(["title", "name"], wereHere: ["name"], known)
        XCTAssertEqual(heard.names.travelling, known.told[0].travelling)
        XCTAssertEqual(heard.moves, [], "the migration has put the values into their columns")
        // Another version of the schema.
        XCTAssertEqual(naming(["name", "title"], wereHere: ["name"], known).names.travelling, [:])
    }

    func testColumnsThatOneDeviceSawInSeveralSteps() {
        let steps = ["title": "name", "other": "name (2)", "name": "name (3)"]
        let found = naming(["title=name", "other", "name"], told(["title", "other", "name"], steps))
        XCTAssertEqual(found.names.travelling, steps)
        XCTAssertEqual(found.moves, [])
        // One device hears of the other: one of them follows.
        let mine = ["title": "name", "name": "name (2)"]
        var late = told(["title", "other", "name"], steps, guessed: ["other", "name (2)"])
        late.travelling = mine
        XCTAssertEqual(naming(["title=name", "other=other", "name=name (2)"], late).names.travelling, steps)
        var first = told(["title", "other", "name"], mine, guessed: ["name (2)", "name (3)"])
        first.travelling = steps
        XCTAssertEqual(naming(["title=name", "other=name (2)", "name=name (3)"], first).moves, [])
    }

    func testOfTwoGuessesOneIsFollowed() {
        let order = ["d", "a", "b"]
        var names = ["d": "b", "b": "b (2)"]
        var other = ["d": "b", "b": "a (2)"]
        for isOther in [false, true] {
            var known = told(order, other, guessed: ["a (2)", "b (2)"])
            known.travelling = names
            let found = naming(["d=b", "a=a", "b=\(names["b"] ?? "")"], known)
            XCTAssertEqual(found.names.travelling, ["d": "b", "b": "a (2)"])
            XCTAssertEqual(found.moves, isOther ? [] : [Move(from: "b (2)", to: "a (2)")])
            swap(&names, &other)
        }
        // The same names at other places are another version of the schema.
        var known = told(["d", "b", "a"], ["d": "b", "a": "a (2)", "b": "a"], guessed: ["b (2)"])
        known.travelling = ["d": "b", "b": "b (2)"]
        XCTAssertEqual(naming(["d=b", "a=a", "b=b (2)"], known).names, known)
    }

    func testATableThatIsNewHereFollowsWholeChains() {
        let known = told(["title", "name"], ["title": "name", "name": "name (2)"])
        let chain = known.told[0].travelling
        XCTAssertEqual(naming(["title", "name"], wereHere: nil, known).names.travelling, chain)
        XCTAssertEqual(naming(["name", "title", "more"], wereHere: nil, known).names.travelling, chain)
        XCTAssertEqual(naming(["name"], wereHere: nil, known).names, known)
        let swapped = told(["b", "a"], ["a": "b", "b": "a"])
        XCTAssertEqual(naming(["b", "a"], wereHere: nil, swapped).names.travelling, ["a": "b", "b": "a"])
    }

    func testASignCountsMoreThanOtherDevices() {
        let known = told(["title"], ["title": "label"])
        XCTAssertEqual(naming(["title=name"], known).names.travelling, ["title": "name"])
    }
}
