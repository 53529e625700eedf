import FerryCore

/// All objects of a state, numbered, with the possible targets of their foreign keys and the presence by rule 1.
///
/// Invariants:
/// - `lists` has every list an object was added to. `init` removes absent objects from `targets`, not from `lists`.
/// - Every link of a subject is mirrored in `users`.
package struct ModelState {
    /// An object: values and stamps by the table's columns.
    package struct Subject {
        package var table: Int
        package var id: ObjectID
        package var inserted: Stamp?
        package var deleted: Stamp?
        package var isAlive: Bool
        package var values: [FieldValue?]
        /// The stamps by which a unified row chooses among its objects' values.
        package var choices: [Stamp?]
        package var key: FieldValue?
        package var wantedKey: FieldValue?
        package var givenKey: FieldValue?
        package var links: [Link] = []
    }

    /// A foreign key of an object without NULL in its columns.
    package struct Link: Hashable {
        /// The foreign key's position in the table.
        package var key: Int
        /// The possible targets, as a position in `targets`.
        package var targets: Int
    }

    package let schema: ModelSchema
    package let equality: ModelEquality
    package private(set) var subjects: [Subject] = []
    /// Lists of objects a foreign key may mean, oldest insertion first.
    package private(set) var targets: [[Int]] = []
    /// The objects with links to each list of targets.
    package private(set) var users: [[Int]] = []
    /// The lists containing each object.
    package private(set) var lists: [[Int]]
    /// Each table's objects by ID.
    package private(set) var places: [[ObjectID: Int]]
    /// Alive, or retained: rule 1.
    package private(set) var isPresent: [Bool] = []

    /// - Parameter objects: objects of the schema's tables.
    package init(
        _ objects: [ModelObject], _ schema: ModelSchema, _ policies: ModelPolicies, _ equality: ModelEquality
    ) {
        self.schema = schema
        self.equality = equality
        places = schema.tables.map { _ in [:] }
        lists = []
        let numbers = Dictionary(zip(schema.tables.map(\.name), schema.tables.indices)) { first, _ in first }
        for object in objects {
            guard let place = numbers[object.table] else {
                preconditionFailure("an object of a table that the schema does not have")
            }
            places[place][object.id] = subjects.count
            subjects.append(Self.subject(object, place, schema.tables[place], policies))
        }
        lists = Array(repeating: [], count: subjects.count)
        for place in schema.tables.indices {
            for key in schema.tables[place].foreignKeys.indices { link(place, key) }
        }
        isPresent = subjects.map(\.isAlive)
        revive()
        for list in targets.indices { targets[list].removeAll { !isPresent[$0] } }
    }

    private static func subject(
        _ object: ModelObject, _ place: Int, _ table: ModelSchema.Table, _ policies: ModelPolicies
    ) -> Subject {
        var isAlive = false
        if let inserted = object.inserted {
            let writes = policies.deleteWins.contains(table.name) ? [] : object.fields.values.map(\.stamp)
            let newest = writes.reduce(inserted, max)
            isAlive = object.deleted.map { $0 < newest } ?? true
        }
        return Subject(
            table: place, id: object.id, inserted: object.inserted, deleted: object.deleted, isAlive: isAlive,
            values: table.columns.map { object.fields[$0.name]?.value },
            choices: table.columns.map { object.fields[$0.name]?.choice }, key: object.key, wantedKey: object.wantedKey,
            givenKey: object.givenKey)
    }

    package func table(of subject: Int) -> ModelSchema.Table { schema.tables[subjects[subject].table] }

    /// True if the left object's insertion is older. Equal stamps exist only within a device's own insertions; then the
    /// ID decides.
    package func isOlder(_ left: Int, _ right: Int) -> Bool {
        let (a, b) = (subjects[left], subjects[right])
        if let first = a.inserted, let second = b.inserted, first != second { return first.isOlder(than: second) }
        if (a.inserted == nil) != (b.inserted == nil) { return a.inserted != nil }
        return a.id < b.id
    }

    // MARK: Foreign keys

    private mutating func link(_ table: Int, _ place: Int) {
        let key = schema.tables[table].foreignKeys[place]
        let parent = schema.tables[key.parent]
        // Targets are found by values in SQLite's form for comparisons.
        func form(_ values: [FieldValue?], _ columns: [Int]) -> [FieldValue]? {
            var form: [FieldValue] = []
            for (column, parentColumn) in zip(columns, key.parentColumns) {
                guard let value = values[column], value != .null else { return nil }
                let collation = parent.collation(of: parentColumn, among: key.parentColumns)
                form.append(equality.form(equality.kept(value, in: parent.columns[parentColumn]), collation))
            }
            return form
        }
        var found: [[FieldValue]: [Int]] = [:]
        for (index, subject) in subjects.enumerated() where subject.table == key.parent {
            if key.isMapped {
                found[[.reference(subject.id)]] = [index]
            } else if let values = form(subject.values, key.parentColumns) {
                found[values, default: []].append(index)
            }
        }
        var known: [[FieldValue]: Int] = [:]
        for (index, subject) in subjects.enumerated() where subject.table == table {
            guard let values = form(subject.values, key.columns) else { continue }
            let list: Int
            if let made = known[values] {
                list = made
            } else {
                list = targets.count
                known[values] = list
                targets.append((found[values] ?? []).sorted { isOlder($0, $1) })
                users.append([])
                for target in targets[list] { lists[target].append(list) }
            }
            users[list].append(index)
            subjects[index].links.append(Link(key: place, targets: list))
        }
    }

    /// Adds an object to a list of targets.
    package mutating func add(_ target: Int, to list: Int) {
        targets[list].append(target)
        lists[target].append(list)
    }

    /// Rule 1: a present object revives its targets by RESTRICT or NO ACTION. Of several possible dead targets, the
    /// target deleted last is revived; of those deleted at the same time, the oldest insertion.
    private mutating func revive() {
        // Revived objects do not count here: revival must not depend on an order.
        let chosen = targets.map { list -> Int? in
            if list.contains(where: { subjects[$0].isAlive }) { return nil }
            var chosen: Int?
            for candidate in list where subjects[candidate].inserted != nil {
                guard let deleted = subjects[candidate].deleted else { continue }
                if chosen.flatMap({ subjects[$0].deleted }).map({ $0 < deleted }) ?? true { chosen = candidate }
            }
            return chosen
        }
        var work = subjects.indices.filter { isPresent[$0] }
        while let index = work.popLast() {
            for link in subjects[index].links where table(of: index).foreignKeys[link.key].action == .restrict {
                guard let target = chosen[link.targets], !isPresent[target] else { continue }
                isPresent[target] = true
                work.append(target)
            }
        }
    }

    /// Rule 2: the visible objects among candidates, and their missing references.
    /// - Parameter broken: links counted as missing, by object.
    package func hide(_ candidates: [Bool], broken: [Int: Set<Link>]) -> (isVisible: [Bool], missing: [Int: Set<Link>])
    {
        var isVisible = candidates
        func isMissing(_ index: Int, _ link: Link) -> Bool {
            broken[index]?.contains(link) ?? false || !targets[link.targets].contains { isVisible[$0] }
        }
        var work = subjects.indices.filter { isVisible[$0] }
        while let index = work.popLast() {
            guard isVisible[index] else { continue }
            let keys = table(of: index).foreignKeys
            let waits = subjects[index].links.contains { !keys[$0.key].isClearing && isMissing(index, $0) }
            if !waits { continue }
            isVisible[index] = false
            for list in lists[index] { work += users[list] }
        }
        var missing: [Int: Set<Link>] = [:]
        for index in subjects.indices where isVisible[index] {
            for link in subjects[index].links where isMissing(index, link) {
                missing[index, default: []].insert(link)
            }
        }
        return (isVisible, missing)
    }
}
