import FerryContainer
import FerryCore
import FerrySchema
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// Two honest devices beside one that says what its grammar allows and no Ferry says (`ForgedGrammar`).
///
/// Whatever it says, no process traps, the two stay in step, their rows are what the state says, and what they write arrives.
final class ForgedGrammarTests: XCTestCase {
    func testWhateverALogSaysHonestDevicesStayInStep() throws {
        try forEachSeed { world in
            for _ in 0..<1 + world.grammar.chance.below(3) {
                let (tables, time, context, schema) = world.grammar.changeset()
                try world.evil.publish(tables, at: time, context: context, schema: schema)
                if world.grammar.chance.oneIn(2) { try world.turn() }
            }
        }
    }

    func testWhateverAHeadSaysHonestDevicesStayInStep() throws {
        try forEachSeed { world in
            try world.evil.publish([])
            let devices = world.devices + [DeviceID(high: 0xe, low: 0xe), DeviceID(high: 1, low: 1)]
            for _ in 0..<2 {
                try world.evil.writeHead { head in
                    let chance = { (count: Int) in world.grammar.chance.oneIn(count) }
                    let huge = (UInt64(1) << 48) - 1
                    if chance(2) { head.position.sequence = huge }
                    if chance(3) { head.position.time = world.grammar.time() }
                    if chance(3) { head.logStart = chance(2) ? 3 : huge }
                    for device in devices where chance(2) {
                        head.acknowledgements[device] = LogPosition(
                            sequence: chance(2) ? huge : 2, time: world.grammar.time())
                    }
                    for device in devices where chance(4) { head.retired[device] = chance(2) ? .max : 1 }
                    if chance(2) {
                        head.predecessor = Head.Predecessor(
                            device: world.grammar.chance.pick(devices), sequence: chance(2) ? huge : 0,
                            end: chance(2) ? LogEnd(sequence: huge, checksum: Checksum(high: 1, low: 2)) : nil)
                    }
                    for covered in UInt32(0)..<8 where chance(2) { head.digests[covered] = chance(2) ? 0 : .max }
                    if chance(2) { head.missing = world.grammar.objects.values.flatMap { $0 }.sorted() }
                    head.writtenMilliseconds = chance(3) ? .max : chance(3) ? .min : head.writtenMilliseconds
                    head.deviceName = chance(3) ? "" : "evil\u{1b}[2J\n"
                }
                try world.turn()
            }
        }
    }

    func testWhateverASnapshotSaysThoseWhoAreThereStayInStep() throws {
        try forEachSeed { world in
            try world.evil.publish([])
            let chunks = (0..<1 + world.grammar.chance.below(3)).map { _ in world.grammar.chunk() }
            var names: Set<String> = []
            let schema =
                world.grammar.chance.oneIn(2)
                ? StampedSchema(
                    record: world.grammar.record(), stamp: Stamp(time: world.grammar.time(), device: world.evil.id))
                : nil
            try world.evil.publishSnapshot(
                chunks.filter { names.insert($0.table).inserted }, positions: world.grammar.positions(), schema: schema)
        }
    }

    // MARK: The world

    private final class World {
        let fleet: Fleet
        let evil: ForgedDevice
        var grammar: ForgedGrammar
        let devices: [DeviceID]
        private var writes = 0

        init(seed: UInt64) throws {
            fleet = try Fleet()
            try fleet.start(
                ForgedGrammar.schema, selection: TableSelection(declaredIdentities: ["note": ["code"]]))
            try fleet.join()
            for replica in fleet.replicas { _ = try replica.sync() }
            devices = fleet.replicas.map(\.identity.device)
            evil = try ForgedDevice(fleet.containerPath)
            grammar = ForgedGrammar(
                chance: Choices(seed: seed), devices: devices, objects: try Self.objects(fleet.replicas[0].store),
                now: ForgedDevice.now)
        }

        private static func objects(_ store: Store) throws -> [String: [ObjectID]] {
            try store.read { connection in
                var objects: [String: [ObjectID]] = [:]
                for row in try connection.rows("SELECT number, name FROM ferry_table ORDER BY number") {
                    guard case .integer(let number) = row[0], case .text(let name) = row[1] else { continue }
                    objects[String(decoding: name, as: UTF8.self)] = try connection.rows(
                        "SELECT object FROM ferry_object_\(number) ORDER BY 1"
                    ).compactMap { if case .blob(let bytes) = $0[0] { ObjectID(bytes: bytes) } else { nil } }
                }
                return objects
            }
        }

        /// Both honest devices write, and sync.
        func turn() throws {
            for (index, replica) in fleet.replicas.enumerated() {
                writes += 1
                let name = "honest \(index) \(writes)"
                try replica.store.write { connection in
                    try connection.execute("INSERT INTO setting VALUES ('\(name)', \(index))")
                    try connection.execute("UPDATE artist SET plays = coalesce(plays, 0) + 1 WHERE id = 1")
                    // The forged device uses these keys, too.
                    for word in ["Ann", "Sea", "volume", "[1,2]", ""] where grammar.chance.oneIn(3) {
                        try connection.execute("INSERT OR REPLACE INTO setting VALUES ('\(word)', \(writes))")
                        try connection.execute(
                            "INSERT OR IGNORE INTO \"my tag\" SELECT id, '\(word)', \(writes) FROM song LIMIT 1")
                    }
                    if grammar.chance.oneIn(4) {
                        try connection.execute("DELETE FROM setting WHERE name IN ('Sea', '')")
                    }
                }
                _ = try replica.sync()
            }
        }

        func check(_ seed: UInt64) throws {
            for _ in 0..<2 { try turn() }
            for _ in 0..<4 { for replica in fleet.replicas { _ = try replica.sync() } }
            for replica in fleet.replicas {
                let report = try replica.sync()
                XCTAssertFalse(report.hasNews, "seed \(seed): the devices do not come to rest")
                XCTAssertTrue(
                    report.waiting.allSatisfy {
                        ["", "evil"].contains($0.device) || $0.device.hasPrefix("evil")
                            || $0.device == evil.id.description
                    },
                    "seed \(seed): \(report.waiting)")
                let other = try XCTUnwrap(
                    try replica.status().devices.first {
                        $0.id != evil.id.description && devices.map(\.description).contains($0.id)
                    })
                XCTAssertEqual(other.standing, .inStep, "seed \(seed): \(other)")
                XCTAssertNil(other.problem, "seed \(seed)")
                let count = try replica.store.read {
                    try $0.count("SELECT count(*) FROM setting WHERE name LIKE 'honest %'")
                }
                XCTAssertEqual(count, writes, "seed \(seed)")
                let verification = try replica.verify(deep: true)
                // A row with the ID of another key is shown where the key refers to other rows, and the verification tells of it.
                let differences = verification.differences.filter { $0.kind != .identity || $0.table != "my tag" }
                XCTAssertEqual(differences.count, 0, "seed \(seed): \(differences)")
                XCTAssertEqual(verification.integrity, [], "seed \(seed)")
                XCTAssertEqual(verification.foreignKeys.count, 0, "seed \(seed)")
                _ = try replica.examine()
            }
        }
    }

    private func forEachSeed(_ body: (World) throws -> Void) throws {
        let seeds = Seeds(defaultCount: 12)
        for seed in seeds.all {
            do {
                let world = try World(seed: seed)
                try body(world)
                try world.check(seed)
            } catch {
                XCTFail("seed \(seed): \(error)")
            }
            if seeds.count > 50, seed % 50 == 0 { print("seed \(seed)") }
        }
    }
}
