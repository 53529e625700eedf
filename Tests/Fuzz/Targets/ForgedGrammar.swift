import FerryCore

/// Says things that no Ferry says, in the grammar of the format: every file made of them decodes, and means nonsense. A seed
/// alone, or the bytes of a fuzzer, determine what is said, but for the time. The tests of FerryEngine compile it too.
struct ForgedGrammar {
    var chance: Choices
    /// The honest devices, which are spoken of.
    let devices: [DeviceID]
    /// Objects that the honest devices have, by table.
    let objects: [String: [ObjectID]]
    let now: HybridTime

    /// The tables of `schema`, as an honest device identifies them, with all their columns but an integer key.
    static let tables: [(name: String, identity: TableIdentity, columns: [String])] = [
        ("artist", .surrogate, ["name", "plays"]),
        ("song", .surrogate, ["artist", "title", "parent"]),
        ("my tag", .key(["song", "Word"]), ["song", "Word", "weight"]),
        ("setting", .key(["name"]), ["name", "value"]),
        ("note", .declared(["code"]), ["code", "text"]),
        ("ferry_policy", .key(["target"]), ["target", "policy"]),
        ("ferry_kv_value", .key(["key"]), ["key", "value"]),
        ("ferry_kv_member", .key(["set", "member"]), ["set", "member"]),
        ("ferry_kv_counter", .key(["counter", "device"]), ["counter", "device", "amount"]),
    ]

