import FerryCore
import FerryMerge

@testable import FerryReferenceModel
@testable import FerryStore

/// Computes the state from changesets, by the plainest code that says what Docs/Rules.md says, and the rows from it by
/// `RowModel`. It shares nothing with the store but the types of the vocabulary.
final class Oracle {
    let schema: OracleSchema
    private let plain: RowModel
    /// The same where foreign keys count as plain references.
    private var variants: [Set<String>: (schema: OracleSchema, rows: RowModel)] = [:]
    private let policies: ModelPolicies
    /// The policies of columns, by `table.column` in lower case.
    private let columns: [String: ColumnPolicy]
    private let hook: MergeFunction?

    init(
        _ schema: TestSchema, policies: ModelPolicies = ModelPolicies(), columns: [String: ColumnPolicy] = [:],
        hook: MergeFunction? = nil
    ) throws {
        self.schema = try OracleSchema(schema)
        self.columns = columns
        self.hook = hook
        self.policies = policies
        plain = try RowModel(self.schema.plain, policies: policies)
    }

    func state(_ changesets: [Changeset]) -> [String: [ObjectID: ModelObject]] {
        var state: [String: [ObjectID: ModelObject]] = [:]
        var registers: [String: [ObjectID: [String: ColumnRegister]]] = [:]
        var carried: Set<String> = []
        let floors = Self.floors(changesets)
        for changeset in changesets {
            // Policies are tables of Ferry's own.
            for table in changeset.tables where table.name != "ferry_policy" {
                for operation in table.operations {
                    var object =
                        state[table.name]?[operation.object]
                        ?? ModelObject(table: table.name.lowercased(), id: operation.object)
                    let stamp = Stamp(time: operation.time, device: changeset.device)
                    switch operation.kind {
                    case .insert:
                        if object.inserted.map({ $0 < stamp }) ?? true { object.givenKey = operation.key }
                        object.inserted = max(object.inserted ?? stamp, stamp)
                    case .delete: object.deleted = max(object.deleted ?? stamp, stamp)
                    case .update: break
                    }
                    let isVoid = floors[table.name]?[operation.object].map { stamp < $0 } ?? false
                    for (column, value) in zip(table.shapes[operation.shape], table.values(of: operation)) {
                        let kind = table.payload(of: column)
                        if isVoid, kind != .maximum, kind != .minimum { continue }
                        let name = table.columns[column].lowercased()
                        var written = WrittenValue.plain(value)
                        if let kind, case .blob(let bytes) = value {
                            guard let part = try? PolicyCodec.decode(bytes, as: kind, own: stamp) else {
                                preconditionFailure("a device wrote a payload that cannot be read")
                            }
                            written = .part(part)
                            carried.insert("\(table.name.lowercased()).\(name)")
                        }
                        registers[table.name, default: [:]][operation.object, default: [:]][name, default: .init()]
                            .merge(written, at: stamp)
                        if let known = object.fields[name], let present = known.value,
                            (stamp, value) < (known.stamp, present)
                        {
                            continue
                        }
                        object.fields[name] = .init(stamp: stamp, value: value)
                    }
                    state[table.name, default: [:]][operation.object] = object
                }
            }
        }
        // What is shown of columns under a policy, or that were, is the fold of all that was written to them.
        for (table, objects) in registers {
            for (object, fields) in objects {
                for (name, register) in fields {
                    let full = "\(table.lowercased()).\(name)"
                    let policy = columns[full] ?? .lastWriterWins
                    if policy.changesInSteps, let object = state[table]?[object],
                        let choice = Self.choice(register, object, policy)
                    {
                        state[table]?[object.id]?.fields[name]?.choice = choice
                    }
                    if policy == .lastWriterWins, !carried.contains(full) { continue }
                    guard let shown = register.shown(under: policy, hook) else { continue }
                    state[table]?[object]?.fields[name]?.value = shown
                }
            }
        }
        return state
    }

    /// The write by which a unified row chooses among its objects: that from which the register's steps count.
    private static func choice(_ register: ColumnRegister, _ object: ModelObject, _ policy: ColumnPolicy) -> Stamp? {
        let origin = register.origin(under: policy)
        return policy == .counter ? origin : [origin, object.inserted].compactMap { $0 }.max()
    }

