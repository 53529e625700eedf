import FerryCore
import FerryMerge

/// The objects whose rows may have to change, found from those that were touched.
///
/// Outside of the region every object is shown as its state says and nothing in the region changes that. It grows
/// until that is true: by exceptional objects that refer to or claim what a member offers, by targets that are not
/// simply shown, by rows that refer to a member that is not shown, and by rows that hold a UNIQUE value which a member
/// claims.
final class RuleRegion {
    /// Objects in one region: a merge that would touch more is a sign of damage, or of a schema that needs a closer look.
    static let maximumObjects = 2_000_000

    let access: StoreAccess
    private let meaning: References
    private let travelling: Travelling
    private var connection: SQLConnection { access.connection }
    private(set) var objects: [RegionObject] = []
    private var places: [RowToken: Int] = [:]
    /// By-value tokens, and how to look for a row that offers them.
    private var searches: [RowToken: (parent: TrackedTable, columns: [Int], values: [FieldValue])] = [:]
    /// The keys that rows still refer to though their objects have no rows any more.
    private let formerKeys: [RowToken: [FieldValue]]
    /// Objects that the expansion has looked at under their present outcome.
    private var expanded: [Int: RowOutcome] = [:]

    init(_ access: StoreAccess, formerKeys: [RowToken: [FieldValue]] = [:]) {
        self.access = access
        self.formerKeys = formerKeys
        meaning = References(registry: access.registry)
        travelling = Travelling(access)
    }

    func contains(_ token: RowToken) -> Bool { places[token] != nil }

    subscript(token: RowToken) -> RegionObject? { places[token].map { objects[$0] } }

    /// Adds an object; one that the store knows nothing of is not added.
    @discardableResult
    func add(_ token: RowToken) throws -> Bool {
        if places[token] != nil { return false }
        let table = access.registry[token.table]
        guard table.isLocal else { return false }
        let state = try access.objects(of: token.table).load(token.id)
        guard state.isStored else { return false }
        if objects.count >= Self.maximumObjects {
            throw FerryError(
                .limitExceeded, "More than \(Self.maximumObjects) rows depend on each other in one change.")
        }
        var row: FieldValues?
        if state.shown.hasRow, let read = try access.reader(of: table.id).read(state.key) {
            row = try travelling.values(read, table)
        }
        let values = (row ?? [:]).overlaid(with: state.kept.fields)
        let references = meaning.targets(of: table, values)
        for (place, target) in references { noteSearch(table.foreignKeys[place], target, values) }
        let claims = try self.claims(table, values, references)
        let offers = meaning.offers(of: table, values)
        var former: [RowToken] = []
        if let row, !state.kept.fields.isEmpty {
            former = try self.claims(table, row, []).map(\.claim.token) + meaning.offers(of: table, row)
        }
        let object = RegionObject(
            token: token, table: table, state: state, row: row, values: values, references: references, claims: claims,
            offers: offers, formerTokens: former)
        places[token] = objects.count
        objects.append(object)
        if row != nil, !state.registers.isAlive {
            try readHolders(object)
            // Values may be offered by somebody else too, so who refers to them takes part.
            try addDependents(object) { if case .unique = $0.target { true } else { false } }
        }
        return true
    }

    // MARK: Solving

    /// Solves the rules over the region, growing it until its surroundings are not concerned.
    func solve() throws {
        while true {
            let outcomes = try RowRules.solve(
                objects.map { $0.ruleObject(isHeldFromOutside: isHeldFromOutside($0)) },
                isShownOutside: { try isShownOutside($0) })
            for (object, outcome) in zip(objects, outcomes) { object.outcome = outcome }
            let count = objects.count
            for index in 0..<count where expanded[index] != objects[index].outcome {
                expanded[index] = objects[index].outcome
                try expand(objects[index])
            }
            if objects.count == count { return }
        }
    }

    private func isHeldFromOutside(_ object: RegionObject) -> Bool {
        zip(object.holderTables, object.holders).contains { places[RowToken(table: $0, id: $1)] == nil }
    }

