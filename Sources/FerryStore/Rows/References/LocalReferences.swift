import FerryCore
import FerryMerge

/// What references of a table's objects are in rows of this device, while a batch is merged into the table.
final class LocalReferences {
    private let access: StoreAccess
    private let table: TrackedTable
    private let travelling: Travelling
    private let meaning: References
    /// Local keys by the objects that rows refer to in other tables, which do not change while this one is merged: many rows
    /// refer to the same few. Those that were asked for last, by column, before all others.
    @exclusivity(unchecked) private var targets: [RowToken: FieldValue] = [:]
    @exclusivity(unchecked) private var last: [(target: ObjectID, local: FieldValue)?]
    /// By column: the other way round, what keys of rows that show one object simply travel as.
    @exclusivity(unchecked) private var travellingKeys: [[FieldValue: FieldValue]]
    /// Of this table, and by column of those that are referred to.
    private let ownKeys: NewKeys.Table
    private let newKeys: [NewKeys.Table?]
    /// By foreign key of one column: values that were found to lead to rows of other tables.
    @exclusivity(unchecked) private var shownValues: [Set<FieldValue>]
    /// Bounds the memory for them, of each kind.
    private static let maximumTargets = 10_000

    init(_ access: StoreAccess, _ table: TrackedTable, _ newKeys: NewKeys = NewKeys()) {
        ownKeys = newKeys.table(table.id)
        self.newKeys = table.columns.map { column in
            guard let parent = column.reference, parent != table.id, !column.isUnchecked else { return nil }
            return newKeys.table(parent)
        }
        self.access = access
        self.table = table
        travelling = Travelling(access)
        meaning = References(registry: access.registry)
        last = Array(repeating: nil, count: table.columns.count)
        travellingKeys = Array(repeating: [:], count: table.columns.count)
        shownValues = Array(repeating: [], count: table.foreignKeys.count)
    }

    /// A reference as it lies in rows; `nil` where it has no row to refer to.
    func local(_ target: ObjectID, _ column: Int) throws -> FieldValue? {
        if let last = last[column], last.target == target { return last.local }
        if let key = newKeys[column]?.key(of: target) {
            let local = table.columns[column].kept(.integer(key))
            last[column] = (target, local)
            return local
        }
        let (place, value) = (table.columns[column], FieldValue.reference(target))
        guard let parent = place.reference, parent != table.id, !place.isUnchecked else {
            return try travelling.local(value, place)
        }
        // Another column may keep the same key in another way.
        if place.affinity != place.keyAffinity { return try travelling.local(value, place) }
        let token = RowToken(table: parent, id: target)
        if let known = targets[token] {
            last[column] = (target, known)
            return known
        }
        guard let local = try travelling.local(value, place) else { return nil }
        if targets.count >= Self.maximumTargets { targets.removeAll(keepingCapacity: true) }
        targets[token] = local
        last[column] = (target, local)
        return local
    }

    /// What a row has in a column, as it travels.
    func travelling(_ local: FieldValue, _ column: Int) throws -> FieldValue {
        guard table.columns[column].reference != nil else { return local }
        return try travellingKeys[column][local] ?? travelling.value(local, table.columns[column])
    }

    /// What a row has in a column, as it travels, where all that it refers to has a row that shows it alone.
    /// - Parameter places: as for `localIfShown`.
    func travellingIfShown(_ local: FieldValue, _ column: Int, through places: [Int]) throws -> FieldValue? {
        if case .null = local { return local }
        guard let parent = table.columns[column].reference else {
            return try areShown(local, column, through: places) ? local : nil
        }
        if let known = travellingKeys[column][local] { return known }
        let value = try travelling.value(local, table.columns[column])
        guard case .reference(let target) = value, try access.objects(of: parent).place(of: target)?.shown == .row
        else { return nil }
        if parent == table.id { return value }
        if travellingKeys[column].count >= Self.maximumTargets {
            travellingKeys[column].removeAll(keepingCapacity: true)
        }
        travellingKeys[column][local] = value
        return value
    }

    /// A value as it lies in rows, where all that it refers to has a row that shows what it says.
    /// - Parameter places: of the foreign keys by which its column refers, each of this column alone: to mapped keys where the
    ///   column holds references, and to keys by value where it does not.
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

    /// Whether all that a value refers to has a row that shows it alone.
    private func areShown(_ value: FieldValue, _ column: Int, through places: [Int]) throws -> Bool {
        for place in places where !shownValues[place].contains(value) {
            guard let token = meaning.target(table.foreignKeys[place], [column: value]),
                try isShown(token, [column: value], place)
            else { return false }
        }
        return true
    }

    /// Notes a row that was written for a new object, and is its own.
    func note(_ object: ObjectID, key: Int64) { ownKeys.note(object, key: key) }

    private func isPlain(_ value: FieldValue?) -> Bool {
        switch value {
        case .reference, .null, nil: false
        default: true
        }
    }

    /// Whether what an object refers to by value is what others of the table referred to, and was found to have rows. Where
    /// it is not, `targetsAreShown` tells.
    /// - Parameter value: the object's own value of a column.
    func targetsAreKnown(_ value: (Int) -> FieldValue?) -> Bool {
        table.foreignKeys.indices.allSatisfy { place in
            let key = table.foreignKeys[place]
            let value = value(key.columns[0])
            if case .mapped = key.target { return key.action == .none || !isPlain(value) }
            return key.columns.count == 1 && value.map { shownValues[place].contains($0) } ?? false
        }
    }

    /// Notes that values lead to a row.
    private func noteShown(_ values: FieldValues, _ place: Int) {
        guard table.foreignKeys[place].columns.count == 1, let value = values[table.foreignKeys[place].columns[0]]
        else { return }
        if shownValues[place].count >= Self.maximumTargets { shownValues[place].removeAll(keepingCapacity: true) }
        shownValues[place].insert(value)
    }

    /// Whether an object has a row that shows it alone.
    /// - Parameter values: what refer to it by the foreign key at `place`.
    private func isShown(_ token: RowToken, _ values: FieldValues, _ place: Int) throws -> Bool {
        if try access.objects(of: token.table).place(of: token.id)?.shown != .row { return false }
        if token.table != table.id { noteShown(values, place) }
        return true
    }

    /// Whether what an object refers to by value has rows that show what it says; references to mapped keys are resolved with
    /// their values, and plain values in their place refer to nothing. Where it refers to other columns than the key, only the
    /// rules can tell.
    /// - Parameters:
    ///   - values: as they travel.
    ///   - isComing: whether an object of this table is about to get its row.
    func targetsAreShown(_ values: FieldValues, isComing: (ObjectID) -> Bool = { _ in false }) throws -> Bool {
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
