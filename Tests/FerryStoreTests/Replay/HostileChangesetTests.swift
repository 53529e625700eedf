import FerryCore
import FerryMerge
import FerrySchema
import GRDB
import XCTest

@testable import FerryStore

/// What no honest device writes changes no row that it should not, and crashes nothing.
final class HostileChangesetTests: XCTestCase {
    func testAReferenceInAPlainColumnUnderAUniqueIndexIsNoCrash() throws {
        let queue = try DatabaseQueue()
        try queue.write {
            try $0.execute(sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE); INSERT INTO t VALUES (1, 'a')")
        }
        let store = Store(queue)
        _ = try store.beginTracking(
            StoreIdentity(
                device: DeviceID(high: 0, low: 1), deviceName: "a", container: ContainerID(high: 0, low: 9),
                containerName: "c", containerPath: "/c"), TableSelection())
        let encode: SegmentEncoding = { changeset, _, _ in
            OutboxEntry(
                first: changeset.sequence, last: changeset.sequence, changes: changeset.operationCount,
                checksum: Checksum(high: 0, low: changeset.sequence), bytes: [])
        }
        _ = try store.pass(replaying: [], encode: encode)
        let time = HybridTime(milliseconds: SystemClock().milliseconds())
        let operations = (UInt64(1)...2).map { number in
            ObjectOperation(
                object: ObjectID(high: 7, low: number), kind: .insert, time: time, key: .integer(Int64(number)),
                shape: 0,
                firstValue: Int(number) - 1)
        }
        let reference = FieldValue.reference(ObjectID(high: 7, low: 7))
        let changes = TableChanges(
            name: "t", identity: .surrogate, columns: ["u"], shapes: [[0]], operations: operations,
            values: [reference, reference])
        let changeset = Changeset(
            device: DeviceID(high: 0, low: 2), sequence: 1, time: time, context: VersionVector(), tables: [changes])
        _ = try store.pass(replaying: [changeset], encode: encode)
        XCTAssertEqual(try queue.read { try String.fetchAll($0, sql: "SELECT u FROM t WHERE u IS NOT NULL") }, ["a"])
        XCTAssertEqual(try queue.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") }, "ok")
    }

    /// Nobody says what identifies the row of an object that begins anew without its key: the row is hidden, on every device alike, until
    /// somebody inserts it by its key.
    func testARowThatIsDeletedAndInsertedWithoutItsKeyIsHidden() throws {
        let columns = ["k TEXT PRIMARY KEY, v", "k TEXT NOT NULL, n NOT NULL, v, PRIMARY KEY(k, n)"]
        for (columns, key) in zip(columns, [["k"], ["k", "n"]]) {
            for options in ["", " WITHOUT ROWID"] {
                let schema = TestSchema(name: "t", sql: "CREATE TABLE t(\(columns))\(options)")
                let (a, b) = (try TestDevice(1, schema), try TestDevice(2, schema))
                let insertion = key.count == 1 ? "INSERT INTO t VALUES ('a', 1)" : "INSERT INTO t VALUES ('a', 2, 1)"
                try a.run(insertion)
                try a.flush()
                let object = try XCTUnwrap(a.log.first?.tables.first { $0.name == "t" }?.operations.first?.object)
                let time = HybridTime(milliseconds: a.clock.now + 1000)
                let changes = TableChanges(
                    name: "t", identity: .key(key), columns: ["v"], shapes: [[], [0]],
                    operations: [
                        ObjectOperation(object: object, kind: .delete, time: time, shape: 0, firstValue: 0),
                        ObjectOperation(object: object, kind: .insert, time: time.next, shape: 1, firstValue: 0),
                    ], values: [.integer(3)])
                let forged = Changeset(
                    device: DeviceID(high: 0, low: 7), sequence: 1, time: time.next, context: VersionVector(),
                    tables: [changes])
                try a.pass([forged])
                try b.pass([forged])
                try b.receive(a)
                for device in [a, b] {
                    XCTAssertEqual(try device.query("SELECT * FROM t"), [])
                    XCTAssertEqual(try device.query("SELECT kind FROM ferry_exception"), ["3"])
                }
                try assertAlike([a, b])
                a.clock.now += 10_000
                try a.run(insertion)
                try a.flush()
                try b.receive(a)
                for device in [a, b] {
                    XCTAssertEqual(try device.query("SELECT k, v FROM t"), ["a|1"])
                    XCTAssertEqual(try device.store.verify(deep: true).differences.map(\.problem), [])
                }
            }
        }
    }

    /// No column that refers to another table has a policy, but a changeset may say that one has. What it says again changes the
    /// time of the reference alone, and the check of the object follows.
    func testAPolicysValueInAReferenceLeavesTheCheckRight() throws {
        let schema = TestSchema(
            name: "albums",
            sql: """
                CREATE TABLE album(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE track(id INTEGER PRIMARY KEY, album INTEGER REFERENCES album, name TEXT);
                """)
        let honest = try TestDevice(1, schema)
        try honest.flush()
        let other = DeviceID(high: 0, low: 7)
        let (album, track) = (ObjectID(high: 7, low: 1), ObjectID(high: 7, low: 2))
        func forged(_ sequence: UInt64, _ tables: [TableChanges], at time: HybridTime) -> Changeset {
            Changeset(device: other, sequence: sequence, time: time, context: VersionVector(), tables: tables)
        }
        let time = HybridTime(milliseconds: honest.clock.now)
        try honest.pass([
            forged(
                1,
                [
                    TableChanges(
                        name: "album", identity: .surrogate, columns: ["name"], shapes: [[0]],
                        operations: [
                            ObjectOperation(
                                object: album, kind: .insert, time: time, key: .integer(4), shape: 0, firstValue: 0)
                        ], values: [.null]),
                    TableChanges(
                        name: "track", identity: .surrogate, columns: ["album"], shapes: [[0]],
                        operations: [
                            ObjectOperation(
                                object: track, kind: .insert, time: time, key: .integer(5), shape: 0, firstValue: 0)
                        ], values: [.reference(album)]),
                ], at: time)
        ])
        XCTAssertEqual(try honest.query("SELECT album FROM track"), ["4"])
        for (place, kind) in [PayloadKind.maximum, .versions, .set, .minimum].enumerated() {
            let later = HybridTime(milliseconds: time.milliseconds + Int64(place) + 1)
            let stamp = Stamp(time: later, device: other)
            let nothing = ExtremePart(reset: nil, best: StampedValue(stamp, .null))
            let part: PolicyPart =
                switch kind {
                case .maximum: .maximum(nothing)
                case .minimum: .minimum(nothing)
                case .set: .set(SetPart(elements: [:]))
                default: .versions(VersionsPart(versions: [], seen: [:]))
                }
            let bytes = PolicyCodec.encode(part, own: stamp)
            try honest.pass([
                forged(
                    UInt64(place) + 2,
                    [
                        TableChanges(
                            name: "track", identity: .surrogate, columns: ["album"], payloads: [kind], shapes: [[0]],
                            operations: [
                                ObjectOperation(
                                    object: track, kind: .update, time: later, key: nil, shape: 0, firstValue: 0)
                            ], values: [.blob(bytes[...])])
                    ], at: later)
            ])
            XCTAssertEqual(try honest.query("SELECT album FROM track"), ["4"])
            let report = try honest.store.verify(deep: true)
            XCTAssertEqual(report.differences.map { "\($0.kind): \($0.problem)" }, [], "\(kind)")
        }
    }

    private static let keyed = TestSchema(
        name: "keyed",
        sql: """
            CREATE TABLE place(id INTEGER PRIMARY KEY, name TEXT, must TEXT NOT NULL DEFAULT '');
            CREATE TABLE setting(name TEXT PRIMARY KEY NOT NULL, value);
            """)

    /// Two honest devices that replay insertions by a third one.
    private func devices(
        after insertions: [(table: String, columns: [String], object: ObjectID, key: FieldValue?, values: [FieldValue])]
    ) throws -> [TestDevice] {
        let devices = [try TestDevice(1, Self.keyed), try TestDevice(2, Self.keyed)]
        let time = HybridTime(milliseconds: devices[0].clock.now)
        let forged = insertions.enumerated().map { number, insertion in
            let identity: TableIdentity = insertion.table == "place" ? .surrogate : .key(["name"])
            let changes = TableChanges(
                name: insertion.table, identity: identity, columns: insertion.columns,
                shapes: [Array(insertion.columns.indices)],
                operations: [
                    ObjectOperation(
                        object: insertion.object, kind: .insert, time: time, key: insertion.key, shape: 0, firstValue: 0
                    )
                ], values: insertion.values)
            return Changeset(
                device: DeviceID(high: 0, low: 7), sequence: UInt64(number) + 1, time: time, context: VersionVector(),
                tables: [changes])
        }
        for device in devices {
            try device.flush()
            try device.pass(forged)
        }
        return devices
    }

    private func assertAlike(_ devices: [TestDevice], line: UInt = #line) throws {
        for device in devices {
            XCTAssertEqual(try device.store.verify(deep: true).differences.map(\.problem), [], line: line)
        }
        XCTAssertEqual(
            try devices[0].store.statePosition().digests, try devices[1].store.statePosition().digests, line: line)
    }

    /// A row shows nothing where a value is a reference and the column has none. Under NOT NULL the row is hidden.
    func testAReferenceInAPlainColumnIsNothing() throws {
        let reference = FieldValue.reference(ObjectID(high: 7, low: 7))
        let devices = try devices(after: [
            (
                "place", ["name", "must"], ObjectID(high: 7, low: 1), .integer(1),
                [reference, .text(Array("x".utf8)[...])]
            ),
            ("place", ["name", "must"], ObjectID(high: 7, low: 2), .integer(2), [.null, reference]),
        ])
        try assertAlike(devices)
        for device in devices {
            XCTAssertEqual(try device.query("SELECT id, name IS NULL, must FROM place"), ["1|1|x"])
            XCTAssertEqual(try device.query("SELECT kind FROM ferry_exception"), ["3"])
        }
    }

    /// The row gets another integer where its author's key is none.
    func testAnAuthorsKeyOfAnotherTypeIsNoIntegerKey() throws {
        let devices = try devices(after: [
            ("place", ["name"], ObjectID(high: 7, low: 1), .text(Array("a".utf8)[...]), [.text(Array("x".utf8)[...])]),
            ("place", ["name"], ObjectID(high: 7, low: 2), .text(Array("5".utf8)[...]), [.text(Array("y".utf8)[...])]),
        ])
        try assertAlike(devices)
        for device in devices {
            XCTAssertEqual(try device.query("SELECT id, name FROM place"), ["1|x", "5|y"])
        }
    }

    /// A row whose object has the ID of another key would not be found by its key: what an app writes to it would be lost.
    func testARowWithTheIDOfAnotherKeyIsHidden() throws {
        let (wrong, text) = (ObjectID(high: 7, low: 1), FieldValue.text(Array("a".utf8)[...]))
        let devices = try devices(after: [("setting", ["name", "value"], wrong, nil, [text, .integer(1)])])
        try assertAlike(devices)
        for device in devices {
            XCTAssertEqual(try device.query("SELECT * FROM setting"), [])
            XCTAssertEqual(try device.query("SELECT kind FROM ferry_exception"), ["3"])
        }
        try devices[0].run("INSERT INTO setting VALUES ('a', 2)")
        try devices[0].flush()
        try devices[1].receive(devices[0])
        try assertAlike(devices)
        for device in devices { XCTAssertEqual(try device.query("SELECT * FROM setting"), ["a|2"]) }
        try devices[1].run("DELETE FROM setting")
        try devices[1].flush()
        try devices[0].receive(devices[1])
        try assertAlike(devices)
        for device in devices { XCTAssertEqual(try device.query("SELECT * FROM setting"), []) }
    }

    /// Nor is the row of an honest device shown under a key that somebody else gives its object.
    func testAKeyWrittenOverAnotherIsHidden() throws {
        let devices = [try TestDevice(1, Self.keyed), try TestDevice(2, Self.keyed)]
        try devices[0].run("INSERT INTO setting VALUES ('a', 1)")
        try devices[0].flush()
        try devices[1].receive(devices[0])
        let object = try XCTUnwrap(
            devices[0].log.flatMap(\.tables).first { $0.name == "setting" }?.operations.first?.object)
        let time = HybridTime(milliseconds: devices[0].clock.now + 1000)
        let changes = TableChanges(
            name: "setting", identity: .key(["name"]), columns: ["name"], shapes: [[0]],
            operations: [ObjectOperation(object: object, kind: .update, time: time, shape: 0, firstValue: 0)],
            values: [.text(Array("b".utf8)[...])])
        let forged = Changeset(
            device: DeviceID(high: 0, low: 7), sequence: 1, time: time, context: VersionVector(), tables: [changes])
        for device in devices { try device.pass([forged]) }
        try assertAlike(devices)
        for device in devices {
            XCTAssertEqual(try device.query("SELECT * FROM setting"), [])
            device.clock.now += 10_000
        }
        try devices[1].run("INSERT INTO setting VALUES ('a', 3)")
        try devices[1].flush()
        try devices[0].receive(devices[1])
        try assertAlike(devices)
        for device in devices { XCTAssertEqual(try device.query("SELECT * FROM setting"), ["a|3"]) }
    }

    /// SQLite stores no NaN.
    func testNotANumberIsNothing() throws {
        let nan = FieldValue.real(.nan)
        let devices = try devices(after: [
            ("place", ["name"], ObjectID(high: 7, low: 1), .integer(1), [nan]),
            ("setting", ["name", "value"], ObjectID(high: 7, low: 2), nil, [nan, .integer(1)]),
        ])
        try assertAlike(devices)
        for device in devices {
            XCTAssertEqual(try device.query("SELECT id, name IS NULL FROM place"), ["1|1"])
            XCTAssertEqual(try device.query("SELECT * FROM setting"), [])
        }
    }

    /// A key is another one in a column of another type. So the row waits, and what is written beside it is no change of it.
    func testARowWhoseKeyTheColumnConvertsIsHiddenUntilBothHaveOneSchema() throws {
        let untyped = TestSchema(name: "keyed", sql: "CREATE TABLE setting(name PRIMARY KEY NOT NULL, value)")
        let typed = TestSchema(name: "keyed", sql: "CREATE TABLE setting(name TEXT PRIMARY KEY NOT NULL, value)")
        let (a, b) = (try TestDevice(1, untyped), try TestDevice(2, typed))
        try a.run("INSERT INTO setting VALUES (5, 'by a'), ('x', 'by a')")
        try a.flush()
        try b.flush()
        try b.receive(a)
        XCTAssertEqual(try b.query("SELECT * FROM setting"), ["x|by a"])
        XCTAssertEqual(
            try b.query("SELECT kind, reason FROM ferry_exception"), [#"3|["","convertedKey"]"#])
        XCTAssertEqual(try b.store.verify(deep: true).differences.map(\.problem), [])
        try b.run("INSERT INTO setting VALUES ('5', 'by b')")
        try b.flush()
        try a.receive(b)
        XCTAssertEqual(
            try a.query("SELECT typeof(name), name, value FROM setting ORDER BY 1, 2"),
            ["integer|5|by a", "text|5|by b", "text|x|by a"])
        XCTAssertEqual(try a.store.verify(deep: true).differences.map(\.problem), [])
    }
}
