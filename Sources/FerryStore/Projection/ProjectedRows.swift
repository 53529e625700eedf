import FerryCore
import FerryMerge
import FerrySchema

/// Computes the rows of a region for given classes. A reference shows the row that stands for its target. A unified row
/// shows the newest values of its objects.
///
/// Invariants:
/// - Values in the region and `classes` do not change during the life of this object, so results are cached.
/// - `resolvedValues` has entries only for objects marked in `isResolved`, and only for values different from their
///   own.
final class ProjectedRows {
    private let objects: [RegionObject]
    let classes: RowClasses
    private let meaning: ReferenceTokens
    private let registry: Registry
    /// True for objects with resolved values already computed.
    private var isResolved: [Bool]
    /// The resolved values different from an object's own values.
    private var resolvedValues: [Int: [(column: Int, value: FieldValue?)]] = [:]
    /// Cached rows of large classes, and cached sources of unified rows.
    private var rows: [Int: Row] = [:]
    private var joinedSources: [Int: Sources] = [:]
    private static let fewMembers = 8

    /// A row: its portable values, and the source of each column not taken from its own object.
    struct Row {
        var values: ColumnValues
        var sources = Sources()
    }

    /// The source objects of a row by column, besides its own object. A list, because few columns have such a source.
    struct Sources {
        fileprivate var list: [(column: Int32, object: Int32)] = []

        subscript(column: Int) -> Int? { list.first { $0.column == column }.map { Int($0.object) } }
    }

    init(_ objects: [RegionObject], _ classes: RowClasses, _ registry: Registry) {
        self.objects = objects
        self.classes = classes
        self.registry = registry
        meaning = ReferenceTokens(registry: registry)
        isResolved = Array(repeating: false, count: objects.count)
    }

    /// True if references may show values different from their own.
    private var isResolving: Bool { !classes.isTrivial || classes.hasLinks }

    // MARK: Single objects

    /// An object's own values, with references resolved and cleared references NULL.
    func resolved(_ index: Int) -> ColumnValues {
        let own = objects[index].values
        if isResolved[index] {
            var known = own
            for (column, value) in resolvedValues[index] ?? [] { known[column] = value }
            return known
        }
        var values = resolvedWithoutClearing(index, own)
        if case .shown(let cleared, _) = classes.outcomes[index] {
            for place in cleared {
                for column in foreignKey(index, place).columns { values[column] = .null }
            }
        }
        isResolved[index] = true
        if values != own {
            resolvedValues[index] = objects[index].table.columns.indices.compactMap { column in
                values[column] == own[column] ? nil : (column, values[column])
            }
        }
        return values
    }

    /// An object's own values, with references resolved.
    private func resolvedWithoutClearing(_ index: Int, _ own: ColumnValues) -> ColumnValues {
        let object = objects[index]
        guard isResolving else { return own }
        var values = represented(object, own)
        for reference in object.references {
            for column in object.table.foreignKeys[reference.foreignKey].columns {
                values[column] = resolved(index, column)
            }
        }
        return values
    }

    /// A value of an object.
    private struct Place: Hashable {
        var object: Int
        var column: Int
    }

    /// Resolves an object's value of a foreign key column: the value shown by the row of the target. That row may take
    /// the value from the row of a further object, and so on.
    ///
    /// Works column by column. A row may refer to itself, or to a row referring back, by a column, and show a further
    /// object's value in a different column. If the path returns to a value already passed, that object's own value
    /// counts.
    private func resolved(_ index: Int, _ column: Int) -> FieldValue? {
        var place = Place(object: index, column: column)
        var way: [Reading] = []
        var passed: Set<Place> = []
        var value: FieldValue?
        following: while true {
            value = isCleared(place) ? .null : represented(place)
            guard let own = value, own != .null else { break }
            switch step(from: place) {
            case .object(let id):
                value = .reference(id)
                break following
            case .place(let next, let collation, let affinity) where passed.insert(place).inserted:
                way.append(Reading(own: own, collation: collation, affinity: affinity))
                place = next
            case .place, nil:
                break following
            }
        }
        for step in way.reversed() { value = taken(over: value ?? .null, step) }
        return way.isEmpty ? value : value?.taken(by: objects[index].table.columns[column].affinity)
    }

