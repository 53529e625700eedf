import FerryCore
import FerrySQL
import FerrySchema
import FerryTestSupport
import GRDB
import GRDBSQLite
import XCTest

@testable import FerryLog
@testable import FerryReferenceModel
@testable import FerryStore

/// A schema under test, and what the oracle cannot read from its PRAGMAs.
struct TestSchema: Sendable {
    var name: String
    var sql: String
    var declared: [String: [String]] = [:]
    var references: [UndeclaredReference] = []
    /// Tables that stay on each device.
    var staying: [String] = []
}

/// A device in memory: a tracked store and the log that it publishes, without files or a container.
final class TestDevice {
    static let container = ContainerID(high: 1, low: 1)

    let id: DeviceID
    let queue: DatabaseQueue
    let store: Store
    let clock: SetClock
    let schema: TestSchema
    /// What it has packed.
    private(set) var log: [Changeset] = []
    /// How many changesets of each device it has replayed, and which.
    private(set) var replayed: [Changeset] = []
    private var positions: [DeviceID: Int] = [:]
    /// Whether it has forgotten deleted objects.
    private(set) var hasCollected = false
    /// Whether rows were deleted here unseen, which loses their values.
    var hasDeletedUnseen = false
    /// What its heads have told: after each pass, what it had replayed, its own log included.
    private(set) var heads: [VersionVector] = []
    /// Whether changesets go through the segment format.
    var encodes = false

    /// Two devices with the same number are the same device.
    init(
        _ number: Int, _ schema: TestSchema, hoursAhead: Int64 = 0, rows: String = "",
        plainReferences: [PlainReferenceName] = []
    ) throws {
        id = DeviceID(high: 0xd, low: UInt64(number))
        self.schema = schema
        clock = SetClock(now: 1_700_000_000_000 + hoursAhead * 3_600_000)
        queue = try DatabaseQueue()
        // GRDB's authorizer, which only its observations need, takes a third of the time of such small databases.
        queue.inDatabase { _ = sqlite3_set_authorizer($0.sqliteConnection, nil, nil) }
        store = Store(owning: queue, clock: clock, random: SeededRandom(seed: UInt64(number) &+ 77))
        // Few rows come at once, and devices write them in different ways: most by one, two or three with a statement.
        store.newRowsAtOnce.withLock { $0 = number % 4 == 0 ? StoreLimits.rowsAtOnce : number % 4 }
        // And the rules are given them in parts, by every other one.
        store.seedsAtOnce.withLock { $0 = number % 2 == 0 ? StoreLimits.seedsAtOnce : 1 + number % 3 }
        // The third device of a story holds its texts in another way than the others.
        if number % 5 == 3 { try run("PRAGMA encoding = 'UTF-16le'") }
        try run(schema.sql + rows)
        _ = try store.beginTracking(
            StoreIdentity(
                device: id, deviceName: "device\(number)", container: Self.container, containerName: "",
                containerPath: "/container"),
            TableSelection(
                except: schema.staying, declaredIdentities: schema.declared, references: schema.references,
                plainReferences: plainReferences))
    }

