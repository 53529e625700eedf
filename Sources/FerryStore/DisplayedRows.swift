import FerryCore
import FerryMerge

/// What the rows of a region show, for given classes: references mean the rows that their targets are shown by, and a
/// row of several objects shows the newest of their values.
final class DisplayedRows {
    private let objects: [RegionObject]
    let classes: RowClasses
    private let meaning: References
    private let registry: Registry
    private var resolvedValues: [Int: FieldValues] = [:]
    private var rows: [Int: Row] = [:]
    private var inProgress: Set<Int> = []

    /// One row: its values as they travel, and for the columns that do not come from its own object the one they do.
    struct Row {
        var values: FieldValues
        var sources: [Int: Int] = [:]
    }

    init(_ objects: [RegionObject], _ classes: RowClasses, _ registry: Registry) {
        self.objects = objects
        self.classes = classes
        self.registry = registry
        meaning = References(registry: registry)
    }

    /// Whether references may show something else than their own values.
    private var isResolving: Bool { !classes.isTrivial || classes.hasLinks }

    // MARK: One object

    /// An object's own values, references resolved and cleared ones NULL.
    func resolved(_ index: Int) -> FieldValues {
        if let known = resolvedValues[index] { return known }
        var values = resolvedWithoutClearing(index)
        if case .shown(let cleared, _) = classes.outcomes[index] {
            for place in cleared {
                for column in foreignKey(index, place).columns { values[column] = .null }
            }
        }
        resolvedValues[index] = values
        return values
    }

    /// An object's own values, references resolved.
    private func resolvedWithoutClearing(_ index: Int) -> FieldValues {
        let object = objects[index]
        guard isResolving else { return object.values }
        let own = represented(object)
        var values = own
        for (place, reference) in object.references.enumerated() {
            guard let target = classes.target(of: index, reference: place, token: reference.token) else { continue }
            let key = foreignKey(index, place)
            let parent = registry[key.parent]
            switch key.target {
            case .mapped:
                values[key.columns[0]] = .reference(objects[classes.representative(of: target)].token.id)
            case .key(let order):
                let shown = row(classes.representative(of: target)).values
                for (column, position) in zip(parent.keyColumnIDs, order) {
                    show(shown[column], parent.columns[column], as: key.columns[position], own, &values)
                }
            case .unique(let columns):
                let shown = row(classes.representative(of: target)).values
                for (position, column) in columns.enumerated() {
                    show(shown[column], parent.columns[column], as: key.columns[position], own, &values)
                }
            }
        }
        return values
    }

    /// An object's own values, with representatives in place of references to visible objects.
    private func represented(_ object: RegionObject) -> FieldValues {
        var values = object.values
        for column in object.table.columns {
            guard let parent = column.reference, case .reference(let id)? = values[column.id],
                let target = classes.visible(RowToken(table: parent, id: id))
            else { continue }
            values[column.id] = .reference(objects[classes.representative(of: target)].token.id)
        }
        return values
    }

    /// Takes over the value that a target shows, unless it is the same to SQLite.
    private func show(
        _ value: FieldValue?, _ column: TrackedColumn, as place: Int, _ own: FieldValues, _ values: inout FieldValues
    ) {
        let shown = value ?? .null
        func token(_ value: FieldValue) -> ObjectID {
            var key = CanonicalKey(table: "")
            key.append(value, collation: column.collation)
            return key.id
        }
        if let present = own[place], present == shown || token(present) == token(shown) {
            values[place] = present
        } else {
            values[place] = shown
        }
    }

    private func foreignKey(_ index: Int, _ place: Int) -> TrackedForeignKey {
        objects[index].table.foreignKeys[objects[index].references[place].foreignKey]
    }

    // MARK: Rows

    /// What the row of a class shows.
    func row(_ representative: Int) -> Row {
        if let known = rows[representative] { return known }
        // A row that depends on itself shows its own values there.
        guard inProgress.insert(representative).inserted else {
            return Row(values: represented(objects[representative]))
        }
        defer { inProgress.remove(representative) }
        let members = classes.members(of: representative)
        let made = members.count == 1 ? Row(values: resolved(representative)) : joinedRow(representative, members)
        rows[representative] = made
        return made
    }