    /// The source of a reference's value.
    private enum Step {
        case object(ObjectID)
        /// `collation` and `affinity` are used by SQLite to compare the reference with the parent column.
        case place(Place, collation: String, affinity: SchemaColumn.Affinity)
    }

    /// A reference's own value on the path to the shown value, and how SQLite compares the value.
    private struct Reading {
        var own: FieldValue
        var collation: String
        var affinity: SchemaColumn.Affinity
    }

    /// The source of a column's value, by the last reference using the column; checked references come first. `nil` if
    /// the value is the object's own.
    private func step(from place: Place) -> Step? {
        step(from: place) { $0 != .none } ?? step(from: place) { $0 == .none }
    }

    private func step(from place: Place, _ isWanted: (ForeignKeyAction) -> Bool) -> Step? {
        for (position, reference) in objects[place.object].references.enumerated().reversed() {
            let key = foreignKey(place.object, position)
            guard isWanted(key.action), let part = key.columns.firstIndex(of: place.column),
                let target = classes.target(of: place.object, reference: position, token: reference.token)
            else { continue }
            let row = classes.representative(of: target)
            let parent = registry[key.parent]
            let columns: [Int]
            let column: Int
            switch key.target {
            case .mapped: return .object(objects[row].token.id)
            case .key(let order):
                guard let keyPart = order.firstIndex(of: part) else { continue }
                columns = parent.keyColumnIDs
                column = columns[keyPart]
            case .unique(let offered):
                columns = offered
                column = columns[part]
            }
            return .place(
                Place(object: sources(row)[column] ?? row, column: column),
                collation: parent.offerCollation(column, among: columns), affinity: parent.columns[column].affinity)
        }
        return nil
    }

    private func isCleared(_ place: Place) -> Bool {
        guard case .shown(let cleared, _) = classes.outcomes[place.object] else { return false }
        return cleared.contains { foreignKey(place.object, $0).columns.contains(place.column) }
    }

    /// An object's own values, with representatives in place of references to visible objects.
    func represented(_ object: RegionObject) -> ColumnValues { represented(object, object.values) }

    private func represented(_ object: RegionObject, _ own: ColumnValues) -> ColumnValues {
        var values = own
        for column in object.table.referenceColumns {
            guard let value = values[column.id] else { continue }
            values[column.id] = represented(value, column)
        }
        return values
    }

    private func represented(_ place: Place) -> FieldValue? {
        let object = objects[place.object]
        return object.values[place.column].map { represented($0, object.table.columns[place.column]) }
    }

    private func represented(_ value: FieldValue, _ column: TrackedColumn) -> FieldValue {
        guard let parent = column.reference, case .reference(let id) = value,
            let target = classes.visible(RowToken(table: parent, id: id))
        else { return value }
        return .reference(objects[classes.representative(of: target)].token.id)
    }

    /// The value shown by the target, or the reference's own value if equal in SQLite.
    private func taken(over shown: FieldValue, _ step: Reading) -> FieldValue {
        func token(_ value: FieldValue) -> ObjectID {
            var key = CanonicalKey(table: "")
            key.append(value.taken(by: step.affinity), collation: step.collation)
            return key.id
        }
        return step.own == shown || token(step.own) == token(shown) ? step.own : shown
    }

    private func foreignKey(_ index: Int, _ place: Int) -> TrackedForeignKey {
        objects[index].table.foreignKeys[objects[index].references[place].foreignKey]
    }

    // MARK: Rows

    /// The row shown for a class.
    func row(_ representative: Int) -> Row {
        if let known = rows[representative] { return known }
        var row = Row(values: resolved(representative), sources: sources(representative))
        for (column, source) in row.sources.list { row.values[Int(column)] = resolved(Int(source))[Int(column)] }
        if row.sources.list.count > Self.fewMembers { rows[representative] = row }
        return row
    }