    /// Runs SQL as an app does.
    func run(_ sql: String, foreignKeys: Bool = true) throws {
        try queue.writeWithoutTransaction { database in
            let handle = database.sqliteConnection
            if !foreignKeys { sqlite3_exec(handle, "PRAGMA foreign_keys = OFF", nil, nil, nil) }
            defer { if !foreignKeys { sqlite3_exec(handle, "PRAGMA foreign_keys = ON", nil, nil, nil) } }
            var text: UnsafeMutablePointer<CChar>?
            let code = sqlite3_exec(handle, sql, nil, nil, &text)
            let message = text.map { String(cString: $0) } ?? ""
            sqlite3_free(text)
            if code != SQLITE_OK {
                if sqlite3_get_autocommit(handle) == 0 { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
                throw FerryError(.database, "\(message): \(sql)")
            }
        }
    }

    /// The rows of a query, values as SQL literals joined by `|`.
    func query(_ sql: String) throws -> [String] {
        try rows(sql).map { row in row.map(\.text).joined(separator: "|") }
    }

    func rows(_ sql: String) throws -> [[FieldValue]] { try store.read { try $0.rows(sql) } }

    /// Packs what is pending.
    @discardableResult
    func flush() throws -> PassOutcome { try pass([]) }

    /// Packs, then replays changesets.
    @discardableResult
    func pass(_ incoming: [Changeset]) throws -> PassOutcome {
        let outcome = try keepingLogOnFailure { try store.pass(replaying: incoming, encode: encode) }
        for changeset in incoming
        where outcome.refused[changeset.device]?.sequence.map({ changeset.sequence < $0 }) ?? true {
            replayed.append(changeset)
            positions[changeset.device] = Int(changeset.sequence)
        }
        heads.append(try store.statePosition().vector)
        return outcome
    }

    /// Takes down that changesets are replayed, by way of a snapshot.
    /// - Parameter hasCollected: whether its author had forgotten deleted objects.
    func noteReplayed(_ changesets: [Changeset], hasCollected others: Bool) throws {
        hasCollected = hasCollected || others
        for changeset in changesets where changeset.device != id {
            if Int(changeset.sequence) <= positions[changeset.device] ?? 0 { continue }
            replayed.append(changeset)
        }
        for changeset in changesets where changeset.device != id {
            positions[changeset.device] = max(positions[changeset.device] ?? 0, Int(changeset.sequence))
        }
        heads.append(try store.statePosition().vector)
    }

    /// Forgets what every device has seen deleted, as far as the heads tell that it has replayed.
    /// - Parameter others: the active devices beside it.
    @discardableResult
    func collectTombstones(_ others: [TestDevice]) throws -> Int {
        let own = try store.statePosition().vector
        var stable = own
        for other in others where other.id != id {
            let seen = own[other.id].sequence
            let head = other.heads.last { $0[other.id].sequence <= seen } ?? VersionVector()
            var least: [DeviceID: LogPosition] = [:]
            for (device, position) in stable.positions {
                let told = head[device]
                least[device] = LogPosition(
                    sequence: min(position.sequence, told.sequence), time: min(position.time, told.time))
            }
            stable = VersionVector(least)
        }
        let collected = try store.collectTombstones(stable: stable)
        if collected > 0 { hasCollected = true }
        return collected
    }

    /// Brings back what a conflict lost.
    func restoreConflict(_ number: Int64) throws -> RestoredRow {
        try keepingLogOnFailure { try store.restoreConflict(number, encode: encode) }
    }

    /// Makes an object's row what it is to be.
    func restoreRow(_ object: ObjectID, table: String, to target: RowTarget) throws -> RestoredRow {
        try keepingLogOnFailure { try store.restoreRow(object, table: table, to: target, encode: encode) }
    }

    private func keepingLogOnFailure<Result>(_ body: () throws -> Result) throws -> Result {
        let logBefore = log
        do {
            return try body()
        } catch {
            log = logBefore
            throw error
        }
    }

    /// The objects of a table that are deleted or hidden, and their values as they travel.
    func rowsWithoutPlace(_ table: String) throws -> [(object: ObjectID, values: [String: FieldValue])] {
        try store.readAccess { access in
            guard let table = access.registry.table(named: table) else { return [] }
            let rows = try access.connection.rows(
                "SELECT object FROM \(table.objectTable) WHERE \(Visibility.way) IN (0, 3) ORDER BY object"
            )
            return try rows.compactMap { row in
                guard case .blob(let bytes) = row[0], let object = ObjectID(bytes: bytes) else { return nil }
                let state = try access.objects(of: table.id).load(object)
                if state.registers.inserted == nil { return nil }
                let values = state.kept.fields.map { (table.columns[$0.key].name, $0.value) }
                return (object, Dictionary(uniqueKeysWithValues: values))
            }
        }
    }

    /// Publishes a changeset: takes it into the log.
    func encode(_ changeset: Changeset, _ previous: Checksum?, _: PartSink) throws -> OutboxEntry {
        // A repeated pass encodes again.
        log.removeAll { $0.sequence >= changeset.sequence }
        var made = changeset
        var checksum = Checksum(high: UInt64(log.count), low: id.low)
        if encodes {
            let segment = try SegmentEncoder.encode([changeset], container: Self.container, previous: previous)
            // So few that those of most changesets are read when they are asked for.
            let decoded = try SegmentDecoder.decode(
                segment.bytes, container: Self.container, device: id, valuesAtOnce: 4)
            made = try XCTUnwrap(decoded.1.first)
            checksum = segment.checksum
        }
        log.append(made)
        return OutboxEntry(
            first: changeset.sequence, last: changeset.sequence, changes: changeset.operationCount,
            checksum: checksum, bytes: [])
    }

    /// What another device has published and this one has not replayed, at most `limit` of it.
    func news(from other: TestDevice, limit: Int = .max) -> [Changeset] {
        let start = positions[other.id] ?? 0
        return Array(other.log[min(start, other.log.count)...].prefix(limit))
    }

    /// Replays all that others have published.
    @discardableResult
    func receive(_ others: TestDevice...) throws -> PassOutcome {
        try pass(others.filter { $0.id != id }.flatMap { news(from: $0) })
    }

    /// Whether it has replayed all that the authors of what it has replayed knew.
    func isCausallyWhole() throws -> Bool {
        let own = try store.statePosition().vector
        return replayed.allSatisfy { changeset in
            changeset.context.positions.allSatisfy { $0.value.sequence <= own[$0.key].sequence }
        }
    }

    /// The objects that it lacks, as it lists them in its head where another device differs.
    func missingObjects() throws -> Set<ObjectID> {
        try store.recordUpdatedObjects(isContradicted: true, atMost: .max)
        return Set(try store.missingObjects(atMost: .max))
    }

    /// Whether a table without rows had some when Ferry last looked.
    func hasEmptied(_ tables: [String]) throws -> Bool {
        try tables.contains { table in
            let known = try query("SELECT number FROM ferry_table WHERE name = '\(table)'")
            guard let number = known.first, try query("SELECT 1 FROM \(quoted(table)) LIMIT 1").isEmpty else {
                return false
            }
            return try !query("SELECT 1 FROM ferry_object_\(number) WHERE shown & 7 IN (1, 2) LIMIT 1").isEmpty
        }
    }

    /// Publishes again what other devices lack, or may have forgotten.
    /// - Parameter counting: devices that have begun to count this one.
    func republish(for others: [TestDevice] = [], counting: Set<DeviceID> = []) throws {
        let requests = try others.filter { $0.id != id }.map { device in
            MissingRequest(
                objects: try device.missingObjects().sorted(), known: try device.store.statePosition().vector)
        }
        _ = try store.republishRows(isLast: true, counting: counting, requests: requests, encode: encode)
    }

    /// All changesets that its state is made of.
    var history: [Changeset] { log + replayed }
}

extension TestDevice {
    /// The tables' rows by object, references in place of local integers; nil in place of problems, which are told.
    /// - Parameter expected: decides what a foreign key's value means where both meanings are one integer here: the key of a row, and
    ///   the plain value in the key of the foreign key's target.
    func shownRows(
        _ schema: OracleSchema, expected: [String: [ObjectID: [String: FieldValue]]] = [:]
    ) throws -> [String: [ObjectID: [String: FieldValue]]] {
        try store.readAccess { access in
            var objects: [String: [[FieldValue]: ObjectID]] = [:]
            // Keys of objects without rows, to which rows refer all the same.
            var reserved: [String: [FieldValue: ObjectID]] = [:]
            for table in schema.tables {
                guard let tracked = access.registry.table(named: table.name) else { continue }
                let slots = table.key.indices.map { "k\($0)" }.joined(separator: ", ")
                let states = try access.connection.rows(
                    "SELECT object, \(Visibility.way), \(slots) FROM \(tracked.objectTable)")
                for row in states {
                    guard case .blob(let bytes) = row[0], let object = ObjectID(bytes: bytes) else { continue }
                    guard case .integer(1...2) = row[1] else {
                        if table.isMapped, row[2] != .null { reserved[table.name, default: [:]][row[2]] = object }
                        continue
                    }
                    var key = Array(row[2...])
                    if key.count == 1, key[0] == .null { key = [.blob(bytes)] }
                    if objects[table.name]?[key] != nil {
                        throw FerryError(.database, "\(table.name): two objects have the key \(key.map(\.text))")
                    }
                    objects[table.name, default: [:]][key] = object
                }
            }
            var result: [String: [ObjectID: [String: FieldValue]]] = [:]
            for table in schema.tables {
                let names = table.columns.map { quoted($0.name) }.joined(separator: ", ")
                var found: [ObjectID: [String: FieldValue]] = [:]
                for row in try access.connection.rows("SELECT \(names) FROM \(quoted(table.name))") {
                    let values = Dictionary(uniqueKeysWithValues: zip(table.columns.map(\.name), row))
                    let key = table.key.map { values[table.columns[$0].name] ?? .null }
                    guard let object = objects[table.name]?[key] else {
                        throw FerryError(.database, "\(table.name): the row \(key.map(\.text)) belongs to no object")
                    }
                    var travelling: [String: FieldValue] = [:]
                    for (place, column) in table.columns.enumerated() where place != table.mappedKey {
                        var value = values[column.name] ?? .null
                        if let parent = column.reference, value != .null {
                            let name = schema.tables[parent].name
                            let plain = try plainValue(of: column.name, object, table.name, showing: value, access)
                            value = (objects[name]?[[value]] ?? reserved[name]?[value]).map { .reference($0) } ?? value
                            if let plain { value = plain }
                            if let written = values[column.name],
                                written == expected[table.name]?[object]?[column.name],
                                try mayShowAnother(column.name, object, table.name, access)
                            {
                                value = written
                            }
                        }
                        travelling[column.name] = value
                    }
                    found[object] = travelling
                }
                result[table.name] = found
            }
            return result
        }
    }

