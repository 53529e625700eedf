import FerryCore
import FerrySQL
import FerrySchema
import FerryTestSupport
import GRDB
import GRDBSQLite

@testable import FerryReferenceModel
@testable import FerryStore

/// A random history of several devices, which its seed alone determines.
struct RandomHistory {
    let seed: UInt64
    let schema: TestSchema
    private var chance: Chance
    private var statements: RandomStatements
    private let oracle: Oracle
    /// Checks one pass in so many; 1 to find the pass at which a failure began.
    private let checkInterval: Int
    private var passes = 0
    /// Whether conflicts are restored and resolved now and then, and hooks write in replays.
    private let restores: Bool
    /// Whether devices read each other's snapshots now and then, besides their logs.
    private let snapshots: Bool
    /// Whether devices have tables that stay, whose rows refer to ones that travel.
    private var staying: LocalTablesModel?
    /// Whether some devices' apps do not enforce foreign keys.
    private let isLoose: Bool
    /// Whether devices forget what all have seen deleted, now and then.
    private let collects: Bool
    /// Tables under `deleteWins`, in lower case.
    private let deletionWins: Set<String>
    /// Decides what concerns that, so that other histories are what they were.
    private var collectChance: Chance
    /// Whether devices make tables anew now and then, and write to them before Ferry looks.
    private let rebuilds: Bool
    private let deletesUnseen: Bool
    /// Whether a table lost all its rows unseen. They count as left behind with their table, which the oracle does not know.
    private var isOver = false
    var rebuildChance: Chance
    /// Devices on which tables were made anew since their last pass.
    private var unseenDevices: Set<UInt64> = []
    private(set) var devices: [TestDevice] = []
    /// The kinds of exceptions and conflicts that were met, and how often.
    private(set) var met: [String: Int] = [:]
    /// What was done, for a person who looks into a failure.
    private(set) var story: [String] = [] {
        didSet { while times.count < story.count { times.append(devices.map(\.clock.now)) } }
    }
    /// What the devices' clocks showed at each line of the story.
    private(set) var times: [[Int64]] = []

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// The names of the tables.
    var tables: [String] { oracle.schema.tables.map(\.name) }

    /// Takes down what was done.
    mutating func note(_ text: String) { story.append(text) }

    /// - Parameters:
    ///   - oracles: one of them is chosen; empty: the schema is made of the seed too.
    ///   - restores: whether conflicts are restored now and then, and hooks write in replays.
    ///   - staying: whether devices have tables that stay, whose rows refer to ones that travel.
    ///   - loose: whether the apps of every second device do not enforce foreign keys.
    init(
        seed: UInt64, oracles: [Oracle], checkInterval: Int = 4, restores: Bool = false, snapshots: Bool = false,
        staying: Bool = false, rebuilds: Bool = false, loose: Bool = false
    ) throws {
        self.seed = seed
        self.rebuilds = rebuilds
        rebuildChance = Chance(seed: seed &+ 0x9000)
        let deletesUnseen = rebuildChance.oneIn(2)
        self.deletesUnseen = rebuilds && deletesUnseen
        self.snapshots = snapshots
        isLoose = loose
        self.checkInterval = checkInterval
        self.restores = restores
        collectChance = Chance(seed: seed &+ 0x7000)
        collects = !collectChance.oneIn(3)
        var chance = Chance(seed: seed)
        var oracle = oracles.isEmpty ? try Oracle(RandomSchema.schema(seed: seed)) : chance.pick(oracles)
        schema = oracle.schema.test
        var deleteWins: String?
        if collects, collectChance.oneIn(4) { deleteWins = collectChance.pick(oracle.schema.tables).name }
        if let deleteWins {
            oracle = try Oracle(schema, policies: ModelPolicies(deleteWins: [deleteWins.lowercased()]))
        }
        self.oracle = oracle
        if staying { self.staying = LocalTablesModel(schema: oracle.schema, seed: seed) }
        statements = RandomStatements(schema: oracle.schema, chance: Chance(seed: seed &+ 1), level: chance.below(3))
        let count = 2 + chance.below(oracles.isEmpty ? 4 : 3)
        let isClockOff = chance.oneIn(2)
        var pathChance = Chance(seed: seed &+ 0xb000)
        for number in 1...count {
            let device = try TestDevice(number, schema, hoursAhead: isClockOff ? Int64(chance.below(3)) : 0)
            device.clock.captureStep = Int64(chance.below(2))
            device.encodes = chance.oneIn(3)
            // Every other history takes some of the fast paths, each device others.
            if pathChance.oneIn(2) { device.store.fastPaths = FastPaths(rawValue: UInt16(pathChance.below(512))) }
            try self.staying?.makeTables(on: device)
            if let deleteWins {
                try device.store.setPolicies([PolicySetting(.table(deleteWins), PolicyWord.deleteWins)])
                try device.flush()
            }
            devices.append(device)
        }
        deletionWins = Set(deleteWins.map { [$0.lowercased()] } ?? [])
        if let deleteWins { story.append("all: deleteWins \(deleteWins)") }
        self.chance = chance
    }