    private func joinedRow(_ representative: Int, _ members: [Int]) -> Row {
        let table = objects[representative].table
        var row = Row(values: resolved(representative))
        for group in table.columnGroups where !group.isKey {
            guard let source = newest(group.columns, members), source != representative else { continue }
            let values = resolved(source)
            for column in group.columns {
                row.values[column] = values[column]
                row.sources[column] = source
            }
        }
        return row
    }

    /// The member that wrote last to any of the columns; the older of two that wrote at once.
    private func newest(_ columns: [Int], _ members: [Int]) -> Int? {
        var newest: (stamp: Stamp, member: Int)?
        for member in members {
            for column in columns {
                guard let stamp = objects[member].state.registers.stamp(of: column) else { continue }
                if newest.map({ $0.stamp < stamp }) ?? true { newest = (stamp, member) }
            }
        }
        return newest?.member
    }

    // MARK: Tokens

    /// The key that an object has once references are resolved; `nil` where nothing can change it.
    func resolvedKey(_ index: Int) -> RowToken? {
        let table = objects[index].table
        guard isResolving, table.hasReferencesInKey else { return nil }
        let values = resolved(index)
        return RowToken(table: table.id, id: table.derivedID(of: values))
    }

    /// What a reference means by its resolved values.
    func resolvedTarget(of index: Int, _ place: Int) -> RowToken? {
        meaning.target(foreignKey(index, place), represented(objects[index]))
    }

    /// References without a visible target by their own values that have one by their resolved values.
    func links(isShownOutside: (RowToken) throws -> Bool) rethrows -> [RuleLink] {
        guard isResolving else { return [] }
        var links: [RuleLink] = []
        lazy var offers = resolvedOffers()
        for (index, object) in objects.enumerated() {
            switch classes.outcomes[index] {
            case .shown, .waits: break
            case .gone, .outranked, .refused: continue
            }
            for (place, reference) in object.references.enumerated() {
                let key = foreignKey(index, place)
                if case .mapped = key.target { continue }
                guard classes.target(of: index, reference: place, token: reference.token) == nil,
                    try !isShownOutside(reference.token),
                    let token = resolvedTarget(of: index, place), let target = offers[token]
                else { continue }
                links.append(RuleLink(object: index, reference: place, target: target))
            }
        }
        return links
    }

    private func resolvedOffers() -> [RowToken: Int] {
        var offers: [RowToken: Int] = [:]
        for index in objects.indices where classes.outcomes[index].isVisible {
            if let key = resolvedKey(index) { offers[key] = index }
            for token in meaning.offers(of: objects[index].table, resolved(index)) { offers[token] = index }
        }
        return offers
    }

    /// References of visible objects that show another tuple than their target's row does.
    func brokenReferences() -> [RuleLink] {
        guard isResolving || objects.indices.contains(where: clearsOffers) else { return [] }
        var broken: [RuleLink] = []
        for (index, object) in objects.enumerated() {
            guard case .shown(let cleared, _) = classes.outcomes[index] else { continue }
            for (place, reference) in object.references.enumerated() where !cleared.contains(place) {
                let key = foreignKey(index, place)
                let target = classes.target(of: index, reference: place, token: reference.token)
                let expected = target.map { shownToken(of: classes.representative(of: $0), key) } ?? reference.token
                if expected == nil || meaning.target(key, resolved(index)) != expected {
                    broken.append(RuleLink(object: index, reference: place, target: target ?? index))
                }
            }
        }
        return broken
    }

    /// Whether an object's row may show cleared what others refer to by value.
    private func clearsOffers(_ index: Int) -> Bool {
        guard case .shown(let cleared, _) = classes.outcomes[index] else { return false }
        return !cleared.isEmpty && !objects[index].offers.isEmpty
    }

    /// What a row offers to a foreign key as it is shown.
    private func shownToken(of representative: Int, _ key: TrackedForeignKey) -> RowToken? {
        let table = objects[representative].table
        switch key.target {
        case .mapped: return objects[representative].token
        case .key:
            let values = row(representative).values
            return RowToken(table: table.id, id: table.derivedID(of: values))
        case .unique(let columns):
            return meaning.offer(table, columns, columns.map { row(representative).values[$0] ?? .null })
        }
    }
}
