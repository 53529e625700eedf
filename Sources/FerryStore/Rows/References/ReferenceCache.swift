import FerryCore
import FerryMerge
import FerrySchema

/// Caches the local values of a table's references while a batch is merged into the table.
///
/// Invariants:
/// - Rows of further tables do not change while this table is merged, so `targets`, `portableKeys` and `shownValues`
///   stay right.
/// - Each of these caches is bounded by `maximumTargets`. A full cache is emptied.
/// - References within the table are never cached, except in `ownKeys`.
final class ReferenceCache {
    private let access: StoreAccess
    private let table: TrackedTable
    private let translator: ReferenceTranslator
    private let meaning: ReferenceTokens
    /// Local keys by target object in further tables: many rows refer to the same few targets. `last` holds the latest
    /// target of each column, and is searched first.
    @exclusivity(unchecked) private var targets: [RowToken: FieldValue] = [:]
    @exclusivity(unchecked) private var last: [(target: ObjectID, local: FieldValue)?]
    /// The reverse, by column: portable values by key, for rows showing a single object as written.
    @exclusivity(unchecked) private var portableKeys: [[FieldValue: FieldValue]]
    /// New keys of this table, and new keys of each column's parent table.
    private let ownKeys: BatchKeyCache.Table
    private let newKeys: [BatchKeyCache.Table?]
    /// Values known to lead to rows of further tables, by foreign key with a single column.
    @exclusivity(unchecked) private var shownValues: [Set<FieldValue>]
    /// Bounds the memory of each cache.
    private static let maximumTargets = 10_000

    init(_ access: StoreAccess, _ table: TrackedTable, _ newKeys: BatchKeyCache = BatchKeyCache()) {
        ownKeys = newKeys.table(table.id)
        self.newKeys = table.columns.map { column in
            guard let parent = column.reference, parent != table.id, !column.isUnchecked else { return nil }
            return newKeys.table(parent)
        }
        self.access = access
        self.table = table
        translator = ReferenceTranslator(access)
        meaning = ReferenceTokens(registry: access.registry)
        last = Array(repeating: nil, count: table.columns.count)
        portableKeys = Array(repeating: [:], count: table.columns.count)
        shownValues = Array(repeating: [], count: table.foreignKeys.count)
    }

    /// The local value of a reference; `nil` if the target has no row.
    func local(_ target: ObjectID, _ column: Int) throws -> FieldValue? {
        if let last = last[column], last.target == target { return last.local }
        if let key = newKeys[column]?.key(of: target) {
            let local = table.columns[column].kept(.integer(key))
            last[column] = (target, local)
            return local
        }
        let (place, value) = (table.columns[column], FieldValue.reference(target))
        guard let parent = place.reference, parent != table.id, !place.isUnchecked else {
            return try translator.local(value, place)
        }
        // Columns with different affinities may store the same key in different ways.
        if place.affinity != place.keyAffinity { return try translator.local(value, place) }
        let token = RowToken(table: parent, id: target)
        if let known = targets[token] {
            last[column] = (target, known)
            return known
        }
        guard let local = try translator.local(value, place) else { return nil }
        if targets.count >= Self.maximumTargets { targets.removeAll(keepingCapacity: true) }
        targets[token] = local
        last[column] = (target, local)
        return local
    }

    /// The portable value of a row's column.
    func portable(_ local: FieldValue, _ column: Int) throws -> FieldValue {
        guard table.columns[column].reference != nil else { return local }
        return try portableKeys[column][local] ?? translator.value(local, table.columns[column])
    }