    /// Plays the history and checks every device after every pass, and new devices at the end.
    mutating func play() throws {
        let rounds = collects ? 1 + collectChance.below(3) : 1
        for _ in 0..<rounds {
            // Long histories of undeclared references still find faults that have nothing to do with this.
            let steps = (6 + chance.below(14)) / (schema.references.isEmpty ? 1 : rounds)
            for _ in 0..<steps {
                try step()
                if isOver { return }
            }
            if collects { try collectEverywhere() }
        }
        for device in devices {
            // What hooks write in the end would be news to the others.
            device.store.willCommitReplay = nil
            try pass(device, [])
        }
        // A replay may write deletions again, which is news to the others.
        repeat {
            for device in devices {
                try pass(device, allNews(for: device))
                try check(device)
            }
            if !haveNews, rebuilds {
                for device in devices { try device.republish(for: devices) }
            }
        } while haveNews
        if rebuilds { for device in devices { try check(device, isWhole: true) } }
        for (index, batch) in [Int.max, 1 + chance.below(3)].enumerated() {
            let fresh = try TestDevice(90 + index, schema)
            try staying?.makeTables(on: fresh)
            devices.append(fresh)
            while true {
                let news = allNews(for: fresh)
                if news.isEmpty { break }
                try pass(fresh, Array(news.prefix(batch)))
            }
            try check(fresh)
        }
        if snapshots { try compareSnapshots() }
        try compareDigests()
    }

    /// A device reads another one's snapshot, all at once or in pieces, and at times not to the end.
    private mutating func readSnapshot(on device: TestDevice) throws {
        let other = chance.pick(devices.filter { $0.id != device.id })
        story.append("\(device.id.low): snapshot of \(other.id.low)")
        do {
            let snapshot = try other.takeSnapshot(pieces: 1 + chance.below(3))
            let step = chance.oneIn(2) ? Int.max : 1 + chance.below(3)
            if chance.oneIn(4) {
                try device.read(snapshot, chunksAtATime: step, limit: chance.below(4))
                if chance.oneIn(2) { try write(on: device) }
                story.append("\(device.id.low): goes on")
                met["snapshots resumed", default: 0] += 1
            }
            try device.read(snapshot, chunksAtATime: step)
            met["snapshots read", default: 0] += 1
            try check(device)
        } catch let failure as Failure {
            throw failure
        } catch {
            throw failure(device, "\(error)")
        }
    }

    /// Devices that know the same write the same chunks, and a new one that reads them knows the same.
    private mutating func compareSnapshots() throws {
        guard let first = devices.first(where: { $0.id.low < 90 }) else { return }
        let snapshot = try first.takeSnapshot()
        for device in devices.dropFirst() {
            let own = try device.takeSnapshot()
            if !isSame(own, snapshot) {
                throw failure(device, "writes another snapshot than device \(first.id.low), which knows the same")
            }
        }
        let fresh = try TestDevice(99, schema)
        try staying?.makeTables(on: fresh)
        devices.append(fresh)
        try fresh.read(first.takeSnapshot(pieces: 2), chunksAtATime: 1 + chance.below(4))
        try pass(fresh, allNews(for: fresh))
        try check(fresh)
        let own = try fresh.takeSnapshot()
        if !isSame(own, snapshot) { throw failure(fresh, "writes another snapshot than it read") }
    }

