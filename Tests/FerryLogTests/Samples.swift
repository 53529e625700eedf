import FerryCore
import FerryTestSupport

extension Chance {
    mutating func id<Kind>() -> UniqueID<Kind> { UniqueID(high: next(), low: next()) }
    mutating func bytes(_ count: Int) -> ArraySlice<UInt8> {
        var bytes: [UInt8] = []
        for _ in 0..<count { bytes.append(UInt8(truncatingIfNeeded: next())) }
        return bytes[...]
    }
}

/// Changesets to encode.
enum Samples {
    static let container = ContainerID(high: 0x0102_0304_0506_0708, low: 0x090a_0b0c_0d0e_0f10)
    static let device = DeviceID(high: 0x1112_1314_1516_1718, low: 0x191a_1b1c_1d1e_1f20)
    static let otherDevice = DeviceID(high: 0xa1a2_a3a4_a5a6_a7a8, low: 0xa9aa_abac_adae_afb0)
    static let start = HybridTime(milliseconds: 1_700_000_000_000, counter: 3)

    static let schema = SchemaRecord(
        userVersion: -7, applicationID: Int64.max,
        statements: [
            .init(type: "table", name: "song", table: "song", sql: "CREATE TABLE song(id INTEGER PRIMARY KEY, title)"),
            .init(type: "index", name: "by title", table: "song", sql: "CREATE INDEX \"by title\" ON song(title)"),
        ],
        tracked: [
            .init(name: "song", identity: .surrogate), .init(name: "tag", identity: .key(["song_id", "name"])),
            .init(name: "kind", identity: .declared(["name"])),
        ])

    /// The schema with rows of migration tools.
    static let schemaWithBookkeeping: SchemaRecord = {
        var record = schema
        record.bookkeeping = [
            BookkeepingRows(
                table: "django_migrations", columns: ["id", "app", "when"],
                rows: [
                    [.integer(1), .text("notes"), .real(12.5)], [.integer(2), .text("notes"), .null],
                    [.integer(.min), .blob([0, 255]), .text("")],
                ]),
            BookkeepingRows(table: "schema_migrations", columns: ["version"], rows: [[.text("20260101")]]),
        ]
        return record
    }()

    /// Two changesets with every kind of value, operation and identity.
    static func everything() -> [Changeset] {
        func song(_ suffix: UInt64) -> ObjectID {
            ObjectID(high: 0x018b_cfe5_6800_1234, low: 0x5678_9abc << 32 | suffix)
        }
        let key = ObjectID(high: 0x0011_2233_4455_6677, low: 0x8899_aabb_ccdd_eeff)
        let songs = TableChanges(
            name: "song", identity: .surrogate, columns: ["title", "price", "artist", "cover"],
            shapes: [[0, 1, 2, 3], [1], []],
            operations: [
                ObjectOperation(object: song(1), kind: .insert, time: start, key: .integer(1), shape: 0, firstValue: 0),
                ObjectOperation(object: song(2), kind: .insert, time: start, key: .integer(2), shape: 0, firstValue: 4),
                ObjectOperation(object: song(2), kind: .update, time: start.next, shape: 1, firstValue: 8),
                ObjectOperation(object: song(3), kind: .delete, time: .zero, shape: 2, firstValue: 9),
            ],
            values: [
                .text("Naïve\u{0}song"), .real(12.5), .reference(song(9)), .blob([0, 255, 1]),
                .text([0xff, 0xfe, 0x00]), .real(-0.0), .null, .integer(.min), .real(.nan),
            ])
        let tags = TableChanges(
            name: "tag", identity: .key(["id", "label"]), columns: ["id", "label"], shapes: [[0, 1]],
            operations: [ObjectOperation(object: key, kind: .insert, time: start, shape: 0, firstValue: 0)],
            values: [.blob(key.bytes[...]), .text(key.description)])
        let empty = TableChanges(name: "kind", identity: .declared(["name"]), columns: [], shapes: [[]])
        return [
            Changeset(
                device: device, sequence: 7, time: start.next,
                context: VersionVector([
                    otherDevice: LogPosition(sequence: 3, time: start),
                    DeviceID(high: 5, low: 5): LogPosition(sequence: 1, time: .zero),
                ]), schema: schema, tables: [songs, tags]),
            Changeset(
                device: device, sequence: 8, time: HybridTime(rawValue: start.rawValue + 99),
                context: VersionVector([otherDevice: LogPosition(sequence: 4, time: start)]), tables: [empty]),
        ]
    }

