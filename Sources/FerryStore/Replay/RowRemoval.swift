import FerryCore
import FerryMerge
import FerrySchema

/// An object deleted by a replay, with a row until its children's rows are removed.
struct DyingRow {
    var object: TouchedObject
    /// The deletion, if the stored state lacks the deletion yet. Saved once, when the row is removed. Until then nobody
    /// asks the state for more than its row.
    var unsaved: Stamp?
    /// The stored state, if `FastDeletions` may remove the row.
    var plain: EncodedState?
}

/// Removes rows of objects deleted by a replay, if nothing refers to them. For the objects of a single table: caches
/// the row's references.
struct RowRemoval {
    let access: StoreAccess
    private let known = KnownReferences()

    /// Cached portable values of keys in further tables, unchanged while rows of this table are removed. A class, so
    /// removing rows mutates nothing else.
    private final class KnownReferences {
        /// Values by the parent's number.
        var values: [Int: [FieldValue: FieldValue]] = [:]
        /// Bounds the memory of the cache.
        static let maximum = 10_000
    }

    init(_ access: StoreAccess) { self.access = access }

    /// - Returns: the objects for the rules: objects with remaining dependents, and removed objects.
    func remove(_ objects: [DyingRow]) throws -> [TouchedObject] {
        var touched: [TouchedObject] = []
        touched.reserveCapacity(objects.count)
        var lookup = ChildLookup(access)
        var unchecked = ChildLookup(access, isUnchecked: true)
        guard let number = objects.first?.object.table else { return [] }
        let table = access.registry[number]
        let states = access.objects(of: number)
        let ahead = ahead(of: objects)
        let isAnyPlain = objects.contains { $0.plain != nil }
        let fastDeletions = isAnyPlain ? FastDeletions(access, table) : nil
        for dying in objects {
            if let fastDeletions, let plain = dying.plain, let stamp = dying.unsaved,
                try !lookup.hasChildren(table, key: plain.key), try fastDeletions.remove(plain, stamp)
            {
                continue
            }
            var object = dying.object
            let hasChildren = try lookup.hasChildren(table, key: object.key)
            if hasChildren { object.needsRules = true }
            if !hasChildren || dying.unsaved != nil {
                let known = try ahead?.take(object.object)
                var state = try known.map { try states.state(of: $0) } ?? states.load(object.object)
                if let stamp = dying.unsaved { state.registers.mergeDeletion(stamp) }
                if !hasChildren {
                    try remove(&object, &state, table, row: known?.row) { try unchecked.hasChildren(table, key: $0) }
                }
                // The row is still present, and the rules read the state.
                if object.needsRules, dying.unsaved != nil { try states.save(state) }
            }
            touched.append(object)
        }
        fastDeletions?.finish()
        return touched
    }

    /// Reads ahead states and rows of a table's objects; `nil` if not worthwhile.
    private func ahead(of objects: [DyingRow]) -> StatePrefetcher? {
        let others = objects.filter { $0.plain == nil }
        guard others.count > 1, let first = others.first?.object else { return nil }
        let ahead = StatePrefetcher(access.objects(of: first.table), atOnce: access.prefetchedStates)
        ahead.expect(
            others.map(\.object.object), columns: access.registry[first.table].localColumns.map(\.id))
        return ahead
    }

    /// Removes the row of an object without checked references to it, and saves the state. If SQLite refuses, changes
    /// nothing and leaves the object to the rules.
    /// - Parameters:
    ///   - row: the row's local values, if known.
    ///   - isReferred: true if rows refer to a key by unchecked columns.
    func remove(
        _ object: inout TouchedObject, _ state: inout ObjectState, _ table: TrackedTable, row: ColumnValues? = nil,
        isReferred: ([FieldValue]) throws -> Bool
    ) throws {
        let row = try row ?? access.reader(of: table.id).read(state.key) ?? [:]
        let kept = try portable(row, table).overlaid(with: state.kept.fields)
        if try access.writer(of: table.id).delete(key: state.key, of: object.object) != nil {
            object.needsRules = true
            return
        }
        state.kept.fields = kept
        if table.isMapped { state.kept.key = state.key.first }
        // A key with referring rows stays reserved.
        let isKeyUsed = try isReferred(state.key)
        if let key = state.key.first, try !isKeyUsed && !KeyReservations(access).isInUse(key, of: table) {
            state.key = []
        }
        state.shown = .none
        let states = access.objects(of: table.id)
        states.renewCheck(of: &state)
        try states.save(state)
        try TombstoneParentKeys(access).note(state, table)
        // Nothing refers to the key: no further lookup is needed.
        object.key = []
    }

    /// A row's portable values.
    private func portable(_ row: ColumnValues, _ table: TrackedTable) throws -> ColumnValues {
        let translator = ReferenceTranslator(access)
        var values = row
        for column in table.columns {
            guard let parent = column.reference, let value = values[column.id], value != .null else { continue }
            if parent != table.id, let known = known.values[parent]?[value] {
                values[column.id] = known
                continue
            }
            let own = try translator.value(value, column)
            values[column.id] = own
            if parent == table.id { continue }
            if known.values[parent]?.count ?? 0 >= KnownReferences.maximum { known.values[parent] = nil }
            known.values[parent, default: [:]][value] = own
        }
        return values
    }
}
