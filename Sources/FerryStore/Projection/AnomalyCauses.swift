import FerryCore
import FerryMerge
import FerrySchema

/// Derives the reason an object is not shown as written, from the outcome of the rules.
struct AnomalyCauses {
    private let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// - Parameter claim: the claim by which the object is shown by another object's row.
    func reason(for object: RegionObject, joinedBy claim: RuleClaim?) throws -> AnomalyReason {
        switch object.outcome {
        case .gone, .shown(_, true): return AnomalyReason(.heldBack)
        case .shown where object.isJoined:
            return AnomalyReason(.joined, claim.map { names(of: $0, object.table) } ?? [])
        case .shown where !object.others.isEmpty: return AnomalyReason(.joining)
        case .shown(let cleared, false):
            let names = cleared.flatMap { self.names(of: $0, of: object) }
            return names.isEmpty ? AnomalyReason(.resolvedKey) : AnomalyReason(.clearedReference, names)
        case .waits(let reference):
            let isMissing = try !UnknownTargets(access).targets(of: object.table, object.values).isEmpty
            return AnomalyReason(isMissing ? .missing : .waiting, names(of: reference, of: object))
        case .outranked(let claim): return AnomalyReason(.outranked, names(of: claim, object.table))
        case .refused:
            return AnomalyReason(.refused, object.refusal?.names ?? [])
        }
    }

    /// The columns of an object's reference.
    private func names(of reference: Int, of object: RegionObject) -> [String] {
        object.table.foreignKeys[object.references[reference].foreignKey].columns.map { object.table.columns[$0].name }
    }

    /// The columns and expressions of a claim's index; none for the key.
    private func names(of claim: RuleClaim, _ table: TrackedTable) -> [String] {
        guard let place = claim.index else { return [] }
        return Self.names(of: table.uniqueIndexes[place], table)
    }

    /// The columns and expressions of an index.
    static func names(of index: TrackedUniqueIndex, _ table: TrackedTable) -> [String] {
        index.terms.map { $0.column.map { table.columns[$0].name } ?? $0.expression ?? "" }
    }
}
