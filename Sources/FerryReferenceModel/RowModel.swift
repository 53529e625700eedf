import FerryCore

/// The model: computes the rows of a state over all objects at once, from the schema alone. Follows Docs/Rules.md
/// ("From state to rows") with the plainest code. Shares nothing with row maintenance except FerryCore's vocabulary, so
/// each can check the other.
package final class RowModel {
    package let schema: ModelSchema
    private let policies: ModelPolicies
    private let scratch: any ModelScratch
    private var defaults: [String: FieldValue] = [:]
    /// The integers by which a database's rows refer to objects without a row, by table in lower case; `nil` where no
    /// database is compared. A CHECK may see them.
    package var referredKeys: [String: [ObjectID: FieldValue]]?
    /// Takes down every claim that objects and rows make, where somebody asks.
    package var claims: ClaimList?
    /// Any placeholder key: no rows refer to the object yet, and a row that did would get such an integer.
    private static let placeholder = FieldValue.integer(-1_000_000_001)
    /// SQLite's equality of values.
    package var equality: ModelEquality { scratch.equality }

    /// - Parameter scratch: a copy of the schema that SQLite can make whole.
    package init(_ schema: ModelSchema, policies: ModelPolicies = ModelPolicies(), asking scratch: any ModelScratch) {
        self.schema = schema
        self.policies = policies
        self.scratch = scratch
    }

    /// The outcome of each object, in the order of `objects`: all objects of all tables of the schema.
    /// - Parameter given: outcomes of objects in tables that cannot be checked, by position.
    package func outcomes(of objects: [ModelObject], given: [Int: GivenOutcome] = [:]) throws -> [ModelOutcome] {
        let presentState = ModelState(objects, schema, policies, scratch.equality)
        var refused: [Int: String] = [:]
        for (object, outcome) in given where outcome == .hidden { refused[object] = "" }
        for object in presentState.subjects.indices where try !isKeyKnown(object, presentState) {
            refused[object] = "no row here can have its key"
        }
        let pairs = given.sorted { $0.key < $1.key }.compactMap { object, outcome -> (Int, Int)? in
            guard case .joined(let id) = outcome else { return nil }
            return presentState.places[presentState.subjects[object].table][id].map { (object, $0) }
        }
        while true {
            var candidates = presentState.isPresent
            for object in refused.keys { candidates[object] = false }
            let (world, join, lost) = try settle(presentState, candidates, pairs)
            var shown: [Int: ModelRow] = [:]
            var isAccepted = true
            let displays = Displays(world, join)
            for row in join.rows {
                let (made, values) = try self.row(row, world, join, displays)
                if let reason = try scratch.refusal(of: values, in: world.table(of: row)) {
                    isAccepted = false
                    for member in join.members[row] ?? [row] { refused[member] = reason }
                } else {
                    shown[row] = made
                }
            }
            if let failure = scratch.failure { throw failure }
            if !isAccepted { continue }
            return objects.indices.map { object in
                if !world.isPresent[object] { return .gone }
                if let reason = refused[object] { return .refused(reason) }
                if lost.contains(object) { return .outranked }
                if let row = shown[object] { return .shown(row) }
                let row = join.representatives[object]
                return row == object ? .waits : .joined(to: world.subjects[row].id)
            }
        }
    }

    /// Rules 2 and 3. Anything broken or lost stays broken or lost, and a target found by resolving stays a target. So
    /// the loop ends.
    private func settle(
        _ world: ModelState, _ candidates: [Bool], _ given: [(Int, Int)]
    ) throws -> (world: ModelState, ModelUnification, lost: Set<Int>) {
        var world = world
        var broken: [Int: Set<ModelState.Link>] = [:]
        var lost: Set<Int> = []
        var candidates = candidates
        while true {
            let (isVisible, missing) = world.hide(candidates, broken: broken)
            let join = try ModelUnification(
                world, scratch, policies, .init(isVisible: isVisible, missing: missing, given: given, claims: claims))
            let found = join.resolvedTargets(of: candidates)
            if !found.isEmpty {
                for (list, target) in found { world.add(target, to: list) }
                continue
            }
            let newlyBroken = join.brokenReferences()
            if !newlyBroken.isEmpty {
                broken.merge(newlyBroken) { $0.union($1) }
                continue
            }
            let losers = try join.outranked()
            if losers.isEmpty { return (world, join, lost) }
            for loser in losers.flatMap({ join.members[$0] ?? [$0] }) {
                lost.insert(loser)
                candidates[loser] = false
            }
        }
    }

    /// The row's values, and the same with numbers in place of references, for SQLite.
    private func row(
        _ row: Int, _ world: ModelState, _ join: ModelUnification, _ displays: Displays
    ) throws -> (ModelRow, local: [(column: Int, value: FieldValue)]) {
        let table = world.table(of: row)
        var made = ModelRow(isRevived: !world.subjects[row].isAlive)
        var local: [(column: Int, value: FieldValue)] = []
        for (place, column) in table.columns.enumerated() {
            if place == table.mappedKey {
                local.append((place, world.keyHere(row, column)))
                continue
            }
            guard let source = join.source(row, place), var value = join.displayed(row, place) else { continue }
            if source != row { made.borrowed.insert(column.name) }
            if let key = join.clearing(source, place) {
                made.cleared.insert(column.name)
                if key.action == .setDefault, key.columns.count == 1, let sql = column.defaultSQL {
                    value = try displays.target(key, defaultValue(sql)) ?? .null
                }
            }
            made.values[column.name] = value
            if value != .null, let other = join.targetsSpelling(source, place) { made.spellings[column.name] = other }
            local.append((place, checked(value, column, world)))
        }
        return (made, local)
    }

    /// The value a CHECK sees: a reference becomes the key by which rows here refer to the object.
    private func checked(_ value: FieldValue, _ column: ModelSchema.Column, _ world: ModelState) -> FieldValue {
        guard let referredKeys, column.isUnchecked, case .reference(let id) = value, let parent = column.reference,
            world.schema.tables[parent].hasIntegerKey
        else { return world.valueHere(value, column) }
        if let object = world.places[parent][id], let key = world.subjects[object].key { return key }
        return referredKeys[world.schema.tables[parent].name]?[id] ?? Self.placeholder
    }

    /// Whether the values are known by which a row is identified that is no row by an integer of each device's own, and the key's
    /// columns store them as they are.
    private func isKeyKnown(_ object: Int, _ world: ModelState) throws -> Bool {
        let table = world.table(of: object)
        if table.isMapped || table.isGiven { return true }
        return try table.key.allSatisfy { place in
            let column = table.columns[place]
            if let value = world.subjects[object].values[place], value != .null {
                return scratch.equality.shown(value, in: column) == value
            }
            return try column.defaultSQL.map(defaultValue) ?? .null != .null
        }
    }

    private func defaultValue(_ sql: String) throws -> FieldValue {
        if let known = defaults[exactKey(sql)] { return known }
        let value = try scratch.value(of: sql)
        defaults[exactKey(sql)] = value
        return value
    }
}

