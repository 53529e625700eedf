import FerryCore
import FerryMerge
import FerrySchema

/// What objects refer to by RESTRICT or NO ACTION, and whose insertion this device does not know.
struct UnknownTargets {
    private let access: StoreAccess
    private let meaning: ReferenceTokens

    init(_ access: StoreAccess) {
        self.access = access
        meaning = ReferenceTokens(registry: access.registry)
    }

    /// The unresolved targets of an object hidden for lack of a target.
    /// - Parameter values: the object's values.
    func targets(of table: TrackedTable, _ values: ColumnValues) throws -> [RowToken] {
        try table.foreignKeys.compactMap { key in
            guard case .restrict = key.action else { return nil }
            switch key.target {
            // An object with values under a UNIQUE parent key is never forgotten (`TombstoneCollector`).
            case .unique: return nil
            case .mapped: guard case .reference = values[key.columns[0]] else { return nil }
            case .key: break
            }
            guard let target = meaning.target(key, values),
                try access.objects(of: target.table).load(target.id).registers.inserted == nil
            else { return nil }
            return target
        }
    }
}