    /// For each object that was inserted after a deletion, the last such deletion: what is older is void.
    private static func floors(_ changesets: [Changeset]) -> [String: [ObjectID: Stamp]] {
        var insertions: [String: [ObjectID: Stamp]] = [:]
        var deletions: [(table: String, object: ObjectID, stamp: Stamp)] = []
        for changeset in changesets {
            for table in changeset.tables {
                for operation in table.operations {
                    let stamp = Stamp(time: operation.time, device: changeset.device)
                    if operation.kind == .delete { deletions.append((table.name, operation.object, stamp)) }
                    guard operation.kind == .insert else { continue }
                    let known = insertions[table.name]?[operation.object] ?? stamp
                    insertions[table.name, default: [:]][operation.object] = max(known, stamp)
                }
            }
        }
        var floors: [String: [ObjectID: Stamp]] = [:]
        for (table, object, stamp) in deletions {
            guard let inserted = insertions[table]?[object], stamp < inserted else { continue }
            floors[table, default: [:]][object] = max(floors[table]?[object] ?? stamp, stamp)
        }
        return floors
    }

    /// The foreign keys that count as plain references once these changesets are known.
    static func plainReferences(_ changesets: [Changeset]) -> Set<String> {
        var targets: Set<String> = []
        for table in changesets.flatMap(\.tables) where table.name == "ferry_policy" {
            for operation in table.operations {
                for case .text(let bytes) in table.values(of: operation) {
                    let text = String(decoding: bytes, as: UTF8.self)
                    if text.hasPrefix("reference:") { targets.insert(text) }
                }
            }
        }
        return targets
    }

    /// Computes rows by the schema with some foreign keys as plain references.
    private func rows(_ plainReferences: Set<String>) throws -> RowModel {
        if plainReferences.isEmpty { return plain }
        if let known = variants[plainReferences] { return known.rows }
        let schema = try OracleSchema(schema.test, plainReferences: plainReferences)
        let rows = try RowModel(schema.plain, policies: policies)
        variants[plainReferences] = (schema, rows)
        return rows
    }

    /// What becomes of each object of a state.
    func outcomes(
        _ state: [String: [ObjectID: ModelObject]], plainReferences: Set<String> = []
    ) throws -> [String: [ObjectID: ModelOutcome]] {
        let objects = schema.tables.flatMap { table in (state[table.name] ?? [:]).values.sorted { $0.id < $1.id } }
        var result: [String: [ObjectID: ModelOutcome]] = [:]
        for table in schema.tables { result[table.name] = [:] }
        for (object, outcome) in zip(objects, try rows(plainReferences).outcomes(of: objects)) {
            result[object.table]?[object.id] = outcome
        }
        return result
    }

    /// The rows among outcomes, by object.
    static func rows(_ outcomes: [String: [ObjectID: ModelOutcome]]) -> [String: [ObjectID: [String: FieldValue]]] {
        outcomes.mapValues { outcomes in
            outcomes.compactMapValues { if case .shown(let row) = $0 { row.values } else { nil } }
        }
    }

    /// Which objects other objects' rows show, by tables: a key that is a reference has the ID of what it refers to.
    static func joined(_ outcomes: [String: [ObjectID: ModelOutcome]]) -> [String: [ObjectID: ObjectID]] {
        var result: [String: [ObjectID: ObjectID]] = [:]
        for (table, outcomes) in outcomes {
            for (id, outcome) in outcomes {
                if case .joined(let row) = outcome { result[table.lowercased(), default: [:]][id] = row }
            }
        }
        return result
    }
}

// MARK: Comparing

extension Oracle {
    /// Describes the first differences between a device and what its changesets say; empty where there is none.
    /// - Parameter isWhole: whether the device has got all values again that it lost by deletions that no trigger saw.
    func complaints(about device: TestDevice, isWhole: Bool = false) throws -> [String] {
        var complaints: [String] = []
        let plainReferences = Self.plainReferences(device.history)
        complaints += try device.query("PRAGMA integrity_check").filter { $0 != "ok" }.map { "integrity_check: \($0)" }
        for row in try device.query("PRAGMA foreign_key_check") {
            let parts = row.split(separator: "|").map(String.init)
            if try !plainReferences.contains(device.target(ofForeignKey: parts[3], of: parts[0])) {
                complaints.append("foreign_key_check: \(row)")
            }
        }
        let state = state(device.history)
        var known = try device.registers(schema)
        let outcomes = try outcomes(state, plainReferences: plainReferences)
        if device.hasDeletedUnseen {
            let lost = Self.lost(known, state)
            let needed = lost.filter { outcomes[$0.table]?[$0.id] != .gone }
            // Devices with the values publish what this device still needs, once it asks for them.
            if !needed.isEmpty { return complaints + (isWhole ? needed.map { "lacks \($0.table) \($0.id)" } : []) }
            for object in lost { known[object.table]?[object.id] = state[object.table]?[object.id] }
        }
        if device.hasCollected {
            complaints += Self.difference(living(known), living(state))
        } else {
            complaints += Self.difference(known, state)
        }
        let rows = Self.rows(outcomes)
        complaints += Self.difference(try device.shownRows(schema, expected: rows), rows)
        let (present, expected) = (try device.joined(schema), Self.joined(outcomes))
        for table in Set(present.keys).union(expected.keys).sorted() {
            let (present, expected) = (present[table] ?? [:], expected[table] ?? [:])
            for id in Set(present.keys).union(expected.keys).sorted() where present[id] != expected[id] {
                let (here, there) = (present[id]?.description ?? "nobody", expected[id]?.description ?? "nobody")
                complaints.append("\(table): \(id) is one row with \(here), not \(there)")
            }
        }
        return complaints
    }