    /// The value of a reference that the store keeps beside the row because the row's would be taken for another.
    private func plainValue(
        of column: String, _ object: ObjectID, _ table: String, showing shown: FieldValue, _ access: StoreAccess
    ) throws -> FieldValue? {
        guard let table = access.registry.table(named: table), let column = table.columnID(column),
            table.columns[column].isUnchecked
        else { return nil }
        // Where objects are joined, the value is that of the one that was given it last.
        let states = access.objects(of: table.id)
        let isOwn = table.keyColumnIDs.contains(column)
        let members = try ([object] + (isOwn ? [] : access.unified.members(of: object, table.id))).map(states.load)
        let source = members.max { left, right in
            let (a, b) = (left.registers.stamp(of: column), right.registers.stamp(of: column))
            if a != b { return a == nil || b != nil && a! < b! }
            guard let x = left.registers.inserted, let y = right.registers.inserted else { return false }
            return (x, left.object) > (y, right.object)
        }
        let kept = source?.kept.fields[column]
        return kept == shown ? kept : nil
    }

    /// True if a row may show another value of a column than the object's own.
    private func mayShowAnother(
        _ column: String, _ object: ObjectID, _ table: String, _ access: StoreAccess
    ) throws -> Bool {
        guard let table = access.registry.table(named: table), let column = table.columnID(column) else { return false }
        return try table.foreignKeys.contains { $0.columns.count > 1 && $0.columns.contains(column) }
            || access.objects(of: table.id).load(object).kept.fields[column] != nil
    }

