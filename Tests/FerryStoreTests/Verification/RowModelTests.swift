import FerryCore
import XCTest

@testable import FerryReferenceModel
@testable import FerryStore

/// What `RowModel` makes of objects that are written down by hand. Objects are named by small numbers, and times too.
final class RowModelTests: XCTestCase {
    private static let people = """
        CREATE TABLE person(id INTEGER PRIMARY KEY, email TEXT UNIQUE, phone TEXT UNIQUE, name TEXT);
        CREATE TABLE album(
            id INTEGER PRIMARY KEY, owner INTEGER REFERENCES person(id) ON DELETE CASCADE, title TEXT, year INTEGER,
            UNIQUE(owner, title));
        """

    // MARK: Joined

    func testObjectsWithOneUniqueValueAreOneRowThatShowsTheNewestOfEachColumn() throws {
        let rows = try outcomes(
            Self.people,
            [
                person(1, at: 1, ["email": text("a"), "name": text("old")]),
                person(2, at: 2, ["email": text("a"), "name": text("new"), "phone": text("7")]),
                person(3, at: 3, ["email": text("b"), "name": text("other")]),
            ])
        XCTAssertEqual(rows, ["email: a, name: new, phone: 7", "joined to 1", "email: b, name: other"])
    }

    func testAnOlderObjectsLaterWriteIsShown() throws {
        var older = person(1, at: 1, ["email": text("a"), "name": text("old")])
        older.fields["name"] = .init(stamp: stamp(9), value: text("corrected"))
        let rows = try outcomes(Self.people, [person(2, at: 2, ["email": text("a"), "name": text("new")]), older])
        XCTAssertEqual(rows, ["joined to 1", "email: a, name: corrected"])
    }

    func testJoiningIsTransitive() throws {
        let rows = try outcomes(
            Self.people,
            [
                person(3, at: 3, ["email": text("c"), "phone": text("2")]),
                person(2, at: 2, ["email": text("a"), "phone": text("2")]),
                person(1, at: 1, ["email": text("a"), "phone": text("1")]),
            ])
        XCTAssertEqual(rows, ["joined to 1", "joined to 1", "email: c, phone: 2"])
    }

    func testWhatRefersToJoinedObjectsRefersToOneRowAndMayBecomeOneItself() throws {
        let rows = try outcomes(
            Self.people,
            [
                person(1, at: 1, ["email": text("a")]),
                person(2, at: 2, ["email": text("a")]),
                object("album", 11, at: 3, ["owner": reference(2), "title": text("x"), "year": .integer(1)]),
                object("album", 12, at: 4, ["owner": reference(1), "title": text("x"), "year": .integer(2)]),
                object("album", 13, at: 5, ["owner": reference(2), "title": text("y")]),
            ])
        XCTAssertEqual(
            rows,
            [
                "email: a", "joined to 1", "owner: ->1, title: x, year: 2", "joined to 11", "owner: ->1, title: y",
            ])
    }