    /// What is alive, without what was deleted before: all that is left where tombstones were collected.
    private func living(_ state: [String: [ObjectID: ModelObject]]) -> [String: [ObjectID: ModelObject]] {
        state.mapValues { objects in
            objects.compactMapValues { object in
                guard let inserted = object.inserted else { return nil }
                let writes =
                    policies.deleteWins.contains(object.table.lowercased()) ? [] : object.fields.values.map(\.stamp)
                if let deleted = object.deleted, writes.reduce(inserted, max) < deleted { return nil }
                var living = object
                living.deleted = nil
                return living
            }
        }
    }

    /// The objects whose insertion a device has forgotten with their values.
    private static func lost(
        _ known: [String: [ObjectID: ModelObject]], _ state: [String: [ObjectID: ModelObject]]
    ) -> [(table: String, id: ObjectID)] {
        var lost: [(table: String, id: ObjectID)] = []
        for (table, objects) in state {
            for (id, object) in objects where object.inserted != nil {
                // A forgotten deletion may leave nothing at all.
                let present = known[table]?[id]
                if present == nil || present?.inserted == nil && present?.deleted != nil { lost.append((table, id)) }
            }
        }
        return lost
    }

    static func difference(
        _ present: [String: [ObjectID: ModelObject]], _ expected: [String: [ObjectID: ModelObject]]
    ) -> [String] {
        var complaints: [String] = []
        for table in Set(present.keys).union(expected.keys).sorted() {
            let (left, right) = (present[table] ?? [:], expected[table] ?? [:])
            for id in Set(left.keys).union(right.keys).sorted() {
                guard let a = left[id], let b = right[id] else {
                    complaints.append(
                        "state of \(table) \(id): \(left[id] == nil ? "unknown to the store" : "known to the store only")"
                    )
                    continue
                }
                if a.inserted != b.inserted {
                    complaints.append("state of \(table) \(id): inserted \(text(a.inserted)), not \(text(b.inserted))")
                }
                if a.deleted != b.deleted {
                    complaints.append("state of \(table) \(id): deleted \(text(a.deleted)), not \(text(b.deleted))")
                }
                for column in Set(a.fields.keys).union(b.fields.keys).sorted() {
                    let (x, y) = (a.fields[column], b.fields[column])
                    if x?.stamp == y?.stamp, x?.value == y?.value { continue }
                    complaints.append(
                        "state of \(table) \(id).\(column): \(x?.value?.text ?? "-") \(text(x?.stamp)), not \(y?.value?.text ?? "-") \(text(y?.stamp))"
                    )
                }
            }
        }
        return complaints
    }

    static func difference(
        _ present: [String: [ObjectID: [String: FieldValue]]], _ expected: [String: [ObjectID: [String: FieldValue]]]
    ) -> [String] {
        var complaints: [String] = []
        for table in Set(present.keys).union(expected.keys).sorted() {
            let (left, right) = (present[table] ?? [:], expected[table] ?? [:])
            for id in Set(left.keys).union(right.keys).sorted() where left[id] != right[id] {
                complaints.append("row of \(table) \(id): \(text(left[id])), not \(text(right[id]))")
            }
        }
        return complaints
    }

    static func text(_ row: [String: FieldValue]?) -> String {
        guard let row else { return "none" }
        return "(" + row.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.text)" }.joined(separator: ", ") + ")"
    }

    static func text(_ stamp: Stamp?) -> String {
        guard let stamp else { return "never" }
        return "\(stamp.time.milliseconds)+\(stamp.time.counter)@\(stamp.device.low)"
    }
}

extension TestDevice {
    /// The text by which a foreign key is known as a plain reference.
    /// - Parameter number: as `PRAGMA foreign_key_list` has it.
    fileprivate func target(ofForeignKey number: String, of table: String) throws -> String {
        let rows = try query(
            "SELECT \"from\", \"table\" FROM pragma_foreign_key_list('\(table)') WHERE id = \(number) ORDER BY seq")
        let pairs = rows.map { $0.split(separator: "|").map(String.init) }
        let columns = pairs.map { $0[0] }.joined(separator: ",")
        return "reference:\(table).\(columns)=\(pairs.first?[1] ?? "")".lowercased()
    }
}