    /// The columns of a row taken from members other than the representative, with these members.
    private func sources(_ representative: Int) -> Sources {
        guard classes.representsOthers(representative) else { return Sources() }
        if let known = joinedSources[representative] { return known }
        let groups = objects[representative].table.columnGroups.filter { !$0.isKey }
        var newest: [(stamp: Stamp, member: Int)?] = Array(repeating: nil, count: groups.count)
        // The member with the last write to any of the group's columns; of two with the same time, the older member. Under
        // a policy that changes a value in steps, the write that the steps begin from.
        for member in classes.members(of: representative) {
            let state = objects[member].state
            for (place, group) in groups.enumerated() {
                for column in group.columns {
                    guard let stamp = state.choice(of: column, in: objects[representative].table) else { continue }
                    if newest[place].map({ $0.stamp < stamp }) ?? true { newest[place] = (stamp, member) }
                }
            }
        }
        var sources = Sources()
        for (group, source) in zip(groups, newest) {
            guard let source, source.member != representative else { continue }
            for column in group.columns { sources.list.append((Int32(column), Int32(source.member))) }
        }
        joinedSources[representative] = sources
        return sources
    }

    // MARK: Tokens

    /// The key of an object after resolving references; `nil` if nothing can change the key.
    func resolvedKey(_ index: Int) -> RowToken? {
        let table = objects[index].table
        guard isResolving, table.hasReferencesInKey else { return nil }
        let values = resolved(index)
        return RowToken(table: table.id, id: table.derivedID(of: values))
    }

    /// The target of a reference by resolved values.
    func resolvedTarget(of index: Int, _ place: Int) -> RowToken? {
        meaning.target(foreignKey(index, place), represented(objects[index]))
    }

    /// References without a visible target by their own values, but with a visible target by resolved values.
    func links(isShownOutside: (RowToken) throws -> Bool) rethrows -> [RuleLink] {
        guard isResolving else { return [] }
        var links: [RuleLink] = []
        lazy var parentKeys = resolvedOffers()
        for (index, object) in objects.enumerated() {
            switch classes.outcomes[index] {
            case .shown, .waits: break
            case .gone, .outranked, .refused: continue
            }
            for (place, reference) in object.references.enumerated() {
                let key = object.table.foreignKeys[reference.foreignKey]
                if case .mapped = key.target { continue }
                guard classes.target(of: index, reference: place, token: reference.token) == nil,
                    try !isShownOutside(reference.token),
                    let token = resolvedTarget(of: index, place), let target = parentKeys[token]
                else { continue }
                links.append(RuleLink(object: index, reference: place, target: target))
            }
        }
        return links
    }

    private func resolvedOffers() -> [RowToken: Int] {
        var parentKeys: [RowToken: Int] = [:]
        for index in objects.indices where classes.outcomes[index].isVisible {
            if let key = resolvedKey(index) { parentKeys[key] = index }
            for token in meaning.parentKeys(of: objects[index].table, resolved(index)) { parentKeys[token] = index }
        }
        return parentKeys
    }

    /// References of visible objects that show values different from their target's row.
    func brokenReferences() -> [RuleLink] {
        guard isResolving || objects.indices.contains(where: clearsOffers) else { return [] }
        var broken: [RuleLink] = []
        for (index, object) in objects.enumerated() {
            guard case .shown(let cleared, _) = classes.outcomes[index] else { continue }
            for (place, reference) in object.references.enumerated() where !cleared.contains(place) {
                let key = object.table.foreignKeys[reference.foreignKey]
                let target = classes.target(of: index, reference: place, token: reference.token)
                let expected = target.map { shownToken(of: classes.representative(of: $0), key) } ?? reference.token
                if expected == nil || meaning.target(key, resolved(index)) != expected {
                    broken.append(RuleLink(object: index, reference: place, target: target ?? index))
                }
            }
        }
        return broken
    }

    /// True if an object's row may show a cleared parent key.
    private func clearsOffers(_ index: Int) -> Bool {
        guard case .shown(let cleared, _) = classes.outcomes[index] else { return false }
        return !cleared.isEmpty && !objects[index].parentKeys.isEmpty
    }

    /// The parent key of a row for a foreign key, as shown.
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