    /// Whether two snapshots have the same bytes, or where deletions were forgotten the same living objects.
    private func isSame(_ left: TestSnapshot, _ right: TestSnapshot) -> Bool {
        if !collects { return left.manifest.tables == right.manifest.tables }
        return left.living(deletionWins: deletionWins) == right.living(deletionWins: deletionWins)
    }

    private mutating func step() throws {
        let device = chance.pick(devices)
        for other in devices { other.clock.now += Int64(chance.below(3)) * 500 }
        if restores { try restore(on: device) }
        if chance.oneIn(2) {
            try write(on: device)
        } else if snapshots, chance.oneIn(2) {
            try readSnapshot(on: device)
        } else {
            try sync(device)
        }
        if collects, collectChance.oneIn(4) { try collect(on: device) }
    }

    /// All devices, or most, replay what there is, and some of them forget what all have seen deleted.
    private mutating func collectEverywhere() throws {
        for _ in 0..<2 {
            for device in devices where !collectChance.oneIn(8) { try pass(device, allNews(for: device)) }
        }
        for device in devices where collectChance.oneIn(2) { try collect(on: device) }
    }

    private mutating func collect(on device: TestDevice) throws {
        do {
            let count = try device.collectTombstones(devices)
            story.append("\(device.id.low): collect \(count)")
            met["collected", default: 0] += count
        } catch {
            throw failure(device, "\(error)")
        }
        if checkInterval == 1, try device.query("SELECT 1 FROM ferry_pending LIMIT 1").isEmpty { try check(device) }
    }

    /// Devices that have replayed the same changes have the same digests.
    private func compareDigests() throws {
        let positions = try devices.map { device in
            // A device that only listened has told of its schema, and of nothing else.
            let (vector, digests) = try device.store.statePosition()
            return (device, (vector: vector.positions.filter { $0.key.low < 90 }, digests: digests))
        }
        guard let (first, expected) = positions.first else { return }
        for (device, position) in positions.dropFirst() {
            if position.vector != expected.vector {
                throw failure(device, "has replayed something else than device \(first.id.low)")
            }
            if position.digests != expected.digests || position.digests.isEmpty {
                throw failure(device, "has other digests than device \(first.id.low), which knows the same")
            }
        }
    }

    private mutating func write(on device: TestDevice) throws {
        // What no trigger sees: no changes of keys, which the rules may have to undo with values that nobody has on this
        // device any more. Deletions in every other history.
        let level = statements.level
        defer { statements.level = level }
        var isUnseen = unseenDevices.contains(device.id.low)
        if isUnseen { statements.level = 0 }
        for _ in 0...chance.below(3) {
            if rebuilds, try rebuild(on: device) {
                met["rebuilds", default: 0] += 1
                isUnseen = true
                // Also what OR REPLACE displaced before, and Ferry has not seen yet.
                device.hasDeletedUnseen = true
                statements.level = 0
            }
            var transaction = try statements.transaction(for: device)
            if isUnseen {
                unseenDevices.insert(device.id.low)
                if deletesUnseen {
                    if rebuildChance.oneIn(2) { transaction.append(try statements.deletion(for: device)) }
                } else {
                    transaction.removeAll { $0.hasPrefix("DELETE") }
                }
            }
            // A row that refers to nothing may hold back what another device has not forgotten yet.
            let foreignKeys =
                isLoose
                ? device.id.low % 2 == 0 : statements.level < 2 || !chance.oneIn(12) || collects || staying != nil
            story.append(
                "\(device.id.low): \(transaction.joined(separator: "; "))\(foreignKeys ? "" : "  -- foreign keys off")")
            device.runTolerating(transaction, foreignKeys: foreignKeys)
            if isUnseen, try device.hasEmptied(tables) {
                isOver = true
                return
            }
        }
    }