    private func isShownOutside(_ token: RowToken) throws -> Bool {
        if places[token] != nil { return false }
        if let search = searches[token] {
            guard let key = try findRow(search.parent, search.columns, search.values),
                let object = try self.object(search.parent, key)
            else { return false }
            return places[RowToken(table: search.parent.id, id: object)] == nil
        }
        return try access.objects(of: token.table).place(of: token.id)?.shown.hasRow ?? false
    }

    /// Adds what an object's outcome concerns.
    private func expand(_ object: RegionObject) throws {
        for (_, target) in object.references where searches[target] == nil {
            if let place = try access.objects(of: target.table).place(of: target.id), place.shown != .row {
                try add(target)
            }
        }
        // Exceptional objects that wait for, or claim, what this one offers or used to offer, and deleted ones that
        // offer the values that it refers to.
        let tokens =
            [object.token] + object.offers + object.claims.map(\.claim.token) + object.formerTokens
            + object.references.map(\.token).filter { searches[$0] != nil }
        for token in tokens {
            for member in try exceptions(about: token) { try add(member) }
        }
        if object.isShown {
            try addRivals(object)
        } else if object.row != nil || formerKeys[object.token] != nil {
            try addDependents(object) { $0.action != .none }
        }
        // A row that offers other values than before leaves those behind that refer to the former ones.
        if object.row != nil, !object.formerTokens.isEmpty { try addDependents(object) }
    }

    private func exceptions(about token: RowToken) throws -> [RowToken] {
        var found: [RowToken] = []
        try connection.forEachRow(
            "SELECT \"table\", object FROM ferry_exception_token WHERE token_table = ? AND token = ?",
            [.integer(Int64(token.table)), .blob(token.id.bytes[...])]
        ) { row in
            if let id: ObjectID = row.id(1) { found.append(RowToken(table: row.int(0), id: id)) }
        }
        return found
    }

    /// Rows that hold a UNIQUE value which the object claims. One that has a row with the same value has no rival.
    private func addRivals(_ object: RegionObject) throws {
        for (place, _) in object.claims {
            let index = object.table.uniqueIndexes[place]
            guard let terms = try localTerms(object.table, index, object.values) else { continue }
            let conditions = index.terms.enumerated().map { position, term in
                let text = term.column.map { quoted(object.table.columns[$0].name) } ?? "(\(term.expression ?? "NULL"))"
                return "\(text) COLLATE \(quoted(term.collation)) = ?\(position + 1)"
            }
            let condition = (conditions + (index.condition.map { ["(\($0))"] } ?? [])).joined(separator: " AND ")
            let rows = try connection.rows(
                "SELECT \(object.table.keyList) FROM \(quoted(object.table.name)) WHERE \(condition)", values: terms)
            for key in rows {
                if let rival = try self.object(object.table, key) {
                    try add(RowToken(table: object.table.id, id: rival))
                }
            }
        }
    }

    /// Rows that refer to the object's present row.
    private func addDependents(
        _ object: RegionObject, where isWanted: (TrackedForeignKey) -> Bool = { _ in true }
    ) throws {
        for incoming in object.table.incoming
        where isWanted(access.registry[incoming.table].foreignKeys[incoming.foreignKey]) {
            for child in try children(object, incoming) { try add(RowToken(table: incoming.table, id: child)) }
        }
    }

    private func readHolders(_ object: RegionObject) throws {
        for incoming in object.table.incoming {
            let key = access.registry[incoming.table].foreignKeys[incoming.foreignKey]
            guard case .restrict = key.action else { continue }
            if case .unique = key.target { continue }
            for child in try children(object, incoming)
            where !(incoming.table == object.token.table && child == object.token.id) {
                object.holders.append(child)
                object.holderTables.append(incoming.table)
            }
        }
    }

