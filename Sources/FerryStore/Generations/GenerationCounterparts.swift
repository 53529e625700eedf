import FerryCore
import FerryMerge
import FerrySchema

/// The objects of the present generation that objects of the former generation become.
///
/// Invariant: `present` has every object of the present generation with a row adopted by this change.
struct GenerationCounterparts {
    /// An object known in the present generation before.
    struct Counterpart {
        var object: ObjectID
        var inserted: HybridTime
    }

    private let access: StoreAccess
    private let columns: GenerationColumns
    private let after: ObjectTable
    private var left: TrackedTable { columns.left }
    private var table: TrackedTable { columns.table }
    /// Objects known in the present generation before, by their wished keys.
    private var awaited: [FieldValue: [Counterpart]] = [:]
    /// Objects known in the present generation before, by their IDs in the former generation.
    private(set) var known: [ObjectID: [Counterpart]] = [:]
    /// Objects of the present generation with rows.
    var present: Set<ObjectID> = []

    init(_ access: StoreAccess, _ columns: GenerationColumns) {
        self.access = access
        self.columns = columns
        after = access.objects(of: columns.table.id)
    }

    /// Finds the objects known before.
    /// - Parameter isClosed: true if the former generation was left in an earlier pass.
    mutating func find(isClosed: Bool) throws {
        // Remote writes to a closed generation are few, and the present generation may be large.
        if isClosed && !table.isMapped { return }
        var ids: [ObjectID] = []
        try access.connection.forEachRow("SELECT object FROM \(table.objectTable) WHERE state IS NOT NULL") { row in
            if let id: ObjectID = row.id(0) { ids.append(id) }
        }
        for id in ids {
            let state = try after.load(id)
            guard let inserted = state.registers.inserted else { continue }
            let one = Counterpart(object: id, inserted: inserted.time)
            // A mapped generation took over the IDs of the generation before.
            known[id, default: []].append(one)
            if let derived = derivedID(of: state), derived != id { known[derived, default: []].append(one) }
            if table.isMapped, let key = state.kept.key { awaited[key, default: []].append(one) }
        }
    }

    /// The former generation's ID of an object of the present generation without a row. `nil` if IDs do not follow from
    /// values there, or a value is unknown.
    private func derivedID(of state: ObjectState) -> ObjectID? {
        if left.isMapped || left.keyColumnIDs.isEmpty { return nil }
        var parts: [FieldValue] = []
        for column in left.keyColumnIDs {
            let value =
                column == columns.keyAsValue
                ? state.kept.key : columns.present[column].flatMap { state.kept.fields[$0.id] }
            guard let value, value != .null else { return nil }
            parts.append(value)
        }
        return left.derivedID(parts)
    }

    /// The object of the present generation an object was when the present generation was last left; `nil` if none. A
    /// deleted object has no values and is found by ID alone.
    private func counterpart(of state: ObjectState) -> ObjectID? {
        let found = known[state.object]?.filter { !present.contains($0.object) } ?? []
        let inserted = state.registers.inserted?.time
        return (found.first { $0.inserted == inserted } ?? found.max { $0.inserted < $1.inserted })?.object
    }

    /// The object of the present generation for an object of the former generation; `nil` if its key is unknown.
    func object(for state: ObjectState, _ values: ColumnValues, _ key: FieldValue?) throws -> ObjectID? {
        guard table.isMapped else {
            let parts = table.keyColumnIDs.map { values[$0] ?? .null }
            return parts.contains(.null) || parts.isEmpty ? counterpart(of: state) : table.derivedID(parts)
        }
        // From a mapped key to a mapped key an object keeps its ID.
        if left.isMapped { return state.object }
        guard let key else { return counterpart(of: state) ?? state.object }
        // The object previously shown by this database under the same key, or inserted at the same time under the key.
        if let holder = try after.object(forKey: key), !present.contains(holder),
            try mayBe(holder, state, underKey: key)
        {
            return holder
        }
        // Devices numbering rows each in their own order give a key to several objects.
        if try !present.contains(state.object) && after.load(state.object).registers.newest != nil {
            return state.object
        }
        let same = awaited[key]?.first { $0.inserted == state.registers.inserted?.time && !present.contains($0.object) }
        return same?.object ?? counterpart(of: state) ?? state.object
    }

    /// False if the object whose row has a key is known to have had another key in the former generation. An integer alone says nothing:
    /// each device numbers its rows by itself.
    private func mayBe(_ holder: ObjectID, _ state: ObjectState, underKey key: FieldValue) throws -> Bool {
        if holder == state.object || left.isMapped || left.keyColumnIDs.isEmpty { return true }
        let row = try access.reader(of: table.id).read([key])
        let kept = try after.load(holder).kept.fields
        var parts: [FieldValue] = []
        for column in left.keyColumnIDs {
            let value =
                column == columns.keyAsValue
                ? key : columns.present[column].flatMap { kept[$0.id] ?? row?[$0.id] }
            guard let value, value != .null else { return true }
            parts.append(value)
        }
        return left.derivedID(parts) == state.object
    }

    /// True if an object of the present generation was inserted separately from this object, so this object's deletion
    /// does not concern the former.
    func isOfAnother(_ object: ObjectID, _ state: ObjectState) throws -> Bool {
        guard let inserted = try after.load(object).registers.inserted, let own = state.registers.inserted else {
            return false
        }
        return inserted.time != own.time && inserted.time.isKnown
    }
}
