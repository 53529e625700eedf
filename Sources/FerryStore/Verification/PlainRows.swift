import FerryCore

/// Computes the rows of a state by the plainest code that says what Docs/Rules.md says ("From state to rows"): over all
/// objects at once, from the schema alone. It shares nothing with the code that maintains rows but FerryCore's
/// vocabulary, so that one can be held against the other.
final class PlainRows {
    let schema: PlainSchema
    private let policies: PlainPolicies
    private let scratch: PlainScratch
    private var defaults: [String: FieldValue] = [:]
    /// What SQLite takes for equal.
    var equality: PlainEquality { scratch.equality }

    /// - Throws: `database` where the schema needs functions that SQLite does not have by itself.
    /// - Parameter lender: the connection of the database, with what an app registered of its own.
    init(
        _ schema: PlainSchema, policies: PlainPolicies = PlainPolicies(), borrowing lender: SQLConnection? = nil
    ) throws {
        self.schema = schema
        self.policies = policies
        scratch = try PlainScratch(schema, borrowing: lender)
        if let obstacle = scratch.obstacles.min(by: { $0.key < $1.key }) {
            throw FerryError(
                .missingFunction,
                "The table \(schema.tables[obstacle.key].spelling) cannot be computed: \(obstacle.value).")
        }
    }

    /// What becomes of each object, in the order of `objects`, which are all objects of all tables of the schema.
    /// - Parameter given: what is taken for given of objects of tables that cannot be looked at, by their places.
    func outcomes(of objects: [PlainObject], given: [Int: GivenOutcome] = [:]) throws -> [PlainOutcome] {
        let plainWorld = PlainWorld(objects, schema, policies, scratch.equality)
        var refused: [Int: String] = [:]
        for (object, outcome) in given where outcome == .hidden { refused[object] = "" }
        let pairs = given.sorted { $0.key < $1.key }.compactMap { object, outcome -> (Int, Int)? in
            guard case .joined(let id) = outcome else { return nil }
            return plainWorld.places[plainWorld.subjects[object].table][id].map { (object, $0) }
        }
        while true {
            var candidates = plainWorld.isPresent
            for object in refused.keys { candidates[object] = false }
            let (world, join, lost) = try settle(plainWorld, candidates, pairs)
            var shown: [Int: PlainRow] = [:]
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

    /// Rules 2 and 3. What breaks or loses once stays broken or lost, and what a reference was found to mean once it
    /// is resolved stays its target, so this ends.
    private func settle(
        _ world: PlainWorld, _ candidates: [Bool], _ given: [(Int, Int)]
    ) throws -> (world: PlainWorld, PlainJoin, lost: Set<Int>) {
        var world = world
        var broken: [Int: Set<PlainWorld.Link>] = [:]
        var lost: Set<Int> = []
        var candidates = candidates
        while true {
            let (isVisible, missing) = world.hide(candidates, broken: broken)
            let join = try PlainJoin(world, scratch, policies, isVisible: isVisible, missing: missing, given: given)
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

    /// What a row shows, and the same with numbers in place of references, for SQLite to look at.
    private func row(
        _ row: Int, _ world: PlainWorld, _ join: PlainJoin, _ displays: Displays
    ) throws -> (PlainRow, local: [(column: Int, value: FieldValue)]) {
        let table = world.table(of: row)
        var made = PlainRow(isRevived: !world.subjects[row].isAlive)
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
            local.append((place, world.valueHere(value, column)))
        }
        return (made, local)
    }

    private func defaultValue(_ sql: String) throws -> FieldValue {
        if let known = defaults[sql] { return known }
        let value = try scratch.value(of: sql)
        defaults[sql] = value
        return value
    }
}

/// Which values rows show in the columns that defaults refer to.
private final class Displays {
    private let world: PlainWorld
    private let join: PlainJoin
    private var known: [[Int]: [FieldValue: FieldValue]] = [:]

    init(_ world: PlainWorld, _ join: PlainJoin) {
        self.world = world
        self.join = join
    }

    /// A default as it travels; `nil` where it refers to no row.
    func target(_ key: PlainSchema.ForeignKey, _ value: FieldValue) -> FieldValue? {
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

extension PlainWorld {
    /// A value as SQLite can look at it: in place of a reference a number that stands for its object.
    func local(_ value: FieldValue, _ column: PlainSchema.Column) -> FieldValue {
        guard case .reference(let id) = value else { return value }
        guard let parent = column.reference, let object = places[parent][id] else { return .integer(0) }
        let key = schema.tables[parent].mappedKey.map { schema.tables[parent].columns[$0] }
        return key.map { localKey(object, $0) } ?? .integer(0)
    }

    /// A value as an index computes something of it for an object: where it is the object itself, its key.
    func indexed(_ value: FieldValue, _ column: PlainSchema.Column, for object: Int) -> FieldValue {
        guard value == .reference(subjects[object].id), let key = table(of: object).mappedKey else {
            return local(value, column)
        }
        return keyHere(object, table(of: object).columns[key])
    }

    /// A value as a CHECK looks at it: in place of a reference the key of its object here.
    func valueHere(_ value: FieldValue, _ column: PlainSchema.Column) -> FieldValue {
        guard case .reference(let id) = value, let parent = column.reference, let object = places[parent][id],
            let key = schema.tables[parent].mappedKey
        else { return local(value, column) }
        return keyHere(object, schema.tables[parent].columns[key])
    }

    /// The key of an object of a mapped table: that of its row here, or the one that it would like to have.
    func keyHere(_ object: Int, _ column: PlainSchema.Column) -> FieldValue {
        let key = subjects[object].key ?? subjects[object].wantedKey
        if table(of: object).hasIntegerKey { if case .integer? = key {} else { return .integer(Int64(object + 1)) } }
        return key ?? localKey(object, column)
    }

    /// A key for an object of a mapped table. Integer keys differ from device to device, so that any will do.
    func localKey(_ object: Int, _ column: PlainSchema.Column) -> FieldValue {
        if case .text? = subjects[object].key { return subjects[object].key ?? .null }
        if case .blob? = subjects[object].key { return subjects[object].key ?? .null }
        return .integer(Int64(object + 1))
    }
}