    /// The objects of the rows that refer to an object's present row through one foreign key.
    private func children(_ object: RegionObject, _ incoming: TrackedTable.IncomingKey) throws -> [ObjectID] {
        let child = access.registry[incoming.table]
        let key = child.foreignKeys[incoming.foreignKey]
        let parts: [FieldValue]
        let formerKey = object.row != nil ? object.state.key : formerKeys[object.token] ?? []
        switch key.target {
        case .mapped: parts = formerKey
        case .key(let order):
            var values = Array(repeating: FieldValue.null, count: order.count)
            for (part, position) in zip(formerKey, order) { values[position] = part }
            parts = values
        case .unique(let columns):
            parts = try columns.map { column in
                try travelling.local((object.row ?? object.values)[column] ?? .null, object.table.columns[column])
                    ?? .null
            }
        }
        if parts.isEmpty { return [] }
        let condition = zip(key.columns, 1...).map { "\(quoted(child.columns[$0].name)) = ?\($1)" }
        let rows = try connection.rows(
            "SELECT \(child.keyList) FROM \(quoted(child.name)) WHERE \(condition.joined(separator: " AND "))",
            values: parts)
        return try rows.compactMap { try self.object(child, $0) }
    }

    // MARK: Values

    /// The object that a row belongs to, by its local key.
    private func object(_ table: TrackedTable, _ key: [FieldValue]) throws -> ObjectID? {
        if table.isMapped { return try access.objects(of: table.id).object(forKey: key[0]) }
        var values: [FieldValue] = []
        for (value, id) in zip(key, table.keyColumnIDs) {
            if let parent = table.columns[id].reference {
                guard let object = try access.objects(of: parent).object(forKey: value) else { return nil }
                values.append(.reference(object))
            } else {
                values.append(value)
            }
        }
        return table.derivedID(values)
    }

    private func claims(
        _ table: TrackedTable, _ values: FieldValues, _ references: [(foreignKey: Int, token: RowToken)]
    ) throws -> [(index: Int, claim: RuleClaim)] {
        var clearable: [Int: Int] = [:]
        for (place, reference) in references.enumerated() {
            let key = table.foreignKeys[reference.foreignKey]
            if key.action == .setNull || key.action == .setDefault {
                for column in key.columns { clearable[column] = place }
            }
        }
        return try meaning.claims(of: table, values, clearable: clearable) { try localTerms(table, $0, values) }
    }

    /// The terms of a UNIQUE index as SQLite computes them for values that may have no row yet; `nil` where a partial
    /// index leaves them out, or where a reference has no local key.
    private func localTerms(
        _ table: TrackedTable, _ index: TrackedUniqueIndex, _ values: FieldValues
    ) throws -> [FieldValue]? {
        if index.isOpaque { return nil }
        var local: FieldValues = [:]
        for column in table.localColumns {
            guard let value = try travelling.local(values[column.id] ?? .null, column) else {
                if index.terms.contains(where: { $0.column == column.id }) { return nil }
                continue
            }
            local[column.id] = value
        }
        if !index.needsEvaluation { return index.terms.map { $0.column.flatMap { local[$0] } ?? .null } }
        let columns = table.localColumns
        let source = columns.enumerated().map { "?\($0 + 1) AS \(quoted($1.name))" }.joined(separator: ", ")
        let terms = index.terms.map {
            $0.column.map { quoted(table.columns[$0].name) } ?? "(\($0.expression ?? "NULL"))"
        }
        let rows = try connection.rows(
            "SELECT \(terms.joined(separator: ", ")) FROM (SELECT \(source))"
                + (index.condition.map { " WHERE \($0)" } ?? ""),
            values: columns.map { local[$0.id] ?? .null })
        return rows.first
    }

    private func noteSearch(_ key: TrackedForeignKey, _ token: RowToken, _ values: FieldValues) {
        guard case .unique(let columns) = key.target, searches[token] == nil else { return }
        searches[token] = (access.registry[key.parent], columns, key.columns.map { values[$0] ?? .null })
    }

    private func findRow(
        _ parent: TrackedTable, _ columns: [Int], _ values: [FieldValue]
    ) throws -> [FieldValue]? {
        var local: [FieldValue] = []
        for (column, value) in zip(columns, values) {
            guard let part = try travelling.local(value, parent.columns[column]) else { return nil }
            local.append(part)
        }
        let condition = columns.enumerated().map { "\(quoted(parent.columns[$1].name)) = ?\($0 + 1)" }
        return try connection.rows(
            "SELECT \(parent.keyList) FROM \(quoted(parent.name)) WHERE \(condition.joined(separator: " AND ")) LIMIT 1",
            values: local
        ).first
    }
}
