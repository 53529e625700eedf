import FerryCore

/// The objects that the rows of some exceptional objects depend on, and those whose rows depend on exceptional objects.
///
/// All other objects are *plain*: alive, with a row of their own values, which SQLite accepts. Their references lead to plain
/// objects, and no exceptional object claims what they claim. So the model need not compute them, and `RowModel` computes the
/// region alone with the same outcome.
///
/// - An object is *exceptional* if the caller says so, if it refers to an exceptional object, or if it claims what an exceptional
///   object claims.
/// - An object is *context* if an object of the region refers to it. A dead one among these counts as exceptional: the reference
///   may revive it.
///
/// `role` says which of both an object is, as far as the region is known. Whoever fills a region asks again for every other object
/// until none is added.
///
/// Invariants:
/// - `wanted` and `wantedValues` have all to which members refer, except objects that do not exist.
/// - `exceptionalValues` and `claims` have what exceptional members offer and claim.
/// - `revisions` grows at a table with each addition that may give objects of the table a role.
package struct ModelRegion {
    package enum Role { case context, exceptional }

    /// An object that may have a role.
    package struct Candidate {
        /// The table's position.
        package var table: Int
        package var id: ObjectID
        package var isAlive: Bool
        /// In a mapped table the key of the row, or the wished key.
        package var key: FieldValue?
        /// The object's own value of a column, by the column's position.
        package var value: (Int) throws -> FieldValue?

        package init(
            table: Int, id: ObjectID, isAlive: Bool, key: FieldValue?, value: @escaping (Int) throws -> FieldValue?
        ) {
            self.table = table
            self.id = id
            self.isAlive = isAlive
            self.key = key
            self.value = value
        }
    }

    private let schema: ModelSchema
    private let policies: ModelPolicies
    private let scratch: any ModelScratch
    private var numbers: [String: Int] = [:]
    /// The foreign keys by value, with the table and position of each, by the parent's table.
    private var byParent: [[Place]]
    /// The members by table.
    private var roles: [[ObjectID: Role]]
    /// Objects that members refer to.
    private var wanted: [Set<ObjectID>]
    /// The values by which members refer to objects, and those by which objects refer to exceptional members.
    private var wantedValues: [Place: Set<[FieldValue]>] = [:]
    private var exceptionalValues: [Place: Set<[FieldValue]>] = [:]
    private var claims: [Set<ModelClaim>]
    /// False if the region is not enough to compute its members: a default of theirs may lead to any row.
    package private(set) var isBounded = true
    /// By table; 0 as long as no object that is no member can have a role.
    package private(set) var revisions: [Int]

    private struct Place: Hashable {
        var table: Int
        var key: Int
    }

    package init(_ schema: ModelSchema, _ policies: ModelPolicies, asking scratch: any ModelScratch) {
        self.schema = schema
        self.policies = policies
        self.scratch = scratch
        byParent = schema.tables.map { _ in [] }
        roles = schema.tables.map { _ in [:] }
        wanted = schema.tables.map { _ in [] }
        claims = schema.tables.map { _ in [] }
        revisions = schema.tables.map { _ in 0 }
        for (place, table) in schema.tables.enumerated() {
            numbers[table.name] = place
            for (key, foreignKey) in table.foreignKeys.enumerated() where !foreignKey.isMapped {
                byParent[foreignKey.parent].append(Place(table: place, key: key))
            }
        }
    }

    /// The number of members.
    package var count: Int { roles.reduce(0) { $0 + $1.count } }

    /// The role of a member; `nil` for any other object.
    package func role(ofMember id: ObjectID, of table: Int) -> Role? { roles[table][id] }

    /// Objects of a table that members refer to and that are no members.
    package func missing(in table: Int) -> [ObjectID] { wanted[table].filter { roles[table][$0] == nil } }

    /// Takes down that there is no such object.
    package mutating func giveUp(_ id: ObjectID, of table: Int) { wanted[table].remove(id) }

    // MARK: Roles

    /// The role of an object as far as the region is known; `nil` for none.
    package func role(of object: ModelObject) throws -> Role? { try role(of: candidate(object)) }

    /// As `role(of:)`.
    package func role(of object: Candidate) throws -> Role? {
        if object.isAlive, try isExceptional(object) { return .exceptional }
        if try isWanted(object) { return object.isAlive ? .context : .exceptional }
        return nil
    }

    private func isExceptional(_ object: Candidate) throws -> Bool {
        for (position, column) in schema.tables[object.table].columns.enumerated() {
            guard let parent = column.reference, !roles[parent].isEmpty,
                case .reference(let id)? = try object.value(position)
            else { continue }
            if roles[parent][id] == .exceptional { return true }
        }
        for key in schema.tables[object.table].foreignKeys.indices {
            guard let known = exceptionalValues[Place(table: object.table, key: key)],
                let values = try link(object, key, isKept: false)
            else { continue }
            if known.contains(values) { return true }
        }
        let known = claims[object.table]
        return try !known.isEmpty && claims(of: object, isKept: false).contains(where: known.contains)
    }

    private func isWanted(_ object: Candidate) throws -> Bool {
        if wanted[object.table].contains(object.id) { return true }
        for key in byParent[object.table] {
            guard let known = wantedValues[key], let values = try parentValues(object, key, isKept: false) else {
                continue
            }
            if known.contains(values) { return true }
        }
        return false
    }

    // MARK: Members

    /// Adds an object, or makes a context exceptional.
    package mutating func add(_ member: ModelObject, as role: Role) throws {
        guard let object = candidate(member) else { return }
        if roles[object.table].updateValue(role, forKey: object.id) == role { return }
        let table = schema.tables[object.table]
        for (position, column) in table.columns.enumerated() {
            if let parent = column.reference, case .reference(let id)? = try object.value(position) {
                wanted[parent].insert(id)
            }
        }
        for (key, foreignKey) in table.foreignKeys.enumerated() {
            guard let values = try link(object, key, isKept: true) else { continue }
            let place = Place(table: object.table, key: key)
            if wantedValues[place, default: []].insert(values).inserted { revisions[foreignKey.parent] += 1 }
        }
        if role == .exceptional { try addExceptional(object) }
    }

    private mutating func addExceptional(_ object: Candidate) throws {
        if schema.tables[object.table].foreignKeys.contains(where: { $0.action == .setDefault }) { isBounded = false }
        for (place, table) in schema.tables.enumerated()
        where table.columns.contains(where: { $0.reference == object.table }) {
            revisions[place] += 1
        }
        for key in byParent[object.table] {
            guard let values = try parentValues(object, key, isKept: true) else { continue }
            if exceptionalValues[key, default: []].insert(values).inserted { revisions[key.table] += 1 }
        }
        add(Set(try claims(of: object, isKept: true)))
    }

    /// Adds what members claim, also by values that they show.
    /// - Returns: true if other objects may have a role by that.
    @discardableResult
    package mutating func add(_ found: Set<ModelClaim>) -> Bool {
        var isNews = false
        for claim in found where claim.index >= -1 {
            guard claims[claim.table].insert(claim).inserted else { continue }
            revisions[claim.table] += 1
            isNews = true
        }
        return isNews
    }

    // MARK: What objects say

    // `isKept` is false for values that are only compared with those of members.

    private func candidate(_ object: ModelObject) -> Candidate? {
        guard let place = numbers[object.table] else { return nil }
        let columns = schema.tables[place].columns
        return Candidate(
            table: place, id: object.id, isAlive: isAlive(object), key: object.key ?? object.wantedKey
        ) { object.fields[columns[$0].name]?.value }
    }

    private func role(of object: Candidate?) throws -> Role? { try object.flatMap { try role(of: $0) } }

    private func isAlive(_ object: ModelObject) -> Bool {
        guard let inserted = object.inserted else { return false }
        let writes = policies.deleteWins.contains(object.table) ? [] : object.fields.values.map(\.stamp)
        return object.deleted.map { $0 < writes.reduce(inserted, max) } ?? true
    }

    /// The values of a foreign key by value; `nil` for a mapped one, and with NULL in a column.
    private func link(_ object: Candidate, _ key: Int, isKept: Bool) throws -> [FieldValue]? {
        let foreignKey = schema.tables[object.table].foreignKeys[key]
        if foreignKey.isMapped { return nil }
        return try form(foreignKey, foreignKey.columns.map(object.value), isKept: isKept)
    }

    /// The values by which objects refer to an object under a foreign key.
    private func parentValues(_ object: Candidate, _ place: Place, isKept: Bool) throws -> [FieldValue]? {
        let key = schema.tables[place.table].foreignKeys[place.key]
        return try form(key, key.parentColumns.map(object.value), isKept: isKept)
    }

    private func form(_ key: ModelSchema.ForeignKey, _ values: [FieldValue?], isKept: Bool) throws -> [FieldValue]? {
        let parent = schema.tables[key.parent]
        var form: [FieldValue] = []
        for (value, column) in zip(values, key.parentColumns) {
            guard let value, value != .null else { return nil }
            let kept = scratch.equality.kept(value, in: parent.columns[column])
            form.append(
                scratch.equality.form(kept, parent.collation(of: column, among: key.parentColumns), isKept: isKept))
        }
        return form
    }

    /// What an object claims by its own values, under every UNIQUE index and by its key.
    private func claims(of object: Candidate, isKept: Bool) throws -> [ModelClaim] {
        let table = schema.tables[object.table]
        var result = try table.uniques.indices.compactMap { try claim(under: $0, object, isKept) }
        func add(_ terms: [FieldValue]) {
            if !terms.contains(.null) { result.append(ModelClaim(table: object.table, index: -1, terms: terms)) }
        }
        if !table.isMapped {
            add(
                try zip(table.key, table.keyCollations).map { column, collation in
                    let kept = try scratch.equality.kept(object.value(column) ?? .null, in: table.columns[column])
                    return scratch.equality.form(kept, collation, isKept: isKept)
                })
        } else if let key = object.key {
            switch key {
            case .text: add([scratch.equality.form(key, table.keyCollations[0], isKept: isKept)])
            case .blob: add([key])
            case .null, .integer, .real, .reference: break
            }
        }
        return result
    }

    private func claim(under unique: Int, _ object: Candidate, _ isKept: Bool) throws -> ModelClaim? {
        let table = schema.tables[object.table]
        let index = table.uniques[unique]
        var terms = try index.terms.map { term in
            try term.column.flatMap { column in
                try object.value(column).map { scratch.equality.kept($0, in: table.columns[column]) }
            } ?? .null
        }
        if index.isComputed {
            let row = try table.columns.indices.compactMap { column -> (column: Int, value: FieldValue)? in
                if column == table.mappedKey { return object.key.map { (column, $0) } }
                guard let value = try object.value(column) else { return nil }
                // Which integer stands for an object differs from device to device.
                if case .reference = value { return (column, .integer(1)) }
                return (column, value)
            }
            guard let computed = try scratch.terms(of: index, row, in: table) else { return nil }
            for position in terms.indices {
                if case .reference = terms[position] { continue }
                terms[position] = computed[position]
            }
        }
        if terms.contains(.null) { return nil }
        return ModelClaim(
            table: object.table, index: unique,
            terms: zip(terms, index.terms).map { scratch.equality.form($0, $1.collation, isKept: isKept) })
    }
}
