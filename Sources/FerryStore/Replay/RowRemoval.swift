import FerryCore
import FerryMerge

/// An object that a replay found dead, whose row is there until its children's are gone.
struct DyingRow {
    var object: TouchedObject
    /// The deletion, where the stored state does not say it yet: it is saved once, when the row goes. Until then nobody asks
    /// the state for more than its row.
    var unsaved: Stamp?
}

/// Removes the rows of objects that a replay found dead, where nothing refers to them. For the objects of one table: it
/// remembers what their rows refer to.
struct RowRemoval {
    let access: StoreAccess
    private let known = KnownReferences()

    /// What keys in other tables, which do not change while rows of one table are removed, travel as. A class, so that whoever
    /// removes rows changes nothing else.
    private final class KnownReferences {
        /// By the parent's number.
        var values: [Int: [FieldValue: FieldValue]] = [:]
        /// Bounds the memory for them.
        static let maximum = 10_000
    }

    init(_ access: StoreAccess) { self.access = access }

    /// - Returns: the objects for the rules: those that still have dependents, and those removed.
    func remove(_ objects: [DyingRow]) throws -> [TouchedObject] {
        var touched: [TouchedObject] = []
        touched.reserveCapacity(objects.count)
        var lookup = ChildLookup(access)
        var unchecked = ChildLookup(access, isUnchecked: true)
        let ahead = ahead(of: objects)
        for dying in objects {
            var object = dying.object
            let table = access.registry[object.table]
            let states = access.objects(of: object.table)
            let hasChildren = try lookup.hasChildren(table, key: object.key)
            if hasChildren { object.needsRules = true }
            if !hasChildren || dying.unsaved != nil {
                let known = try ahead?.take(object.object)
                var state = try known.map { try states.state(of: $0) } ?? states.load(object.object)
                if let stamp = dying.unsaved { state.registers.mergeDeletion(stamp) }
                if !hasChildren {
                    try remove(&object, &state, table, row: known?.row) { try unchecked.hasChildren(table, key: $0) }
                }
                // Its row is still there, and the rules read what the state says.
                if object.needsRules, dying.unsaved != nil { try states.save(state) }
            }
            touched.append(object)
        }
        return touched
    }

    /// Reads the states and rows of objects of one table ahead; `nil` where it is not worthwhile.
    private func ahead(of objects: [DyingRow]) -> StatesAhead? {
        guard objects.count > 1, let first = objects.first?.object else { return nil }
        let ahead = StatesAhead(access.objects(of: first.table), access)
        ahead.expect(
            objects.map(\.object.object), columns: access.registry[first.table].localColumns.map(\.id))
        return ahead
    }

    /// Removes the row of an object to which nothing refers by a foreign key, and saves its state. Where SQLite refuses it,
    /// the rules have to look at it, and nothing is changed.
    /// - Parameters:
    ///   - row: what it shows, where that is known.
    ///   - isReferred: whether rows refer to a key by columns that no foreign key checks.
    func remove(
        _ object: inout TouchedObject, _ state: inout ObjectState, _ table: TrackedTable, row: FieldValues? = nil,
        isReferred: ([FieldValue]) throws -> Bool
    ) throws {
        let row = try row ?? access.reader(of: table.id).read(state.key) ?? [:]
        let kept = try travelling(row, table).overlaid(with: state.kept.fields)
        if try access.writer(of: table.id).delete(key: state.key, of: object.object) != nil {
            object.needsRules = true
            return
        }
        state.kept.fields = kept
        if table.isMapped { state.kept.key = state.key.first }
        // What rows refer to all the same keeps its key.
        let isKeyUsed = try isReferred(state.key)
        if let key = state.key.first, try !isKeyUsed && !KeyReservations(access).isInUse(key, of: table) {
            state.key = []
        }
        state.shown = .none
        let states = access.objects(of: table.id)
        states.renewCheck(of: &state)
        try states.save(state)
        try DeadOffers(access).note(state, table)
        // Nothing refers to it: that need not be asked again.
        object.key = []
    }

    /// A row's values as they travel.
    private func travelling(_ row: FieldValues, _ table: TrackedTable) throws -> FieldValues {
        let travelling = Travelling(access)
        var values = row
        for column in table.columns {
            guard let parent = column.reference, let value = values[column.id], value != .null else { continue }
            if parent != table.id, let known = known.values[parent]?[value] {
                values[column.id] = known
                continue
            }
            let own = try travelling.value(value, column)
            values[column.id] = own
            if parent == table.id { continue }
            if known.values[parent]?.count ?? 0 >= KnownReferences.maximum { known.values[parent] = nil }
            known.values[parent, default: [:]][value] = own
        }
        return values
    }
}