    /// Settles some of a device's conflicts, or gives it a hook that writes what an app might.
    private mutating func restore(on device: TestDevice) throws {
        if chance.oneIn(3) {
            let written = try statements.transaction(for: device).filter { sql in
                ["INSERT", "UPDATE", "DELETE"].contains { sql.hasPrefix($0) }
            }
            device.store.willCommitReplay = { database, _ in
                for sql in written {
                    // What the schema refuses is left out, as by an app that looks first.
                    try? database.inSavepoint {
                        try database.execute(sql: sql)
                        return .commit
                    }
                }
            }
            story.append("\(device.id.low): hook \(written.joined(separator: "; "))")
        }
        for conflict in try device.store.conflicts().filter({ _ in chance.oneIn(2) }) {
            story.append("\(device.id.low): restore \(conflict)")
            if try !attempt(device, { try device.restoreConflict(conflict.number) }) {
                try device.store.resolveConflicts([conflict.number])
            }
        }
        // And rows that are deleted or hidden, with the values that they had.
        let table = chance.pick(oracle.schema.tables).name
        for (object, values) in try device.rowsWithoutPlace(table) where chance.oneIn(3) {
            story.append("\(device.id.low): restore \(table) \(object)")
            _ = try attempt(device) { try device.restoreRow(object, table: table, to: .values(values)) }
        }
    }

    /// - Returns: whether the schema allowed it.
    private mutating func attempt(_ device: TestDevice, _ restore: () throws -> RestoredRow) throws -> Bool {
        do {
            met["restored: \(try restore().action)", default: 0] += 1
            return true
        } catch let error as FerryError where error.code == .restoreRefused {
            return false
        } catch {
            throw failure(device, "\(error)")
        }
    }

    private mutating func sync(_ device: TestDevice) throws {
        var news: [[Changeset]] = []
        for other in devices where other.id != device.id && !chance.oneIn(3) {
            let limit = chance.oneIn(2) ? Int.max : 1 + chance.below(2)
            news.append(device.news(from: other, limit: limit))
        }
        try pass(device, interleaved(news))
    }

    private var haveNews: Bool {
        devices.contains { device in
            devices.contains { $0.id != device.id && !device.news(from: $0, limit: 1).isEmpty }
        }
    }

    private mutating func allNews(for device: TestDevice) -> [Changeset] {
        interleaved(devices.filter { $0.id != device.id }.map { device.news(from: $0) })
    }

    private mutating func interleaved(_ logs: [[Changeset]]) -> [Changeset] {
        var rest = logs.filter { !$0.isEmpty }
        var result: [Changeset] = []
        while !rest.isEmpty {
            let index = chance.below(rest.count)
            result.append(rest[index].removeFirst())
            if rest[index].isEmpty { rest.remove(at: index) }
        }
        return result
    }

    private mutating func pass(_ device: TestDevice, _ incoming: [Changeset]) throws {
        story.append(
            "\(device.id.low): pass \(incoming.map { "\($0.device.low)/\($0.sequence)" }.joined(separator: " "))")
        do {
            passes += 1
            let isChecked = passes % checkInterval == 0
            let before = isChecked && incoming.isEmpty ? try quietRows(device) : nil
            let written = isChecked && incoming.isEmpty ? try WrittenRow.all(on: device, oracle.schema) : []
            // With nothing to pack, keys mean what the state says they mean.
            if staying != nil, !incoming.isEmpty { try device.flush() }
            unseenDevices.remove(device.id.low)
            let stayed = incoming.isEmpty ? nil : try staying?.meanings(on: device)
            do {
                try device.pass(incoming)
            } catch let error as FerryError where error.code == .replayHookFailed {
                // It left a deferred foreign key broken.
                device.store.willCommitReplay = nil
                try device.pass(incoming)
            }
            if let complaint = try stayed.flatMap({ try staying?.complaint(about: $0, on: device) }) {
                throw failure(device, complaint)
            }
            if staying != nil, let counts = try staying?.write(on: device) { met.merge(counts, uniquingKeysWith: +) }
            // What a hook wrote is packed by the next pass.
            if restores { try device.flush() }
            // A joined row whose UNIQUE value was cleared is several rows again (Docs/Rules.md, "What a statement did, stands").
            if let before, let after = try quietRows(device), before.rows != after.rows, before.joined <= after.joined {
                let unified = try device.tablesUnifiedByGivenKeys()
                let others = { (rows: [String: [String]]) in rows.filter { !unified.contains($0.key) } }
                if others(before.rows) != others(after.rows) {
                    throw failure(device, "packing alone changed rows: \(before.rows) became \(after.rows)")
                }
            }
            for row in written {
                if let complaint = try row.complaint(on: device, oracle) { throw failure(device, complaint) }
            }
            if isChecked { try check(device) }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw failure(device, "\(error)")
        }
    }

