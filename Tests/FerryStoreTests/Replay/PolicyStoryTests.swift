import FerryCore
import FerryMerge
import FerrySchema
import FerryTestSupport
import XCTest

@testable import FerryReferenceModel
@testable import FerryStore

/// What devices see that write at the same time under a policy.
final class PolicyStoryTests: XCTestCase {
    private static let songs = TestSchema(
        name: "songs",
        sql: """
            CREATE TABLE song(
                id INTEGER PRIMARY KEY, title TEXT, plays INTEGER DEFAULT 0, rank INTEGER, low REAL, tags TEXT,
                owner TEXT, note TEXT);
            CREATE TABLE pick(code TEXT PRIMARY KEY NOT NULL, plays INTEGER, rank INTEGER, tags TEXT) WITHOUT ROWID;
            """)

    private static let all: [String: ColumnPolicy] = [
        "song.plays": .counter, "song.rank": .max, "song.low": .min, "song.tags": .set, "song.owner": .firstWriterWins,
        "song.note": .hook("join"), "pick.plays": .counter, "pick.rank": .max, "pick.tags": .set,
    ]

    private static let join: MergeHook = { older, newer in
        guard case .text(let a) = older, case .text(let b) = newer else { return newer == .null ? older : newer }
        return .text(a + Array("/".utf8) + b)
    }

    private func device(_ number: Int, hoursAhead: Int64 = 0, rows: String = "") throws -> TestDevice {
        let device = try TestDevice(number, Self.songs, hoursAhead: hoursAhead, rows: rows)
        device.store.registerMergeHook("join", Self.join)
        device.encodes = number.isMultiple(of: 2)
        return device
    }

    private func set(_ policies: [String: ColumnPolicy], on device: TestDevice) throws {
        try device.store.setPolicies(
            policies.map { PolicySetting(try XCTUnwrap(PolicyTarget(text: $0.key)), $0.value.word) })
        try device.flush()
    }

    private func assertInStep(
        _ devices: [TestDevice], _ columns: [String: ColumnPolicy] = all, file: StaticString = #filePath,
        line: UInt = #line
    ) throws {
        XCTAssertEqual(try unsound(devices), [], file: file, line: line)
        let oracle = try Oracle(Self.songs, columns: columns, hook: Self.join)
        for device in devices {
            XCTAssertEqual(
                try oracle.complaints(about: device), [], "device \(device.id.low)", file: file, line: line)
            XCTAssertEqual(
                try device.query("SELECT * FROM song ORDER BY title"),
                try devices[0].query("SELECT * FROM song ORDER BY title"), file: file, line: line)
        }
    }

    /// What a deep verification finds wrong, and where devices that replayed the same do not agree by their digests.
    private func unsound(_ devices: [TestDevice]) throws -> [String] {
        var found: [String] = []
        let first = try devices[0].store.statePosition()
        for device in devices {
            let report = try device.store.verify(deep: true)
            found += report.differences.map { "device \(device.id.low): \($0)" } + report.integrity
            let (vector, digests) = try device.store.statePosition()
            if vector == first.vector, digests != first.digests { found.append("device \(device.id.low): digests") }
        }
        return found
    }

    // MARK: Columns