/// The values rows show in the columns defaults refer to.
private final class Displays {
    private let world: ModelState
    private let join: ModelUnification
    private var known: [[Int]: [FieldValue: FieldValue]] = [:]

    package init(_ world: ModelState, _ join: ModelUnification) {
        self.world = world
        self.join = join
    }

    /// The portable value of a default; `nil` without a parent row.
    package func target(_ key: ModelSchema.ForeignKey, _ value: FieldValue) -> FieldValue? {
        let column = key.parentColumns[0]
        let collation = world.schema.tables[key.parent].collation(of: column, among: key.parentColumns)
        if known[[key.parent, column]] == nil {
            var values: [FieldValue: FieldValue] = [:]
            for row in join.rows where world.subjects[row].table == key.parent {
                let subject = world.subjects[row]
                if key.isMapped {
                    if let local = subject.key { values[local] = .reference(subject.id) }
                } else if let shown = join.displayed(row, column), shown != .null {
                    values[world.equality.form(shown, collation)] = shown
                }
            }
            known[[key.parent, column]] = values
        }
        guard let shown = known[[key.parent, column]]?[world.equality.form(value, collation)] else { return nil }
        return key.isMapped ? shown : value
    }
}

extension ModelState {
    /// The value for SQLite: a reference becomes a number standing for the object.
    package func local(_ value: FieldValue, _ column: ModelSchema.Column) -> FieldValue {
        guard case .reference(let id) = value else { return value }
        guard let parent = column.reference else { return .null }
        guard let object = places[parent][id] else { return Self.number(ofMissing: id) }
        let key = schema.tables[parent].mappedKey.map { schema.tables[parent].columns[$0] }
        return key.map { localKey(object, $0) } ?? .integer(0)
    }

    /// A number for an object that is not there: another one than for any other object.
    private static func number(ofMissing id: ObjectID) -> FieldValue {
        .integer(1 << 60 | Int64(((id.high ^ id.low) &* 0x9e37_79b9_7f4a_7c15) >> 4))
    }

    /// The value an index uses for an object: a reference to the object itself becomes its key.
    package func indexed(_ value: FieldValue, _ column: ModelSchema.Column, for object: Int) -> FieldValue {
        guard value == .reference(subjects[object].id), let key = table(of: object).mappedKey else {
            return local(value, column)
        }
        return keyHere(object, table(of: object).columns[key])
    }

    /// The value a CHECK sees: a reference becomes the object's key here.
    package func valueHere(_ value: FieldValue, _ column: ModelSchema.Column) -> FieldValue {
        guard case .reference(let id) = value, let parent = column.reference, let object = places[parent][id],
            let key = schema.tables[parent].mappedKey
        else { return local(value, column) }
        return keyHere(object, schema.tables[parent].columns[key])
    }

    /// The key of an object of a mapped table: the key of the row here, or the wished key.
    package func keyHere(_ object: Int, _ column: ModelSchema.Column) -> FieldValue {
        let key = subjects[object].key ?? subjects[object].wantedKey
        if table(of: object).hasIntegerKey { if case .integer? = key {} else { return .integer(Int64(object + 1)) } }
        return key ?? localKey(object, column)
    }

    /// A key for an object of a mapped table. Integer keys are device-specific, so any integer will do.
    package func localKey(_ object: Int, _ column: ModelSchema.Column) -> FieldValue {
        if case .text? = subjects[object].key { return subjects[object].key ?? .null }
        if case .blob? = subjects[object].key { return subjects[object].key ?? .null }
        return .integer(Int64(object + 1))
    }
}