    static let schema = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE, plays INTEGER CHECK (plays >= 0));
        CREATE TABLE song(id INTEGER PRIMARY KEY AUTOINCREMENT, artist INTEGER REFERENCES artist(id) ON DELETE CASCADE,
            title TEXT NOT NULL DEFAULT '', parent INTEGER REFERENCES song(id) ON DELETE SET NULL);
        CREATE TABLE "my tag"(song INTEGER NOT NULL REFERENCES song(id) ON DELETE RESTRICT, "Word" TEXT NOT NULL, weight REAL,
            PRIMARY KEY (song, "Word")) WITHOUT ROWID;
        CREATE TABLE setting(name TEXT PRIMARY KEY NOT NULL, value);
        CREATE TABLE note(id INTEGER PRIMARY KEY, code TEXT, text TEXT);
        CREATE TABLE stays(a, b); CREATE VIEW seen AS SELECT * FROM artist; CREATE VIRTUAL TABLE found USING fts5(text);
        INSERT INTO artist VALUES (1, 'Ann', 3), (2, 'Bob', NULL);
        INSERT INTO song VALUES (1, 1, 'Sea', NULL), (2, 1, 'Sun', 1), (3, 2, 'Sky', 2);
        INSERT INTO "my tag" VALUES (1, 'blue', 0.5), (2, 'red', NULL);
        INSERT INTO setting VALUES ('volume', 11), ('mode', 'dark');
        INSERT INTO note VALUES (5, 'x', 'one'), (6, 'y', 'two');
        """

    // MARK: A changeset

    mutating func changeset() -> (
        tables: [TableChanges], time: HybridTime, context: VersionVector, schema: SchemaRecord?
    ) {
        let tables = (0..<1 + chance.below(3)).map { _ in table() }
        return (tables, time(), context(), chance.oneIn(6) ? record() : nil)
    }

    mutating func time() -> HybridTime {
        switch chance.below(14) {
        case 0: .zero
        case 1: .unknown
        case 2: HybridTime(rawValue: UInt64(chance.below(1 << 20)))
        case 3: .latest
        case 4: HybridTime(milliseconds: now.milliseconds + Int64(chance.below(400)) * 86_400_000)
        case 5: .latestOfClock
        default: HybridTime(rawValue: now.rawValue &+ UInt64(chance.below(1 << 16)) &- 1 << 15)
        }
    }

    mutating func context() -> VersionVector {
        var context = VersionVector()
        for device in devices where chance.oneIn(2) {
            let sequence = chance.oneIn(4) ? UInt64(1) << 53 : UInt64(1 + chance.below(5))
            context.advance(device, to: LogPosition(sequence: sequence, time: time()))
        }
        return context
    }

    private mutating func name() -> String {
        chance.pick([
            "artist", "ARTIST", "song", "stays", "seen", "found", "found_data", "sqlite_master", "ferry_meta",
            "ferry_device",
            "ferry_kv_change", "never seen", "a\"b", "a'b;", "select", "", "nul\0name", "é", "ferry_object_1",
            String(repeating: "n", count: 1000),
        ])
    }

    private mutating func identity() -> TableIdentity {
        switch chance.below(5) {
        case 0: chance.oneIn(2) ? .surrogate : .surrogateBy(chance.pick(["name", "id", "none", ""]))
        case 1: .key([chance.pick(["name", "id", "NAME", "none"])])
        case 2: .key(["song", "word"])
        case 3: .declared([chance.pick(["code", "name", "none"])])
        default: .key(chance.oneIn(3) ? (0..<300).map { "c\($0)" } : ["a", "b", "c"])
        }
    }

    mutating func table() -> TableChanges {
        let known = chance.pick(Self.tables)
        var changes = TableChanges(name: known.name, identity: known.identity, columns: known.columns)
        if chance.oneIn(8) { changes.name = name() }
        if chance.oneIn(12) { changes.identity = identity() }
        if chance.oneIn(5) {
            changes.columns.append(chance.pick(["id", "NAME", "rowid", "other", "", "title", "x\0y"]))
        }
        if chance.oneIn(40) { changes.columns += (0..<1000).map { "wide\($0)" } }
        if chance.oneIn(6) {
            changes.payloads = changes.columns.map { _ in chance.oneIn(3) ? chance.pick(PayloadKind.allCases) : nil }
        }
        changes.shapes = (0..<1 + chance.below(3)).map { number in
            number == 0
                ? Array(changes.columns.indices) : changes.columns.indices.filter { _ in chance.oneIn(2) }
        }
        changes.shapes.append([])
        var operations: [(ObjectID, HybridTime, ObjectOperation.Kind, Int, FieldValue?)] = []
        for _ in 0..<1 + chance.below(6) {
            let kind = chance.pick([ObjectOperation.Kind.insert, .insert, .update, .update, .delete])
            let shape = kind == .delete ? changes.shapes.count - 1 : chance.below(changes.shapes.count)
            operations.append((object(known.name), time(), kind, shape, key(changes.identity)))
        }
        operations.sort { ($0.0, $0.1.rawValue) < ($1.0, $1.1.rawValue) }
        for (object, time, kind, shape, key) in operations {
            changes.operations.append(
                ObjectOperation(
                    object: object, kind: kind, time: time, key: key, shape: shape, firstValue: changes.values.count))
            for column in changes.shapes[shape] {
                changes.values.append(changes.payload(of: column) == nil ? value() : payload())
            }
        }
        return changes
    }

    private mutating func object(_ table: String) -> ObjectID {
        let own = objects[table] ?? []
        if !own.isEmpty, chance.oneIn(2) { return chance.pick(own) }
        let all = objects.values.flatMap { $0 }.sorted()
        if !all.isEmpty, chance.oneIn(4) { return chance.pick(all) }
        return chance.oneIn(10) ? ObjectID(high: .max, low: .max) : ObjectID(high: 0xf00, low: UInt64(chance.below(6)))
    }

    private mutating func key(_ identity: TableIdentity) -> FieldValue? {
        if case .key = identity { return chance.oneIn(10) ? value() : nil }
        switch chance.below(8) {
        case 0: return nil
        case 1: return .integer(.max)
        case 2: return .integer(.min)
        case 3: return value()
        default: return .integer(Int64(chance.below(8)))
        }
    }

    mutating func value() -> FieldValue {
        switch chance.below(16) {
        case 0: return .null
        case 1: return .integer(.max)
        case 2: return .integer(.min)
        case 3: return .real(.infinity)
        case 4: return .real(.nan)
        case 5: return .real(-0.0)
        case 6: return .text([0xff, 0xfe, 0][...])
        case 7: return .text([])
        case 8: return .blob([])
        case 9: return .blob(ObjectID(high: 0xf00, low: 1).bytes[...])
        case 10, 11, 12:
            let all = objects.values.flatMap { $0 }.sorted()
            return .reference(
                all.isEmpty || chance.oneIn(3) ? ObjectID(high: 0xf00, low: UInt64(chance.below(6))) : chance.pick(all))
        case 13: return .integer(Int64(chance.below(8)))
        default: return .text(Array(words.randomElement(using: &chance).utf8)[...])
        }
    }

    private let words = Words()

    private struct Words {
        private let all = [
            "Ann", "ANN", "Bob", "Sea", "blue", "volume", "x", "artist", "artist.plays", "note.text", "setting.value",
            "counter",
            "max", "set", "firstWriterWins", "deleteWins", "hideLoser", "artist(name)", "hook:none", "lastWriterWins",
            "[1,2]",
        ]
        func randomElement(using chance: inout Choices) -> String { chance.pick(all) }
    }

    private mutating func payload() -> FieldValue {
        .blob((0..<chance.below(24)).map { _ in UInt8(chance.oneIn(2) ? chance.below(4) : chance.below(256)) }[...])
    }

    mutating func record() -> SchemaRecord {
        let statements = [
            "CREATE TABLE evil(id INTEGER PRIMARY KEY)", "ATTACH '/tmp/none' AS x", "PRAGMA user_version = 99",
            "DROP TABLE artist", "CREATE TRIGGER t AFTER INSERT ON artist BEGIN DELETE FROM artist; END", "", "CREATE",
            "CREATE TABLE t AS SELECT 1", "CREATE VIRTUAL TABLE v USING none(x)",
            "CREATE VIEW seen AS SELECT * FROM seen",
        ]
        return SchemaRecord(
            userVersion: chance.oneIn(2) ? .max : 1, applicationID: chance.oneIn(2) ? .min : 0,
            statements: (0..<chance.below(4)).map { _ in
                .init(
                    type: chance.pick(["table", "view", "trigger", "x"]), name: name(), table: name(),
                    sql: chance.pick(statements))
            },
            tracked: (0..<chance.below(4)).map { _ in
                TrackedTableRecord(
                    name: name(), identity: identity(), localName: chance.oneIn(3) ? name() : nil,
                    keyCollations: chance.oneIn(3) ? [name()] : [],
                    renamedColumns: (0..<chance.below(3)).map { _ in
                        .init(
                            name: chance.pick(["title", "artist", "no such", "title → artist(id)"]),
                            localName: chance.pick(["title", "artist", "rank"]))
                    })
            },
            references: (0..<chance.below(3)).map { _ in
                UndeclaredReference(table: name(), column: chance.pick(["artist", "none"]), parent: name())
            },
            bookkeeping: (0..<chance.below(3)).map { _ in
                BookkeepingRows(
                    table: chance.oneIn(2) ? "grdb_migrations" : name(), columns: ["identifier"],
                    rows: (0..<chance.below(3)).map { _ in [chance.oneIn(2) ? .text("v1") : .integer(1)] })
            })
    }

    // MARK: Snapshots and heads

    mutating func chunk() -> SnapshotChunk {
        let changes = table()
        var chunk = SnapshotChunk(
            table: changes.name, identity: changes.identity,
            columns: changes.columns.enumerated().map { .init(name: $1, isRegister: changes.payload(of: $0) != nil) },
            shapes: changes.shapes)
        var last: ObjectID?
        for operation in changes.operations where last.map({ $0 < operation.object }) ?? true {
            last = operation.object
            let first = chunk.cells.count
            for value in changes.values(of: operation) { chunk.cells.append(.init(stamp: stamp(), content: value)) }
            chunk.objects.append(
                .init(
                    id: operation.object, inserted: chance.oneIn(5) ? nil : stamp(),
                    deleted: chance.oneIn(4) ? stamp() : nil,
                    key: operation.key, shape: operation.shape, firstCell: first))
        }
        return chunk
    }

    private mutating func stamp() -> Stamp {
        Stamp(time: time(), device: chance.pick(devices + [DeviceID(high: 0xe, low: 0xe), DeviceID(high: 1, low: 1)]))
    }

    mutating func positions() -> [DeviceID: SnapshotManifest.Position] {
        var positions: [DeviceID: SnapshotManifest.Position] = [:]
        for device in devices + [DeviceID(high: 0xe, low: 0xe)] where !chance.oneIn(3) {
            let sequence = chance.oneIn(2) ? UInt64(1 + chance.below(4)) : UInt64(1) << 53
            positions[device] = .init(
                log: LogPosition(sequence: sequence, time: time()), lastLate: UInt64(chance.below(2)))
        }
        return positions
    }
}

/// Choices that a seed determines, or a fuzzer's bytes: one byte for each, and the first of what there is to choose from once they
/// are used up.
struct Choices {
    private var state: UInt64
    private var bytes: ArraySlice<UInt8>?

    init(seed: UInt64) { state = seed &* 0x2545_f491_4f6c_dd1d &+ 0x9e37_79b9_7f4a_7c15 }

    init(bytes: [UInt8]) {
        state = 0
        self.bytes = bytes[...]
    }

    /// A number in 0 ..< bound.
    mutating func below(_ bound: Int) -> Int {
        guard bytes != nil else {
            // SplitMix64: Steele, Lea and Flood, 2014.
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
        }
        var number = 0
        for _ in 0..<(bound > 256 ? 3 : 1) { number = number << 8 | Int(bytes?.popFirst() ?? 0) }
        return number % bound
    }

    mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}