    /// A changeset with columns that carry payloads, plain values beside them, and the same column both ways.
    static func payloads() -> [Changeset] {
        func song(_ suffix: UInt64) -> ObjectID {
            ObjectID(high: 0x018b_cfe5_6800_1234, low: 0x5678_9abc << 32 | suffix)
        }
        let songs = TableChanges(
            name: "song", identity: .surrogate, columns: ["title", "plays", "tags", "plays", "rank"],
            payloads: [nil, nil, .set, .counter, .maximum], shapes: [[0, 1, 2, 4], [3], [2, 3]],
            operations: [
                ObjectOperation(object: song(1), kind: .insert, time: start, key: .integer(1), shape: 0, firstValue: 0),
                ObjectOperation(object: song(1), kind: .update, time: start.next, shape: 1, firstValue: 4),
                ObjectOperation(object: song(2), kind: .update, time: start, shape: 2, firstValue: 5),
            ],
            values: [
                .text("Song"), .integer(0), .blob([1, 2]), .blob([]), .blob([9]), .blob([0, 0]),
                .blob(song(2).bytes[...]),
            ])
        let plain = TableChanges(
            name: "album", identity: .key(["id"]), columns: ["id"], shapes: [[0]],
            operations: [ObjectOperation(object: song(7), kind: .insert, time: start, shape: 0, firstValue: 0)],
            values: [.integer(7)])
        return [
            Changeset(
                device: device, sequence: 1, time: start.next, context: VersionVector([:]), tables: [songs, plain])
        ]
    }

    static func random(seed: UInt64) -> [Changeset] {
        var generator = Chance(seed: seed)
        var time = start
        var context: [DeviceID: LogPosition] = [:]
        let prefixes: [ObjectID] = (0..<4).map { _ in generator.id() }
        let first = UInt64(1 + generator.below(1000))
        return (0..<UInt64(1 + generator.below(6))).map { offset in
            time = HybridTime(rawValue: time.rawValue + UInt64(generator.below(1 << 20)))
            if generator.below(2) == 0 {
                context[generator.id()] = LogPosition(sequence: UInt64(generator.below(99) + 1), time: time)
            }
            let tables = (0..<generator.below(4)).map { _ in
                table(&generator, latest: time, prefixes: prefixes)
            }
            return Changeset(
                device: device, sequence: first + offset, time: time, context: VersionVector(context),
                schema: generator.below(4) == 0 ? schema : nil, tables: tables)
        }
    }

    private static func table(
        _ generator: inout Chance, latest: HybridTime, prefixes: [ObjectID]
    ) -> TableChanges {
        let columns = (0..<(1 + generator.below(generator.below(5) == 0 ? 90 : 9))).map { "column \($0)" }
        let shapes =
            [[]]
            + (0..<(1 + generator.below(4))).map { _ in
                columns.indices.filter { _ in generator.below(3) > 0 }
            }
        func object(_ generator: inout Chance) -> ObjectID {
            if generator.below(3) == 0 { return generator.id() }
            let prefix = prefixes[generator.below(prefixes.count)]
            return ObjectID(high: prefix.high, low: (prefix.low >> 32) << 32 | UInt64(generator.below(1000)))
        }
        let carries = generator.below(3) == 0
        let payloads = columns.map { _ in
            carries && generator.below(3) == 0 ? PayloadKind(rawValue: UInt8(1 + generator.below(5))) : nil
        }
        var operations: [ObjectOperation] = []
        for _ in 0..<generator.below(60) {
            let kind = ObjectOperation.Kind(rawValue: UInt8(1 + generator.below(3))) ?? .insert
            let time = HybridTime(rawValue: latest.rawValue - UInt64(generator.below(1 << 30)))
            let operation = ObjectOperation(object: object(&generator), kind: kind, time: time, shape: 0, firstValue: 0)
            operations.append(operation)
        }
        operations.sort { $0.object != $1.object ? $0.object < $1.object : $0.time < $1.time }
        var values: [FieldValue] = []
        for index in operations.indices {
            let id = operations[index].object
            operations[index].shape = operations[index].kind == .delete ? 0 : generator.below(shapes.count)
            operations[index].firstValue = values.count
            if operations[index].kind == .insert, generator.below(2) == 0 {
                operations[index].key = value(&generator, of: id, reference: object(&generator))
            }
            for column in shapes[operations[index].shape] {
                let plain = value(&generator, of: id, reference: object(&generator))
                values.append(payloads[column] == nil ? plain : .blob(generator.bytes(generator.below(30))))
            }
        }
        return TableChanges(
            name: "table \(generator.below(5))", identity: generator.below(2) == 0 ? .surrogate : .key(["column 0"]),
            columns: columns, payloads: carries ? payloads : [], shapes: shapes, operations: operations, values: values)
    }

    private static func value(
        _ generator: inout Chance, of object: ObjectID, reference: ObjectID
    ) -> FieldValue {
        switch generator.below(14) {
        case 0: .null
        case 1: .integer(Int64(bitPattern: generator.next()))
        case 2: .integer([.min, .max, 0, -1, 1][generator.below(5)])
        case 3: .integer(Int64(generator.below(100)))
        case 4: .real(Double(bitPattern: generator.next()))
        case 5: .real([.nan, -.nan, .infinity, -0.0, 0.0, .leastNonzeroMagnitude, 12.99][generator.below(7)])
        case 6: .real(Double(generator.below(10000)) / 100)
        case 7: .text(generator.bytes(generator.below(40)))
        case 8: .text(["", "one", "two\u{0}"][generator.below(3)])
        case 9: .blob(generator.bytes(generator.below(40)))
        case 10: .blob(object.bytes[...])
        case 11: .text(object.description)
        case 12: .text(object.description.uppercased())
        default: .reference(reference)
        }
    }
}