    /// Which objects other objects' rows show, by the store's list and by the objects' own marks.
    func joined(_ schema: OracleSchema) throws -> [String: [ObjectID: ObjectID]] {
        try store.readAccess { access in
            var result: [String: [ObjectID: ObjectID]] = [:]
            for table in schema.tables {
                guard let tracked = access.registry.table(named: table.name) else { continue }
                let rows = try access.connection.rows(
                    """
                    SELECT o.object, j.representative FROM \(tracked.objectTable) o
                    LEFT JOIN ferry_joined j ON j."table" = \(tracked.id) AND j.object = o.object AND NOT j.alias
                    WHERE \(Visibility.way(in: "o.")) = \(Visibility.joined.rawValue) OR j.object IS NOT NULL
                    """)
                for row in rows {
                    guard case .blob(let bytes) = row[0], let id = ObjectID(bytes: bytes) else { continue }
                    guard case .blob(let other) = row[1], let representative = ObjectID(bytes: other) else {
                        throw FerryError(.database, "\(table.name): \(id) is joined to nobody")
                    }
                    result[table.name.lowercased(), default: [:]][id] = representative
                }
            }
            return result
        }
    }

    /// The registers of all objects as the store holds them, with their values.
    func registers(_ schema: OracleSchema) throws -> [String: [ObjectID: ModelObject]] {
        try store.readAccess { access in
            var result: [String: [ObjectID: ModelObject]] = [:]
            for table in schema.tables {
                guard let tracked = access.registry.table(named: table.name) else { continue }
                let states = access.objects(of: tracked.id)
                var found: [ObjectID: ModelObject] = [:]
                for row in try access.connection.rows("SELECT object FROM \(tracked.objectTable)") {
                    guard case .blob(let bytes) = row[0], let id = ObjectID(bytes: bytes) else { continue }
                    let state = try states.load(id)
                    if state.registers.newest == nil { continue }
                    var object = ModelObject(table: table.name, id: id)
                    object.inserted = state.registers.inserted
                    object.deleted = state.registers.deleted
                    var shown: ColumnValues = [:]
                    if state.shown.hasRow {
                        let row = try RowReader(tracked, access.connection).read(state.key) ?? [:]
                        shown = try ReferenceTranslator(access).values(row, tracked)
                    }
                    for (column, stamp) in state.registers.fields.enumerated() {
                        guard let stamp else { continue }
                        let value = state.kept.fields[column] ?? shown[column]
                        object.fields[tracked.columns[column].name] = .init(stamp: stamp, value: value)
                    }
                    found[id] = object
                }
                result[table.name] = found
            }
            return result
        }
    }
}