    func testConcurrentWritesMergeAsThePoliciesSayInEitherOrder() throws {
        for isReversed in [false, true] {
            let (a, b, c) = (try device(1), try device(2, hoursAhead: 1), try device(3))
            try a.run(
                """
                INSERT INTO song(id, title, plays, rank, low, tags, owner, note)
                VALUES (1, 'one', 10, 5, 5.5, '["x"]', NULL, 'n')
                """)
            try set(Self.all, on: a)
            try b.receive(a)
            try a.run(
                """
                UPDATE song SET plays = plays + 1, rank = 9, low = 4.5, tags = '["x","a"]', owner = 'A', note = 'a';
                UPDATE song SET plays = plays + 1;
                """)
            try b.run(
                "UPDATE song SET plays = plays - 5, rank = 7, low = 4.75, tags = '[\"b\"]', owner = 'B', note = 'b'")
            try a.flush()
            try b.flush()
            if isReversed {
                try b.receive(a)
                try a.receive(b)
                try c.receive(b, a)
            } else {
                try a.receive(b)
                try b.receive(a)
                try c.receive(a)
                try c.receive(b)
            }
            for device in [a, b, c] {
                XCTAssertEqual(
                    try device.query("SELECT plays, rank, low, tags, owner, note FROM song"),
                    [#"7|9|4.5|["a","b"]|A|a/b"#], "device \(device.id.low), reversed \(isReversed)")
            }
            try assertInStep([a, b, c])
            // Only what one of them lost is a conflict.
            for device in [a, b] {
                XCTAssertEqual(
                    try device.query(
                        """
                        SELECT c.name, count(*) FROM ferry_conflict f JOIN ferry_column c
                        ON c."table" = f."table" AND c.number = f."column" GROUP BY 1 ORDER BY 1
                        """), ["note|2", "owner|1"])
            }
            // What each writes now is what all show.
            try b.run("UPDATE song SET plays = 0, rank = 1, low = 100, tags = '[]', owner = 'C', note = 'c'")
            try b.flush()
            try a.receive(b)
            try c.receive(b)
            XCTAssertEqual(
                try c.query("SELECT plays, rank, low, tags, owner, note FROM song"), ["0|1|100.0|[]|C|c"])
            try assertInStep([a, b, c])
        }
    }

    func testASetIsShownInItsOneFormEverywhere() throws {
        let (a, b) = (try device(1), try device(2))
        try set(Self.all, on: a)
        try b.receive(a)
        try a.run("INSERT INTO pick VALUES ('p', 1, 1, '[\"x\"]')")
        try a.flush()
        try a.run("UPDATE pick SET tags = '[ \"y\" , \"x\", \"y\" ]'")
        try a.flush()
        try b.receive(a)
        XCTAssertEqual(try a.query("SELECT tags FROM pick"), [#"["x","y"]"#])
        XCTAssertEqual(try b.query("SELECT tags FROM pick"), [#"["x","y"]"#])
        try assertInStep([a, b])
        try b.run("UPDATE pick SET tags = 'no list'")
        try b.flush()
        try a.receive(b)
        XCTAssertEqual(try a.query("SELECT tags FROM pick"), ["no list"])
    }

    func testRowsWithOneKeyThatAreInsertedTwiceMergeByThePoliciesToo() throws {
        let (a, b) = (try device(1), try device(2, hoursAhead: 1))
        try set(Self.all, on: a)
        try b.receive(a)
        try a.run("INSERT INTO pick VALUES ('p', 3, 9, '[\"a\"]')")
        try b.run("INSERT INTO pick VALUES ('p', 5, 4, '[\"b\"]')")
        try a.flush()
        try b.receive(a)
        try a.receive(b)
        for device in [a, b] {
            XCTAssertEqual(try device.query("SELECT * FROM pick"), [#"p|5|9|["a","b"]"#])
        }
        // A row that is deleted and inserted again begins anew.
        try a.run("DELETE FROM pick; INSERT INTO pick VALUES ('p', 1, 2, '[\"c\"]')")
        try a.flush()
        try b.receive(a)
        XCTAssertEqual(try a.query("SELECT * FROM pick"), [#"p|1|2|["c"]"#])
        XCTAssertEqual(try b.query("SELECT * FROM pick"), [#"p|1|2|["c"]"#])
        try assertInStep([a, b])
    }

    func testAPolicyThatArrivesAfterTheOperationsCountsForThem() throws {
        let (a, b, c) = (try device(1), try device(2), try device(3))
        try a.run("INSERT INTO song(id, title, plays, rank) VALUES (1, 'one', 10, 5)")
        try a.flush()
        try b.receive(a)
        // A sets it; B and C have not heard. C hears of B first, who has.
        try set(["song.plays": .counter, "song.rank": .max], on: a)
        try b.receive(a)
        try c.pass([a.log[0]])
        try c.run("UPDATE song SET rank = 6")
        try c.flush()
        try b.run("UPDATE song SET plays = 12, rank = 8")
        try b.flush()
        try a.run("UPDATE song SET plays = 15, rank = 7")
        try a.flush()
        try c.receive(b)
        // Without a policy the newest counts.
        XCTAssertEqual(try c.query("SELECT plays FROM song"), ["12"])
        try c.receive(a, b)
        try a.receive(b, c)
        try b.receive(a, c)
        for device in [a, b, c] { XCTAssertEqual(try device.query("SELECT plays, rank FROM song"), ["17|8"]) }
        try assertInStep([a, b, c], ["song.plays": .counter, "song.rank": .max])
    }

    func testWhereThePolicyIsTakenOffTheLastWriterWinsAgainAndNothingIsLost() throws {
        let (a, b) = (try device(1), try device(2))
        try a.run("INSERT INTO song(id, title, plays) VALUES (1, 'one', 10)")
        try set(["song.plays": .counter], on: a)
        try b.receive(a)
        try a.run("UPDATE song SET plays = plays + 1")
        try b.run("UPDATE song SET plays = plays + 2")
        try a.flush()
        try b.receive(a)
        try a.receive(b)
        XCTAssertEqual(try b.store.removePolicies([.column(table: "song", column: "plays")]), 1)
        try b.flush()
        try a.receive(b)
        XCTAssertEqual(try a.query("SELECT plays FROM song"), ["13"])
        XCTAssertEqual(try a.store.policies(), [])
        a.clock.now += 1000
        b.clock.now += 2000
        try a.run("UPDATE song SET plays = 20")
        try b.run("UPDATE song SET plays = 30")
        try a.flush()
        try b.receive(a)
        try a.receive(b)
        for device in [a, b] { XCTAssertEqual(try device.query("SELECT plays FROM song"), ["30"]) }
        try assertInStep([a, b], [:])
        // And set again, it counts on from there.
        try set(["song.plays": .counter], on: a)
        try b.receive(a)
        try a.run("UPDATE song SET plays = plays + 1")
        try b.run("UPDATE song SET plays = plays + 1")
        try a.flush()
        try b.receive(a)
        try a.receive(b)
        for device in [a, b] { XCTAssertEqual(try device.query("SELECT plays FROM song"), ["32"]) }
        try assertInStep([a, b], ["song.plays": .counter])
    }

    /// The same elements again are a write without elements. A device that hears of the policy later has none of it but its time.
    func testASetWrittenAgainHidesNoElementFromADeviceWithoutThePolicy() throws {
        for isReversed in [false, true] {
            let (a, b) = (try device(1), try device(2))
            try a.run("INSERT INTO song(id, tags) VALUES (1, '[\"x\",\"y\"]')")
            try a.flush()
            try b.receive(a)
            let fresh = try device(3)
            try fresh.receive(a)
            try set(["song.tags": .set], on: a)
            try b.receive(a)
            a.clock.now += 1000
            b.clock.now += 2000
            try a.run("UPDATE song SET tags = '[\"x\",\"y\",\"p\"]'")
            try b.run("UPDATE song SET tags = '[\"x\", \"y\"]'")
            for device in [a, b] { try device.flush() }
            let (fromA, fromB) = (fresh.news(from: a), fresh.news(from: b))
            // The write comes before the policy and the element, or after both.
            for news in isReversed ? [fromA, fromB] : [fromB, fromA] { try fresh.pass(news) }
            try a.receive(b)
            try b.receive(a)
            for device in [a, b, fresh] {
                XCTAssertEqual(try device.query("SELECT tags FROM song"), [#"["x","y","p"]"#])
            }
            try assertInStep([a, b, fresh], ["song.tags": .set])
        }
    }

    /// An addition to a value that an insertion has overtaken leaves nothing but its time.
    func testAVoidAdditionIsNoNewerValueWhereThePolicyIsTakenOff() throws {
        let (a, b, c) = (try device(1), try device(2), try device(3))
        try a.run("INSERT INTO pick(code, plays) VALUES ('s', 3)")
        try set(["pick.plays": .counter], on: a)
        for device in [b, c] { try device.receive(a) }
        try a.run("DELETE FROM pick")
        try a.run("INSERT INTO pick(code, plays) VALUES ('s', 10)")
        try a.flush()
        b.clock.now += 1000
        try b.run("UPDATE pick SET plays = plays + 1")
        try b.flush()
        for (one, other) in [(a, b), (b, a), (c, a), (c, b)] { try one.receive(other) }
        XCTAssertEqual(try c.store.removePolicies([.column(table: "pick", column: "plays")]), 1)
        try c.flush()
        a.clock.now += 2000
        try a.run("UPDATE pick SET plays = 5")
        try a.flush()
        for (one, other) in [(c, a), (b, c), (b, a), (a, c)] { try one.receive(other) }
        for device in [a, b, c] { XCTAssertEqual(try device.query("SELECT plays FROM pick"), ["5"]) }
        try assertInStep([a, b, c], [:])
    }

    func testWhatAWriterWithoutThePolicyOvertakesIsAConflict() throws {
        for isReversed in [false, true] {
            let (a, b) = (try device(1), try device(2, hoursAhead: 1))
            try a.run("INSERT INTO song(id, title, plays, tags) VALUES (1, 'one', 10, '[]')")
            try a.flush()
            try b.receive(a)
            try set(["song.plays": .counter, "song.tags": .set], on: a)
            try a.run("UPDATE song SET plays = plays + 1, tags = '[\"a\"]'")
            try a.flush()
            // B has not heard of the policies.
            try b.run("UPDATE song SET plays = plays + 2, tags = '[\"b\"]'")
            try b.flush()
            if isReversed {
                try b.receive(a)
                try a.receive(b)
            } else {
                try a.receive(b)
                try b.receive(a)
            }
            for device in [a, b] {
                XCTAssertEqual(try device.query("SELECT plays, tags FROM song"), [#"12|["b"]"#])
                XCTAssertEqual(try device.query("SELECT kind FROM ferry_conflict"), ["field", "field"])
            }
            try assertInStep([a, b], ["song.plays": .counter, "song.tags": .set])
        }
    }

    func testAColumnThatIsAddedCountsFromItsDefault() throws {
        let (a, b) = (try device(1), try device(2))
        try a.run("INSERT INTO song(id, title) VALUES (1, 'one')")
        try a.flush()
        try b.receive(a)
        for device in [a, b] { try device.run("ALTER TABLE song ADD COLUMN skips INTEGER NOT NULL DEFAULT 5") }
        try a.flush()
        try set(["song.skips": .counter], on: a)
        try b.receive(a)
        try a.run("UPDATE song SET skips = skips + 1")
        try b.run("UPDATE song SET skips = skips + 2")
        try a.flush()
        try b.receive(a)
        try a.receive(b)
        for device in [a, b] { XCTAssertEqual(try device.query("SELECT skips FROM song"), ["8"]) }
    }

    func testADeviceThatJoinsWithRowsKeepsTheGreatest() throws {
        let a = try device(1)
        try set(Self.all, on: a)
        try a.run("INSERT INTO pick VALUES ('p', 3, 9, '[\"a\"]'), ('q', 1, 1, '[]')")
        try a.flush()
        let b = try device(2, rows: "INSERT INTO pick VALUES ('q', 5, 7, '[\"b\"]')")
        try b.flush()
        try b.receive(a)
        try a.receive(b)
        XCTAssertEqual(try a.query("SELECT * FROM pick"), try b.query("SELECT * FROM pick"))
        XCTAssertEqual(try a.query("SELECT rank FROM pick"), ["9", "7"])
        try assertInStep([a, b])
    }

    // MARK: Tables and indexes

    func testUnderDeleteWinsOnlyAnInsertionBringsARowBack() throws {
        for isReversed in [false, true] {
            let (a, b) = (try device(1), try device(2, hoursAhead: 1))
            try a.run("INSERT INTO pick VALUES ('p', 1, 1, NULL), ('q', 1, 1, NULL)")
            try a.flush()
            try b.receive(a)
            try a.store.setPolicies([PolicySetting(.table("Pick"), PolicyWord.deleteWins)])
            try a.flush()
            if !isReversed { try b.receive(a) }
            try a.run("DELETE FROM pick")
            try b.run("UPDATE pick SET rank = 2 WHERE code = 'p'; DELETE FROM pick WHERE code = 'q';")
            try b.run("INSERT INTO pick VALUES ('q', 2, 2, NULL)")
            try b.flush()
            try a.receive(b)
            try b.receive(a)
            let oracle = try Oracle(Self.songs, policies: ModelPolicies(deleteWins: ["pick"]))
            for device in [a, b] {
                XCTAssertEqual(try device.query("SELECT * FROM pick"), ["q|2|2|NULL"])
                XCTAssertEqual(try oracle.complaints(about: device), [])
            }
            XCTAssertEqual(try a.query("SELECT kind FROM ferry_conflict"), ["deleted"])
            // Taken off, the later update brings the row back.
            XCTAssertEqual(try b.store.removePolicies([.table("pick")]), 1)
            try b.flush()
            try a.receive(b)
            for device in [a, b] {
                XCTAssertEqual(try device.query("SELECT * FROM pick"), ["p|1|2|NULL", "q|2|2|NULL"])
                XCTAssertEqual(try Oracle(Self.songs).complaints(about: device), [])
            }
        }
    }

    func testUnderHideLoserTheYoungerOfTwoRowsIsHiddenInsteadOfJoined() throws {
        let schema = TestSchema(
            name: "unique",
            sql: """
                CREATE TABLE album(id INTEGER PRIMARY KEY, barcode TEXT UNIQUE, title TEXT);
                CREATE TABLE label(id INTEGER PRIMARY KEY, name TEXT);
                CREATE UNIQUE INDEX label_name ON label(name);
                """)
        let (a, b) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
        try a.run("INSERT INTO album VALUES (1, 'x', 'A'); INSERT INTO label VALUES (1, 'l')")
        try b.run("INSERT INTO album VALUES (1, 'x', 'B'); INSERT INTO label VALUES (1, 'l')")
        try a.flush()
        try b.receive(a)
        try a.receive(b)
        XCTAssertEqual(try a.query("SELECT title FROM album"), ["B"])
        try a.store.setPolicies([
            PolicySetting(.index("Album ( barcode )"), PolicyWord.hideLoser),
            PolicySetting(.index("LABEL_NAME"), PolicyWord.hideLoser),
        ])
        try a.flush()
        try b.receive(a)
        XCTAssertEqual(
            try b.store.policies().map(\.target), ["index:album(barcode)", "index:label_name"])
        let names = try a.query("SELECT name FROM pragma_index_list('album')").map { $0.lowercased() }
        let oracle = try Oracle(
            schema, policies: ModelPolicies(hideLoser: Set(names + ["label_name"])))
        for device in [a, b] {
            XCTAssertEqual(try device.query("SELECT title FROM album"), ["A"])
            XCTAssertEqual(try device.query("SELECT kind, count(*) FROM ferry_exception GROUP BY 1"), ["2|2"])
            XCTAssertEqual(try oracle.complaints(about: device), [])
        }
        XCTAssertEqual(try b.store.removePolicies([.index("album(barcode)"), .index("label_name")]), 2)
        try b.flush()
        try a.receive(b)
        for device in [a, b] {
            XCTAssertEqual(try device.query("SELECT title FROM album"), ["B"])
            XCTAssertEqual(try Oracle(schema).complaints(about: device), [])
        }
    }

    // MARK: What is not known

    func testATableUnderAHookThatIsMissingIsNotReplayedUntilItIsThere() throws {
        let a = try device(1)
        let b = try TestDevice(2, Self.songs)
        let c = try device(3)
        try a.run("INSERT INTO song(id, title, note) VALUES (1, 'one', 'n'); INSERT INTO pick(code) VALUES ('p')")
        try set(["song.note": .hook("join")], on: a)
        try b.receive(a)
        try c.receive(a)
        XCTAssertEqual(try b.store.policies().map(\.isApplied), [false])
        XCTAssertEqual(try a.store.policies().map(\.isApplied), [true])
        try a.run("UPDATE song SET note = 'a'")
        try a.flush()
        try a.run("UPDATE pick SET rank = 1")
        try a.flush()
        // Of C nothing concerns the table.
        try c.run("INSERT INTO pick(code) VALUES ('c')")
        try c.flush()
        try b.run("UPDATE song SET note = 'b'")
        let outcome = try b.receive(a, c)
        XCTAssertEqual(outcome.refused[a.id]?.code, .unknownPolicy)
        XCTAssertEqual(outcome.refused.count, 1)
        XCTAssertEqual(try b.query("SELECT note FROM song"), ["b"])
        // What the log has in other tables is replayed ahead.
        XCTAssertEqual(try b.query("SELECT code, rank FROM pick"), ["c|NULL", "p|1"])
        // Again: nothing is written.
        let changes = try b.query("SELECT total_changes()")
        XCTAssertEqual(try b.receive(a).refused[a.id]?.sequence, UInt64(a.log.count - 1))
        XCTAssertEqual(try b.query("SELECT total_changes()"), changes)
        b.store.registerMergeHook("join", Self.join)
        XCTAssertEqual(try b.receive(a).refused.count, 0)
        try a.receive(b, c)
        try c.receive(a, b)
        for device in [a, b, c] { XCTAssertEqual(try device.query("SELECT note FROM song"), ["a/b"]) }
        XCTAssertEqual(try b.query("SELECT code, rank FROM pick"), ["c|NULL", "p|1"])
        try assertInStep([a, b, c], ["song.note": .hook("join")])
    }

    func testAHookThatComesLaterIsAskedForWhatCameBeforeThePolicy() throws {
        let (a, c) = (try device(1), try device(3, hoursAhead: 1))
        let b = try TestDevice(2, Self.songs)
        try a.run("INSERT INTO song(id, title, note) VALUES (1, 'one', 'n')")
        try a.flush()
        try b.receive(a)
        try set(["song.note": .hook("join")], on: a)
        try c.receive(a)
        try c.run("UPDATE song SET note = 'c'")
        try c.flush()
        // B has the operations and not the policy: the last writer wins, so far.
        try b.run("UPDATE song SET title = 'b', note = 'b'")
        b.clock.now += 10_000
        try b.receive(c)
        XCTAssertEqual(try b.query("SELECT note FROM song"), ["c"])
        try a.run("UPDATE song SET note = 'a'")
        XCTAssertEqual(try b.pass([a.log[1]]).refused.count, 0)
        XCTAssertFalse(try b.store.needsPass())
        b.store.registerMergeHook("join", Self.join)
        XCTAssertTrue(try b.store.needsPass())
        try b.flush()
        XCTAssertFalse(try b.store.needsPass())
        try a.flush()
        for _ in 0..<2 { for device in [a, b, c] { try device.receive(a, b, c) } }
        try assertInStep([a, b, c], ["song.note": .hook("join")])
    }

    func testAPolicyOfANewerFerryStopsItsTableAlone() throws {
        let (a, b) = (try device(1), try device(2))
        try a.run("INSERT INTO ferry_policy VALUES ('column:song.rank', 'median'), ('nonsense', 'x')")
        try a.flush()
        try a.run("INSERT INTO pick(code) VALUES ('p')")
        try a.flush()
        try a.run("INSERT INTO song(id, title) VALUES (1, 'one')")
        try a.flush()
        XCTAssertEqual(try b.receive(a).refused[a.id]?.code, .unknownPolicy)
        XCTAssertEqual(try b.query("SELECT code FROM pick"), ["p"])
        XCTAssertEqual(try b.query("SELECT title FROM song"), [])
        // Taken off again, here, the log goes on.
        XCTAssertEqual(try b.store.removePolicies([.column(table: "song", column: "rank")]), 1)
        try b.flush()
        XCTAssertEqual(try b.receive(a).refused.count, 0)
        XCTAssertEqual(try b.query("SELECT title FROM song"), ["one"])
    }

    func testADamagedPayloadStopsTheLogAndChangesNothing() throws {
        let (a, b) = (try device(1), try device(2))
        try a.run("INSERT INTO song(id, title, plays) VALUES (1, 'one', 10)")
        try set(["song.plays": .counter], on: a)
        try b.receive(a)
        try a.run("UPDATE song SET plays = 11")
        try a.flush()
        var damaged = try XCTUnwrap(a.log.last)
        let place = try XCTUnwrap(damaged.tables[0].values.indices.last)
        damaged.tables[0].values[place] = .blob([9, 9, 9])
        XCTAssertThrowsError(try b.pass([damaged])) { error in
            XCTAssertEqual((error as? FerryError)?.code, .damagedFile)
            XCTAssertEqual((error as? FerryError)?.device, a.id)
        }
        XCTAssertEqual(try b.query("SELECT plays FROM song"), ["10"])
        try b.receive(a)
        XCTAssertEqual(try b.query("SELECT plays FROM song"), ["11"])
    }

    func testPoliciesThatMakeNoSenseAreRefused() throws {
        let schema = TestSchema(
            name: "senseless",
            sql: """
                CREATE TABLE parent(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE child(
                    code TEXT PRIMARY KEY NOT NULL, parent INTEGER REFERENCES parent(id), text TEXT, number INTEGER,
                    both AS (text || number)) WITHOUT ROWID;
                """)
        let device = try TestDevice(1, schema)
        let senseless: [(String, String)] = [
            ("nothing", "deleteWins"), ("child", "counter"), ("child.nothing", "max"), ("child.code", "max"),
            ("parent.id", "max"), ("child.parent", "max"), ("child.both", "max"), ("child.text", "counter"),
            ("child.number", "set"), ("child.number", "median"), ("child.number", "hook:"), ("index:none", "hideLoser"),
            ("ferry_policy.policy", "max"), ("ferry_policy", "deleteWins"),
        ]
        for (target, word) in senseless {
            XCTAssertThrowsError(
                try device.store.setPolicies([PolicySetting(try XCTUnwrap(PolicyTarget(text: target)), word)]),
                "\(target) \(word)"
            ) { XCTAssertEqual(($0 as? FerryError)?.code, .invalidArgument) }
        }
        XCTAssertEqual(try device.store.policies(), [])
        try device.store.setPolicies([PolicySetting(table: "CHILD", column: "Number", .max)])
        try device.flush()
        try device.store.setPolicies([PolicySetting(table: "child", column: "number", .max)])
        XCTAssertFalse(try device.store.needsPass(), "setting it again is no change")
    }

    // MARK: Random histories

    func testRandomHistoriesUnderPoliciesConverge() throws {
        for seed in Seeds(defaultCount: 60).all { try playRandomHistory(seed) }
    }

    private func playRandomHistory(_ seed: UInt64) throws {
        var chance = Chance(seed: seed)
        var devices: [TestDevice] = []
        for number in 1...3 { devices.append(try device(number, hoursAhead: Int64(chance.below(2)))) }
        // The policies are set at some moment, by somebody; some are taken off again.
        let moment = chance.below(12)
        var policies: [String: ColumnPolicy] = [:]
        var setter: TestDevice?
        for step in 0..<30 {
            let device = chance.pick(devices)
            device.clock.now += Int64(chance.below(3)) * 400
            if step == moment {
                policies = Self.all
                try set(policies, on: device)
                setter = device
            }
            if step == moment + 12, chance.oneIn(2), let setter {
                // Whoever takes a policy off knows the policy, and perhaps not all that was written under it.
                try device.receive(setter)
                if chance.oneIn(2) { for other in devices { try device.receive(other) } }
                policies["song.plays"] = nil
                policies["pick.tags"] = nil
                _ = try device.store.removePolicies([
                    .column(table: "song", column: "plays"), .column(table: "pick", column: "tags"),
                ])
            }
            if chance.oneIn(3) {
                let other = chance.pick(devices)
                if other.id != device.id { try device.pass(device.news(from: other, limit: 1 + chance.below(3))) }
                continue
            }
            let statement = randomStatement(&chance)
            device.runTolerating([statement], foreignKeys: true)
            if chance.oneIn(2) {
                let (before, count) = try (rows(of: device), device.log.count)
                try device.flush()
                // What was written is what is shown, but for the form and the order of a set.
                if device.log.count > count { XCTAssertEqual(try rows(of: device), before, "seed \(seed)") }
            }
        }
        for device in devices { try device.flush() }
        for device in devices { for other in devices { try device.receive(other) } }
        let fresh = try device(9)
        for other in devices.reversed() { try fresh.receive(other) }
        devices.append(fresh)
        XCTAssertEqual(try unsound(devices), [], "seed \(seed)")
        let oracle = try Oracle(Self.songs, columns: policies, hook: Self.join)
        for device in devices {
            XCTAssertEqual(try oracle.complaints(about: device), [], "seed \(seed), device \(device.id.low)")
        }
    }

    /// Rows that are joined or hidden, references, and policies of tables and indexes that come and go.
    func testRandomHistoriesOfRelatedRowsUnderPoliciesConverge() throws {
        for seed in UInt64(1)...40 { try playRelatedHistory(seed) }
    }

    private static let related = TestSchema(
        name: "related",
        sql: """
            CREATE TABLE label(id INTEGER PRIMARY KEY, name TEXT, plays INTEGER, rank INTEGER CHECK (rank < 15), tags TEXT);
            CREATE UNIQUE INDEX label_name ON label(name);
            CREATE TABLE album(
                code TEXT PRIMARY KEY NOT NULL, label INTEGER REFERENCES label(id) ON DELETE SET NULL,
                plays INTEGER, rank INTEGER UNIQUE) WITHOUT ROWID;
            """)

    private func playRelatedHistory(_ seed: UInt64) throws {
        var chance = Chance(seed: seed &+ 1000)
        var devices: [TestDevice] = []
        for number in 1...3 { devices.append(try TestDevice(number, Self.related, hoursAhead: Int64(chance.below(2)))) }
        let columns: [String: ColumnPolicy] = [
            "label.plays": .counter, "label.rank": .max, "label.tags": .set, "album.plays": .counter,
            "album.rank": .firstWriterWins,
        ]
        let others = [
            PolicySetting(.table("album"), PolicyWord.deleteWins),
            PolicySetting(.index("label_name"), PolicyWord.hideLoser),
        ].filter { _ in chance.oneIn(2) }
        let (moment, end) = (chance.below(15), 20 + chance.below(10))
        for step in 0..<34 {
            let device = chance.pick(devices)
            device.clock.now += Int64(chance.below(3)) * 400
            if step == moment {
                try set(columns, on: device)
                try device.store.setPolicies(others)
            }
            if step == end {
                for other in devices { try device.receive(other) }
                if chance.oneIn(2) { _ = try device.store.removePolicies([.table("album"), .index("label_name")]) }
            }
            if chance.oneIn(3) {
                let other = chance.pick(devices)
                if other.id != device.id { try device.pass(device.news(from: other, limit: 1 + chance.below(3))) }
                continue
            }
            device.runTolerating([relatedStatement(&chance)], foreignKeys: true)
            if chance.oneIn(2) { try device.flush() }
        }
        for device in devices { try device.flush() }
        for _ in 0..<2 { for device in devices { for other in devices { try device.receive(other) } } }
        let fresh = try TestDevice(9, Self.related)
        for other in devices.reversed() { try fresh.receive(other) }
        devices.append(fresh)
        let present = try devices[0].store.policies()
        let policies = ModelPolicies(
            deleteWins: present.contains { $0.word == PolicyWord.deleteWins } ? ["album"] : [],
            hideLoser: present.contains { $0.word == PolicyWord.hideLoser } ? ["label_name"] : [])
        XCTAssertEqual(try unsound(devices), [], "seed \(seed)")
        let oracle = try Oracle(Self.related, policies: policies, columns: columns)
        for device in devices {
            XCTAssertEqual(try device.store.policies(), present, "seed \(seed)")
            XCTAssertEqual(try oracle.complaints(about: device), [], "seed \(seed), device \(device.id.low)")
        }
    }

    private func relatedStatement(_ chance: inout Chance) -> String {
        let number = chance.below(18)
        let id = 1 + chance.below(3)
        let (name, code) = ("n\(chance.below(3))", "c\(chance.below(3))")
        switch chance.below(10) {
        case 0, 1: return "INSERT OR IGNORE INTO label(name, plays, rank) VALUES ('\(name)', \(number), \(number))"
        case 2: return "UPDATE label SET plays = plays + \(number - 4) WHERE id = \(id)"
        case 3: return "UPDATE OR IGNORE label SET rank = \(number), name = '\(name)' WHERE id = \(id)"
        case 4: return "UPDATE label SET tags = '[\"\(name)\",\(number)]' WHERE id = \(id)"
        case 5: return "INSERT OR REPLACE INTO album VALUES ('\(code)', (SELECT min(id) FROM label), 1, \(number))"
        case 6: return "UPDATE OR IGNORE album SET rank = \(number), plays = plays + 1 WHERE code = '\(code)'"
        case 7: return "UPDATE album SET label = (SELECT max(id) FROM label) WHERE code = '\(code)'"
        case 8: return "DELETE FROM album WHERE code = '\(code)'"
        default: return "DELETE FROM label WHERE id = \(id)"
        }
    }

    private func rows(of device: TestDevice) throws -> [String] {
        try device.query("SELECT id, title, plays, rank, low, owner, note FROM song ORDER BY id")
            + device.query("SELECT code, plays, rank FROM pick ORDER BY code")
    }

    private func randomStatement(_ chance: inout Chance) -> String {
        let number = chance.below(20)
        if chance.oneIn(12) {
            // The same elements, as another program spells them.
            let tags = "replace(replace(tags, ', ', ','), ',', '\(chance.oneIn(2) ? ", " : ",")')"
            return "UPDATE \(chance.oneIn(2) ? "song" : "pick") SET tags = \(tags)"
        }
        let members = (0..<4).filter { _ in chance.oneIn(2) }.map { "\"m\($0)\"" }.joined(separator: ",")
        let tags = chance.oneIn(9) ? "NULL" : "'[\(members)]'"
        let id = 1 + chance.below(3)
        let code = "p\(chance.below(3))"
        switch chance.below(10) {
        case 0:
            return "INSERT INTO song(title, plays, rank, low, tags) VALUES ('s', \(number), \(number), 1.5, \(tags))"
        case 1: return "INSERT OR IGNORE INTO pick VALUES ('\(code)', \(number), \(number), \(tags))"
        case 2: return "INSERT OR REPLACE INTO pick VALUES ('\(code)', \(number), \(number), \(tags))"
        case 3: return "UPDATE song SET plays = plays + \(number - 5) WHERE id = \(id)"
        case 4: return "UPDATE pick SET plays = plays + 1, rank = \(number) WHERE code = '\(code)'"
        case 5: return "UPDATE song SET rank = \(number), low = \(number) / 4.0 WHERE id = \(id)"
        case 6: return "UPDATE song SET tags = \(tags) WHERE id = \(id)"
        case 7: return "UPDATE pick SET tags = \(tags) WHERE code = '\(code)'"
        case 8: return "UPDATE song SET owner = 'o\(number)', note = 'n\(number)' WHERE id = \(id)"
        default:
            return chance.oneIn(2) ? "DELETE FROM pick WHERE code = '\(code)'" : "DELETE FROM song WHERE id = \(id)"
        }
    }
}
