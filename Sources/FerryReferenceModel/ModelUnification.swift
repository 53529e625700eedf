import FerryCore

/// Rule 3 over the visible objects: unification, the unified rows' values, and the references broken by them.
///
/// Rounds are simultaneous. All claims of a round are computed from the classes at its beginning; then objects with
/// equal claims are united. So the order of objects does not matter.
///
/// Invariants:
/// - After `init` no two visible objects of different classes have equal claims, except under `hideLoser`.
/// - A representative is the oldest object of its class.
package struct ModelUnification {
    private let world: ModelState
    private let scratch: any ModelScratch
    private let policies: ModelPolicies
    private let isVisible: [Bool]
    private let claimList: ClaimList?
    /// References without a target, by object; they are cleared.
    private let missing: [Int: Set<ModelState.Link>]
    /// The representative of each object: the oldest of its class. Meaningful for visible objects.
    package private(set) var representatives: [Int]
    /// The members of classes with several members, oldest first, by representative.
    package private(set) var members: [Int: [Int]] = [:]
    /// The source member for each column of such a class; `nil` if no member has a stamp.
    private var sources: [Int: [Int?]] = [:]

    /// What a round of the rules knows of the objects.
    package struct Input {
        var isVisible: [Bool]
        /// References without a target, by object; they are cleared.
        var missing: [Int: Set<ModelState.Link>]
        /// Unified objects of tables that cannot be checked, with their representatives.
        var given: [(Int, Int)]
        /// Takes down every claim that objects and rows make.
        var claims: ClaimList?
    }

    package init(
        _ world: ModelState, _ scratch: any ModelScratch, _ policies: ModelPolicies, _ input: Input
    ) throws {
        let isVisible = input.isVisible
        self.world = world
        self.scratch = scratch
        self.policies = policies
        self.isVisible = isVisible
        missing = input.missing
        claimList = input.claims
        representatives = Array(world.subjects.indices)
        let pairs = input.given.filter { isVisible[$0] && isVisible[$1] }.flatMap { object, representative in
            let claim = ModelClaim(
                table: world.subjects[object].table, index: -2, terms: [.reference(world.subjects[representative].id)])
            return [(claim: claim, object: representative), (claim: claim, object: object)]
        }
        _ = unite(pairs)
        while true {
            let claims = try objectClaims()
            if unite(claims) { continue }
            if members.isEmpty { return }
            let rows = members.keys.sorted()
            if !unite(claims + (try rows.flatMap { row in try self.claims(row) { displayed(row, $0) } })) { return }
        }
    }

    /// The objects standing for a row.
    package var rows: [Int] { representatives.indices.filter { isVisible[$0] && representatives[$0] == $0 } }

    // MARK: Claims

    private func objectClaims() throws -> [(claim: ModelClaim, object: Int)] {
        try representatives.indices.filter { isVisible[$0] }.flatMap { object in
            try claims(object) { resolved(object, $0) }
        }
    }

    /// The claims of a row with these values: under every UNIQUE index with unification, and of the key.
    private func claims(
        _ object: Int, _ given: (Int) -> FieldValue?
    ) throws -> [(claim: ModelClaim, object: Int)] {
        let table = world.table(of: object)
        func value(_ column: Int) -> FieldValue? { claimed(given(column), table.columns[column]) }
        var result: [(claim: ModelClaim, object: Int)] = []
        for place in table.uniques.indices where !policies.hideLoser.contains(table.uniques[place].name) {
            guard let claim = try claim(place, object, table, value) else { continue }
            result.append((claim, object))
        }
        if !table.isMapped {
            let terms = zip(table.key, table.keyCollations).map { column, collation in
                world.equality.form(world.equality.kept(value(column) ?? .null, in: table.columns[column]), collation)
            }
            if !terms.contains(.null) {
                result.append((ModelClaim(table: world.subjects[object].table, index: -1, terms: terms), object))
            }
        } else if let key = textKey(object, table) {
            result.append((ModelClaim(table: world.subjects[object].table, index: -1, terms: [key]), object))
        }
        return result
    }

    /// The value as claimed: an unchecked reference to a row with an author's key of 0 or below becomes that integer.
    private func claimed(_ value: FieldValue?, _ column: ModelSchema.Column) -> FieldValue? {
        guard column.isUnchecked, case .reference(let id)? = value, let parent = column.reference,
            world.schema.tables[parent].hasIntegerKey, let target = world.places[parent][id],
            case .integer(let key)? = world.subjects[target].givenKey, key <= 0
        else { return value }
        return .integer(key)
    }

    /// A mapped key SQLite cannot replace: the author's key on every device. `nil` for an integer.
    private func textKey(_ object: Int, _ table: ModelSchema.Table) -> FieldValue? {
        switch world.subjects[object].key ?? world.subjects[object].wantedKey {
        case .text(let bytes)?: world.equality.form(.text(bytes), table.keyCollations[0])
        case .blob(let bytes)?: .blob(bytes)
        default: nil
        }
    }

    private func claim(
        _ place: Int, _ object: Int, _ table: ModelSchema.Table, _ value: (Int) -> FieldValue?
    ) throws -> ModelClaim? {
        let unique = table.uniques[place]
        var terms = unique.terms.map { term in
            term.column.flatMap { column in value(column).map { world.equality.kept($0, in: table.columns[column]) } }
                ?? .null
        }
        if unique.isComputed {
            let row = table.columns.indices.compactMap { column -> (Int, FieldValue)? in
                if column == table.mappedKey {
                    return (column, world.keyHere(object, table.columns[column]))
                }
                return value(column).map { (column, world.indexed($0, table.columns[column], for: object)) }
            }
            guard let computed = try scratch.terms(of: unique, row, in: table) else { return nil }
            // Column terms keep their values: a reference has more information than its substitute number.
            for position in terms.indices {
                if case .reference = terms[position] { continue }
                terms[position] = computed[position]
            }
        }
        if terms.contains(.null) { return nil }
        return ModelClaim(
            table: world.subjects[object].table, index: place,
            terms: zip(terms, unique.terms).map { world.equality.form($0, $1.collation) })
    }

    /// Unites the classes of all objects with equal claims.
    /// - Returns: true if any classes were united.
    private mutating func unite(_ claims: [(claim: ModelClaim, object: Int)]) -> Bool {
        claimList?.add(claims.map(\.claim))
        var owners: [ModelClaim: Int] = [:]
        var hasUnited = false
        for (claim, object) in claims {
            guard let owner = owners[claim] else {
                owners[claim] = object
                continue
            }
            let (a, b) = (root(owner), root(object))
            if a == b { continue }
            hasUnited = true
            if world.isOlder(a, b) { representatives[b] = a } else { representatives[a] = b }
        }
        if !hasUnited { return false }
        for object in representatives.indices { representatives[object] = root(object) }
        members = [:]
        for object in representatives.indices where isVisible[object] && representatives[object] != object {
            members[representatives[object], default: [representatives[object]]].append(object)
        }
        for (row, unsorted) in members { members[row] = unsorted.sorted { world.isOlder($0, $1) } }
        sources = Dictionary(uniqueKeysWithValues: members.map { row, members in (row, columnSources(members)) })
        return true
    }

    private func root(_ object: Int) -> Int {
        var root = object
        while representatives[root] != root { root = representatives[root] }
        return root
    }

    // MARK: Rows

    /// The source member of each column: the representative for the key's group, and the last writer for any further
    /// group.
    private func columnSources(_ members: [Int]) -> [Int?] {
        let table = world.table(of: members[0])
        let keyGroups = table.isMapped ? [] : table.key.map { table.groups[$0] }
        return table.columns.indices.map { column in
            let group = table.groups[column]
            if keyGroups.contains(group) { return members[0] }
            var newest: (stamp: Stamp, member: Int)?
            for member in members {
                for other in table.columns.indices where table.groups[other] == group {
                    guard let stamp = world.subjects[member].choices[other] else { continue }
                    if newest.map({ $0.stamp < stamp }) ?? true { newest = (stamp, member) }
                }
            }
            return newest?.member
        }
    }

    /// The member whose value of a column the row shows.
    package func source(_ row: Int, _ column: Int) -> Int? { sources[row].map { $0[column] } ?? row }

    /// The value a row shows in a column; `nil` if absent.
    package func displayed(_ row: Int, _ column: Int) -> FieldValue? { displayed(row, column, path: []) }

    private func displayed(_ row: Int, _ column: Int, path: [Place]) -> FieldValue? {
        source(row, column).flatMap { resolved($0, column, path: path) }
    }

    private struct Place: Equatable {
        package var object: Int
        package var column: Int
    }

    private func resolved(_ object: Int, _ column: Int) -> FieldValue? { resolved(object, column, path: []) }

    /// An object's value of a column, after resolving references to representatives.
    /// - Parameter path: the questions leading here; for a cycle the object's own value is the answer.
    private func resolved(_ object: Int, _ column: Int, path: [Place]) -> FieldValue? {
        let subject = world.subjects[object]
        let table = world.table(of: object)
        if isCleared(object, column) { return .null }
        guard let own = represented(object, column) else { return nil }
        let here = Place(object: object, column: column)
        if path.contains(here) { return own }
        var value = own
        for link in subject.links where !isMissing(object, link) {
            let key = table.foreignKeys[link.key]
            guard let position = key.columns.firstIndex(of: column), let target = target(link) else { continue }
            if key.isMapped {
                value = .reference(world.subjects[target].id)
                continue
            }
            let shown = displayed(target, key.parentColumns[position], path: path + [here]) ?? .null
            let parent = world.schema.tables[key.parent]
            let from = key.parentColumns[position]
            func form(_ value: FieldValue) -> FieldValue {
                world.equality.form(
                    world.equality.kept(value, in: parent.columns[from]),
                    parent.collation(of: from, among: key.parentColumns))
            }
            value = form(shown) == form(own) ? own : world.equality.kept(shown, in: table.columns[column])
        }
        return value
    }

    /// The target row's spelling of a reference by value, if different from the object's; `nil` otherwise.
    package func targetsSpelling(_ object: Int, _ column: Int) -> FieldValue? {
        let table = world.table(of: object)
        guard !isCleared(object, column), let own = represented(object, column) else { return nil }
        for link in world.subjects[object].links where !isMissing(object, link) {
            let key = table.foreignKeys[link.key]
            guard !key.isMapped, let position = key.columns.firstIndex(of: column), let target = target(link),
                let shown = displayed(target, key.parentColumns[position])
            else { continue }
            let spelling = world.equality.kept(shown, in: table.columns[column])
            if spelling != own { return spelling }
        }
        return nil
    }

    /// The row a reference leads to: of several, the row with the oldest representative.
    private func target(_ link: ModelState.Link) -> Int? {
        world.targets[link.targets].filter { isVisible[$0] }.map { representatives[$0] }.min { world.isOlder($0, $1) }
    }

    private func isMissing(_ object: Int, _ link: ModelState.Link) -> Bool {
        missing[object]?.contains(link) ?? false
    }

    /// The missing reference that clears a column; of several the last.
    package func clearing(_ object: Int, _ column: Int) -> ModelSchema.ForeignKey? {
        guard let links = missing[object] else { return nil }
        let keys = world.table(of: object).foreignKeys
        let last = links.filter { keys[$0.key].columns.contains(column) }.max { $0.key < $1.key }
        return last.map { keys[$0.key] }
    }

    private func isCleared(_ object: Int, _ column: Int) -> Bool {
        !missing.isEmpty && clearing(object, column) != nil
    }

    // MARK: Broken references and claims

    /// Objects meant by references without a visible target, after resolving the references' parts: by list of targets.
    package func resolvedTargets(of candidates: [Bool]) -> [(list: Int, target: Int)] {
        if members.isEmpty { return [] }
        var found: [(list: Int, target: Int)] = []
        var offered: [[Int]: [[FieldValue]: Int]] = [:]
        var seen: Set<Int> = []
        for object in candidates.indices where candidates[object] {
            for link in world.subjects[object].links where seen.insert(link.targets).inserted {
                let key = world.table(of: object).foreignKeys[link.key]
                if key.isMapped || world.targets[link.targets].contains(where: { isVisible[$0] }) { continue }
                let place = [key.parent] + key.parentColumns
                if offered[place] == nil { offered[place] = tuples(key.parent, key.parentColumns) }
                let collations = key.parentColumns.map {
                    world.schema.tables[key.parent].collation(of: $0, among: key.parentColumns)
                }
                let parents = key.parentColumns.map { world.schema.tables[key.parent].columns[$0] }
                let tuple = key.columns.indices.map { place in
                    let value = represented(object, key.columns[place]) ?? .null
                    return world.equality.form(world.equality.kept(value, in: parents[place]), collations[place])
                }
                if let target = offered[place]?[tuple] { found.append((link.targets, target)) }
            }
        }
        return found
    }

    /// The tuples of a table's visible objects in some columns, after resolving.
    private func tuples(_ table: Int, _ columns: [Int]) -> [[FieldValue]: Int] {
        let collations = columns.map { world.schema.tables[table].collation(of: $0, among: columns) }
        var tuples: [[FieldValue]: Int] = [:]
        for object in representatives.indices where isVisible[object] && world.subjects[object].table == table {
            let tuple = zip(columns, collations).map { column, collation in
                let value = world.equality.kept(
                    resolved(object, column) ?? .null, in: world.schema.tables[table].columns[column])
                return world.equality.form(value, collation)
            }
            if !tuple.contains(.null) { tuples[tuple] = object }
        }
        return tuples
    }

    /// An object's own value, with the representative in place of a reference to a visible object.
    private func represented(_ object: Int, _ column: Int) -> FieldValue? {
        let given = world.subjects[object].values[column]
        guard case .reference(let id)? = given,
            let parent = world.table(of: object).columns[column].reference,
            let target = world.places[parent][id], isVisible[target]
        else { return given }
        return .reference(world.subjects[representatives[target]].id)
    }

    /// References with values different from their target's shown values. A reference with a cleared column does not
    /// count.
    package func brokenReferences() -> [Int: Set<ModelState.Link>] {
        var broken: [Int: Set<ModelState.Link>] = [:]
        for object in representatives.indices where isVisible[object] {
            for link in world.subjects[object].links where !isMissing(object, link) {
                let key = world.table(of: object).foreignKeys[link.key]
                if key.columns.contains(where: { isCleared(object, $0) }) { continue }
                guard let target = target(link) else { continue }
                let fits = zip(key.columns, key.parentColumns).allSatisfy { column, parentColumn in
                    let collation = world.schema.tables[key.parent]
                        .collation(of: parentColumn, among: key.parentColumns)
                    let parent = world.schema.tables[key.parent].columns[parentColumn]
                    let own = world.equality.form(
                        world.equality.kept(resolved(object, column) ?? .null, in: parent), collation)
                    if key.isMapped { return own == .reference(world.subjects[target].id) }
                    let shown = world.equality.kept(displayed(target, parentColumn) ?? .null, in: parent)
                    return own != .null && own == world.equality.form(shown, collation)
                }
                if !fits { broken[object, default: []].insert(link) }
            }
        }
        return broken
    }

    /// Rows claiming a value of an older row, under an index with hidden losers.
    package func outranked() throws -> [Int] {
        if policies.hideLoser.isEmpty { return [] }
        var owners: Set<ModelClaim> = []
        var losers: [Int] = []
        for row in rows.sorted(by: { world.isOlder($0, $1) }) {
            let table = world.table(of: row)
            let claims = try table.uniques.indices.filter { policies.hideLoser.contains(table.uniques[$0].name) }
                .compactMap { place in
                    try claim(place, row, table) { claimed(displayed(row, $0), table.columns[$0]) }
                }
            claimList?.add(claims)
            if claims.contains(where: owners.contains) { losers.append(row) } else { owners.formUnion(claims) }
        }
        return losers
    }
}