    private mutating func check(_ device: TestDevice, isWhole: Bool = false) throws {
        let kinds = "SELECT 'kind ' || kind FROM ferry_exception UNION ALL SELECT kind FROM ferry_conflict"
        for kind in try device.query(kinds) { met[kind, default: 0] += 1 }
        var complaints: [String] = []
        do {
            // A device that has forgotten a deletion shows what refers to the row once it has the insertion that the
            // reference's author knew; one that has not may show the old row until then.
            if try !device.hasCollected || device.isCausallyWhole() {
                complaints = try oracle.complaints(about: device, isWhole: isWhole)
            }
        } catch {
            throw failure(device, "\(error)")
        }
        let report = try seed % 3 == 0 ? device.store.verifyBothWays() : device.store.verify(deep: true)
        complaints += report.differences.map { "verify: \($0.table) \($0.key) \($0.kind): \($0.problem)" }
        complaints += try device.store.miscounts()
        if !complaints.isEmpty { throw failure(device, complaints.prefix(12).joined(separator: "\n")) }
    }

    private func failure(_ device: TestDevice, _ text: String) -> Failure {
        Failure(
            description: "seed \(seed), \(schema.name), device \(device.id.low):\n\(text)\n\(schema.sql)\n"
                + story.suffix(60).joined(separator: "\n"))
    }

    /// The rows of each table as they are, where nothing but joined rows is exceptional: then packing must leave them alone.
    private func quietRows(_ device: TestDevice) throws -> (rows: [String: [String]], joined: Int)? {
        if try !device.query("SELECT 1 FROM ferry_exception WHERE kind < 6 LIMIT 1").isEmpty { return nil }
        if try !isLoose && !device.query("PRAGMA foreign_key_check").isEmpty { return nil }
        let rows = try oracle.schema.tables.map {
            ($0.name, try device.query("SELECT * FROM \(quoted($0.name)) ORDER BY 1, 2"))
        }
        return (Dictionary(uniqueKeysWithValues: rows), try device.count(of: [.joined]))
    }
}

extension TestDevice {
    /// The tables with rows that are one because a reference claims the integer of 0 or below under which its target was inserted,
    /// and the tables whose rows refer to these. The target may have another integer here: then statements can write both rows, and
    /// packing unifies them (Docs/Rules.md, "Integers of 0 and below").
    func tablesUnifiedByGivenKeys() throws -> Set<String> {
        try store.readAccess { access in
            var found = try access.registry.tables.values.filter { try unifiesByGivenKeys($0, access) }.map(\.id)
            var names: Set<String> = []
            while let table = found.popLast().map({ access.registry[$0] }) {
                if names.insert(table.localName).inserted { found += table.referringColumns.map(\.table) }
            }
            return names
        }
    }

    private func unifiesByGivenKeys(_ table: TrackedTable, _ access: StoreAccess) throws -> Bool {
        if table.plainClaimColumns.isEmpty { return false }
        let keys = GivenKeys(access)
        let states = access.objects(of: table.id)
        for token in try access.anomalies.objects(in: table.id, of: [.joined]) {
            let representative = try access.unified.representative(of: token.id, table.id)
            for state in try [token.id, representative].compactMap({ $0 }).map(states.load) {
                let row = state.shown.hasRow ? try access.reader(of: table.id).read(state.key) ?? [:] : [:]
                let own = try ReferenceTranslator(access).values(row, table).overlaid(with: state.kept.fields)
                if try keys.areAny(in: own, table) { return true }
            }
        }
        return false
    }

    /// Runs statements; those that fail have no effect.
    func runTolerating(_ statements: [String], foreignKeys: Bool) {
        queue.inDatabase { database in
            let handle = database.sqliteConnection
            sqlite3_exec(handle, "PRAGMA foreign_keys = \(foreignKeys ? "ON" : "OFF")", nil, nil, nil)
            for sql in statements { sqlite3_exec(handle, sql, nil, nil, nil) }
            if sqlite3_get_autocommit(handle) == 0 { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
            sqlite3_exec(handle, "PRAGMA foreign_keys = ON", nil, nil, nil)
        }
    }
}