    /// The portable value of a row's column, if each target has a row showing only the target; `nil` otherwise.
    /// - Parameter places: as for `localIfShown`.
    func portableIfShown(_ local: FieldValue, _ column: Int, through places: [Int]) throws -> FieldValue? {
        if case .null = local { return local }
        guard let parent = table.columns[column].reference else {
            return try areShown(local, column, through: places) ? local : nil
        }
        if let known = portableKeys[column][local] { return known }
        let value = try translator.value(local, table.columns[column])
        guard case .reference(let target) = value, try access.objects(of: parent).place(of: target)?.shown == .row
        else { return nil }
        if parent == table.id { return value }
        if portableKeys[column].count >= Self.maximumTargets {
            portableKeys[column].removeAll(keepingCapacity: true)
        }
        portableKeys[column][local] = value
        return value
    }

    /// The local value of a portable value, if each target has a row showing the target as written; `nil` otherwise.
    /// - Parameter places: the positions of foreign keys with this column alone. Keys to mapped tables if the column
    ///   holds references, keys by value otherwise.
    func localIfShown(_ value: FieldValue, _ column: Int, through places: [Int]) throws -> FieldValue? {
        switch value {
        case .null: return value
        case .reference(let target):
            return try table.columns[column].reference == nil ? nil : local(target, column)
        default:
            if table.columns[column].reference != nil { return nil }
            return try areShown(value, column, through: places) ? value : nil
        }
    }

    /// True if each target of a value has a row showing only the target.
    private func areShown(_ value: FieldValue, _ column: Int, through places: [Int]) throws -> Bool {
        for place in places where !shownValues[place].contains(value) {
            guard let token = meaning.target(table.foreignKeys[place], [column: value]),
                try isShown(token, [column: value], place)
            else { return false }
        }
        return true
    }

    /// Records the row of a new object.
    func note(_ object: ObjectID, key: Int64) { ownKeys.note(object, key: key) }

    private func isPlain(_ value: FieldValue?) -> Bool {
        switch value {
        case .reference, .null, nil: false
        default: true
        }
    }

    /// True if an object's references by value are all known to lead to rows. If false, ask `targetsAreShown`.
    /// - Parameter value: the object's own value of a column.
    func targetsAreKnown(_ value: (Int) -> FieldValue?) -> Bool {
        table.foreignKeys.indices.allSatisfy { place in
            let key = table.foreignKeys[place]
            let value = value(key.columns[0])
            if case .mapped = key.target { return key.action == .none || !isPlain(value) }
            return key.columns.count == 1 && value.map { shownValues[place].contains($0) } ?? false
        }
    }

    /// Caches values known to lead to a row.
    private func recordShown(_ values: ColumnValues, _ place: Int) {
        guard table.foreignKeys[place].columns.count == 1, let value = values[table.foreignKeys[place].columns[0]]
        else { return }
        if shownValues[place].count >= Self.maximumTargets { shownValues[place].removeAll(keepingCapacity: true) }
        shownValues[place].insert(value)
    }

    /// True if an object has a row showing only this object.
    /// - Parameter values: the values referring to the object by the foreign key at `place`.
    private func isShown(_ token: RowToken, _ values: ColumnValues, _ place: Int) throws -> Bool {
        if try access.objects(of: token.table).place(of: token.id)?.shown != .row { return false }
        if token.table != table.id { recordShown(values, place) }
        return true
    }

    /// True if all references by value have rows showing their targets as written. References to mapped keys are
    /// resolved with their values, and a plain value in their place refers to nothing. For parent keys outside the
    /// primary key only the rules can decide.
    /// - Parameters:
    ///   - values: portable values.
    ///   - isComing: true for an object of this table about to get its row.
    func targetsAreShown(_ values: ColumnValues, isComing: (ObjectID) -> Bool = { _ in false }) throws -> Bool {
        if targetsAreKnown({ values[$0] }) { return true }
        for (place, key) in table.foreignKeys.enumerated() {
            switch key.target {
            case .mapped:
                if key.action != .none, isPlain(values[key.columns[0]]) { return false }
            case .key:
                guard let token = meaning.target(key, values) else { continue }
                if token.table == table.id, isComing(token.id) { continue }
                if try !isShown(token, values, place) { return false }
            case .unique:
                if meaning.target(key, values) != nil { return false }
            }
        }
        return true
    }
}