    func testTheRowThatAClassShowsJoinsFurtherObjects() throws {
        let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, p, q, UNIQUE(p, q))"
        var first = object("t", 1, at: 1, ["u": .integer(1), "p": .integer(1), "q": .integer(1)])
        first.fields["q"] = .init(stamp: stamp(8), value: .integer(8))
        var second = object("t", 2, at: 2, ["u": .integer(1), "p": .integer(2), "q": .integer(2)])
        second.fields["p"] = .init(stamp: stamp(7), value: .integer(7))
        // Only the row of both together shows (7, 8).
        let third = object("t", 3, at: 3, ["u": .integer(3), "p": .integer(7), "q": .integer(8)])
        XCTAssertEqual(try outcomes(schema, [first, second]), ["p: 7, q: 8, u: 1", "joined to 1"])
        XCTAssertEqual(
            try outcomes(schema, [first, second, third]), ["p: 7, q: 8, u: 3", "joined to 1", "joined to 1"])
    }

    func testTheColumnsOfOneForeignKeyComeFromOneMember() throws {
        let schema = """
            CREATE TABLE p(a TEXT, b TEXT, PRIMARY KEY(a, b));
            CREATE TABLE c(id INTEGER PRIMARY KEY, u UNIQUE, a TEXT, b TEXT, FOREIGN KEY(a, b) REFERENCES p(a, b));
            """
        var first = object("c", 1, at: 3, ["u": .integer(1), "a": text("x"), "b": text("x")])
        first.fields["a"] = .init(stamp: stamp(5), value: text("y"))
        let second = object("c", 2, at: 4, ["u": .integer(1), "a": text("z"), "b": text("z")])
        let rows = try outcomes(
            schema,
            [
                object("p", 11, at: 1, ["a": text("y"), "b": text("x")]),
                object("p", 12, at: 1, ["a": text("z"), "b": text("z")]), first, second,
            ])
        XCTAssertEqual(Array(rows[2...]), ["a: y, b: x, u: 1", "joined to 1"])
    }

    func testNothingIsJoinedByNullOrOutsideOfAPartialIndexAndCollationsCount() throws {
        let schema = """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT COLLATE NOCASE, n INTEGER, UNIQUE(a));
            CREATE UNIQUE INDEX part ON t(n) WHERE a = 'ON';
            CREATE TABLE e(id INTEGER PRIMARY KEY, a TEXT);
            CREATE UNIQUE INDEX lowered ON e(lower(a));
            """
        let rows = try outcomes(
            schema,
            [
                object("t", 1, at: 1, ["a": .null, "n": .integer(1)]),
                object("t", 2, at: 2, ["a": .null, "n": .integer(1)]),
                object("t", 3, at: 3, ["a": text("On"), "n": .integer(1)]),
                object("t", 4, at: 4, ["a": text("oN"), "n": .integer(2)]),
                object("e", 5, at: 5, ["a": text("Q")]),
                object("e", 6, at: 6, ["a": text("q")]),
            ])
        XCTAssertEqual(
            rows, ["a: NULL, n: 1", "a: NULL, n: 1", "a: oN, n: 2", "joined to 3", "a: q", "joined to 5"])
    }

    func testAPartialIndexComparesAsTheColumnDoes() throws {
        let schema = """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT COLLATE NOCASE, n INTEGER);
            CREATE UNIQUE INDEX part ON t(n) WHERE a = 'ON';
            """
        let objects = [1, 2].map { object("t", $0, at: $0, ["a": text("on"), "n": .integer(1)]) }
        XCTAssertEqual(try outcomes(schema, objects), ["a: on, n: 1", "joined to 1"])
    }

    func testPairsOfALinkTableBecomeOneWhereTheirTargetsAre() throws {
        let schema = """
            CREATE TABLE item(id INTEGER PRIMARY KEY, code TEXT UNIQUE);
            CREATE TABLE pair(
                item INTEGER REFERENCES item(id), tag TEXT, note TEXT, PRIMARY KEY(item, tag));
            CREATE TABLE remark(
                id INTEGER PRIMARY KEY, item INTEGER, tag TEXT,
                FOREIGN KEY(item, tag) REFERENCES pair(item, tag) ON DELETE CASCADE);
            """
        let rows = try outcomes(
            schema,
            [
                object("item", 1, at: 1, ["code": text("a")]),
                object("item", 2, at: 2, ["code": text("a")]),
                object("pair", 11, at: 3, ["item": reference(2), "tag": text("t"), "note": text("old")]),
                object("pair", 12, at: 4, ["item": reference(1), "tag": text("t"), "note": text("new")]),
                object("pair", 13, at: 5, ["item": reference(2), "tag": text("s")]),
                object("remark", 21, at: 6, ["item": reference(2), "tag": text("t")]),
                object("remark", 22, at: 7, ["item": reference(2), "tag": text("none")]),
            ])
        XCTAssertEqual(
            rows,
            [
                "code: a", "joined to 1", "item: ->1, note: new, tag: t", "joined to 11", "item: ->1, tag: s",
                "item: ->1, tag: t", "waits",
            ])
    }

    func testWhatWasReferredToUnderTheShownKeyIsFound() throws {
        let schema = """
            CREATE TABLE item(id INTEGER PRIMARY KEY, code TEXT UNIQUE);
            CREATE TABLE pair(item INTEGER REFERENCES item(id), tag TEXT, PRIMARY KEY(item, tag));
            CREATE TABLE remark(
                id INTEGER PRIMARY KEY, item INTEGER, tag TEXT,
                FOREIGN KEY(item, tag) REFERENCES pair(item, tag) ON DELETE CASCADE);
            """
        // The only pair is the younger item's; its row shows the older item, and the remark was made of that row.
        let rows = try outcomes(
            schema,
            [
                object("item", 1, at: 1, ["code": text("a")]),
                object("item", 2, at: 2, ["code": text("a")]),
                object("pair", 11, at: 3, ["item": reference(2), "tag": text("t")]),
                object("remark", 21, at: 6, ["item": reference(1), "tag": text("t")]),
            ])
        XCTAssertEqual(rows, ["code: a", "joined to 1", "item: ->1, tag: t", "item: ->1, tag: t"])
    }

    // MARK: References by value

    private static let makers = """
        CREATE TABLE maker(id INTEGER PRIMARY KEY, code TEXT UNIQUE, serial INTEGER UNIQUE);
        CREATE TABLE part(id INTEGER PRIMARY KEY, maker TEXT REFERENCES maker(code) ON DELETE SET NULL, size INTEGER);
        CREATE TABLE box(id INTEGER PRIMARY KEY, maker TEXT REFERENCES maker(code) ON DELETE CASCADE);
        """

    private func makers(_ code: FieldValue) -> [ModelObject] {
        var second = object("maker", 2, at: 2, ["code": text("second"), "serial": .integer(1)])
        second.fields["code"] = .init(stamp: stamp(5), value: code)
        return [
            object("maker", 1, at: 1, ["code": text("first"), "serial": .integer(1)]), second,
            object("part", 11, at: 3, ["maker": text("first"), "size": .integer(1)]),
            object("box", 12, at: 4, ["maker": text("first")]),
        ]
    }

    func testAReferenceByValueShowsWhatTheJoinedRowShows() throws {
        XCTAssertEqual(
            try outcomes(Self.makers, makers(text("new"))),
            ["code: new, serial: 1", "joined to 1", "maker: new, size: 1", "maker: new"])
    }

    func testAReferenceByValueToARowThatShowsNullIsMissing() throws {
        XCTAssertEqual(
            try outcomes(Self.makers, makers(.null)),
            ["code: NULL, serial: 1", "joined to 1", "maker: NULL, size: 1 (cleared maker)", "waits"])
    }

    func testAReferenceIsBrokenWhereAnotherOneOnItsColumnSaysSomethingElse() throws {
        let schema = """
            CREATE TABLE a(id INTEGER PRIMARY KEY, code TEXT UNIQUE, serial INTEGER UNIQUE);
            CREATE TABLE b(id INTEGER PRIMARY KEY, code TEXT UNIQUE);
            CREATE TABLE c(
                id INTEGER PRIMARY KEY, code TEXT REFERENCES a(code) ON DELETE CASCADE REFERENCES b(code));
            """
        var second = object("a", 2, at: 2, ["code": text("y"), "serial": .integer(1)])
        second.fields["code"] = .init(stamp: stamp(5), value: text("z"))
        let rows = try outcomes(
            schema,
            [
                object("a", 1, at: 1, ["code": text("x"), "serial": .integer(1)]), second,
                object("b", 11, at: 1, ["code": text("x")]),
                object("c", 21, at: 3, ["code": text("x")]),
            ])
        XCTAssertEqual(rows, ["code: z, serial: 1", "joined to 1", "code: x", "waits"])
    }

    // MARK: Revived, hidden, refused

    func testADeletedTargetIsHeldBackByRestrictAndWaitedForByCascade() throws {
        let schema = """
            CREATE TABLE p(id INTEGER PRIMARY KEY, x);
            CREATE TABLE r(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id));
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id) ON DELETE CASCADE);
            CREATE TABLE n(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id) ON DELETE SET NULL);
            """
        var held = object("p", 1, at: 1, ["x": .integer(1)])
        held.deleted = stamp(9)
        var dead = object("p", 2, at: 1, ["x": .integer(2)])
        dead.deleted = stamp(9)
        let rows = try outcomes(
            schema,
            [
                held, dead, object("r", 3, at: 2, ["p": reference(1)]), object("c", 4, at: 2, ["p": reference(2)]),
                object("n", 5, at: 2, ["p": reference(2)]), object("c", 6, at: 2, ["p": reference(99)]),
            ])
        XCTAssertEqual(rows, ["x: 1 (revived)", "gone", "p: ->1", "waits", "p: NULL (cleared p)", "waits"])
    }

    func testARowInAChainIsHiddenWithWhatItRefersTo() throws {
        let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, up INTEGER REFERENCES t(id) ON DELETE CASCADE)"
        let chain = (1...2000).map { object("t", $0, at: $0, ["up": reference($0 - 1)]) }
        XCTAssertEqual(Set(try outcomes(schema, chain)), ["waits"])
    }

    func testADefaultIsShownWhereItRefersToARow() throws {
        let schema = """
            CREATE TABLE s(code TEXT PRIMARY KEY NOT NULL);
            CREATE TABLE t(id INTEGER PRIMARY KEY, s TEXT DEFAULT 'a' REFERENCES s(code) ON DELETE SET DEFAULT);
            """
        let child = object("t", 2, at: 2, ["s": text("gone")])
        XCTAssertEqual(try outcomes(schema, [child]), ["s: NULL (cleared s)"])
        let target = object("s", 1, at: 1, ["code": text("a")])
        XCTAssertEqual(try outcomes(schema, [target, child]), ["code: a", "s: a (cleared s)"])
    }

    func testARowThatTwoMakeTogetherIsRefusedForBothAndWhatRefersToItWaits() throws {
        let schema = """
            CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE, lo INTEGER, hi INTEGER, CHECK(lo <= hi));
            CREATE TABLE c(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t(id));
            """
        var first = object("t", 1, at: 1, ["u": .integer(1), "lo": .integer(1), "hi": .integer(10)])
        first.fields["lo"] = .init(stamp: stamp(8), value: .integer(9))
        let second = object("t", 2, at: 2, ["u": .integer(1), "lo": .integer(1), "hi": .integer(2)])
        let rows = try outcomes(schema, [first, second, object("c", 3, at: 3, ["t": reference(2)])])
        XCTAssertEqual(
            rows, ["refused: CHECK constraint failed: lo <= hi", "refused: CHECK constraint failed: lo <= hi", "waits"])
    }

    func testStrictTypesAndNotNullRefuse() throws {
        let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, m TEXT NOT NULL DEFAULT 'd') STRICT"
        let rows = try outcomes(
            schema,
            [
                object("t", 1, at: 1, ["n": text("x"), "m": text("m")]), object("t", 2, at: 1, ["m": .null]),
                object("t", 3, at: 1, ["n": .integer(1)]),
            ])
        XCTAssertEqual(
            rows,
            [
                "refused: cannot store TEXT value in INTEGER column t.n", "refused: NOT NULL constraint failed: t.m",
                "n: 1",
            ])
    }

    // MARK: Policies

    func testAnIndexWithThePolicyHideLoserHidesTheYoungerRowWithAllItsMembers() throws {
        let policies = ModelPolicies(hideLoser: ["by_phone"])
        let schema = """
            CREATE TABLE person(id INTEGER PRIMARY KEY, email TEXT UNIQUE, phone TEXT, name TEXT);
            CREATE UNIQUE INDEX by_phone ON person(phone);
            CREATE TABLE album(id INTEGER PRIMARY KEY, owner INTEGER REFERENCES person(id));
            """
        let rows = try outcomes(
            schema,
            [
                person(1, at: 1, ["email": text("a"), "phone": text("7")]),
                person(2, at: 2, ["email": text("b"), "phone": text("8")]),
                person(3, at: 3, ["email": text("b"), "phone": text("7")]),
                object("album", 4, at: 4, ["owner": reference(2)]),
            ], policies)
        XCTAssertEqual(rows, ["email: a, phone: 7", "outranked", "outranked", "waits"])
    }

    func testATableWithThePolicyDeleteWinsIsRevivedByInsertionsOnly() throws {
        var updated = person(1, at: 1, ["email": text("a")])
        updated.deleted = stamp(5)
        updated.fields["name"] = .init(stamp: stamp(6), value: text("later"))
        XCTAssertEqual(try outcomes(Self.people, [updated]), ["email: a, name: later"])
        let policies = ModelPolicies(deleteWins: ["person"])
        XCTAssertEqual(try outcomes(Self.people, [updated], policies), ["gone"])
        updated.inserted = stamp(6)
        XCTAssertEqual(try outcomes(Self.people, [updated], policies), ["email: a, name: later"])
    }

    // MARK: Writing objects down

    private func outcomes(
        _ sql: String, _ objects: [ModelObject], _ policies: ModelPolicies = ModelPolicies()
    ) throws -> [String] {
        let schema = try OracleSchema(TestSchema(name: "", sql: sql)).plain
        let forwards = try RowModel(schema, policies: policies).outcomes(of: objects).map(Self.text)
        let backwards = try RowModel(schema, policies: policies).outcomes(of: objects.reversed()).map(Self.text)
        XCTAssertEqual(forwards, backwards.reversed(), "the order of objects decides")
        return forwards
    }

    private static func text(_ outcome: ModelOutcome) -> String {
        switch outcome {
        case .gone: return "gone"
        case .waits: return "waits"
        case .outranked: return "outranked"
        case .refused(let reason): return "refused: \(reason)"
        case .joined(let id): return "joined to \(id.low)"
        case .shown(let row):
            let values = row.values.sorted { $0.key < $1.key }.map { name, value in
                if case .reference(let id) = value { "\(name): ->\(id.low)" } else { "\(name): \(value.text)" }
            }
            return values.joined(separator: ", ")
                + (row.cleared.isEmpty ? "" : " (cleared \(row.cleared.sorted().joined(separator: ", ")))")
                + (row.isRevived ? " (revived)" : "")
        }
    }

    private func person(_ id: Int, at time: Int, _ values: [String: FieldValue]) -> ModelObject {
        object("person", id, at: time, values)
    }

    private func object(_ table: String, _ id: Int, at time: Int, _ values: [String: FieldValue]) -> ModelObject {
        var object = ModelObject(table: table, id: ObjectID(high: 0, low: UInt64(id)))
        object.inserted = stamp(time)
        for (name, value) in values { object.fields[name] = .init(stamp: stamp(time), value: value) }
        return object
    }

    private func stamp(_ time: Int) -> Stamp {
        Stamp(time: HybridTime(rawValue: HybridTime.unknown.rawValue + UInt64(time)), device: DeviceID(high: 0, low: 1))
    }

    private func text(_ string: String) -> FieldValue { .text(string) }

    private func reference(_ id: Int) -> FieldValue { .reference(ObjectID(high: 0, low: UInt64(id))) }
}
